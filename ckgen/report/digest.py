"""Summarise a run in a few lines for the README: one row per class of shapes, relative to the reference and the
roofline.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ckgen.bench.store import Origin, ResultRow
from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.report.summary import Shape, Summary, mean, summarise

SHORT_MS = 0.02  # a problem whose roofline time is shorter ends before it fills the GPU
NARROW = 64
CLASSES = (
    "grouped 3x3",
    "1x1",
    "3x3",
    "3x3, roofline below 20 us",
    f"3x3, fewer than {NARROW} outputs",
    "other",
)
ALL = "all"
_MISSING = "–"


def summary_of(rows: Sequence[ResultRow], runs: Iterable[Origin]) -> Summary:
    """The summary of the rows of several runs; the newest run provides the origin."""
    origins = sorted(runs, key=lambda origin: origin.started)
    return summarise(origins[-1], [origin.ceilings for origin in origins], rows)


def digest_headers(summary: Summary) -> tuple[str, ...]:
    """The headings of the table: class, number of shapes, then three numbers per subject. A subject is called by its
    data type if no other subject has this type."""
    numbers = (f"over {summary.reference_name}", "min", "x roofline")
    count = Counter(total.dtype for total in summary.totals)
    names = [total.dtype if count[total.dtype] == 1 else total.subject for total in summary.totals]
    return ("shapes", "n", *(f"{name}: {text}" for name in names for text in numbers))


def digest_rows(summary: Summary) -> list[tuple[str, ...]]:
    """A row per class that has shapes, and one for all shapes. Means are geometric; a speed-up is the reference's time
    divided by that of the best correct instance."""
    grouped: dict[str, list[Shape]] = {}
    for shape in summary.shapes:
        grouped.setdefault(shape_class(shape), []).append(shape)
    named = [(name, grouped[name]) for name in CLASSES if name in grouped]
    subjects = [total.subject for total in summary.totals]
    return [_row(name, shapes, subjects) for name, shapes in (*named, (ALL, list(summary.shapes)))]


def shape_class(shape: Shape) -> str:
    """The entry of CLASSES that a shape belongs to."""
    problem = ConvProblem(**problem_fields(shape.problem))
    taps = math.prod(problem.filter)
    if problem.groups > 1:
        return CLASSES[0] if taps == 9 else CLASSES[5]
    if taps == 1:
        return CLASSES[1]
    if taps != 9:
        return CLASSES[5]
    if problem.k < NARROW:
        return CLASSES[4]
    return CLASSES[3] if shape.floor_ms is not None and shape.floor_ms < SHORT_MS else CLASSES[2]


def _row(name: str, shapes: Sequence[Shape], subjects: Sequence[str]) -> tuple[str, ...]:
    count = len({shape.problem for shape in shapes})
    cells = [name, str(count)]
    for subject in subjects:
        own = [shape for shape in shapes if shape.subject == subject]
        faster = [shape.speed_up for shape in own if shape.speed_up is not None]
        over = [shape.over_floor for shape in own if shape.over_floor is not None]
        cells += [_times(mean(faster)), _times(min(faster, default=None)), _times(mean(over))]
    return tuple(cells)


def _times(value: float | None) -> str:
    return _MISSING if value is None else f"{value:.2f}x"
