"""State of one wave: its registers, in the form that tinygrad's compiled instructions take, and its pending
operations.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.machine.memory import Lds, Memory

EXEC, M0 = 126, 124
FILE = 256  # vector registers per file


class Wave:
    """State of a wave. Vector registers are initially junk, scalar ones zero. `lanes` threads from number `first` on
    are active."""

    def __init__(
        self, emulator: Any, size: int, first: int, lanes: int, memory: Memory, lds: Lds, junk: np.random.Generator
    ):
        state = emulator.WaveState(lanes, size)
        self._keep = state
        self.size, self.first, self.memory, self.lds = size, first, memory, lds
        self.scalar: NDArray[np.uint32] = np.frombuffer(state._sgpr_mv, np.uint32)
        self.vector: NDArray[np.uint32] = np.frombuffer(state._vgpr_mv, np.uint32).reshape(FILE, size)
        self.vector[:] = junk.integers(0, 1 << 32, self.vector.shape, dtype=np.uint32)
        files = [self.scalar, self.vector]
        self.accumulators = self.vector
        if size == 64:
            view = state.accvgpr_buf.as_memoryview(force_zero_copy=True).cast("I")
            self.accumulators = np.frombuffer(view, np.uint32).reshape(FILE, size)
            self.accumulators[:] = junk.integers(0, 1 << 32, self.accumulators.shape, dtype=np.uint32)
            files.append(self.accumulators)
        self.vector[0] = first + np.arange(size)
        self._pc = self.scalar.view(np.uint64)[128:129]
        self._exec = self.scalar[EXEC : EXEC + size // 32].view(np.uint8)
        zero = ctypes.c_uint64(0)
        pointers = [ctypes.c_uint64(file.ctypes.data) for file in files]
        # The arguments of a compiled instruction, by position: scalar, vector, memory (from 0), LDS, scratch,
        # accumulators.
        self.buffers = [pointers[0], pointers[1], zero, zero, zero, pointers[-1]]
        self.loads: deque[Callable[[], None]] = deque()  # pending loads from memory, oldest first
        self.lds_loads: deque[Callable[[], None]] = deque()

    @property
    def pc(self) -> int:
        """The address of the next instruction."""
        return int(self._pc[0])

    @pc.setter
    def pc(self, address: int) -> None:
        self._pc[0] = address

    def active(self) -> NDArray[np.intp]:
        """The numbers of the active lanes."""
        return np.flatnonzero(np.unpackbits(self._exec, bitorder="little"))

    def pair(self, register: int) -> int:
        """A 64-bit number in two scalar registers."""
        return int(self.scalar[register]) | int(self.scalar[register + 1]) << 32

    def file(self, accumulators: int) -> NDArray[np.uint32]:
        """The register file that an instruction's bit selects."""
        return self.accumulators if accumulators else self.vector
