"""The compute unit: SIMDs that take turns, one instruction per kind of unit and turn, each wave at most one.

A SIMD considers its waves in order of priority, then age. The simulation goes from turn to turn in order of time, so
that the waves of all SIMDs claim LDS and the way to memory in the order in which the hardware would see them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.timing import TIMINGS
from ckgen.machine_code.cycles.access import LdsAccess, MemoryAccess
from ckgen.machine_code.cycles.memory import LdsUnit, MemoryPath, Source
from ckgen.machine_code.cycles.operation import LDS, MEMORY_UNIT, NO_UNIT, VECTOR, Operation
from ckgen.machine_code.cycles.wave import (
    ISSUE,
    LDS_BUSY,
    MATRIX_BUSY,
    MEMORY_BUSY,
    NEVER,
    VECTOR_BUSY,
    Group,
    Wave,
)
from ckgen.machine_code.emulator.instruction import BARRIER, BARRIER_WAIT, END, SIGNAL


@dataclass(slots=True)
class _Simd:
    number: int
    waves: list[Wave]
    vector_free: int = 0
    matrix_free: int = 0
    matrix_busy: int = 0
    next_turn: int = NEVER


Record = Sequence[tuple[Operation, LdsAccess | MemoryAccess | None]]


class ComputeUnit:
    """A compute unit with the workgroups that are resident, each a list of its waves' records."""

    def __init__(
        self, arch: str, groups: Sequence[Sequence[Record]], source: Source = Source.L2, turned: int = 0
    ) -> None:
        """`turned`: by how many SIMDs each workgroup's first wave lies further than waves in turn would lie."""
        self.arch, self.timing, unit = arch, TIMINGS[arch], UNITS[arch]
        self.lds = LdsUnit(self.timing, unit.simds, unit.wave)
        self.memory = MemoryPath(self.timing, source, unit.wave)
        self.groups: list[Group] = []
        self._simds = [_Simd(number, []) for number in range(unit.simds)]
        self._turns: list[tuple[int, int]] = []
        self.end = placed = 0
        for index, records in enumerate(groups):
            group = Group()
            for number, record in enumerate(records):
                wave = Wave(number, (placed + index * turned) % unit.simds, group, record, self.timing)
                group.waves.append(wave)
                self._simds[wave.simd].waves.append(wave)
                placed += 1
            self.groups.append(group)

    @property
    def matrix_busy(self) -> list[int]:
        """Cycles in which each SIMD's matrix unit was busy."""
        return [simd.matrix_busy for simd in self._simds]

    def run(self) -> None:
        """Simulate until all waves have ended."""
        for simd in self._simds:
            self._plan(simd, simd.number % self.timing.issue)
        while self._turns:
            now, number = heapq.heappop(self._turns)
            simd = self._simds[number]
            if simd.next_turn == now:
                self._turn(simd, now)
        stuck = [wave for group in self.groups for wave in group.waves if not wave.done]
        assert not stuck, f"{len(stuck)} waves wait at a barrier for ever"

    def _plan(self, simd: _Simd, earliest: int) -> None:
        """Set a SIMD's next turn: the first at which one of its waves could issue."""
        wanted = min((self._possible(simd, wave) for wave in simd.waves), default=NEVER)
        simd.next_turn = NEVER
        if wanted < NEVER:
            period, phase = self.timing.issue, simd.number % self.timing.issue
            at = max(wanted, earliest)
            simd.next_turn = at + (phase - at) % period
            heapq.heappush(self._turns, (simd.next_turn, simd.number))

    def _possible(self, simd: _Simd, wave: Wave) -> int:
        """The first time at which a wave can issue, if no other takes its unit."""
        at = wave.ready()[0]
        return at if at == NEVER else max(at, self._unit_free(simd, wave.operation())[0])

    def _turn(self, simd: _Simd, now: int) -> None:
        taken: set[int] = set()
        opened: set[int] = set()
        for wave in sorted(simd.waves, key=lambda wave: -wave.priority):
            at, _ = wave.ready()
            if at > now:
                continue
            operation = wave.operation()
            if operation.unit != NO_UNIT and operation.unit in taken:
                continue
            free, reason = self._unit_free(simd, operation)
            if free > now:
                continue
            if operation.unit != NO_UNIT:
                taken.add(operation.unit)
            self._issue(simd, wave, operation, now, reason if free > at else ISSUE)
            if operation.control in (BARRIER, SIGNAL, BARRIER_WAIT, END) or wave.done:
                opened |= self._open(wave.group, now)
        simd.waves = [wave for wave in simd.waves if not wave.done]
        self.end = max(self.end, now)
        self._plan(simd, now + self.timing.issue)
        for number in opened - {simd.number}:
            self._plan(self._simds[number], now + 1)

    def _unit_free(self, simd: _Simd, operation: Operation) -> tuple[int, str]:
        """When the unit of an operation takes it, and what a wave waits for until then."""
        if operation.unit == VECTOR:
            if operation.matrix and simd.matrix_free >= simd.vector_free:
                return simd.matrix_free, MATRIX_BUSY
            return simd.vector_free, VECTOR_BUSY
        if operation.unit == LDS:
            return self.lds.free(simd.number), LDS_BUSY
        if operation.unit == MEMORY_UNIT:
            return self.memory.free, MEMORY_BUSY
        return 0, ""

    def _issue(self, simd: _Simd, wave: Wave, operation: Operation, now: int, reason: str) -> None:
        access = wave.access()
        wave.issue(now, reason)
        if operation.unit == VECTOR:
            simd.vector_free = now + operation.busy
            if operation.matrix:
                simd.matrix_free = now + operation.matrix
                simd.matrix_busy += operation.matrix
        elif isinstance(access, LdsAccess):
            wave.pending(operation.queue, self.lds.start(access, simd.number, now))
        elif isinstance(access, MemoryAccess):
            start = self.memory.store if operation.is_store else self.memory.load
            arrives = start(access, now)
            if operation.to_lds:
                arrives = max(
                    arrives, self.lds.take(-(-len(access.lines) * self.timing.l1_line // 128), simd.number, now)
                )
            wave.pending(operation.queue, arrives)
        elif operation.kind == "scalar load":
            wave.pending(operation.queue, now + self.timing.scalar_latency)

    def _open(self, group: Group, now: int) -> set[int]:
        """Let the waves continue whose barrier all others have reached; return their SIMDs."""
        released = [wave for wave in group.waves if wave.blocked and group.opens(wave)]
        for wave in released:
            wave.release(now + self.timing.barrier)
        return {wave.simd for wave in released}
