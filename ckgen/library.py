"""A generated library, loaded through its C API.

    library = Library("build/libckgen_conv.so")
    wei = np.empty(problem.shape("wei", layout), np.float16)
    library.run(name, problem, in_, wei, out, split_k=-1)

On the host platform tensors are numpy arrays; on amd and nvidia they are device addresses (int). bf16 arrays
hold uint16, see ``ckgen.element``.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ckgen.c_api import (
    FAILED,
    UNSUPPORTED,
    CProblem,
    LibraryError,
    UnsupportedProblem,
    load,
    logical_strides,
    require_array,
)
from ckgen.element import Array
from ckgen.errors import did_you_mean
from ckgen.instance import Instance, parse
from ckgen.layout import TensorName
from ckgen.problem import INT32_MAX, ConvProblem

Tensor = Array | int


@dataclass(frozen=True, slots=True)
class Run:
    """What one run did: the split-K factor used, the bytes of workspace, and milliseconds if it was timed."""

    split_k: int
    workspace_bytes: int
    milliseconds: float | None


class Library:
    """A loaded shared library of convolution instances.

    Raises LibraryError when the file cannot be loaded, is not a ckgen library, speaks another ABI version, or
    holds no instance. All methods that take a name raise LibraryError for a name that the library does not
    hold. An object may be shared between threads; runs on the host platform use the library's own worker
    threads.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._api = load(self.path)
        self.platform: str = self._api.ckgen_platform().decode()
        count = self._api.ckgen_instance_count()
        self.names: tuple[str, ...] = tuple(self._api.ckgen_instance_name(i).decode() for i in range(count))
        if not self.names:
            raise LibraryError(f"{self.path} holds no instance")
        self._index = {name: i for i, name in enumerate(self.names)}
        try:
            self.instances: tuple[Instance, ...] = tuple(parse(name) for name in self.names)
        except ValueError as error:
            raise LibraryError(f"{self.path} was made by another ckgen: {error}") from error

    def instance(self, name: str) -> Instance:
        """The fields of the instance called ``name``."""
        return self.instances[self._find(name)]

    def type_string(self, name: str) -> str:
        """The instance's type string in Composable Kernel's form; unlike the name it need not be unique."""
        text: bytes = self._api.ckgen_instance_type_string(self._find(name))
        return text.decode()

    def unsupported_reason(self, name: str, problem: ConvProblem, *, split_k: int = 1) -> str | None:
        """Why the instance refuses the problem, in one sentence with the numbers, or None when it takes it.

        ``split_k`` is -1 for the library's own choice or 1 and up. No memory is needed: the answer holds for
        gap-free tensors at any 16-byte-aligned address.
        """
        index = self._find(name)
        reason = self._foreign(index, problem)
        return reason or self.check(name, self.describe(name, problem, split_k=split_k))

    def supporting(
        self, problem: ConvProblem, names: Iterable[str] | None = None, *, split_k: int = 1
    ) -> tuple[str, ...]:
        """Of ``names`` (default: all) those that take the problem, in the library's order."""
        wanted = self.names if names is None else tuple(names)
        return tuple(name for name in wanted if self.unsupported_reason(name, problem, split_k=split_k) is None)

    def workspace_size(self, name: str, problem: ConvProblem, *, split_k: int = 1) -> int:
        """Bytes of workspace a run needs; 0 when it needs none. Raises UnsupportedProblem."""
        size = ctypes.c_int64()
        c_problem = self._accepted(name, problem, split_k)
        self._expect(
            name,
            self._api.ckgen_workspace_size(self._find(name), ctypes.byref(c_problem), ctypes.byref(size)),
        )
        return size.value

    def split_k(self, name: str, problem: ConvProblem, requested: int = -1) -> int:
        """The split-K factor that ``requested`` comes to; -1 asks the library to choose. Raises
        UnsupportedProblem."""
        chosen = ctypes.c_int32()
        c_problem = self._accepted(name, problem, requested)
        self._expect(name, self._api.ckgen_split_k(self._find(name), ctypes.byref(c_problem), ctypes.byref(chosen)))
        return chosen.value

    def run(
        self,
        name: str,
        problem: ConvProblem,
        in_: Tensor,
        wei: Tensor,
        out: Tensor,
        *,
        split_k: int = 1,
        workspace: Tensor | None = None,
        stream: int = 0,
        time_kernel: bool = False,
    ) -> Run:
        """Compute the weight gradient of ``problem`` from ``in_`` and ``out`` into ``wei``.

        Host platform: numpy arrays in the layout's own order and shape (``problem.shape("in", layout)`` and
        so on) of the instance's element types; any positive strides that are whole elements will do. ``wei``
        is written in full and need not be zeroed. Other platforms: device addresses of gap-free tensors and,
        where the workspace size is not 0, of a workspace; ``stream`` is a hipStream_t as an integer. On the
        host a missing workspace is allocated.

        With ``time_kernel`` the result carries average milliseconds over the library's timing loop. Raises
        UnsupportedProblem, and LibraryError for arrays that do not fit the problem or a run that failed.
        """
        index = self._find(name)
        c_problem = self._accepted(name, problem, split_k)
        size, used = self.workspace_size(name, problem, split_k=split_k), self.split_k(name, problem, split_k)
        scratch = self._workspace(name, size, workspace)
        given: dict[TensorName, Tensor] = {"in": in_, "wei": wei, "out": out}
        for tensor, value in given.items():
            self._check_tensor(name, problem, tensor, value)
            if not isinstance(value, int):
                c_problem.set_strides(tensor, logical_strides(value, tensor, self.instances[index].layout))
        taken = ctypes.c_float()
        pointers = [_address(value) for value in (in_, wei, out, scratch)]
        status = self._api.ckgen_run(
            index, ctypes.byref(c_problem), *pointers, stream, int(time_kernel), ctypes.byref(taken)
        )
        self._expect(name, status)
        return Run(used, size, float(taken.value) if time_kernel else None)

    def reference(self, dtype: str, layout: str, problem: ConvProblem, in_: Array, wei: Array, out: Array) -> None:
        """Run the library's own C++ reference on host arrays in ``layout``'s order. Raises LibraryError."""
        c_problem = CProblem.make(problem, layout, 1)
        given: dict[TensorName, Array] = {"in": in_, "wei": wei, "out": out}
        for tensor, array in given.items():
            require_array(tensor, array, problem, layout, dtype)
            c_problem.set_strides(tensor, logical_strides(array, tensor, layout))
        status = self._api.ckgen_reference(
            dtype.encode(), ctypes.byref(c_problem), in_.ctypes.data, wei.ctypes.data, out.ctypes.data
        )
        self._expect("reference", status)

    def configure_host(self, *, seed: int = 0, threads: int = 0) -> None:
        """Host platform: shuffle the order of workgroups and fibers by ``seed`` (0: in order) and use
        ``threads`` worker threads (0: all cores). Raises LibraryError on other platforms."""
        self._expect("host_configure", self._api.ckgen_host_configure(seed, threads))

    def describe(self, name: str, problem: ConvProblem, *, split_k: int = 1) -> CProblem:
        """The problem as the C API takes it, with gap-free strides of the instance's layout."""
        if not -INT32_MAX <= split_k + 1 <= INT32_MAX + 1:
            raise LibraryError(f"split_k {split_k} does not fit into 32 bits")
        return CProblem.make(problem, self.instance(name).layout, split_k)

    def check(self, name: str, c_problem: CProblem) -> str | None:
        """``unsupported_reason`` for a problem in C form, which may also be one that ConvProblem would
        refuse."""
        status = self._api.ckgen_is_supported(self._find(name), ctypes.byref(c_problem), None, None, None)
        if status == UNSUPPORTED:
            return self._last_error()
        self._expect(name, status)
        return None

    def _find(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            raise LibraryError(f"{self.path} holds no instance {name}", did_you_mean(name, self.names))
        return index

    def _foreign(self, index: int, problem: ConvProblem) -> str | None:
        ndim = self.instances[index].ndim
        return None if ndim == problem.ndim else f"ndim: the instance is for {ndim}D, the problem is {problem.ndim}D"

    def _accepted(self, name: str, problem: ConvProblem, split_k: int) -> CProblem:
        reason = self.unsupported_reason(name, problem, split_k=split_k)
        if reason is not None:
            raise UnsupportedProblem(name, reason)
        return self.describe(name, problem, split_k=split_k)

    def _check_tensor(self, name: str, problem: ConvProblem, tensor: TensorName, value: Tensor) -> None:
        if isinstance(value, int) is (self.platform == "host"):
            kinds = "numpy arrays" if self.platform == "host" else "device addresses"
            raise LibraryError(f"platform {self.platform} takes {kinds}, {tensor} is of type {type(value).__name__}")
        if not isinstance(value, int):
            instance = self.instance(name)
            require_array(tensor, value, problem, instance.layout, instance.dtype)

    def _workspace(self, name: str, size: int, given: Tensor | None) -> Tensor:
        if given is None:
            if size and self.platform != "host":
                raise LibraryError(f"{name} needs a workspace of {size} bytes on platform {self.platform}")
            return np.empty(size, np.uint8)
        if isinstance(given, int) is (self.platform == "host"):
            raise LibraryError(f"the workspace is a {type(given).__name__}, not for platform {self.platform}")
        if isinstance(given, int):
            return given
        if not given.flags.c_contiguous or not given.flags.writeable or given.nbytes < size:
            raise LibraryError(f"the workspace must be {size} writable, gap-free bytes, not {given.nbytes}")
        return given

    def _last_error(self) -> str:
        text: bytes = self._api.ckgen_last_error()
        return text.decode(errors="replace")

    def _expect(self, what: str, status: int) -> None:
        if status == UNSUPPORTED:
            raise UnsupportedProblem(what, self._last_error())
        if status == FAILED:
            raise LibraryError(f"{what}: {self._last_error()}", exit_code=1)
        if status != 0:
            raise LibraryError(f"{what}: unknown status {status} from {self.path}", exit_code=1)


def _address(value: Tensor) -> int:
    return value if isinstance(value, int) else int(value.ctypes.data)
