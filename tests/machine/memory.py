"""The memory of a kernel: named arrays at their real addresses. Every access is checked to the byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.int64]


class Fault(Exception):
    """Machine code did something forbidden; the message gets the instruction when it passes through the wave."""


@dataclass(frozen=True)
class Region:
    """An array as bytes. `bytes` keeps it alive."""

    name: str
    start: int
    bytes: Bytes
    writable: bool


class Memory:
    """The regions of a launch."""

    def __init__(self) -> None:
        self._regions: list[Region] = []

    def add(self, name: str, array: NDArray[Any], *, writable: bool) -> int:
        """Make a contiguous array accessible and return its address."""
        assert array.flags.c_contiguous
        data = array.reshape(-1).view(np.uint8)
        self._regions.append(Region(name, data.ctypes.data, data, writable))
        return data.ctypes.data

    def load(self, addresses: Addresses, size: int) -> Bytes:
        """The `size` bytes at each address."""
        region, first = self._find(addresses, size, writes=False)
        return region.bytes[first[:, None] + np.arange(size)]

    def store(self, addresses: Addresses, values: Bytes) -> None:
        """Write a row of bytes to each address. If lanes collide, the last one wins; the hardware leaves the order
        open."""
        region, first = self._find(addresses, values.shape[1], writes=True)
        region.bytes[first[:, None] + np.arange(values.shape[1])] = values

    def _find(self, addresses: Addresses, size: int, *, writes: bool) -> tuple[Region, Addresses]:
        low, high = int(addresses.min()), int(addresses.max()) + size
        for region in self._regions:
            if region.start <= low and high <= region.start + region.bytes.size:
                if writes and not region.writable:
                    raise Fault(f"writes to {region.name}, which is input")
                return region, addresses - region.start
        raise Fault(f"{'writes' if writes else 'reads'} bytes {self._told(low, high)}")

    def _told(self, low: int, high: int) -> str:
        near = min(self._regions, key=lambda r: min(abs(low - r.start), abs(high - r.start - r.bytes.size)))
        return f"{low - near.start}..{high - near.start - 1} of {near.name}, which has {near.bytes.size}"


class Lds:
    """One workgroup's LDS, which initially holds junk."""

    def __init__(self, size: int, junk: np.random.Generator) -> None:
        self.bytes: Bytes = junk.integers(0, 256, max(size, 16), dtype=np.uint8)

    def load(self, addresses: Addresses, size: int) -> Bytes:
        """The `size` bytes at each address."""
        return self.bytes[self._checked(addresses, size)]

    def store(self, addresses: Addresses, values: Bytes) -> None:
        """Write a row of bytes to each address."""
        self.bytes[self._checked(addresses, values.shape[1])] = values

    def _checked(self, addresses: Addresses, size: int) -> Addresses:
        if addresses.size and (addresses.min() < 0 or addresses.max() + size > self.bytes.size):
            where = f"{int(addresses.min())}..{int(addresses.max()) + size - 1}"
            raise Fault(f"touches bytes {where} of {self.bytes.size} bytes of LDS")
        return np.asarray(addresses[:, None] + np.arange(size))
