"""Instructions as the model sees them: the unit they need, their cycles, and the registers and counters they touch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ckgen.hardware.timing import Timing, blocks_vector, matrix_cycles
from ckgen.machine_code.assembly import make_instruction
from ckgen.machine_code.emulator.instruction import (
    BARRIER,
    BARRIER_WAIT,
    BRANCH,
    END,
    MEMORY,
    NOTHING,
    SIGNAL,
    WAIT,
    Decoded,
)

# Units: at one turn of a SIMD, each takes at most one instruction. The last needs no unit.
VECTOR, SCALAR, MEMORY_UNIT, LDS, BRANCHES, NO_UNIT = range(6)
LOADS, STORES, LDS_QUEUE, SCALAR_LOADS = range(4)  # the queues of s_waitcnt, as in the emulator
_SCALAR_ROW = 1024  # registers from this code on are scalar
_LDS_SPACE, _SCRATCH_SPACE = 3, 2  # of the emulator's memory instructions
_STORE, _TWO, _PERMUTE = 1, 16, 128  # their flags
_NUMBER = re.compile(r"\((\d+)")


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction of the code. `busy` is how long it occupies a vector unit, `matrix` the matrix unit; `latency` is
    until another instruction may read the result, `chained` until a matrix instruction may accumulate on it. `wait`
    is the limit of each queue, None for no limit. `pause` is the time after it until the wave's next turn."""

    text: str
    kind: str  # for reports: matrix, vector, scalar, lds, load, store, scalar load, wait, barrier, branch, other
    unit: int
    control: int  # the emulator's kind
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    accumulates: frozenset[int] = frozenset()  # of `reads`: matrix operands that a previous result is forwarded to
    busy: int = 0
    matrix: int = 0
    blocks_vector: bool = False
    latency: int = 0
    wait: tuple[int | None, ...] = ()
    pause: int = 0
    priority: int | None = None
    lane_bytes: int = 0
    parts: int = 1
    is_store: bool = False
    to_lds: bool = False
    queue: int = LOADS
    is_permute: bool = False
    place: int = -1  # in the code, counted in instructions


def make_operation(item: Decoded, timing: Timing, own_stores: bool) -> Operation:
    """The operation of a decoded instruction. `own_stores`: stores have a counter of their own."""
    text = item.text
    if item.kind == MEMORY:
        return _memory(item, own_stores)
    if item.kind == WAIT:
        return Operation(text, "wait", NO_UNIT, WAIT, wait=tuple(n - 1 if n else None for n in item.parameters[:4]))
    if item.kind in (BARRIER, SIGNAL, BARRIER_WAIT, END):
        return Operation(text, "other" if item.kind == END else "barrier", NO_UNIT, item.kind)
    if item.kind == NOTHING:
        return _nothing(item, timing)
    reads, writes = _registers(item)
    if item.kind == BRANCH:
        return Operation(text, "branch", BRANCHES, BRANCH, reads, writes, pause=timing.branch)
    if item.handler == "matrix":
        return _matrix(item, timing, reads, writes)
    if item.name.startswith("S_"):
        return Operation(text, "scalar", SCALAR, item.kind, reads, writes, latency=timing.salu_latency)
    slow = make_instruction(item.name.lower()).slow
    busy, latency = (timing.slow, timing.slow_latency) if slow else (timing.valu, timing.valu_latency)
    return Operation(text, "vector", VECTOR, item.kind, reads, writes, busy=busy, latency=latency)


def _registers(item: Decoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Register codes that are read and written; both, if an instruction changes a part."""
    reads: dict[int, None] = {}
    writes: dict[int, None] = {}
    for code, count, write in item.ranges:
        for register in range(code, code + count):
            if write != 1:
                reads[register] = None
            if write:
                writes[register] = None
    return tuple(reads), tuple(writes)


def _matrix(item: Decoded, timing: Timing, reads: tuple[int, ...], writes: tuple[int, ...]) -> Operation:
    cycles = matrix_cycles(timing.arch, item.name)
    blocks = blocks_vector(timing.arch, item.name)
    factors = {item.sources[at].code + k for at in (0, 1) for k in range(item.sources[at].registers)}
    return Operation(
        text=item.text,
        kind="matrix",
        unit=VECTOR,
        control=item.kind,
        reads=reads,
        writes=writes,
        accumulates=frozenset(reads) & frozenset(writes) - factors,
        busy=cycles if blocks else timing.valu,
        matrix=cycles,
        blocks_vector=blocks,
        latency=cycles + timing.matrix_latency,
    )


def _nothing(item: Decoded, timing: Timing) -> Operation:
    found = _NUMBER.search(item.text)
    number = int(found[1]) if found else 0
    pause = number * timing.issue if item.name == "S_NOP" else 64 * number if item.name == "S_SLEEP" else 0
    priority = number if item.name == "S_SETPRIO" else None
    return Operation(item.text, "other", NO_UNIT, NOTHING, pause=pause, priority=priority)


def _memory(item: Decoded, own_stores: bool) -> Operation:
    reads, writes = _registers(item)
    if item.handler == "scalar_load":
        return Operation(item.text, "scalar load", SCALAR, MEMORY, reads, (), queue=SCALAR_LOADS)
    space, size, flags = item.parameters[:3]
    is_store, to_lds = bool(flags & _STORE), bool(item.parameters[5])
    in_lds = space == _LDS_SPACE
    queue = LDS_QUEUE if in_lds else STORES if is_store and own_stores else LOADS
    return Operation(
        text=item.text,
        kind="lds" if in_lds else "store" if is_store else "load",
        unit=LDS if in_lds else MEMORY_UNIT,
        control=MEMORY,
        reads=reads,
        writes=(),  # s_waitcnt says when the data is there
        lane_bytes=size,
        parts=2 if flags & _TWO else 1,
        is_store=is_store,
        to_lds=to_lds,
        queue=queue,
        is_permute=bool(flags & _PERMUTE),
    )


def is_vector(register: int) -> bool:
    """True for VGPRs and AGPRs."""
    return register < _SCALAR_ROW
