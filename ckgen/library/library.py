"""A generated library, loaded through its C API.

    library = Library("build/libckgen_conv.so")
    wei = np.empty(problem.shape("wei", layout), np.float16)
    library.run(name, problem, in_, wei, out, split_k=-1)

Tensors are numpy arrays, PyTorch tensors or anything with DLPack, in the order and shape of the instance's layout; on
amd and nvidia also device addresses (int). Only numpy arrays on a GPU platform are copied. bf16 is bfloat16, in numpy
uint16, see ``ckgen.conv.dtypes``.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ckgen.build.targets import DEVICES, check_archs
from ckgen.conv.dtypes import DTYPES, Array
from ckgen.conv.layout import TENSORS, TensorName, tensors_first_to_last
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import did_you_mean
from ckgen.library.c_api import CCandidate, CProblem, LibraryError, UnsupportedProblem
from ckgen.library.catalogue import Catalogue, require_layout, require_operation, require_problem, require_type
from ckgen.library.d_tensors import d_slots, scalar_values
from ckgen.library.operands import Operands, Tensor
from ckgen.library.prepared import Prepared
from ckgen.library.tensors import logical_strides, require, require_address, view
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS, operation_in
from ckgen.selection.candidates import SOURCES, Choice

__all__ = ["Library", "LibraryError", "Run", "Tensor", "UnsupportedProblem"]


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a run: the split-K factor used, the bytes of workspace, and milliseconds if it was timed."""

    split_k: int
    workspace_bytes: int
    milliseconds: float | None


class Library(Catalogue):
    """A loaded shared library of convolution instances; without a path, the small one for the host that a wheel brings.

    Raises LibraryError when the file cannot be loaded, is not a ckgen library, has another ABI version, or holds no
    instance. All methods with the parameter ``name`` raise LibraryError for a name that the library does not hold.
    Threads may share an object; runs on the host platform use the library's own worker threads.
    """

    def select(
        self,
        problem: ConvProblem,
        dtype: str = "f16",
        *,
        layout: str | None = None,
        arch: str | None = None,
        operation: str | None = None,
    ) -> Choice:
        """The likely fastest instance for a problem among those that this library holds and that support the problem.

        The library's own selector chooses: see ckgen.selection.candidates. ``operation`` defaults to the one that has
        the layout, or to backward weight if no layout is given either; ``layout`` defaults to channels-last, ``arch``
        to the current device's. Raise UnsupportedProblem when there is none.
        """
        return self.candidates(problem, dtype, layout=layout, arch=arch, operation=operation, most=1)[0]

    def candidates(
        self,
        problem: ConvProblem,
        dtype: str = "f16",
        *,
        layout: str | None = None,
        arch: str | None = None,
        operation: str | None = None,
        most: int | None = None,
    ) -> tuple[Choice, ...]:
        """All candidates (at most ``most``) that ``select`` chooses from, best first; never empty."""
        require_problem(problem)
        require_type("dtype", dtype, str, "for example f16")
        if most is not None:
            require_type("most", most, int, "how many at most, or None for all")
            if most < 1:
                raise LibraryError(f"most is {most}; 1 or more candidates can be asked for")
        if arch is not None:
            require_type("arch", arch, str, "for example sm_90a, or None")
        if operation is not None:
            require_operation(operation)
        where = OPERATIONS[operation or DEFAULT_OPERATION].home(problem.ndim) if layout is None else layout
        require_layout(where, problem, operation)
        known = DEFAULT_OPERATION if operation is None and layout is None else operation
        described = CProblem.make(problem, where, 1)
        return self.candidates_for(described, dtype, where, arch, (0, 0, 0), most, operation=known)

    def candidates_for(
        self,
        c_problem: CProblem,
        dtype: str,
        layout: str,
        arch: str | None,
        addresses: tuple[int, int, int],
        most: int | None = None,
        function: str = PASS_THROUGH,
        operation: str | None = None,
    ) -> tuple[Choice, ...]:
        """``candidates`` for a problem in C form with tensors at these addresses; 0 stands for any aligned address."""
        if dtype not in DTYPES:
            raise LibraryError(f"there is no dtype `{dtype}`", did_you_mean(dtype, tuple(DTYPES)))
        check_archs([] if arch is None else [arch], DEVICES)
        found = (CCandidate * min(most or len(self.names), len(self.names)))()
        count = ctypes.c_int32()
        kind = operation or operation_in(layout, {instance.operation for instance in self.instances})
        where = tensors_first_to_last(layout)
        words = (word.encode() if word else None for word in (kind, where, dtype, function, arch))
        status = self._api.ckgen_select(
            *words, ctypes.byref(c_problem), *addresses, len(found), found, ctypes.byref(count)
        )
        self._expect(f"a {dtype} instance of {self.path}", status)
        return tuple(self._choice(candidate) for candidate in found[: count.value])

    def _choice(self, found: CCandidate) -> Choice:
        time = round(found.microseconds, 1) or None
        return Choice(self.names[found.instance], found.split_k, SOURCES[found.source], time)

    def run(
        self,
        name: str,
        problem: ConvProblem,
        in_: Tensor,
        wei: Tensor,
        out: Tensor,
        *,
        ds: Sequence[Tensor] = (),
        scalars: Mapping[str, float] | None = None,
        split_k: int = 1,
        workspace: Tensor | None = None,
        stream: int = 0,
        time_kernel: bool = False,
        synchronize: bool = False,
    ) -> Run:
        """Compute the instance's gradient of ``problem``: the weight gradient from ``in_`` and ``out`` into ``wei``, or
        the input gradient from ``wei`` and ``out`` into ``in_``.

        Tensors have the layout's order and shape (``problem.shape("in", layout)`` and so on) and the instance's element
        types, with any positive strides; addresses stand for gap-free tensors. The result is written in full. ``ds``
        are the D tensors of the instance's function, one of which may share the result's memory; ``scalars`` are its
        scalars by name, if they differ from the defaults. On a GPU, a run on tensors or addresses only starts the
        kernels on ``stream`` (an integer; 0: the default stream), with split_k 1 if no ``workspace`` is given;
        ``synchronize`` waits and raises a fault of the kernel. numpy arrays are copied to the GPU and back, which
        waits; their missing workspace is allocated, as on the host. With ``time_kernel`` the result holds the average
        time in milliseconds. Raise UnsupportedProblem, and LibraryError for tensors that do not fit or a failed run.
        """
        if self._only_starts((in_, wei, out), ds, stream) and workspace is None:
            split_k = 1  # freeing a workspace allocated here would wait for the kernel
        c_problem = self._accepted(name, problem, split_k)
        function = self.function_of(name)
        c_problem.set_scalars(scalar_values(function, scalars))
        slots = d_slots(self.instance(name), function)
        operands = Operands(self.platform, self.instance(name), problem, (in_, wei, out), stream, slots, ds)
        operands.describe(c_problem)
        size, used = self._workspace_bytes(name, c_problem), self._chosen_split_k(name, c_problem)
        milliseconds = self._start(name, c_problem, operands, (workspace, size), stream, time_kernel, synchronize)
        return Run(used, size, milliseconds if time_kernel else None)

    def _only_starts(self, tensors: tuple[Tensor, ...], ds: Sequence[Tensor], stream: int) -> bool:
        """True if a run on these tensors only starts kernels. Raise LibraryError if ``ds`` or ``stream`` has a wrong
        type."""
        require_type("ds", ds, Sequence, "the D tensors in their order")
        require_address("stream", stream)
        return self.platform != "host" and not any(isinstance(tensor, np.ndarray) for tensor in (*tensors, *ds))

    def _start(
        self,
        name: str,
        c_problem: CProblem,
        operands: Operands,
        workspace: tuple[Tensor | None, int],
        stream: int,
        time_kernel: bool,
        synchronize: bool,
    ) -> float:
        """Run and return the mean time if requested; ``workspace`` is the tensor and its required size in bytes."""
        index, taken = self._find(name), ctypes.c_float()
        where = operands.addresses(c_problem, self.memory, *workspace)
        with self.memory.using(operands.device), where as addresses:
            status = self._api.ckgen_run(
                index, ctypes.byref(c_problem), *addresses, stream, bool(time_kernel), ctypes.byref(taken)
            )
            self._expect(name, status)
            if synchronize or operands.staged:
                self.memory.synchronize(stream)
        return float(taken.value)

    def launcher(
        self,
        name: str,
        problem: ConvProblem,
        addresses: tuple[int, int, int],
        *,
        ds: Sequence[int] = (),
        split_k: int = 1,
        workspace: int = 0,
        stream: int = 0,
    ) -> Callable[[], None]:
        """A function that starts one run and does nothing else, for loops that time GPU work.

        ``addresses`` are those of gap-free in, wei and out, ``ds`` those of the D tensors. The caller keeps the tensors
        alive and ensures that they fit. Raise UnsupportedProblem now, LibraryError when a launch fails.
        """
        require_type("addresses", addresses, Sequence, "those of in, wei and out")
        require_type("ds", ds, Sequence, "the addresses of the D tensors")
        if len(addresses) != len(TENSORS):
            raise LibraryError(f"these are {len(addresses)} addresses, in, wei and out are three")
        for address in (*addresses, *ds, workspace, stream):
            require_address("one of addresses, ds, workspace and stream", address)
        c_problem = self._accepted(name, problem, split_k)
        if len(ds) != c_problem.d_count:
            function = self.instance(name).function
            raise LibraryError(f"{function} takes {c_problem.d_count} D tensors, these are {len(ds)}")
        for at, address in enumerate(ds):
            c_problem.d[at].data = address
        return functools.partial(self.prepare(name, c_problem, addresses), *addresses, workspace, stream)

    def prepare(self, name: str, c_problem: CProblem, addresses: tuple[int, int, int] = (0, 0, 0)) -> Prepared:
        """A run of a problem in C form, with the problem's own strides and split_k, planned for the current device and
        for addresses aligned as these. If split_k is -1, the library chooses now and the problem then holds the choice.
        Raise UnsupportedProblem."""
        require_type("problem", c_problem, CProblem, "what describe() gives")
        c_problem.split_k = self._chosen_split_k(name, c_problem)
        size, handle = self._workspace_bytes(name, c_problem), ctypes.c_void_p()
        index, where = self._find(name), ctypes.byref(handle)
        self._expect(name, self._api.ckgen_prepare(index, ctypes.byref(c_problem), *addresses, where))
        return Prepared(self._api, name, handle, c_problem.split_k, size)

    def reference(
        self,
        dtype: str,
        layout: str,
        problem: ConvProblem,
        in_: Array,
        wei: Array,
        out: Array,
        *,
        operation: str = DEFAULT_OPERATION,
    ) -> None:
        """Run the library's own C++ reference of an operation, without an element-wise function, on host arrays in
        ``layout``'s order. Raise LibraryError."""
        require_problem(problem)
        require_layout(layout, problem)
        if dtype not in tuple(DTYPES):
            raise LibraryError(f"there is no dtype {dtype!r:.80}", did_you_mean(str(dtype), tuple(DTYPES)))
        require_operation(operation)
        c_problem, written = CProblem.make(problem, layout, 1), OPERATIONS[operation].written
        given: dict[TensorName, Array] = dict(zip(TENSORS, (in_, wei, out), strict=True))
        for tensor, array in given.items():
            seen = view(tensor, array)
            require(tensor, seen, problem, layout, dtype, written=tensor == written)
            c_problem.set_strides(tensor, logical_strides(seen, tensor, layout))
        run = getattr(self._api, OPERATIONS[operation].c_reference)
        status = run(dtype.encode(), ctypes.byref(c_problem), in_.ctypes.data, wei.ctypes.data, out.ctypes.data)
        self._expect("reference", status)
