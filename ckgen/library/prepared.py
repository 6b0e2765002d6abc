"""Runs that are planned and checked once and started often."""

from __future__ import annotations

import ctypes
from typing import Any

from ckgen.library.c_api import expect


class Prepared:
    """A run that ``Library.prepare`` prepared: a call starts it and does nothing else. ``split_k`` is the factor used,
    ``workspace_bytes`` the size of the workspace that it needs."""

    __slots__ = ("_api", "_handle", "_name", "_start", "split_k", "workspace_bytes")

    def __init__(
        self, api: ctypes.CDLL, name: str, handle: ctypes.c_void_p, split_k: int, workspace_bytes: int
    ) -> None:
        self._api, self._name, self._handle, self._start = api, name, handle, api.ckgen_start
        self.split_k, self.workspace_bytes = split_k, workspace_bytes

    def __call__(self, in_: int, wei: int, out: int, workspace: int, stream: int) -> None:
        """Start the run on these addresses and this stream. Raise UnsupportedProblem for tensors that the instance does
        not support, LibraryError if the run fails otherwise."""
        status = self._start(self._handle, in_, wei, out, workspace, stream)
        if status:
            expect(self._api, self._name, status)

    def __del__(self) -> None:
        self._api.ckgen_release(self._handle)

    def entry(self) -> tuple[int, int, int, int, int]:
        """The addresses of ckgen_start, ckgen_transpose and ckgen_last_error, 0, and the address of the
        ckgen_prepared, for callers in C++. The last one is valid as long as this object exists."""
        api = self._api
        start, transpose, last_error = map(_address, (api.ckgen_start, api.ckgen_transpose, api.ckgen_last_error))
        return start, transpose, last_error, 0, self._handle.value or 0

    def give(self) -> tuple[int, int, int, int, int]:
        """The same with the address of ckgen_release in place of 0, which the caller has to call. This object can no
        longer be used."""
        start, transpose, last_error, _, prepared = self.entry()
        self._handle = ctypes.c_void_p()
        return start, transpose, last_error, _address(self._api.ckgen_release), prepared


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
