"""Render one self-contained HTML page about measured rows: numbers, plots, sortable tables, without other files or
libraries.

This module produces all text and geometry; the templates in ckgen/report/templates/ only place them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ckgen.bench.store import Origin
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.machine_code.table import Table as CodeTable
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.paths import PACKAGE
from ckgen.report.plots import Mark, PlotRow, make_axis, plot, plot_size
from ckgen.report.summary import Shape, Summary, Total
from ckgen.report.tables import failure_table, ms_of, runner_table, shape_table, times

TEMPLATES = PACKAGE / "report" / "templates"
_MISSING = "–"
_HEAD = 72  # pixels above a plot in a separate file


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot with its heading, a sentence about it, the (style class, text) pairs of the legend and the number of
    lines."""

    title: str
    text: str
    legend: tuple[tuple[str, str], ...]
    svg: str
    lines: int


def render_report(summary: Summary, code: CodeTable | None = None) -> str:
    """The page's HTML. `code` adds data about the machine code of the instances on one AMD architecture."""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=f"{_gradients(summary)} on {summary.origin.device}",
            facts=_facts(summary),
            totals=[_total(total, summary.reference_name) for total in summary.totals],
            figures=[figure for total in summary.totals for figure in _figures(summary, total.subject)],
            shapes=shape_table(summary),
            fused=any(total.mean_over_plain is not None for total in summary.totals),
            runners=runner_table(summary.shapes, code),
            failures=failure_table(summary.failures),
            failure_count=len(summary.failures),
        )
    )


def _gradients(summary: Summary) -> str:
    """The measured operations and functions, as the start of a title."""
    found = list(dict.fromkeys(OPERATIONS[shape.operation].results for shape in summary.shapes))
    return " and ".join((*found[:1], *(title[0].lower() + title[1:] for title in found[1:]))) or "Gradients"


def floor_plot(summary: Summary, dtype: str, operation: str = DEFAULT_OPERATION) -> str:
    """The page's plot of an operation's times relative to the roofline, as a separate SVG file. Empty if there is
    nothing to plot."""
    every = [shape for shape in summary.shapes if (shape.operation, shape.function) == (operation, PASS_THROUGH)]
    shapes = [shape for shape in every if shape.dtype == dtype]
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
    caches = {"flush": "cache flushed before each sample", "warm": "warm cache"}
    return f"medians, {caches.get(str(origin.settings.get('cache')), 'cache mode unknown')}"


def _total(total: Total, reference: str) -> list[tuple[str, str]]:
    least = f" ({total.least_shape})" if total.least_shape else ""
    plain = total.mean_over_plain
    fused = [] if plain is None else [(times(plain), f"of {PASS_THROUGH}'s time and D's bytes, geometric mean")]
    return [
        (total.subject, f"{total.shapes} shapes"),
        (times(total.mean_speed_up), f"geometric mean over {reference}"),
        (f"{total.not_slower} of {total.compared}", f"shapes not slower than {reference}"),
        (times(total.least_speed_up), f"worst speed-up{least}"),
        (times(total.mean_over_floor), "of the roofline, geometric mean"),
        *fused,
    ]


def _figures(summary: Summary, subject: str) -> list[Figure]:
    shapes = [shape for shape in summary.shapes if shape.subject == subject]
    made = [
        _floor_figure(shapes, subject, summary.reference_name),
        _speed_up_figure(shapes, subject, summary.reference_name),
        _uplift_figure(shapes, subject),
    ]
    return [figure for figure in made if figure is not None]


def _floor_figure(shapes: Sequence[Shape], dtype: str, reference: str) -> Figure | None:
    rows, values = [], []
    for shape in shapes:
        named = [("tick", "floor", shape.floor_ms, "roofline"), ("ring", "other", ms_of(shape.reference), reference)]
        named.append(("dot", "own", ms_of(shape.best), shape.best.name if shape.best else ""))
        marks = tuple(Mark(k, s, v, f"{what}: {v:.4g} ms") for k, s, v, what in named if v is not None)
        rows.append(PlotRow(shape.problem_name, marks, times(shape.over_floor)))
        values += [mark.value for mark in marks]
    if not values:
        return None
    legend = (("own", "best instance"), ("other", reference), ("floor", "roofline"))
    text = "Milliseconds, logarithmic. At the right: the best instance's time as a multiple of the roofline's."
    title = f"Time against the roofline, {dtype}"
    return Figure(title, text, legend, plot(title, rows, make_axis(values)), len(rows))


def _speed_up_figure(shapes: Sequence[Shape], dtype: str, reference: str) -> Figure | None:
    found = [(shape, shape.speed_up) for shape in shapes if shape.speed_up is not None]
    rows = [
        PlotRow(shape.problem_name, (_bar(value, f"{shape.problem_name}: {times(value)}"),), times(value))
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
            marks = [_bar(shape.uplift, f"measured here: {times(shape.uplift)}")]
            if shape.published_uplift:
                hint = f"published: {times(shape.published_uplift)}"
                marks.append(Mark("diamond", "other", shape.published_uplift, hint))
            rows.append(PlotRow(shape.problem_name, tuple(marks), times(shape.uplift)))
            values += [mark.value for mark in marks]
    if not rows:
        return None
    title = f"Wavelet against non-wavelet, {dtype}"
    legend = (("own", "wavelet faster"), ("slow", "non-wavelet faster"), ("other", "published"))
    text = "Time of the best non-wavelet instance over that of the best wavelet one."
    return Figure(title, text, legend, plot(title, rows, make_axis(values, base=1.0, unit="x")), len(rows))


def _bar(value: float, hint: str) -> Mark:
    return Mark("bar", "own" if value >= 1 else "slow", value, hint)
