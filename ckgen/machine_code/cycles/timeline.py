"""A picture of a simulation: one line per wave, what it does and what it waits for, over a few steps."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ckgen.machine_code.cycles.result import Result, role_of
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.machine_code.cycles.wave import (
    BARRIER_OPEN,
    BRANCHING,
    COUNTER_FULL,
    ISSUE,
    LDS_BUSY,
    MATRIX_BUSY,
    MATRIX_RESULT,
    MEMORY_BUSY,
    PAUSING,
    RESULT,
    VECTOR_BUSY,
    WAITS,
    Wave,
)

# Work, by the kind of operation, and waits, by their reason; the colours are those of Okabe and Ito for work and
# lighter ones for waits.
_WORK = {"matrix": "#0072b2", "vector": "#56b4e9", "scalar": "#999999", "lds": "#009e73", "load": "#d55e00"}
_WORK |= {"store": "#cc79a7", "scalar load": "#999999", "branch": "#999999"}
_WAIT = {MATRIX_BUSY: "#b9d6ea", MATRIX_RESULT: "#b9d6ea", VECTOR_BUSY: "#d9ecf7", RESULT: "#d9ecf7", ISSUE: "#eeeeee"}
_WAIT |= {LDS_BUSY: "#b5e0d3", WAITS[2]: "#b5e0d3", MEMORY_BUSY: "#f6d3b8", WAITS[0]: "#f6d3b8", WAITS[1]: "#f0d5e3"}
_WAIT |= {
    BARRIER_OPEN: "#f0e442",
    COUNTER_FULL: "#f6d3b8",
    WAITS[3]: "#dddddd",
    BRANCHING: "#dddddd",
    PAUSING: "#dddddd",
}
_LEGEND = (
    ("matrix", _WORK["matrix"]),
    ("vector", _WORK["vector"]),
    ("LDS", _WORK["lds"]),
    ("load", _WORK["load"]),
    ("scalar, branch", _WORK["scalar"]),
    ("waits for the matrix unit or its result", _WAIT[MATRIX_BUSY]),
    ("for LDS", _WAIT[LDS_BUSY]),
    ("for loads", _WAIT[MEMORY_BUSY]),
    ("for a barrier", _WAIT[BARRIER_OPEN]),
)
_WIDTH, _LEFT, _ROW, _TOP = 1200, 150, 16, 64
_STEPS_SHOWN = 2.5

Segment = tuple[int, int, str]  # start, end, colour


def timeline(unit: ComputeUnit, result: Result, has_load_waves: bool, title: str) -> str:
    """The SVG of about two steps of the measured part, the waves ordered by SIMD."""
    start = result.window.start
    end = min(result.window.end, start + max(200, round(_STEPS_SHOWN * result.cycles_per_step)))
    waves = [(group, wave) for group, members in enumerate(unit.groups) for wave in members.waves]
    waves.sort(key=lambda item: (item[1].simd, item[0], item[1].number))
    height = _TOP + _ROW * len(waves) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="8" y="18" font-size="13">{escape(title)}</text>',
        *_legend(),
    ]
    scale = (_WIDTH - _LEFT - 16) / (end - start)
    for row, (group, wave) in enumerate(waves):
        y = _TOP + row * _ROW
        name = f"SIMD {wave.simd}, workgroup {group}, {role_of(wave, has_load_waves)}"
        parts.append(f'<text x="8" y="{y + 11}" font-size="9">{name}</text>')
        for first, last, colour in _merged(_segments(wave, start, end)):
            x, width = _LEFT + (first - start) * scale, (last - first) * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{max(width, 0.2):.1f}" height="{_ROW - 3}" fill="{colour}"/>'
            )
    parts += _axis(start, end, scale, _TOP + _ROW * len(waves))
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts, x = [], 8
    for name, colour in _LEGEND:
        parts.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="40">{name}</text>')
        x += 30 + 6 * len(name)
    return parts


def _axis(start: int, end: int, scale: float, y: int) -> list[str]:
    step = next(step for step in (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 1 << 60) if (end - start) / step <= 14)
    parts = []
    for at in range(0, end - start + 1, step):
        x = _LEFT + at * scale
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 4}" x2="{x:.1f}" y2="{y}" stroke="#bbbbbb" stroke-width="0.5"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 14}">{at}</text>')
    return [*parts, f'<text x="8" y="{y + 14}">cycles</text>']


def _segments(wave: Wave, start: int, end: int) -> Iterator[Segment]:
    """Work and waits of a wave between two times, in order; work ends with the next turn of the wave's SIMD."""
    found: list[Segment] = []
    for (operation, _), at in zip(wave.record, wave.issued, strict=True):
        if operation.kind in _WORK and start <= at < end:
            found.append((at, min(end, at + max(4, operation.busy)), _WORK[operation.kind]))
    for stall in wave.stalls:
        first, last = max(start, stall.start), min(end, stall.start + stall.cycles)
        if first < last:
            found.append((first, last, _WAIT[stall.reason]))
    return iter(sorted(found))


def _merged(segments: Iterator[Segment]) -> Iterator[Segment]:
    """Join neighbours of one colour."""
    current: Segment | None = None
    for segment in segments:
        if current and current[2] == segment[2] and segment[0] <= current[1] + 1:
            current = current[0], max(current[1], segment[1]), current[2]
            continue
        if current:
            yield current
        current = segment
    if current:
        yield current
