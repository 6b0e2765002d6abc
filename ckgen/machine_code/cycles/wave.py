"""The state of one wave: where it is in its record, when its registers have their values, and what it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from ckgen.hardware.timing import MAX_LOADS, Timing
from ckgen.machine_code.cycles.access import Access
from ckgen.machine_code.cycles.operation import LDS_QUEUE, LOADS, SCALAR_LOADS, STORES, Operation
from ckgen.machine_code.emulator.instruction import BARRIER, BARRIER_WAIT, MEMORY, SIGNAL, WAIT

# Why a wave does not issue.
ISSUE, VECTOR_BUSY, MATRIX_BUSY, LDS_BUSY, MEMORY_BUSY = (
    "another wave's turn",
    "vector unit busy",
    "matrix unit busy",
    "LDS busy",
    "address unit busy",
)
BARRIER_OPEN, RESULT, MATRIX_RESULT = "barrier", "result of an instruction", "result of a matrix instruction"
WAITS = {LOADS: "loads", STORES: "stores", LDS_QUEUE: "LDS", SCALAR_LOADS: "scalar loads"}
BRANCHING, PAUSING, COUNTER_FULL = "branch", "s_nop", "counter of loads full"
NEVER = 1 << 62


@dataclass(slots=True)
class Group:
    """A workgroup: the barriers that its waves have signalled."""

    waves: list[Wave] = field(default_factory=list)

    def opens(self, wave: Wave) -> bool:
        """True if all waves that run have signalled as often as this one waits for."""
        return all(other.done or other.signals > wave.passed for other in self.waves)


@dataclass(frozen=True, slots=True)
class Stall:
    """A wave did not issue operation number `index` of its record from `start` on for `cycles`."""

    start: int
    cycles: int
    reason: str
    index: int


class Wave:
    """A wave that replays its record: operations, and what each memory access costs."""

    def __init__(
        self, number: int, simd: int, group: Group, record: Sequence[tuple[Operation, Access | None]], timing: Timing
    ) -> None:
        self.number, self.simd, self.group, self.record = number, simd, group, record
        self._timing = timing
        self.at = self.priority = 0
        self.free = 0  # when its SIMD considers it next
        self.signals = self.passed = 0
        self.blocked, self.done = False, not record
        self.issued: list[int] = []  # when each operation was issued
        self.stalls: list[Stall] = []
        self._ready: dict[int, tuple[int, int, str]] = {}  # register: for any reader, for accumulation, why
        self._queues: dict[int, deque[int]] = {queue: deque() for queue in WAITS}
        self._known: tuple[int, str] | None = None

    def operation(self) -> Operation:
        """The next operation."""
        return self.record[self.at][0]

    def access(self) -> Access | None:
        """The cost of the next operation if it accesses memory."""
        return self.record[self.at][1]

    def ready(self) -> tuple[int, str]:
        """When the wave itself can issue its next operation, and what it waits for until then."""
        if self.done or self.blocked:
            return NEVER, ""
        if self._known is None:
            self._known = self._find()
        return self._known

    def _find(self) -> tuple[int, str]:
        operation, best, reason = self.operation(), self.free, ""
        if operation.control == WAIT:
            return self._wait(operation)
        for register in operation.reads:
            known = self._ready.get(register)
            if known is not None:
                at = known[1] if register in operation.accumulates else known[0]
                if at > best:
                    best, reason = at, known[2]
        for register in () if operation.matrix else operation.writes:  # matrix results are written in order
            known = self._ready.get(register)
            if known is not None and known[2] is MATRIX_RESULT:
                best, reason = max((best, reason), (known[0], MATRIX_RESULT))
        queue = self._queues[operation.queue]
        if operation.control == MEMORY and len(queue) >= MAX_LOADS and queue[-MAX_LOADS] > best:
            best, reason = queue[-MAX_LOADS], COUNTER_FULL
        return best, reason

    def _wait(self, operation: Operation) -> tuple[int, str]:
        best, reason = self.free, ""
        for number, limit in enumerate(operation.wait):
            queue = self._queues[number]
            if limit is None or len(queue) <= limit:
                continue
            at = max(queue) if number == SCALAR_LOADS else queue[len(queue) - limit - 1]
            if at > best:
                best, reason = at, WAITS[number]
        return best, reason

    def pending(self, queue: int, arrives: int) -> None:
        """An access of a queue was issued. Those of one queue arrive in order, except scalar loads."""
        known = self._queues[queue]
        known.append(max(arrives, known[-1]) if known and queue != SCALAR_LOADS else arrives)

    def issue(self, now: int, unit_reason: str) -> None:
        """Issue the next operation: note why it was late, and set what depends on it."""
        operation = self.operation()
        own, reason = self.ready()
        if reason and now - own < self._timing.issue:  # the SIMD's next turn after what it waited for
            own = now
        self._note(self.free, own, reason)
        self._note(own, now, unit_reason)
        self.issued.append(now)
        for register in operation.writes:
            why = MATRIX_RESULT if operation.matrix else RESULT
            chained = now + (operation.matrix or operation.latency)
            self._ready[register] = now + operation.latency, chained, why
        for queue in self._queues.values():
            while queue and queue[0] <= now:
                queue.popleft()
        self._after(operation, now)

    def _after(self, operation: Operation, now: int) -> None:
        if operation.control in (BARRIER, SIGNAL):
            self.signals += 1
        if operation.control in (BARRIER, BARRIER_WAIT):
            self.blocked = True
        if operation.priority is not None:
            self.priority = operation.priority
        following = now + self._timing.issue
        self.at += 1
        self.done = self.at == len(self.record)
        self.free = following + self._extra(operation)
        if self.free > following:
            reason = BRANCHING if operation.kind == "branch" else PAUSING
            self.stalls.append(Stall(following, self.free - following, reason, self.at - 1))
        self._known = None

    def _extra(self, operation: Operation) -> int:
        """The time until the wave's next turn beyond the usual: a pause, or a branch that was taken."""
        if operation.kind != "branch":
            return operation.pause
        return max(0, operation.pause - self._timing.issue) if self.jumped(self.at - 1) else 0

    def jumped(self, index: int) -> bool:
        """True if the operation at `index` of the record was followed by another than the next one of the code."""
        return index + 1 < len(self.record) and self.record[index + 1][0].place != self.record[index][0].place + 1

    def release(self, now: int) -> None:
        """The barrier that it waits for is open."""
        self.passed += 1
        self.blocked = False
        if now > self.free:
            self.stalls.append(Stall(self.free, now - self.free, BARRIER_OPEN, self.at - 1))
            self.free = now
        self._known = None

    def _note(self, start: int, end: int, reason: str) -> None:
        if end > start:
            self.stalls.append(Stall(start, end - start, reason, self.at))
