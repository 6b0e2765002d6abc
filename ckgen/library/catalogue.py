"""Contents of a loaded library: its instances and functions, and what they say about problems. See ckgen.library."""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from ckgen.conv.layout import TENSORS, ndim_of
from ckgen.conv.problem import INT32_MAX, ConvProblem
from ckgen.elementwise.function import BUILTINS, Function
from ckgen.elementwise.function_cpp import parse_function
from ckgen.errors import did_you_mean
from ckgen.instance.instance import Instance, parse
from ckgen.library.c_api import (
    UNSUPPORTED,
    CProblem,
    LibraryError,
    UnsupportedProblem,
    expect,
    last_error,
    load,
)
from ckgen.library.d_tensors import d_slots, function_named, fuse
from ckgen.library.device_memory import DeviceMemory
from ckgen.library.tensors import logical_strides, require, view
from ckgen.operations.operation import LAYOUTS, OPERATIONS
from ckgen.paths import prebuilt_library


def require_type(what: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raise LibraryError unless ``value`` has the type ``kind``; a bool does not count as an int."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise LibraryError(f"{what} is {value!r:.80} of type {type(value).__name__}", f"give {expected}")


def require_index(what: str, value: object, expected: str) -> int:
    """An integer of Python or of numpy as Python's. Raise LibraryError for anything else."""
    with suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    raise LibraryError(f"{what} is {value!r:.80} of type {type(value).__name__}", f"give {expected}")


def require_problem(problem: object) -> None:
    """Raise LibraryError unless ``problem`` is a ConvProblem."""
    require_type("problem", problem, ConvProblem, "what ckgen.make_problem() gives")


def require_layout(layout: object, problem: ConvProblem, operation: str | None = None) -> None:
    """Raise LibraryError unless ``layout`` is a layout for the problem's number of dimensions and, if an operation is
    given, one of that operation."""
    known = [each for each in LAYOUTS if ndim_of(each) == problem.ndim]
    if layout not in known:
        raise LibraryError(f"layout is {layout!r}, none of a {problem.ndim}D problem", did_you_mean(str(layout), known))
    if operation is not None and layout not in OPERATIONS[operation].layouts:
        own = [each for each in OPERATIONS[operation].layouts if each in known]
        raise LibraryError(f"{operation} has no layout {layout}", did_you_mean(str(layout), own))


def require_operation(operation: object) -> None:
    """Raise LibraryError unless an operation has this name."""
    if operation not in tuple(OPERATIONS):
        raise LibraryError(f"there is no operation {operation!r:.80}", did_you_mean(str(operation), tuple(OPERATIONS)))


def _prebuilt() -> os.PathLike[str]:
    """The library that this installation brings; LibraryError if it brings none."""
    path = prebuilt_library()
    if path is None:
        help = "name a library that `ckgen build --platform host` made; it prints the path"
        raise LibraryError("this installation of ckgen brings no library", help)
    return path


class Catalogue:
    """Loaded shared library that answers questions; its subclass ckgen.library.library.Library also runs instances."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = _prebuilt() if path is None else path
        require_type("a library's path", given, (str, bytes, os.PathLike), "a file's name")
        self.path = os.fsdecode(given)
        if not self.path:
            raise LibraryError("a library's path is empty", "give a file's name")
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
        self.functions: Mapping[str, Function] = BUILTINS | self._own_functions()

    @property
    def f8_codes(self) -> str:
        """The encoding of 8-bit floating point on the current device: ``ocp`` or ``fnuz``."""
        return "fnuz" if self._api.ckgen_f8_codes() else "ocp"

    def instance(self, name: str) -> Instance:
        """The fields of the instance called ``name``."""
        return self.instances[self._find(name)]

    def type_string(self, name: str) -> str:
        """The instance's type string in Composable Kernel's form; unlike the name, it need not be unique."""
        text: bytes = self._api.ckgen_instance_type_string(self._find(name))
        return text.decode()

    def unsupported_reason(self, name: str, problem: ConvProblem, *, split_k: int = 1) -> str | None:
        """The reason why the instance refuses the problem, one sentence with the numbers, or None when it takes it.

        ``split_k`` is 1 or more, or -1 for the library's own choice. No memory is needed: the answer holds for gap-free
        tensors at any 16-byte-aligned address.
        """
        index = self._find(name)
        reason = self._foreign(index, problem)
        return reason or self.check(name, self.describe(name, problem, split_k=split_k))

    def supporting(
        self, problem: ConvProblem, names: Iterable[str] | None = None, *, split_k: int = 1
    ) -> tuple[str, ...]:
        """The instances among ``names`` (default: all) that take the problem, in the library's order."""
        wanted = self.names if names is None else tuple(names)
        return tuple(name for name in wanted if self.unsupported_reason(name, problem, split_k=split_k) is None)

    def workspace_size(
        self, name: str, problem: ConvProblem, *, split_k: int = 1, tensors: Sequence[object] = ()
    ) -> int:
        """Bytes of workspace that a run needs; 0 when it needs none. Raise UnsupportedProblem.

        ``tensors`` are in, wei and out of the run; pass them if they have gaps, because a kernel may need a gap-free
        copy.
        """
        c_problem, instance = self._accepted(name, problem, split_k), self.instance(name)
        require_type("tensors", tensors, Sequence, "in, wei and out")
        if len(tensors) not in (0, len(TENSORS)):
            raise LibraryError(f"these are {len(tensors)} tensors, in, wei and out are three")
        for tensor, value in zip(TENSORS, tensors, strict=False):
            if not isinstance(value, int):
                seen = view(tensor, value)
                require(tensor, seen, problem, instance.layout, instance.dtype)
                c_problem.set_strides(tensor, logical_strides(seen, tensor, instance.layout))
        return self._workspace_bytes(name, c_problem)

    def split_k(self, name: str, problem: ConvProblem, requested: int = -1) -> int:
        """The split-K factor of a run with ``requested``; -1 lets the library choose. Raise UnsupportedProblem."""
        return self._chosen_split_k(name, self._accepted(name, problem, requested))

    def configure_host(self, *, seed: int = 0, threads: int = 0) -> None:
        """Host platform: shuffle the order of workgroups and fibers by ``seed`` (0: in order) and use ``threads``
        worker threads (0: all cores). Raise LibraryError on other platforms."""
        require_type("seed", seed, int, "a number of 64 bits")
        require_type("threads", threads, int, "how many, or 0 for one a core")
        if not 0 <= seed < 2**64 or not 0 <= threads <= INT32_MAX:
            raise LibraryError(f"seed {seed} or threads {threads} is negative or too large")
        self._expect("host_configure", self._api.ckgen_host_configure(seed, threads))

    def describe(self, name: str, problem: ConvProblem, *, split_k: int = 1) -> CProblem:
        """The problem in the form of the C API, with gap-free strides in the instance's layout, D tensors included."""
        split_k = require_index("split_k", split_k, "-1 or a factor")
        if not -INT32_MAX <= split_k + 1 <= INT32_MAX + 1:
            raise LibraryError(f"split_k {split_k} does not fit into 32 bits")
        instance = self.instance(name)
        made = CProblem.make(problem, instance.layout, split_k)
        fuse(made, problem, d_slots(instance, self.function_of(name)))
        return made

    def function_of(self, name: str) -> Function:
        """The element-wise function of the instance ``name``. Raise LibraryError if its definition is unknown."""
        return function_named(self.functions, self.instance(name).function)

    def check(self, name: str, c_problem: CProblem) -> str | None:
        """``unsupported_reason`` for a problem in C form, which ConvProblem may consider invalid."""
        require_type("problem", c_problem, CProblem, "what describe() gives")
        status = self._api.ckgen_is_supported(self._find(name), ctypes.byref(c_problem), None, None, None)
        if status == UNSUPPORTED:
            return last_error(self._api)
        self._expect(name, status)
        return None

    def planned(self, name: str, c_problem: CProblem, addresses: tuple[int, int, int, int]) -> tuple[bytes, int, int]:
        """The launch of a run on the addresses of in, wei, out and workspace: the bytes of the kernel's argument, the
        number of workgroups, and the threads of each. Raise UnsupportedProblem for kernels that take more than that."""
        return self._planned(self._api.ckgen_plan, name, c_problem, addresses)

    def planned_weight_copy(
        self, name: str, c_problem: CProblem, addresses: tuple[int, int, int, int]
    ) -> tuple[bytes, int, int]:
        """The same of the kernel before it that copies the weight; no workgroups if there is none."""
        return self._planned(self._api.ckgen_plan_weight_copy, name, c_problem, addresses)

    def _planned(
        self, call: Callable[..., int], name: str, c_problem: CProblem, addresses: tuple[int, int, int, int]
    ) -> tuple[bytes, int, int]:
        space, size = (ctypes.c_char * 4096)(), ctypes.c_int64()
        blocks, threads = ctypes.c_uint32(), ctypes.c_uint32()
        told = (ctypes.byref(size), ctypes.byref(blocks), ctypes.byref(threads))
        self._expect(
            name, call(self._find(name), ctypes.byref(c_problem), *addresses, ctypes.byref(space), len(space), *told)
        )
        return space.raw[: size.value], blocks.value, threads.value

    def _workspace_bytes(self, name: str, c_problem: CProblem) -> int:
        size = ctypes.c_int64()
        call = self._api.ckgen_workspace_size
        self._expect(name, call(self._find(name), ctypes.byref(c_problem), ctypes.byref(size)))
        return size.value

    def _chosen_split_k(self, name: str, c_problem: CProblem) -> int:
        chosen = ctypes.c_int32()
        call = self._api.ckgen_split_k
        self._expect(name, call(self._find(name), ctypes.byref(c_problem), ctypes.byref(chosen)))
        return chosen.value

    def _own_functions(self) -> dict[str, Function]:
        """The functions that the library itself defines: those of its spec."""
        count = self._api.ckgen_function_count()
        found = [parse_function(self._api.ckgen_function(at).decode()) for at in range(count)]
        return {function.name: function for function in found}

    def _find(self, name: str) -> int:
        require_type("an instance's name", name, str, "one of Library.names")
        index = self._index.get(name)
        if index is None:
            raise LibraryError(f"{self.path} holds no instance {name}", did_you_mean(name, self.names))
        return index

    def _foreign(self, index: int, problem: ConvProblem) -> str | None:
        require_problem(problem)
        ndim = self.instances[index].ndim
        return None if ndim == problem.ndim else f"ndim: the instance is for {ndim}D, the problem is {problem.ndim}D"

    def _accepted(self, name: str, problem: ConvProblem, split_k: int) -> CProblem:
        reason = self.unsupported_reason(name, problem, split_k=split_k)
        if reason is not None:
            raise UnsupportedProblem(name, reason)
        return self.describe(name, problem, split_k=split_k)

    def _expect(self, what: str, status: int) -> None:
        expect(self._api, what, status)
