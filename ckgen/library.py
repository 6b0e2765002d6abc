"""A generated library, loaded through its C API.

    library = Library("build/libckgen_conv.so")
    wei = np.empty(problem.shape("wei", layout), np.float16)
    library.run(name, problem, in_, wei, out, split_k=-1)

Tensors are numpy arrays, PyTorch tensors or anything with DLPack, in the order and shape of the instance's layout; on
amd and nvidia also device addresses (int). Only numpy arrays on a GPU platform are copied. bf16 is bfloat16, in numpy
uint16, see ``ckgen.element``.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ckgen.c_api import (
    UNSUPPORTED,
    CCandidate,
    CProblem,
    LibraryError,
    UnsupportedProblem,
    expect,
    last_error,
    load,
)
from ckgen.device_memory import DeviceMemory
from ckgen.element import Array
from ckgen.errors import did_you_mean
from ckgen.instance import Instance, parse
from ckgen.layout import CHANNELS_LAST, TensorName
from ckgen.operands import Operands, Tensor
from ckgen.problem import INT32_MAX, ConvProblem
from ckgen.selector import SOURCES, TIMED, Choice
from ckgen.tensors import logical_strides, require, view

__all__ = ["Library", "LibraryError", "Run", "Tensor", "UnsupportedProblem"]


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
        self.memory = DeviceMemory(self._api)
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

    def select(
        self, problem: ConvProblem, dtype: str = "f16", *, layout: str | None = None, arch: str | None = None
    ) -> Choice:
        """The likely fastest instance for a problem that this library holds and that supports it.

        The library's own selector: see ckgen.selector. ``layout`` is channels-last unless given, ``arch`` the
        current device's. Raises UnsupportedProblem when there is none.
        """
        return self.candidates(problem, dtype, layout=layout, arch=arch, most=1)[0]

    def candidates(
        self,
        problem: ConvProblem,
        dtype: str = "f16",
        *,
        layout: str | None = None,
        arch: str | None = None,
        most: int | None = None,
    ) -> tuple[Choice, ...]:
        """All (at most ``most``) that ``select`` could give, best first; never empty."""
        where = layout or CHANNELS_LAST[problem.ndim]
        return self.candidates_for(CProblem.make(problem, where, 1), dtype, where, arch, (0, 0, 0), most)

    def candidates_for(
        self,
        c_problem: CProblem,
        dtype: str,
        layout: str,
        arch: str | None,
        addresses: tuple[int, int, int],
        most: int | None = None,
    ) -> tuple[Choice, ...]:
        """``candidates`` for a problem in C form with tensors at these addresses; 0 stands for any aligned one."""
        found = (CCandidate * (most or len(self.names)))()
        count = ctypes.c_int32()
        words = (word.encode() if word else None for word in (layout, dtype, arch))
        status = self._api.ckgen_select(
            *words, ctypes.byref(c_problem), *addresses, len(found), found, ctypes.byref(count)
        )
        self._expect(f"a {dtype} instance of {self.path}", status)
        return tuple(self._choice(candidate) for candidate in found[: count.value])

    def _choice(self, found: CCandidate) -> Choice:
        source = SOURCES[found.source]
        time = round(found.microseconds, 1) if source in TIMED else None
        return Choice(self.names[found.instance], found.split_k, source, time)

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
        synchronize: bool = False,
    ) -> Run:
        """Compute the weight gradient of ``problem`` from ``in_`` and ``out`` into ``wei``.

        Tensors have the layout's own order and shape (``problem.shape("in", layout)`` and so on) and the
        instance's element types, with any positive strides; addresses stand for gap-free ones. ``wei`` is
        written in full. On a GPU a run of tensors or addresses only starts the kernels on ``stream`` (an
        integer; 0: the default stream) and needs a ``workspace`` where its size is not 0; ``synchronize``
        waits, and raises a fault of the kernel. numpy arrays are copied there and back, which waits; their
        missing workspace is allocated, as it is on the host. With ``time_kernel`` the result carries average
        milliseconds. Raises UnsupportedProblem, and LibraryError for tensors that do not fit or a failed run.
        """
        index = self._find(name)
        c_problem = self._accepted(name, problem, split_k)
        size = self.workspace_size(name, problem, split_k=split_k)
        operands = Operands(self.platform, self.instances[index], problem, (in_, wei, out), stream)
        operands.describe(c_problem)
        taken = ctypes.c_float()
        with self.memory.using(operands.device), operands.addresses(self.memory, workspace, size) as addresses:
            status = self._api.ckgen_run(
                index, ctypes.byref(c_problem), *addresses, stream, int(time_kernel), ctypes.byref(taken)
            )
            self._expect(name, status)
            if synchronize or operands.staged:
                self.memory.synchronize(stream)
        used = self.split_k(name, problem, split_k)
        return Run(used, size, float(taken.value) if time_kernel else None)

    def launcher(
        self,
        name: str,
        problem: ConvProblem,
        addresses: tuple[int, int, int],
        *,
        split_k: int = 1,
        workspace: int = 0,
        stream: int = 0,
    ) -> Callable[[], None]:
        """A function that starts one run and does nothing else, for loops that time GPU work.

        ``addresses`` are those of gap-free in, wei and out, which the caller keeps alive and whose fit nobody
        checks. Raises UnsupportedProblem now, LibraryError when a launch fails.
        """
        start, _ = self.prepare(name, self._accepted(name, problem, split_k))
        return functools.partial(start, *addresses, workspace, stream)

    def prepare(self, name: str, c_problem: CProblem) -> tuple[Callable[[int, int, int, int, int], None], int]:
        """A function of the addresses of in, wei, out and workspace and of a stream that starts one run of a problem
        in C form, with its own strides and split_k; and the bytes of workspace. Where split_k is -1 the library chooses
        now, and the problem holds what it chose. Raises UnsupportedProblem."""
        index, size, problem = self._find(name), ctypes.c_int64(), ctypes.byref(c_problem)
        factor = ctypes.c_int32()
        self._expect(name, self._api.ckgen_split_k(index, problem, ctypes.byref(factor)))
        c_problem.split_k = factor.value
        self._expect(name, self._api.ckgen_workspace_size(index, problem, ctypes.byref(size)))
        run, unused = self._api.ckgen_run, ctypes.byref(ctypes.c_float())

        def start(in_: int, wei: int, out: int, workspace: int, stream: int) -> None:
            status = run(index, problem, in_, wei, out, workspace, stream, 0, unused)
            if status:
                self._expect(name, status)

        return start, size.value

    def reference(self, dtype: str, layout: str, problem: ConvProblem, in_: Array, wei: Array, out: Array) -> None:
        """Run the library's own C++ reference on host arrays in ``layout``'s order. Raises LibraryError."""
        c_problem = CProblem.make(problem, layout, 1)
        given: dict[TensorName, Array] = {"in": in_, "wei": wei, "out": out}
        for tensor, array in given.items():
            seen = view(tensor, array)
            require(tensor, seen, problem, layout, dtype)
            c_problem.set_strides(tensor, logical_strides(seen, tensor, layout))
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
            return last_error(self._api)
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

    def _expect(self, what: str, status: int) -> None:
        expect(self._api, what, status)
