"""Render one self-contained HTML page about measured rows: numbers, plots, sortable tables, without other files or
libraries.

This module produces all text and geometry; the templates in ckgen/report/templates/ only place them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ckgen.bench.store import Origin
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.machine_code.table import Table as CodeTable
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.paths import PACKAGE
from ckgen.report.chart import Chart, make_chart
from ckgen.report.compare import Comparison, Pair
from ckgen.report.conclusion import conclusion
from ckgen.report.digest import CLASSES, shape_class
from ckgen.report.plots import Axis, Mark, PlotRow, make_axis, plot, plot_size
from ckgen.report.summary import Shape, Summary, Total
from ckgen.report.tables import failure_table, ms_of, pair_table, runner_table, shape_table, times

TEMPLATES = PACKAGE / "report" / "templates"
_MISSING = "–"
_HEAD = 72  # pixels above a plot in a separate file


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot with its heading, a sentence about it, the (style class, text) pairs of the legend, its rows with the
    class of each, its axis, and the subject that it is about."""

    title: str
    text: str
    legend: tuple[tuple[str, str], ...]
    rows: tuple[PlotRow, ...]
    kinds: tuple[str, ...]
    axis: Axis
    subject: str

    @property
    def chart(self) -> Chart:
        """The plot of the page."""
        return make_chart(self.rows, self.axis, self.kinds)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG of `ckgen isa --timeline`, and its name. The page shows it as an image, in which no script runs."""

    name: str
    svg: bytes

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return "data:image/svg+xml;base64," + b64encode(self.svg).decode("ascii")


def render_report(
    summary: Summary,
    code: CodeTable | None = None,
    against: Comparison | None = None,
    timelines: Sequence[Picture] = (),
) -> str:
    """The page's HTML. `code` adds data about the machine code of the instances on one AMD architecture, `against` the
    comparison with another run, `timelines` pictures of simulations."""
    figures = [figure for total in summary.totals for figure in _figures(summary, total.subject)]
    compared = [] if against is None else compared_figures(against)
    every = [*compared, *figures]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=f"{_gradients(summary)} on {summary.origin.device}",
            sentences=conclusion(summary, against),
            facts=_facts(summary),
            classes=[name for name in CLASSES if any(name in figure.kinds for figure in every)],
            subjects=[total.subject for total in summary.totals],
            compared=compared,
            pairs=None if against is None else pair_table(against),
            totals=[_total(total, summary.reference_name) for total in summary.totals],
            figures=figures,
            shapes=shape_table(summary),
            fused=any(total.mean_over_plain is not None for total in summary.totals),
            runners=runner_table(summary.shapes, code),
            timelines=timelines,
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
    width, height = plot_size(len(figure.rows))
    drawn = plot(figure.title, figure.rows, figure.axis)
    legend = [(mark, words, 18 + 130 * place) for place, (mark, words) in enumerate(figure.legend)]
    return (
        _environment()
        .get_template("plot.svg.j2")
        .render(
            title=f"{figure.title}, {summary.origin.device}",
            text=figure.text,
            legend=legend,
            svg=drawn,
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
    """The (number, text) pairs of a subject's cards, without numbers that do not exist."""
    least = f" ({total.least_shape})" if total.least_shape else ""
    plain = total.mean_over_plain
    fused = [] if plain is None else [(times(plain), f"of {PASS_THROUGH}'s time and D's bytes, geometric mean")]
    beside = [
        (times(total.mean_speed_up), f"geometric mean over {reference}"),
        (f"{total.not_slower} of {total.compared}", f"shapes not slower than {reference}"),
        (times(total.least_speed_up), f"worst speed-up{least}"),
    ]
    floor = [(times(total.mean_over_floor), "of the roofline, geometric mean")]
    return [
        (total.subject, f"{total.shapes} shapes"),
        *(beside if total.compared else []),
        *(floor if total.mean_over_floor is not None else []),
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
        named = [(k, s, v, f"{what}{_split(shape) if k == 'dot' else ''}") for k, s, v, what in named]
        marks = tuple(Mark(k, s, v, f"{what}: {v:.4g} ms") for k, s, v, what in named if v is not None)
        rows.append(PlotRow(shape.problem_name, marks, times(shape.over_floor)))
        values += [mark.value for mark in marks]
    if not values:
        return None
    legend = (("own", "best instance"), ("other", reference), ("floor", "roofline"))
    text = "Milliseconds. At the right: the best instance's time as a multiple of the roofline's."
    title = f"Time against the roofline, {dtype}"
    return Figure(title, text, legend, tuple(rows), _kinds(shapes), make_axis(values), dtype)


def _split(shape: Shape) -> str:
    """The split-K factor of the best instance, as its hint says it."""
    return "" if shape.best is None or shape.best.split_k is None else f", split_k {shape.best.split_k}"


def _kinds(shapes: Sequence[Shape]) -> tuple[str, ...]:
    return tuple(shape_class(shape) for shape in shapes)


def _speed_up_figure(shapes: Sequence[Shape], dtype: str, reference: str) -> Figure | None:
    found = [(shape, shape.speed_up) for shape in shapes if shape.speed_up is not None]
    rows = [
        PlotRow(shape.problem_name, (_bar(value, _speed_hint(shape, value, reference)),), times(value))
        for shape, value in found
    ]
    if not rows:
        return None
    title = f"Speed-up over {reference}, {dtype}"
    axis = make_axis([value for _, value in found], base=1.0, unit="x")
    legend = (("own", "best instance faster"), ("slow", f"{reference} faster"))
    text = f"Time of {reference} over that of the best instance."
    return Figure(title, text, legend, tuple(rows), _kinds([shape for shape, _ in found]), axis, dtype)


def _speed_hint(shape: Shape, value: float, reference: str) -> str:
    best = shape.best.name + _split(shape) if shape.best else ""
    return f"{best}: {times(value)} ({ms_of(shape.best):.4g} ms, {reference} {ms_of(shape.reference):.4g} ms)"


def _uplift_figure(shapes: Sequence[Shape], dtype: str) -> Figure | None:
    rows, values, kinds = [], [], []
    for shape in shapes:
        if shape.uplift is not None:
            kinds.append(shape_class(shape))
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
    axis = make_axis(values, base=1.0, unit="x")
    return Figure(title, text, legend, tuple(rows), tuple(kinds), axis, dtype)


def compared_figures(against: Comparison) -> list[Figure]:
    """One plot per subject: the speed of each problem relative to the other run."""
    made = []
    for subject in dict.fromkeys(pair.subject for pair in against.pairs):
        pairs = [pair for pair in against.pairs if pair.subject == subject and pair.speed is not None]
        if not pairs:
            continue
        rows = [
            PlotRow(pair.problem_name, (_bar(pair.speed or 0.0, _pair_hint(pair)),), times(pair.speed))
            for pair in pairs
        ]
        axis = make_axis([pair.speed or 0.0 for pair in pairs], base=1.0, unit="x")
        legend = (("own", "faster now"), ("slow", "slower now"))
        text = "The other run's time over this run's, best instances of both."
        kinds = _kinds([pair.new for pair in pairs])
        made.append(Figure(f"Speed against the other run, {subject}", text, legend, tuple(rows), kinds, axis, subject))
    return made


def _pair_hint(pair: Pair) -> str:
    before, now = (shape.best.name if shape.best else "" for shape in (pair.old, pair.new))
    changed = f"before {before}, now {now}" if before != now else now
    return f"{pair.old_ms:.4g} ms, now {pair.new_ms:.4g} ms: {changed}"


def _bar(value: float, hint: str) -> Mark:
    return Mark("bar", "own" if value >= 1 else "slow", value, hint)
