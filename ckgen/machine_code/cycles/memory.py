"""The units for memory that the waves of a compute unit share: LDS, and the way to the caches and to memory."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum

from ckgen.hardware.timing import Timing
from ckgen.machine_code.cycles.access import LdsAccess, MemoryAccess


class Source(Enum):
    """The source of a line that this compute unit has not touched before."""

    L2 = "L2"  # other compute units have loaded it
    MEMORY = "memory"  # it is the first


class LdsUnit:
    """LDS: one way in and out per pair of SIMDs, and banks that both ways share (RDNA: banks of their own)."""

    def __init__(self, timing: Timing, simds: int, wave: int) -> None:
        self._timing = timing
        self._per_port = simds // timing.lds_ports
        self._into, self._out = [0] * timing.lds_ports, [0] * timing.lds_ports
        self._banks = [0] * (1 if wave == 64 else timing.lds_ports)
        # The measured latency is that of a load of 4 bytes per lane, alone.
        self._fixed = timing.lds_latency - wave * 4 // timing.lds_port_out
        self.conflicts = self.busy = 0

    def free(self, simd: int) -> int:
        """When the way in of a SIMD takes the next access."""
        return self._into[simd // self._per_port]

    def start(self, access: LdsAccess, simd: int, now: int) -> int:
        """Begin an access and return when its data is there."""
        port = simd // self._per_port
        bank = port % len(self._banks)
        self._into[port] = now + access.into
        begin = max(now, self._banks[bank])
        self._banks[bank] = begin + access.banks
        leave = max(begin, self._out[port])
        self._out[port] = leave + access.out
        self.conflicts += access.conflicts
        self.busy += access.banks
        return max(now + access.into, begin + access.banks, leave + access.out) + self._fixed

    def take(self, cycles: int, simd: int, now: int) -> int:
        """Loads that go to LDS occupy its banks; return when they are stored."""
        bank = simd // self._per_port % len(self._banks)
        self._banks[bank] = max(now, self._banks[bank]) + cycles
        return self._banks[bank]


class MemoryPath:
    """The address unit, the first cache, and this unit's share of the bandwidth of L2 and memory."""

    def __init__(self, timing: Timing, source: Source, wave: int) -> None:
        self._timing, self._source = timing, source
        self._fixed = timing.l1_latency - wave // timing.addresses  # measured with 4 bytes per lane
        self.free = 0
        self._l2 = self._memory = 0.0
        self._cache: OrderedDict[int, int] = OrderedDict()  # line: when it arrives
        self._seen: set[int] = set()
        self.lines = self.misses = self.cold = 0

    def load(self, access: MemoryAccess, now: int) -> int:
        """Begin a load and return when its data is there."""
        self.free = now + access.cycles
        arrived = max((self._line(line, now) for line in access.lines), default=now)
        return max(self.free, arrived) + self._fixed

    def _line(self, line: int, now: int) -> int:
        """When a line is in the first cache."""
        self.lines += 1
        if line in self._cache:
            self._cache.move_to_end(line)
            return max(now, self._cache[line])
        timing, cold = self._timing, line not in self._seen and self._source is Source.MEMORY
        self.misses, self.cold = self.misses + 1, self.cold + cold
        self._l2 = max(self._l2, now) + timing.l1_line / timing.l2_rate
        beyond = timing.l2_latency - timing.l1_latency
        arrives = self._l2 + beyond
        if cold:
            self._memory = max(self._memory, now) + timing.l1_line / timing.memory_rate
            arrives = max(self._l2, self._memory) + timing.memory_latency - timing.l1_latency
        self._seen.add(line)
        self._cache[line] = int(arrives)
        if len(self._cache) > timing.l1_bytes // timing.l1_line:
            self._cache.popitem(last=False)
        return int(arrives)

    def store(self, access: MemoryAccess, now: int) -> int:
        """Begin a store and return when it is counted as done: it goes through to L2."""
        self.free = now + access.cycles
        self._l2 = max(self._l2, now) + len(access.lines) * self._timing.l1_line / self._timing.l2_rate
        return max(self.free, int(self._l2)) + self._timing.l2_latency
