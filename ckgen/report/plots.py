"""Plots as inline SVG: one line per shape, values along a common axis. The page's style defines the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LABEL, _WIDTH, _RIGHT, _LINE, _TOP = 150, 900, 56, 17, 26
_PLOT = _WIDTH - _LABEL - _RIGHT


@dataclass(frozen=True, slots=True)
class Mark:
    """A value on a line. ``kind`` is the style class: dot, ring, tick, diamond, or bar (from the base)."""

    kind: str
    series: str
    value: float
    hint: str


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A line of a plot; ``note`` is printed at its right end."""

    label: str
    marks: tuple[Mark, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis with ticks at round values. Bars begin at ``base``, which is marked with a line."""

    low: float
    high: float
    ticks: tuple[float, ...]
    base: float | None = None
    unit: str = ""

    def place(self, value: float) -> float:
        """The position of a value along the plot, in pixels."""
        clipped = min(max(value, self.low), self.high)
        return _LABEL + _PLOT * math.log(clipped / self.low) / math.log(self.high / self.low)


def make_axis(values: Sequence[float], *, base: float | None = None, unit: str = "") -> Axis:
    """An axis that covers all ``values`` (positive) and the base, with ticks at 1, 2 and 5 of each decade or, for a
    narrow range, finer ones."""
    inside = [*values, *([base] if base else [])] or [1.0]
    low, high = min(inside) / 1.08, max(inside) * 1.08
    if high / low < 1.5:
        low, high = low / 1.25, high * 1.25
    steps: tuple[float, ...] = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    if high / low > 8:
        steps = (1.0, 2.0, 5.0) if high / low < 1e5 else (1.0,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = tuple(step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high)
    return Axis(low, high, ticks, base, unit)


def plot_size(lines: int) -> tuple[int, int]:
    """Width and height of a plot with this number of lines, in pixels."""
    return _WIDTH, _TOP + _LINE * lines + 8


def plot(title: str, rows: Sequence[PlotRow], axis: Axis) -> str:
    """The SVG of a plot; ``title`` is its name for screen readers."""
    _, height = plot_size(len(rows))
    head = f'<svg class="plot" role="img" viewBox="0 0 {_WIDTH} {height}" aria-label="{escape(title)}">'
    parts = [head, *_grid(axis, height)]
    for index, row in enumerate(rows):
        parts += _row(row, axis, _TOP + _LINE * index + _LINE / 2)
    return "\n".join([*parts, "</svg>"])


def _grid(axis: Axis, height: int) -> list[str]:
    parts = []
    for tick in axis.ticks:
        x = axis.place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="14">{tick:g}{escape(axis.unit)}</text>')
    if axis.base is not None:
        x = axis.place(axis.base)
        parts.append(f'<line class="base" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 4}"/>')
    return parts


def _row(row: PlotRow, axis: Axis, y: float) -> list[str]:
    parts = [f'<text class="name" x="{_LABEL - 8}" y="{y + 4:.1f}">{escape(row.label)}</text>']
    places = [axis.place(mark.value) for mark in row.marks if mark.kind != "bar"]
    if len(places) > 1:
        parts.append(f'<line class="span" x1="{min(places):.1f}" x2="{max(places):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts += [_mark(mark, axis, y) for mark in row.marks]
    if row.note:
        parts.append(f'<text class="note" x="{_WIDTH - _RIGHT + 8}" y="{y + 4:.1f}">{escape(row.note)}</text>')
    return parts


def _mark(mark: Mark, axis: Axis, y: float) -> str:
    x, style = axis.place(mark.value), f'class="{mark.kind} {mark.series}"'
    if mark.kind == "bar":
        start = axis.place(axis.base if axis.base is not None else axis.low)
        left, width = min(x, start), max(abs(x - start), 1.0)
        shape = f'<rect {style} x="{left:.1f}" y="{y - 5:.1f}" width="{width:.1f}" height="10" rx="2">'
        end = "</rect>"
    elif mark.kind == "tick":
        shape, end = f'<line {style} x1="{x:.1f}" x2="{x:.1f}" y1="{y - 6:.1f}" y2="{y + 6:.1f}">', "</line>"
    elif mark.kind == "diamond":
        corners = f"{x:.1f},{y - 6:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 5:.1f},{y:.1f}"
        shape, end = f'<polygon {style} points="{corners}">', "</polygon>"
    else:
        shape, end = f'<circle {style} cx="{x:.1f}" cy="{y:.1f}" r="4.5">', "</circle>"
    return f"{shape}<title>{escape(mark.hint)}</title>{end}"
