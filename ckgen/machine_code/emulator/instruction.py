"""A decoded instruction, in the form that native/wave.hpp declares."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, field

SCALAR, CONSTANT, NONE = 1024, 2048, 4095
ACCUMULATORS = 256  # rows of AGPRs follow those of VGPRs
VCC, M0, EXEC, NULL, SCC, SCALARS = 106, 124, 126, 128, 129, 132
MAX_RANGES = 10

# Kinds, as in native/wave.hpp.
ALU, MEMORY, WAIT, BARRIER, SIGNAL, BARRIER_WAIT, END, BRANCH, NOTHING = range(9)


class NativeRange(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("count", ctypes.c_uint8), ("write", ctypes.c_uint8)]


class NativeInstruction(ctypes.Structure):
    _fields_ = [
        ("run", ctypes.c_void_p),
        ("imm", ctypes.c_uint64 * 4),
        ("offset", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("s", ctypes.c_uint16 * 4),
        ("d0", ctypes.c_uint16),
        ("d1", ctypes.c_uint16),
        ("kind", ctypes.c_uint16),
        ("ranges", ctypes.c_uint16),
        ("p", ctypes.c_uint32 * 10),
        ("range", NativeRange * MAX_RANGES),
    ]


@dataclass(frozen=True)
class Operand:
    """A source: `code` as in native/wave.hpp, `bits` wide, `value` of a constant, `type` such as "F32" or "B32"."""

    code: int
    bits: int = 32
    value: int = 0
    type: str = "B32"

    @property
    def registers(self) -> int:
        """The number of registers that it takes; none if it is a constant."""
        return 0 if self.code >= CONSTANT else -(-self.bits // 32)


@dataclass
class Decoded:
    """One instruction: what the native code needs, except the address of its handler.

    `handler` is the name of one of the fixed handlers, or empty: then `body` is the C++ function body.
    """

    name: str
    text: str
    offset: int
    size: int
    kind: int = ALU
    sources: list[Operand] = field(default_factory=list)
    d0: int = NONE
    d1: int = NONE
    parameters: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int, int]] = field(default_factory=list)  # code, count, write (1 only, 2 also read)
    handler: str = ""
    body: str = ""
    target: int | None = None  # of a branch, as an offset

    def touch(self, code: int, count: int, write: int) -> None:
        """Note registers that the instruction reads (0), writes (1) or both (2)."""
        if code < CONSTANT and code != SCALAR + NULL and count:
            self.ranges.append((code, count, write))

    def native(self, address: int, index_of: dict[int, int]) -> NativeInstruction:
        """The native form; `address` is that of the handler."""
        out = NativeInstruction(run=address or None, offset=self.offset, size=self.size, kind=self.kind)
        for at in range(4):
            given = self.sources[at] if at < len(self.sources) else Operand(NONE)
            out.s[at], out.imm[at] = given.code, given.value & (1 << 64) - 1
        out.d0, out.d1 = self.d0, self.d1
        parameters = list(self.parameters)
        if self.target is not None:
            parameters = [0, index_of[self.target]]
        for at, value in enumerate(parameters):
            out.p[at] = value & 0xFFFFFFFF
        assert len(self.ranges) <= MAX_RANGES, self.name
        out.ranges = len(self.ranges)
        for at, (code, count, write) in enumerate(self.ranges):
            out.range[at] = NativeRange(code, count, write)
        return out


def constants(values: Iterable[int]) -> list[Operand]:
    """Constant operands."""
    return [Operand(CONSTANT, value=value) for value in values]
