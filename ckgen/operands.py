"""The tensors of one run, checked against the problem and brought to where the kernel can reach them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np

from ckgen.c_api import CProblem, LibraryError
from ckgen.device_memory import DeviceMemory
from ckgen.element import Array
from ckgen.instance import Instance
from ckgen.layout import TensorName
from ckgen.problem import ConvProblem
from ckgen.tensors import View, logical_strides, require, view


class HasDataPtr(Protocol):
    """A tensor in PyTorch's manner."""

    def data_ptr(self) -> int:
        """The address of the first element."""


class HasDLPack(Protocol):
    """A tensor that any other library may look at."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """A capsule that describes the tensor."""


Tensor = Array | int | HasDataPtr | HasDLPack
Addresses = tuple[int, int, int, int]


class Operands:
    """In, wei and out of a run on ``platform``: addresses (nothing to check) or tensors that were found to fit.

    numpy arrays of a run on a GPU are ``staged``: copied there and back. Raises LibraryError for what does
    not fit the problem, lies in the wrong memory or on more than one GPU.
    """

    def __init__(
        self, platform: str, instance: Instance, problem: ConvProblem, tensors: tuple[Tensor, ...], stream: int
    ) -> None:
        self._platform = platform
        names: tuple[TensorName, ...] = ("in", "wei", "out")
        self._given: dict[TensorName, View | int] = {}
        for name, value in zip(names, tensors, strict=True):
            self._given[name] = self._place(name, value, stream)
        self._layout = instance.layout
        for name, given in self._given.items():
            if isinstance(given, View):
                require(name, given, problem, instance.layout, instance.dtype)
        self._staged = {n: v for n, v in self._given.items() if isinstance(v, View) and self._is_staged(v)}

    @property
    def staged(self) -> bool:
        """True when the run copies, and therefore waits for the kernel."""
        return bool(self._staged)

    @property
    def device(self) -> int | None:
        """The GPU that the tensors are on, None where they do not tell."""
        devices = {v.device for v in self._given.values() if isinstance(v, View) and v.device is not None}
        if len(devices) > 1:
            raise LibraryError(f"the tensors are on GPUs {sorted(devices)}; all must be on one")
        return devices.pop() if devices else None

    def describe(self, c_problem: CProblem) -> None:
        """Give the problem the tensors' own strides. Addresses and staged arrays are gap-free."""
        for name, given in self._given.items():
            if isinstance(given, View) and name not in self._staged:
                c_problem.set_strides(name, logical_strides(given, name, self._layout))

    @contextmanager
    def addresses(self, memory: DeviceMemory, workspace: Tensor | None, size: int) -> Iterator[Addresses]:
        """Addresses of in, wei, out and of ``size`` bytes of workspace, for the block's duration."""
        with ExitStack() as stack:
            scratch = self._workspace(workspace, size, stack, memory)
            found = {name: v.address if isinstance(v, View) else v for name, v in self._given.items()}
            staged = {name: _array(given) for name, given in self._staged.items()}
            buffers = [np.ascontiguousarray(array) for array in staged.values()]
            written = [index for index, name in enumerate(staged) if name == "wei"]
            with memory.holding(buffers, written=written) as copies:
                found.update(zip(staged, copies, strict=True))
                yield found["in"], found["wei"], found["out"], scratch
            for index in written:
                if buffers[index] is not staged["wei"]:
                    staged["wei"][...] = buffers[index]

    def _place(self, name: str, value: Tensor, stream: int) -> View | int:
        """The view of a tensor in memory that the platform's kernels reach or that can be copied there."""
        on_host = self._platform == "host"
        if isinstance(value, int):
            if on_host:
                raise LibraryError(f"platform host takes numpy arrays, {name} is of type int")
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
            if size and self._platform != "host" and not self.staged:
                # Freeing it would wait for the kernel, which a caller with tensors on the GPU does not expect.
                raise LibraryError(f"the run needs a workspace of {size} bytes on platform {self._platform}")
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
    """The numpy array that a staged view is of."""
    assert isinstance(given.owner, np.ndarray)
    return given.owner
