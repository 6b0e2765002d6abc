"""Arrays that detect out-of-bounds accesses: each lies in a larger buffer filled with NaN patterns.

A kernel that reads past an array gets NaN, which shows in its result; a kernel that writes past it changes the guard.
The fill patterns are 16 bits wide and, alone or doubled, NaN in f16, bf16 and f32 alike, so one rule serves all types.
Each purpose has its own pattern, so a pattern found in a result tells where it came from. Types of 8 bits have at most
two NaN patterns (f8 e4m3), and each purpose takes one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.conv.dtypes import Array

GUARD = 0xFFFB
OUTPUT_POISONS = (0xFFFD, 0xFFF9)  # one per run; the two runs are compared
WORKSPACE_POISONS = (0xFFF7, 0xFFF5)
GUARD_BYTES = 4096
ALIGNMENT = 256  # the minimum alignment of hipMalloc; kernels may rely on 16


@dataclass(frozen=True, slots=True)
class Guarded:
    """``array`` lies in ``buffer``, ``GUARD_BYTES`` from its start; both are aligned to 256 bytes."""

    array: Array
    buffer: NDArray[np.uint16] | NDArray[np.uint8]

    def damage(self) -> str | None:
        """The place where the guard was overwritten, in bytes from the array, or None if it is intact."""
        start, stop = self._span
        unit, guard = self.buffer.itemsize, fill_of(GUARD, self.array.itemsize)
        before = np.flatnonzero(self.buffer[:start] != guard)
        after = np.flatnonzero(self.buffer[stop:] != guard)
        if before.size:
            return f"{unit * before.size} bytes written before it, from byte -{unit * (start - int(before[0]))}"
        if after.size:
            return f"{unit * after.size} bytes written after it, up to byte +{unit * (int(after[-1]) + 1)}"
        return None

    def untouched(self, poison: int) -> int:
        """The number of elements that still hold the pattern ``poison`` in every unit."""
        size = self.array.itemsize
        units = self.buffer[slice(*self._span)].reshape(-1, size // self.buffer.itemsize)
        return int(np.count_nonzero((units == fill_of(poison, size)).all(axis=1)))

    @property
    def _span(self) -> tuple[int, int]:
        unit = self.buffer.itemsize
        return GUARD_BYTES // unit, (GUARD_BYTES + self.array.nbytes) // unit


def unit_of(itemsize: int) -> int:
    """Size in bytes of the units in which elements of this size are filled and compared: two, or one for types of 8
    bits."""
    return min(itemsize, 2)


def fill_of(pattern: int, itemsize: int) -> int:
    """The fill pattern per unit for elements of this size. In 8-bit types, the bit in which the patterns of two runs
    differ becomes the sign of a NaN."""
    return pattern if unit_of(itemsize) == 2 else 0x7F | (pattern & 4) << 5


def poisoned(shape: Sequence[int], storage: np.dtype[Any], poison: int) -> Guarded:
    """A guarded array of the given shape in which every unit is ``poison``."""
    unit, fills = unit_of(storage.itemsize), [fill_of(pattern, storage.itemsize) for pattern in (GUARD, poison)]
    size, guard = prod(shape) * storage.itemsize // unit, GUARD_BYTES // unit
    buffer = np.empty(2 * guard + size + ALIGNMENT // unit, dtype=f"u{unit}")
    buffer = buffer[(-buffer.ctypes.data % ALIGNMENT) // unit :][: 2 * guard + size]
    buffer[:guard], buffer[guard : guard + size], buffer[guard + size :] = fills[0], fills[1], fills[0]
    return Guarded(buffer[guard : guard + size].view(storage).reshape(shape), buffer)


def holding(values: Array) -> Guarded:
    """A guarded, gap-free copy of ``values``."""
    made = poisoned(values.shape, values.dtype, GUARD)
    made.array[...] = values
    return made
