"""Arrays that notice being overrun: each lies in a larger buffer filled with NaN patterns.

A kernel that reads past an array picks up NaN, which shows in its result; one that writes past it changes the
guard. The fill patterns are 16 bits wide and, alone or doubled, NaN in f16, bf16 and f32 alike, so one rule
serves all types. They differ by purpose: whoever finds one in a result can tell where it came from.
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
OUTPUT_POISONS = (0xFFFD, 0xFFF9)  # one for each of two runs that are compared
WORKSPACE_POISONS = (0xFFF7, 0xFFF5)
GUARD_BYTES = 4096
ALIGNMENT = 256  # what hipMalloc gives at least; kernels may rely on 16


@dataclass(frozen=True, slots=True)
class Guarded:
    """``array`` lies in ``buffer``, ``GUARD_BYTES`` from its start; both are aligned to 256 bytes."""

    array: Array
    buffer: NDArray[np.uint16]

    def damage(self) -> str | None:
        """Where the guard was written to, in bytes from the array, or None when it is whole."""
        start, stop = self._span
        before = np.flatnonzero(self.buffer[:start] != GUARD)
        after = np.flatnonzero(self.buffer[stop:] != GUARD)
        if before.size:
            return f"{2 * before.size} bytes written in front of it, from byte -{2 * (start - int(before[0]))}"
        if after.size:
            return f"{2 * after.size} bytes written behind it, up to byte +{2 * (int(after[-1]) + 1)}"
        return None

    def untouched(self, poison: int) -> int:
        """How many elements still hold the pattern ``poison`` in every 16-bit unit."""
        units = self.buffer[slice(*self._span)].reshape(-1, self.array.itemsize // 2)
        return int(np.count_nonzero((units == poison).all(axis=1)))

    @property
    def _span(self) -> tuple[int, int]:
        return GUARD_BYTES // 2, GUARD_BYTES // 2 + self.array.nbytes // 2


def blank(shape: Sequence[int], storage: np.dtype[Any], poison: int) -> Guarded:
    """A guarded array of the given shape in which every 16-bit unit is ``poison``. Elements have 2 or 4
    bytes."""
    size = prod(shape) * storage.itemsize // 2
    guard = GUARD_BYTES // 2
    buffer = np.empty(2 * guard + size + ALIGNMENT // 2, dtype=np.uint16)
    buffer = buffer[(-buffer.ctypes.data % ALIGNMENT) // 2 :][: 2 * guard + size]
    buffer[:guard], buffer[guard : guard + size], buffer[guard + size :] = GUARD, poison, GUARD
    return Guarded(buffer[guard : guard + size].view(storage).reshape(shape), buffer)


def holding(values: Array) -> Guarded:
    """A guarded, gap-free copy of ``values``."""
    made = blank(values.shape, values.dtype, GUARD)
    made.array[...] = values
    return made
