"""Memory on a GPU, through the runtime library that the loaded kernel library itself uses (HIP, or CUDA on
nvidia).

Only what a check needs: allocate, copy both ways, free. Copies wait for all earlier work of the device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from ckgen.c_api import LibraryError

RUNTIMES = {"amd": ("libamdhip64.so", "hip"), "nvidia": ("libcudart.so", "cuda")}
_TO_DEVICE, _TO_HOST = 1, 2


class DeviceMemory:
    """The memory calls of one GPU runtime. Raises LibraryError when the runtime cannot be loaded."""

    def __init__(self, platform: str, path: str | None = None) -> None:
        library, self._prefix = RUNTIMES[platform]
        try:
            self._runtime = ctypes.CDLL(path or library)
        except OSError as error:
            raise LibraryError(f"cannot load the {platform} runtime: {error}") from error
        self._function("GetErrorString").restype = ctypes.c_char_p

    @contextmanager
    def holding(self, buffers: Sequence[NDArray[Any]]) -> Iterator[tuple[int, ...]]:
        """Device copies of gap-free host ``buffers``: their addresses for the block's duration; when the
        block ends without an exception the contents are copied back. Raises LibraryError with the runtime's
        own message."""
        addresses: list[int] = []
        try:
            for buffer in buffers:
                address = ctypes.c_void_p()
                self._call("Malloc", ctypes.byref(address), ctypes.c_size_t(buffer.nbytes))
                addresses.append(address.value or 0)
                self._copy(addresses[-1], buffer.ctypes.data, buffer.nbytes, _TO_DEVICE)
            yield tuple(addresses)
            for buffer, device in zip(buffers, addresses, strict=True):
                self._copy(buffer.ctypes.data, device, buffer.nbytes, _TO_HOST)
        finally:
            for device in addresses:
                self._function("Free")(ctypes.c_void_p(device))

    def _copy(self, to: int, source: int, size: int, kind: int) -> None:
        self._call("Memcpy", ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), kind)

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._function(name)(*arguments)
        if status:
            text = self._function("GetErrorString")(status).decode()
            raise LibraryError(f"{self._prefix}{name}: {text}", exit_code=1)

    def _function(self, name: str) -> Any:
        return getattr(self._runtime, self._prefix + name)
