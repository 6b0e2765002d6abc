"""The tables of the report page: every shape, the best instances of each, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.bench.store import ResultRow
from ckgen.cost.model import bound_of_row
from ckgen.instance.instance import parse
from ckgen.machine_code.table import Table as CodeTable
from ckgen.report.compare import Comparison
from ckgen.report.digest import shape_class
from ckgen.report.summary import Shape, Summary

_MISSING = "–"
_MOST_FAILURES = 200
_CODE_HEADERS = ("registers", "spills", "LDS", "waves", "VALU/matrix", "bound")


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, its sort key (None: sort by text), and a style class."""

    text: str
    value: float | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A sortable table. ``marks`` has the (class of shapes, subject) of each row for filters, or is empty."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marks: tuple[tuple[str, str], ...] = ()


def shape_table(summary: Summary) -> Table:
    reference = f"{summary.reference_name} ms"
    own = ("shape", "subject", "ms", "spread", "roofline ms", "x roofline", reference, "speed-up")
    fused = any(shape.over_plain is not None for shape in summary.shapes)
    beside = ("over plain and D",) if fused else ()
    headers = (*own, *beside, "wavelet ms", "other ms", "uplift", "published", "split_k", "best instance")
    marks = tuple((shape_class(shape), shape.subject) for shape in summary.shapes)
    return Table(headers, tuple(_shape_cells(shape, fused) for shape in summary.shapes), marks)


def pair_table(against: Comparison) -> Table:
    """Every problem of two runs."""
    rows = tuple(
        (
            *(Cell(pair.problem_name), Cell(pair.subject), _number(pair.old_ms), _number(pair.new_ms)),
            _factor(pair.speed, judged=True),
            *(Cell(shape.best.name if shape.best else _MISSING, style="id") for shape in (pair.old, pair.new)),
        )
        for pair in against.pairs
    )
    headers = ("shape", "subject", "ms before", "ms now", "speed", "instance before", "instance now")
    return Table(headers, rows, tuple((shape_class(pair.new), pair.subject) for pair in against.pairs))


def _shape_cells(shape: Shape, fused: bool) -> tuple[Cell, ...]:
    best, over = shape.best, shape.over_plain
    return (
        Cell(shape.problem_name),
        Cell(shape.subject),
        _number(ms_of(best)),
        _spread(best),
        _number(shape.floor_ms),
        _factor(shape.over_floor),
        _number(ms_of(shape.reference)),
        _factor(shape.speed_up, judged=True),
        *((_factor(over),) if fused else ()),
        _number(ms_of(shape.wavelet)),
        _number(ms_of(shape.other)),
        _factor(shape.uplift, judged=True),
        _factor(shape.published_uplift),
        _number(best.split_k if best else None, "d"),
        Cell(best.name if best else _MISSING, style="id"),
    )


def runner_table(shapes: Sequence[Shape], code: CodeTable | None) -> Table:
    rows = tuple(
        (
            *(Cell(shape.problem_name), Cell(shape.dtype), Cell(str(place), place)),
            *(_number(row.ms), _spread(row), _number(row.max_error, ".2e"), _number(row.tolerance, ".2e")),
            *(_number(row.split_k, "d"), Cell("yes" if row.automatic else "")),
            *_code_cells(row, code),
            Cell(row.name, style="id"),
        )
        for shape in shapes
        for place, row in enumerate(shape.top, 1)
    )
    own = ("shape", "type", "place", "ms", "spread", "error", "tolerance", "split_k", "chosen")
    headers = (*own, *(() if code is None else _CODE_HEADERS), "instance")
    return Table(headers, rows, tuple((shape_class(shape), shape.subject) for shape in shapes for _ in shape.top))


def _code_cells(row: ResultRow, code: CodeTable | None) -> tuple[Cell, ...]:
    """The cells from an architecture's table about a row's instance; dashes if the table lacks the instance."""
    if code is None:
        return ()
    line = code.rows.get(row.name)
    if line is None:
        return (Cell(_MISSING),) * len(_CODE_HEADERS)
    bound = bound_of_row(line, parse(row.name), code.arch)
    ratio = int(line["main_valu"]) / int(line["main_matrix"]) if int(line["main_matrix"] or 0) else None
    numbers = (float(line[column]) for column in ("vgprs", "spills", "lds", "waves"))
    fraction = Cell(_MISSING) if bound is None else Cell(str(bound), bound.fraction)
    return *(_number(number, "g") for number in numbers), _number(ratio, ".2f"), fraction


def failure_table(failures: Sequence[ResultRow]) -> Table:
    rows = tuple(
        (
            *(Cell(row.problem_name), Cell(row.dtype), Cell(row.name, style="id"), _number(row.split_k, "d")),
            *(Cell(row.verdict, style="bad"), Cell(row.message)),
        )
        for row in failures[:_MOST_FAILURES]
    )
    return Table(("shape", "type", "instance", "split_k", "verdict", "message"), rows)


def _spread(row: ResultRow | None) -> Cell:
    """Half the distance between the quartiles, in percent of the median."""
    if row is None or not row.ms or row.ms_q1 is None or row.ms_q3 is None:
        return Cell(_MISSING)
    percent = 50 * (row.ms_q3 - row.ms_q1) / row.ms
    return Cell(f"±{percent:.1f}%", percent)


def _number(value: float | None, form: str = ".4g") -> Cell:
    return Cell(_MISSING) if value is None else Cell(format(value, form), float(value))


def _factor(value: float | None, judged: bool = False) -> Cell:
    style = "" if not judged or value is None else "good" if value >= 1 else "bad"
    return Cell(times(value), value, style)


def times(value: float | None) -> str:
    return _MISSING if value is None else f"{value:.2f}x"


def ms_of(row: ResultRow | None) -> float | None:
    return None if row is None else row.ms
