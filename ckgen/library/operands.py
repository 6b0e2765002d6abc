"""The tensors of one run, checked against the problem and made accessible to the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, cast

import numpy as np

from ckgen.conv.dtypes import Array
from ckgen.conv.layout import TENSORS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem, LibraryError
from ckgen.library.d_tensors import DSlot, fuse
from ckgen.library.device_memory import DeviceMemory
from ckgen.library.tensors import View, logical_strides, require, require_address, require_fit, view
from ckgen.operations.operation import OPERATIONS


class HasDataPtr(Protocol):
    """A tensor with PyTorch's interface."""

    def data_ptr(self) -> int:
        """The address of the first element."""


class HasDLPack(Protocol):
    """A tensor that other libraries can access through DLPack."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """A capsule that describes the tensor."""


Tensor = Array | int | HasDataPtr | HasDLPack
Addresses = tuple[int, int, int, int]


class Operands:
    """In, wei, out and the D tensors of a run on ``platform``: addresses (unchecked) or tensors that were checked to
    fit.

    On a GPU, numpy arrays are ``staged``: copied to the device, and the written one back. Raises LibraryError for
    tensors that do not fit the problem, lie in the wrong memory or on more than one GPU.
    """

    def __init__(
        self,
        platform: str,
        instance: Instance,
        problem: ConvProblem,
        tensors: tuple[Tensor, ...],
        stream: int,
        slots: Sequence[DSlot] = (),
        ds: Sequence[Tensor] = (),
    ) -> None:
        self._platform, self._problem, self._layout = platform, problem, instance.layout
        self._written = OPERATIONS[instance.operation].written
        if len(ds) != len(slots):
            raise LibraryError(f"{instance.function} takes {len(slots)} D tensors, these are {len(ds)}")
        self._slots = {f"d{at}": slot for at, slot in enumerate(slots)}
        self._given = {
            n: self._place(n, v, stream) for n, v in zip((*TENSORS, *self._slots), (*tensors, *ds), strict=True)
        }
        for name, given in self._given.items():
            if isinstance(given, View):
                self._require(name, given, instance)
        self._staged = {n: v for n, v in self._given.items() if isinstance(v, View) and self._is_staged(v)}

    def _require(self, name: str, given: View, instance: Instance) -> None:
        if name in self._slots:
            slot = self._slots[name]
            require_fit(f"{name} ({slot.name})", given, slot.element, slot.shape(self._problem), slot.layout)
        else:
            tensor = cast(TensorName, name)
            require(tensor, given, self._problem, instance.layout, instance.dtype, written=tensor == self._written)

    @property
    def staged(self) -> bool:
        """True if the run copies tensors and therefore waits for the kernel."""
        return bool(self._staged)

    @property
    def device(self) -> int | None:
        """The GPU that the tensors are on; None if it is unknown."""
        devices = {v.device for v in self._given.values() if isinstance(v, View) and v.device is not None}
        if len(devices) > 1:
            raise LibraryError(f"the tensors are on GPUs {sorted(devices)}; all must be on one")
        return devices.pop() if devices else None

    def describe(self, c_problem: CProblem) -> None:
        """Set the problem's strides to those of the tensors. Addresses and staged arrays are gap-free."""
        strides: list[tuple[int, ...] | None] = []
        for name, given in self._given.items():
            own = given if isinstance(given, View) and name not in self._staged else None
            if name in self._slots:
                strides.append(own.strides if own else None)
            elif own:
                tensor = cast(TensorName, name)
                c_problem.set_strides(tensor, logical_strides(own, tensor, self._layout))
        fuse(c_problem, self._problem, tuple(self._slots.values()), strides)

    @contextmanager
    def addresses(
        self, c_problem: CProblem, memory: DeviceMemory, workspace: Tensor | None, size: int
    ) -> Iterator[Addresses]:
        """Yield the addresses of in, wei, out and of ``size`` bytes of workspace for the block's duration; set those of
        the D tensors in the problem."""
        with ExitStack() as stack:
            scratch = self._workspace(workspace, size, stack, memory)
            found = {name: v.address if isinstance(v, View) else v for name, v in self._given.items()}
            staged = {name: _array(given) for name, given in self._staged.items()}
            # A D tensor that shares the result's memory shares its device buffer too.
            owners = {name: next(n for n, other in staged.items() if other is array) for name, array in staged.items()}
            buffers = {name: np.ascontiguousarray(staged[name]) for name in dict.fromkeys(owners.values())}
            written = owners.get(self._written)
            indices = [at for at, name in enumerate(buffers) if name == written]
            with memory.holding(list(buffers.values()), written=indices) as copies:
                places = dict(zip(buffers, copies, strict=True))
                found.update((name, places[owner]) for name, owner in owners.items())
                for at, name in enumerate(self._slots):
                    c_problem.d[at].data = found[name]
                yield found["in"], found["wei"], found["out"], scratch
            if written is not None and buffers[written] is not staged[written]:
                staged[written][...] = buffers[written]

    def _place(self, name: str, value: Tensor, stream: int) -> View | int:
        """The view of a tensor in memory that the platform's kernels can access or that can be copied to the device."""
        on_host = self._platform == "host"
        if isinstance(value, int):
            if on_host:
                raise LibraryError(f"platform host takes numpy arrays, {name} is of type int")
            require_address(name, value)
            return value
        given = view(name, value, stream)
        if on_host and given.device is not None:
            raise LibraryError(f"platform host takes tensors in host memory, {name} is on GPU {given.device}")
        if not on_host and given.device is None and not isinstance(given.owner, np.ndarray):
            message = f"{name} is a {type(value).__name__} in host memory"
            raise LibraryError(message, f"platform {self._platform} takes GPU tensors, addresses and numpy arrays")
        return given

    def _is_staged(self, given: View) -> bool:
        return self._platform != "host" and given.device is None

    def _workspace(self, given: Tensor | None, size: int, stack: ExitStack, memory: DeviceMemory) -> int:
        if given is None:
            if self._platform != "host" and not self.staged:
                return 0  # the library runs without one; freeing memory allocated here would wait for the kernel
            return stack.enter_context(memory.allocated(size))
        try:
            placed = self._place("workspace", given, 0)
        except LibraryError as error:
            raise LibraryError(f"the workspace is not for platform {self._platform}: {error}") from error
        if isinstance(placed, int):
            return placed
        if self._is_staged(placed):
            raise LibraryError(f"the workspace of a run on platform {self._platform} must be on the GPU")
        if not placed.gap_free or not placed.writable or placed.nbytes < size:
            raise LibraryError(f"the workspace must be {size} writable, gap-free bytes, not {placed.nbytes}")
        return placed.address


def _array(given: View) -> Array:
    """The numpy array behind a staged view."""
    assert isinstance(given.owner, np.ndarray)
    return given.owner
