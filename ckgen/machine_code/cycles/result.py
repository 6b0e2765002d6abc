"""Cycles per step of the main loop from a finished simulation, and where the waves wait.

A step is one tile of k_per_block. It is measured in the middle of the loop, so that the start and the end of the kernel
and the first loads do not count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.hardware.compute_units import UNITS
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.machine_code.cycles.wave import Wave

_FEWEST = 6  # marks of a loop, to find its middle


@dataclass(frozen=True, slots=True)
class Window:
    """The measured part of a simulation, and how many steps all workgroups together do in it."""

    start: int
    end: int
    steps: float


@dataclass(frozen=True, slots=True)
class RoleTime:
    """The waves of a role in one workgroup. `issuing` and `stalls`: cycles per wave and step."""

    role: str
    waves: int
    instructions: float
    issuing: float
    stalls: dict[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction at which the waves of a role wait, for `cycles` per wave and step."""

    role: str
    reason: str
    text: str
    place: int
    cycles: float


@dataclass(frozen=True, slots=True)
class Result:
    """The main loop in a simulation. `matrix_busy` is the part of the window in which the matrix units
    work, over all SIMDs."""

    window: Window
    groups: int
    roles: tuple[RoleTime, ...]
    places: tuple[Place, ...]
    matrix_busy: float

    @property
    def cycles_per_tile(self) -> float:
        """Cycles of the compute unit per tile, while all workgroups work."""
        return (self.window.end - self.window.start) / self.window.steps

    @property
    def cycles_per_step(self) -> float:
        """Cycles between two steps of one workgroup, on average: the workgroups share the compute unit."""
        return self.cycles_per_tile * self.groups


def role_of(wave: Wave, has_load_waves: bool) -> str:
    """The role of a wave, as `ckgen isa --loops` names it."""
    if not has_load_waves:
        return "main"
    return "math" if any(operation.matrix for operation, _ in wave.record) else "load"


def measure(unit: ComputeUnit, *, matrix_per_step: int, tiles: int, has_load_waves: bool, most_places: int) -> Result:
    """Measure a finished simulation. `matrix_per_step`: matrix instructions of a wave per step, 0 if the architecture
    has none; then the loop with the most accesses to LDS is looked for, which works on `tiles` tiles at once."""
    marks = []
    for group in unit.groups:
        leading = next(wave for wave in group.waves if role_of(wave, has_load_waves) != "load")
        marks.append(_matrix_marks(leading, matrix_per_step) if matrix_per_step else _loop_marks(leading))
    window = _window(marks, 1 if matrix_per_step else tiles)
    by_role: dict[str, list[Wave]] = {}
    for group in unit.groups:
        for wave in group.waves:
            by_role.setdefault(role_of(wave, has_load_waves), []).append(wave)
    count = len(unit.groups)
    roles = tuple(_role_time(role, members, window, count, unit.timing.issue) for role, members in by_role.items())
    places = [place for role, members in by_role.items() for place in _places(role, members, window, count)]
    places.sort(key=lambda place: -place.cycles)
    return Result(window, count, roles, tuple(places[:most_places]), _matrix_busy(unit, window))


def _window(marks: Sequence[Sequence[int]], each: float) -> Window:
    """The time in which the workgroup that ends first is in the middle of its loop, and most others are too: older
    workgroups come first, so that the youngest may get few turns. `marks` are the times of one instruction of each
    workgroup; `each` steps lie between two."""
    first = min(marks, key=lambda times: times[-1])
    if min(map(len, marks)) < _FEWEST:
        raise ValueError(f"the loop has {len(first)} turns, which are too few")
    begins = (times[len(times) // 5] for times in marks)
    start, end = max(begin for begin in begins if begin <= first[len(first) // 2]), first[-2]
    steps = sum(_steps(times, end) - _steps(times, start) for times in marks) * each
    return Window(start, end, steps)


def _steps(times: Sequence[int], at: int) -> float:
    """Steps until a time, those between two marks in proportion."""
    index = bisect_right(times, at) - 1
    return index + (at - times[index]) / (times[index + 1] - times[index]) if index >= 0 else 0


def _matrix_marks(wave: Wave, per_step: int) -> list[int]:
    issued = [at for (operation, _), at in zip(wave.record, wave.issued, strict=True) if operation.matrix]
    return issued[::per_step]


def _loop_marks(wave: Wave) -> list[int]:
    """The turns of the smallest loop with at least half of the wave's accesses to LDS."""
    work = [at for at, (operation, _) in enumerate(wave.record) if operation.kind == "lds"]
    heads: dict[int, list[int]] = {}
    for index in range(len(wave.record) - 1):
        place, after = wave.record[index][0].place, wave.record[index + 1][0].place
        if after < place:
            heads.setdefault(after, []).append(index + 1)
    loops = []
    for starts in heads.values():
        inside = sum(starts[0] <= at < starts[-1] for at in work)
        if 2 * inside >= len(work) and len(starts) >= _FEWEST:
            loops.append((starts[-1] - starts[0], starts))
    if not loops:
        raise ValueError("no loop has most of the accesses to LDS")
    return [wave.issued[at] for at in min(loops)[1]]


def _overlap(start: int, cycles: int, window: Window) -> int:
    return max(0, min(start + cycles, window.end) - max(start, window.start))


def _role_time(role: str, waves: Sequence[Wave], window: Window, groups: int, issue: int) -> RoleTime:
    stalls: Counter[str] = Counter()
    for wave in waves:
        for stall in wave.stalls:
            cycles = _overlap(stall.start, stall.cycles, window)
            if cycles:
                stalls[stall.reason] += cycles
    issued = sum(window.start <= at < window.end for wave in waves for at in wave.issued)
    share = window.steps * len(waves) / groups
    per_step = {reason: cycles / share for reason, cycles in stalls.most_common()}
    return RoleTime(role, len(waves) // groups, issued / share, issued * issue / share, per_step)


def _places(role: str, waves: Sequence[Wave], window: Window, groups: int) -> list[Place]:
    found: Counter[tuple[str, int]] = Counter()
    texts: dict[int, str] = {}
    for wave in waves:
        for stall in wave.stalls:
            cycles = _overlap(stall.start, stall.cycles, window)
            if cycles:
                operation = wave.record[stall.index][0]
                found[stall.reason, operation.place] += cycles
                texts[operation.place] = operation.text
    share = window.steps * len(waves) / groups
    return [Place(role, reason, texts[place], place, cycles / share) for (reason, place), cycles in found.items()]


def _matrix_busy(unit: ComputeUnit, window: Window) -> float:
    busy = sum(
        _overlap(at, operation.matrix, window)
        for group in unit.groups
        for wave in group.waves
        for (operation, _), at in zip(wave.record, wave.issued, strict=True)
        if operation.matrix
    )
    return busy / ((window.end - window.start) * UNITS[unit.arch].simds)
