"""Plots of the page: one row per shape, marks along a common axis, placed in percent of the row's width.

Each mark has a place on a logarithmic and one on a linear axis; the page's style chooses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ckgen.report.plots import Axis, Mark, PlotRow

_MOST_TICKS = 7  # as many fit on a narrow screen


@dataclass(frozen=True, slots=True)
class Placed:
    """Something on the axes: its style class, its text, and its place and width in percent on both axes."""

    style: str
    text: str
    log: float
    linear: float
    log_width: float = 0.0
    linear_width: float = 0.0


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A row: the label, the marks, a note at the end, the text shown for the whole row, and what filters look at."""

    label: str
    marks: tuple[Placed, ...]
    note: str
    hint: str
    kind: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot. ``label_width`` is the length of its longest label in characters. Ticks of one axis have style `log` or
    `linear`."""

    rows: tuple[ChartRow, ...]
    ticks: tuple[Placed, ...]
    bases: tuple[Placed, ...]
    label_width: int


def make_chart(rows: Sequence[PlotRow], axis: Axis, kinds: Sequence[str]) -> Chart:
    """The chart of ``rows``, each of a kind (a class of shapes). ``axis`` has the range and the logarithmic ticks."""
    scale = _Scale(axis)
    placed = tuple(
        ChartRow(row.label, tuple(scale.mark(mark) for mark in row.marks), row.note, _hint(row), kind)
        for row, kind in zip(rows, kinds, strict=True)
    )
    bases = () if axis.base is None else (scale.at("base", "", axis.base),)
    return Chart(placed, tuple(scale.ticks()), bases, max((len(row.label) for row in rows), default=0))


class _Scale:
    """Places of values in percent. The linear axis begins at zero, or with a base at the smallest value."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        self.low = min(axis.low, axis.base) if axis.base is not None else 0.0

    def linear(self, value: float) -> float:
        return 100 * (min(max(value, self.low), self.axis.high) - self.low) / (self.axis.high - self.low)

    def log(self, value: float) -> float:
        clipped = min(max(value, self.axis.low), self.axis.high)
        return 100 * math.log(clipped / self.axis.low) / math.log(self.axis.high / self.axis.low)

    def at(self, style: str, text: str, value: float) -> Placed:
        return Placed(style, text, self.log(value), self.linear(value))

    def mark(self, mark: Mark) -> Placed:
        style = f"{mark.kind} {mark.series}"
        if mark.kind != "bar":
            return self.at(style, mark.hint, mark.value)
        base = self.axis.base if self.axis.base is not None else self.axis.low
        log, linear = ((min(place(base), place(mark.value)), place) for place in (self.log, self.linear))
        widths = [abs(place(mark.value) - place(base)) for place in (self.log, self.linear)]
        return Placed(style, mark.hint, log[0], linear[0], *widths)

    def ticks(self) -> Iterator[Placed]:
        step = math.ceil(len(self.axis.ticks) / _MOST_TICKS)
        for tick in self.axis.ticks[::step] if step > 1 else self.axis.ticks:
            yield self.at("log", f"{tick:g}{self.axis.unit}", tick)
        span = self.axis.high - self.low
        wide = 10.0 ** math.floor(math.log10(span / 4))
        step_size = next(wide * factor for factor in (1, 2, 5, 10) if span / (wide * factor) <= _MOST_TICKS - 1)
        first = math.ceil(self.low / step_size)
        for number in range(first, math.floor(self.axis.high / step_size) + 1):
            yield self.at("linear", f"{number * step_size:g}{self.axis.unit}", number * step_size)


def _hint(row: PlotRow) -> str:
    return "\n".join([row.label, *(mark.hint for mark in row.marks)])
