"""The cost of an executed memory access, from the addresses of its lanes: cycles of LDS, or lines of the cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckgen.hardware.lds_banks import bank_cycles
from ckgen.hardware.timing import Timing
from ckgen.machine_code.cycles.operation import LDS_QUEUE, SCALAR_LOADS, Operation
from ckgen.machine_code.emulator.trace import NO_ADDRESS, Addresses

_ADDRESS_BYTES = 4


@dataclass(frozen=True, slots=True)
class LdsAccess:
    """Cycles of the way into LDS, of the banks (and how many of these are conflicts), and of the way out."""

    into: int
    banks: int
    conflicts: int
    out: int


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """Cycles of the address unit, and the lines of the first cache that it touches."""

    cycles: int
    lines: tuple[int, ...]


Access = LdsAccess | MemoryAccess


class Costs:
    """The costs of accesses on one architecture. Equal patterns of addresses are computed once."""

    def __init__(self, timing: Timing, wave: int) -> None:
        self._timing, self._wave = timing, wave
        self._known: dict[tuple[int, int, bool, bytes], tuple[int, int]] = {}

    def of(self, operation: Operation, lanes: Addresses) -> Access | None:
        """The cost of an executed operation; None for a scalar load."""
        if operation.queue == SCALAR_LOADS:
            return None
        if operation.queue == LDS_QUEUE:
            return self._lds(operation, lanes)
        return self._memory(operation, lanes)

    def _lds(self, operation: Operation, lanes: Addresses) -> LdsAccess:
        timing, parts = self._timing, lanes.reshape(operation.parts, -1) if lanes.size else lanes.reshape(0, 1)
        cycles = [self._banks(operation, part) for part in parts]
        banks, least = sum(used for used, _ in cycles), sum(fewest for _, fewest in cycles)
        data = int(np.count_nonzero(lanes != NO_ADDRESS)) * max(operation.lane_bytes, 4)
        if operation.is_permute:  # through the ways of LDS, not its banks
            data = banks = least = self._wave * 4
            banks = least = 0
        into = self._wave * _ADDRESS_BYTES + (data if operation.is_store or operation.is_permute else 0)
        out = 0 if operation.is_store else data
        return LdsAccess(-(-into // timing.lds_port_in), banks, banks - least, -(-out // timing.lds_port_out))

    def _banks(self, operation: Operation, part: Addresses) -> tuple[int, int]:
        active = part != NO_ADDRESS
        if not active.any():
            return 0, 0
        # Moving all lanes by 256 bytes, once around 64 banks, changes nothing.
        low = int(part[active].min()) & ~255
        offsets: NDArray[np.int64] = np.where(active, part.astype(np.int64) - low, -1)
        key = (operation.lane_bytes, len(part), operation.is_store, offsets.tobytes())
        if key not in self._known:
            self._known[key] = bank_cycles(
                self._timing.arch, offsets.tolist(), operation.lane_bytes, write=operation.is_store
            )
        return self._known[key]

    def _memory(self, operation: Operation, lanes: Addresses) -> MemoryAccess:
        timing = self._timing
        active = lanes[lanes != NO_ADDRESS]
        first, last = active // timing.l1_line, (active + np.uint64(operation.lane_bytes - 1)) // timing.l1_line
        lines = np.unique(np.concatenate((first, last)))
        pieces = np.unique(np.concatenate((active // 64, (active + np.uint64(operation.lane_bytes - 1)) // 64)))
        data = -(-int(active.size) * operation.lane_bytes // timing.l1_rate)
        cycles = max(self._wave // timing.addresses, len(pieces) * 64 // timing.l1_rate, data, 1)
        return MemoryAccess(cycles, tuple(int(line) for line in lines))
