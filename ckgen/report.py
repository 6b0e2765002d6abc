"""One self-contained HTML page about measured rows: numbers, plots, sortable tables; no other file, no library.

All text and geometry is made here; the templates in ckgen/report_templates/ only place it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ckgen.paths import PACKAGE
from ckgen.report_plots import Mark, PlotRow, make_axis, plot, plot_size
from ckgen.results import Origin, ResultRow
from ckgen.summary import Shape, Summary, Total

TEMPLATES = PACKAGE / "report_templates"
_MISSING = "–"
_MOST_FAILURES = 200
_HEAD = 72  # pixels above a plot that is a file of its own


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, the number it is sorted by (None: by its text), and a style class."""

    text: str
    value: float | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A sortable table."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot with its heading, a sentence about it, the legend's (style class, text) pairs and its number of lines."""

    title: str
    text: str
    legend: tuple[tuple[str, str], ...]
    svg: str
    lines: int


def render_report(summary: Summary) -> str:
    """The page's HTML."""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=f"Weight gradients on {summary.origin.device}",
            facts=_facts(summary),
            totals=[_total(total, summary.reference_name) for total in summary.totals],
            figures=[figure for total in summary.totals for figure in _figures(summary, total.dtype)],
            shapes=_shape_table(summary),
            runners=_runner_table(summary.shapes),
            failures=_failure_table(summary.failures),
            failure_count=len(summary.failures),
        )
    )


def floor_plot(summary: Summary, dtype: str) -> str:
    """The page's plot of times against the floor as an SVG file of its own. Empty when there is nothing to show."""
    shapes = [shape for shape in summary.shapes if shape.dtype == dtype]
    figure = _floor_figure(shapes, dtype, summary.reference_name)
    if figure is None:
        return ""
    width, height = plot_size(figure.lines)
    legend = [(mark, words, 18 + 130 * place) for place, (mark, words) in enumerate(figure.legend)]
    return (
        _environment()
        .get_template("plot.svg.j2")
        .render(
            title=f"{figure.title}, {summary.origin.device}",
            text=figure.text,
            legend=legend,
            svg=figure.svg,
            width=width,
            height=height + _HEAD,
            top=_HEAD,
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _facts(summary: Summary) -> list[tuple[str, str]]:
    origin, ceilings = summary.origin, summary.ceilings
    peaks = [f"{name} {value / 1e12:.1f} TFLOP/s" for name, value in sorted(ceilings.items()) if name != "bytes"]
    bandwidth = [f"copy {ceilings['bytes'] / 1e12:.2f} TB/s"] if "bytes" in ceilings else []
    return [
        ("Machine", f"{origin.device} ({origin.platform})"),
        ("Driver", origin.driver),
        ("Software", origin.software),
        ("Compiler", origin.compiler),
        ("Commit", origin.commit_id[:19]),
        ("Spec", origin.spec_digest[:18]),
        ("Library", origin.library_digest[:12]),
        ("Measured", f"{origin.started}, {len(summary.rows)} rows, {_how(origin)}"),
        ("Ceilings", ", ".join([*bandwidth, *peaks]) or "not measured"),
    ]


def _how(origin: Origin) -> str:
    caches = {"flush": "cache flushed before each sample", "rotate": "rotating buffers", "warm": "warm cache"}
    return f"medians, {caches.get(str(origin.settings.get('cache')), 'cache mode unknown')}"


def _total(total: Total, reference: str) -> list[tuple[str, str]]:
    least = f" ({total.least_shape})" if total.least_shape else ""
    return [
        (total.dtype, f"{total.shapes} shapes"),
        (_times(total.mean_speed_up), f"geometric mean over {reference}"),
        (f"{total.not_slower} of {total.compared}", f"shapes not slower than {reference}"),
        (_times(total.least_speed_up), f"least speed-up{least}"),
        (_times(total.mean_over_floor), "of the floor, geometric mean"),
    ]


def _figures(summary: Summary, dtype: str) -> list[Figure]:
    shapes = [shape for shape in summary.shapes if shape.dtype == dtype]
    made = [
        _floor_figure(shapes, dtype, summary.reference_name),
        _speed_up_figure(shapes, dtype, summary.reference_name),
        _uplift_figure(shapes, dtype),
    ]
    return [figure for figure in made if figure is not None]


def _floor_figure(shapes: Sequence[Shape], dtype: str, reference: str) -> Figure | None:
    rows, values = [], []
    for shape in shapes:
        named = [("tick", "floor", shape.floor_ms, "floor"), ("ring", "other", _ms(shape.reference), reference)]
        named.append(("dot", "own", _ms(shape.best), shape.best.name if shape.best else ""))
        marks = tuple(Mark(k, s, v, f"{what}: {v:.4g} ms") for k, s, v, what in named if v is not None)
        rows.append(PlotRow(shape.problem_name, marks, _times(shape.over_floor)))
        values += [mark.value for mark in marks]
    if not values:
        return None
    legend = (("own", "best instance"), ("other", reference), ("floor", "floor"))
    text = "Milliseconds, logarithmic. At the right: the best instance's time as a multiple of the floor."
    title = f"Time against the floor, {dtype}"
    return Figure(title, text, legend, plot(title, rows, make_axis(values)), len(rows))


def _speed_up_figure(shapes: Sequence[Shape], dtype: str, reference: str) -> Figure | None:
    found = [(shape, shape.speed_up) for shape in shapes if shape.speed_up is not None]
    rows = [
        PlotRow(shape.problem_name, (_bar(value, f"{shape.problem_name}: {_times(value)}"),), _times(value))
        for shape, value in found
    ]
    if not rows:
        return None
    title = f"Speed-up over {reference}, {dtype}"
    axis = make_axis([value for _, value in found], base=1.0, unit="x")
    legend = (("own", "best instance faster"), ("slow", f"{reference} faster"))
    text = f"Time of {reference} over that of the best instance."
    return Figure(title, text, legend, plot(title, rows, axis), len(rows))


def _uplift_figure(shapes: Sequence[Shape], dtype: str) -> Figure | None:
    rows, values = [], []
    for shape in shapes:
        if shape.uplift is not None:
            marks = [_bar(shape.uplift, f"measured here: {_times(shape.uplift)}")]
            if shape.published_uplift:
                hint = f"published: {_times(shape.published_uplift)}"
                marks.append(Mark("diamond", "other", shape.published_uplift, hint))
            rows.append(PlotRow(shape.problem_name, tuple(marks), _times(shape.uplift)))
            values += [mark.value for mark in marks]
    if not rows:
        return None
    title = f"Wavelet against non-wavelet, {dtype}"
    legend = (("own", "wavelet faster"), ("slow", "non-wavelet faster"), ("other", "published"))
    text = "Time of the best non-wavelet instance over that of the best wavelet one."
    return Figure(title, text, legend, plot(title, rows, make_axis(values, base=1.0, unit="x")), len(rows))


def _bar(value: float, hint: str) -> Mark:
    return Mark("bar", "own" if value >= 1 else "slow", value, hint)


def _shape_table(summary: Summary) -> Table:
    reference = f"{summary.reference_name} ms"
    own = ("shape", "type", "ms", "spread", "floor ms", "over floor", reference, "speed-up")
    headers = (*own, "wavelet ms", "other ms", "uplift", "published", "split_k", "best instance")
    return Table(headers, tuple(_shape_cells(shape) for shape in summary.shapes))


def _shape_cells(shape: Shape) -> tuple[Cell, ...]:
    best = shape.best
    return (
        Cell(shape.problem_name),
        Cell(shape.dtype),
        _number(_ms(best)),
        _spread(best),
        _number(shape.floor_ms),
        _factor(shape.over_floor),
        _number(_ms(shape.reference)),
        _factor(shape.speed_up, judged=True),
        _number(_ms(shape.wavelet)),
        _number(_ms(shape.other)),
        _factor(shape.uplift, judged=True),
        _factor(shape.published_uplift),
        _number(best.split_k if best else None, "d"),
        Cell(best.name if best else _MISSING, style="id"),
    )


def _runner_table(shapes: Iterable[Shape]) -> Table:
    rows = tuple(
        (
            *(Cell(shape.problem_name), Cell(shape.dtype), Cell(str(place), place)),
            *(_number(row.ms), _spread(row), _number(row.max_error, ".2e"), _number(row.tolerance, ".2e")),
            *(_number(row.split_k, "d"), Cell("yes" if row.automatic else ""), Cell(row.name, style="id")),
        )
        for shape in shapes
        for place, row in enumerate(shape.top, 1)
    )
    headers = ("shape", "type", "place", "ms", "spread", "error", "tolerance", "split_k", "chosen", "instance")
    return Table(headers, rows)


def _failure_table(failures: Sequence[ResultRow]) -> Table:
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
    return Cell(_times(value), value, style)


def _times(value: float | None) -> str:
    return _MISSING if value is None else f"{value:.2f}x"


def _ms(row: ResultRow | None) -> float | None:
    return None if row is None else row.ms
