"""The record of a launch, in order: one event per wave instruction, and the addresses of its lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_ADDRESS = (1 << 64) - 1  # an inactive lane, or one past the end of a buffer
_EVENT = np.dtype(
    [("ins", "<u4"), ("block", "<u2"), ("wave", "<u2"), ("first", "<u8"), ("count", "<u4"), ("reserved", "<u4")]
)

Addresses = NDArray[np.uint64]


@dataclass(frozen=True)
class Trace:
    """The events of a launch, as native/trace.hpp declares them."""

    events: NDArray[Any]
    addresses: Addresses

    def waves(self) -> dict[tuple[int, int], NDArray[Any]]:
        """The events of each wave in order, by workgroup and number."""
        keys = self.events["block"].astype(np.uint32) << 16 | self.events["wave"]
        return {(int(key) >> 16, int(key) & 0xFFFF): self.events[keys == key] for key in np.unique(keys)}

    def lanes(self, event: Any) -> Addresses:
        """The addresses of an event's lanes."""
        return self.addresses[int(event["first"]) : int(event["first"]) + int(event["count"])]


class Recorder:
    """A trace that the native code fills."""

    def __init__(self, core: ctypes.CDLL, handle: int) -> None:
        self.handle = handle
        self._core = core

    def read(self) -> Trace:
        """A copy of the record."""
        events, addresses = (self._bytes(at, kind) for at, kind in ((0, _EVENT), (1, np.dtype("<u8"))))
        return Trace(events, addresses)

    def _bytes(self, which: int, kind: np.dtype[Any]) -> NDArray[Any]:
        size = self._core.trace_size(ctypes.c_void_p(self.handle), which)
        found = np.empty(size, kind)
        if size:
            ctypes.memmove(found.ctypes.data, self._core.trace_data(ctypes.c_void_p(self.handle), which), found.nbytes)
        return found


@contextmanager
def recorder(core: ctypes.CDLL) -> Iterator[Recorder]:
    """A recorder, whose memory is freed at the end."""
    core.trace_new.restype = core.trace_data.restype = ctypes.c_void_p
    core.trace_size.restype = ctypes.c_uint64
    made = Recorder(core, core.trace_new())
    try:
        yield made
    finally:
        core.trace_free(ctypes.c_void_p(made.handle))
