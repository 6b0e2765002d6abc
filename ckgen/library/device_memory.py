"""Memory of the device that a loaded library runs on, through the library's own runtime (HIP, CUDA; on the host: plain
memory).

It offers only what a check needs: allocate, copy in both directions, wait, free. Copies wait for all earlier work of
the device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from ckgen.library.c_api import expect


class DeviceMemory:
    """The memory calls of a library's C API. A failing call raises LibraryError with the runtime's own message."""

    def __init__(self, api: ctypes.CDLL) -> None:
        self._api = api

    @contextmanager
    def holding(
        self, buffers: Sequence[NDArray[Any]], *, written: Collection[int] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Hold device copies of gap-free host ``buffers`` for the block's duration and yield their addresses.

        When the block ends without an exception, wait for all work of the device and copy the buffers at the indices
        ``written`` (default: all) back.
        """
        addresses: list[int] = []
        try:
            for buffer in buffers:
                addresses.append(self._allocate(buffer.nbytes))
                self._call("copy_to", addresses[-1], buffer.ctypes.data, buffer.nbytes)
            yield tuple(addresses)
            if buffers:
                self.synchronize()
            for index, (buffer, device) in enumerate(zip(buffers, addresses, strict=True)):
                if written is None or index in written:
                    self._call("copy_from", buffer.ctypes.data, device, buffer.nbytes)
        finally:
            for device in addresses:
                self._api.ckgen_device_free(device)

    @contextmanager
    def allocated(self, size: int) -> Iterator[int]:
        """Yield the address of ``size`` bytes for the block's duration; 0 if ``size`` is 0."""
        address = self._allocate(size) if size else 0
        try:
            yield address
        finally:
            if size:
                self._api.ckgen_device_free(address)

    @contextmanager
    def using(self, device: int | None) -> Iterator[None]:
        """Make a GPU the current one of this thread for the block's duration; None keeps the current one."""
        previous = ctypes.c_int32()
        if device is not None:
            self._call("use", device, ctypes.byref(previous))
        try:
            yield
        finally:
            if device is not None and previous.value != device:
                self._api.ckgen_device_use(previous.value, ctypes.byref(ctypes.c_int32()))

    def synchronize(self, stream: int = 0) -> None:
        """Wait for the work of a stream, or of the whole device for stream 0. A fault of a kernel is raised here at the
        latest."""
        self._call("synchronize", stream)

    def _allocate(self, size: int) -> int:
        address = ctypes.c_void_p()
        self._call("malloc", size, ctypes.byref(address))
        return address.value or 0

    def _call(self, name: str, *arguments: Any) -> None:
        expect(self._api, f"device {name}", getattr(self._api, f"ckgen_device_{name}")(*arguments))
