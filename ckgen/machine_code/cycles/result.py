"""Cycles per step of the main loop from a finished simulation, and where the waves wait.

A step is one tile of k_per_block. It is measured in the middle of the loop, so that the start and the end of the kernel
and the first loads do not count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
    """The waves of a role in one workgroup. `issuing` and `stalls`: cycles per wave and step; `kinds`: instructions of
    each kind per wave and step."""

    role: str
    waves: int
    instructions: float
    issuing: float
    stalls: dict[str, float]
    kinds: dict[str, float]


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


def measure(
    unit: ComputeUnit,
    *,
    work: str,
    per_step: int,
    has_load_waves: bool,
    most_places: int,
    role: Callable[[Wave], str] | None = None,
) -> Result:
    """Measure a finished simulation. Every wave except load waves executes `per_step` operations of the kind `work` in
    each step: `matrix`, or `lds` for reads from LDS if the architecture has no matrix instructions. `role` names the
    role of a wave for the result, if that is to be another than `role_of` finds."""
    role = role or partial(role_of, has_load_waves=has_load_waves)
    marks = []
    for group in unit.groups:
        leading = next(wave for wave in group.waves if role_of(wave, has_load_waves) != "load")
        marks.append(_marks(leading, work, per_step))
    window = _window(marks)
    by_role: dict[str, list[Wave]] = {}
    for group in unit.groups:
        for wave in group.waves:
            by_role.setdefault(role(wave), []).append(wave)
    count = len(unit.groups)
    roles = tuple(_role_time(name, members, window, count, unit.timing.issue) for name, members in by_role.items())
    places = [place for name, members in by_role.items() for place in _places(name, members, window, count)]
    places.sort(key=lambda place: -place.cycles)
    return Result(window, count, roles, tuple(places[:most_places]), _matrix_busy(unit, window))


def _window(marks: Sequence[Sequence[int]]) -> Window:
    """The time in which the workgroup that ends first is in the middle of its loop, and most others are too: older
    workgroups come first, so that the youngest may get few turns. `marks` are the times of each workgroup's steps."""
    first = min(marks, key=lambda times: times[-1])
    if min(map(len, marks)) < _FEWEST:
        raise ValueError(f"the loop has {len(first)} steps, which are too few")
    begins = (times[len(times) // 5] for times in marks)
    start, end = max(begin for begin in begins if begin <= first[len(first) // 2]), first[-1 - len(first) // 5]
    return Window(start, end, sum(_steps(times, end) - _steps(times, start) for times in marks))


def _steps(times: Sequence[int], at: int) -> float:
    """Steps until a time, those between two marks in proportion."""
    index = bisect_right(times, at) - 1
    return index + (at - times[index]) / (times[index + 1] - times[index]) if index >= 0 else 0


def _marks(wave: Wave, work: str, per_step: int) -> list[int]:
    """When each step of a wave begins. The epilogue of a kernel also reads LDS, after the measured part."""
    events = zip(wave.record, wave.issued, strict=True)
    done = [at for (operation, _), at in events if operation.kind == work and not operation.is_store]
    return done[::per_step]


def _overlap(start: int, cycles: int, window: Window) -> int:
    return max(0, min(start + cycles, window.end) - max(start, window.start))


def _role_time(role: str, waves: Sequence[Wave], window: Window, groups: int, issue: int) -> RoleTime:
    stalls: Counter[str] = Counter()
    for wave in waves:
        for stall in wave.stalls:
            cycles = _overlap(stall.start, stall.cycles, window)
            if cycles:
                stalls[stall.reason] += cycles
    kinds = Counter(
        operation.kind
        for wave in waves
        for (operation, _), at in zip(wave.record, wave.issued, strict=True)
        if window.start <= at < window.end
    )
    issued = kinds.total()
    share = window.steps * len(waves) / groups
    per_step = {reason: cycles / share for reason, cycles in stalls.most_common()}
    mix = {kind: number / share for kind, number in kinds.most_common()}
    return RoleTime(role, len(waves) // groups, issued / share, issued * issue / share, per_step, mix)


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
