"""Tensors of one problem on a device: random inputs in every layout, guarded outputs, and the comparison of results."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ckgen.bench import job as bench_job
from ckgen.bench.torch_reference import like_gradient
from ckgen.conv.dtypes import DTYPES, ELEMENTS, DType, Element, element_of
from ckgen.conv.encoding import as_multiplied
from ckgen.conv.layout import CHANNELS_LAST, TensorName, logical_axes, to_logical, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.error_bounds import Bounded, bounded, exact
from ckgen.elementwise.function import BUILTINS, PASS_THROUGH, RESULT, Function, Kind
from ckgen.hardware.archs import find_arch
from ckgen.library.d_tensors import DSlot
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.verify.guarded import GUARD, GUARD_BYTES, fill_of, unit_of
from ckgen.verify.reference import rounding_allowance, summing_allowance


def torch_type(torch: Any, dtype: str, tensor: TensorName) -> Any:
    """PyTorch's name of an element type."""
    return getattr(torch, element_of(dtype, tensor).torch)


class TorchData:
    """Operands of an operation on a problem in one data type, uniform in (-1, 1), and their float64 result. Equal
    arguments on the same device give equal data. A function's D tensors are random too; its scalars have their
    defaults."""

    def __init__(
        self,
        torch: Any,
        device: str,
        problem: ConvProblem,
        dtype: str,
        seed: int,
        operation: str = DEFAULT_OPERATION,
        function: Function = BUILTINS[PASS_THROUGH],
    ) -> None:
        self._torch, self.problem, self.operation, self.function = torch, problem, operation, function
        self._random = torch.Generator(device).manual_seed(seed << 32 | zlib.crc32(str(problem).encode()))
        home, self._device = CHANNELS_LAST[problem.ndim], device
        self.read = OPERATIONS[operation].read
        self._copies: dict[tuple[TensorName, str], Any] = {}
        for tensor in self.read:
            drawn = self._drawn(problem.shape(tensor, home), element_of(dtype, tensor))
            self._copies[tensor, home] = self._without_ties(drawn, DTYPES[dtype])
        logical = {tensor: self._as_multiplied(tensor, DTYPES[dtype]) for tensor in self.read}
        written = element_of(dtype, OPERATIONS[operation].written)
        self.expected = written.in_range(OPERATIONS[operation].torch_reference(torch, problem, logical))
        self.scale = prod(float(values.abs().max()) for values in logical.values())
        terms = OPERATIONS[operation].accumulations(problem)
        self.error: Any = summing_allowance(terms, self.scale, dtype)
        self._ds = [self._d_tensor(kind, written) for kind in function.kinds]
        if function.name != PASS_THROUGH:
            self._fuse()

    def in_layout(self, tensor: TensorName, layout: str) -> Any:
        """An operand of the operation, gap-free in ``layout``'s order."""
        if (tensor, layout) not in self._copies:
            order = to_physical(tensor, layout)
            self._copies[tensor, layout] = self._logical(tensor).permute(order).contiguous()
        return self._copies[tensor, layout]

    def d_tensors(self, slots: Sequence[DSlot]) -> list[Any]:
        """The D tensors, gap-free in the order of ``slots``' layouts."""
        found = []
        for slot, (axes, tensor) in zip(slots, self._ds, strict=True):
            found.append(tensor.permute([axes.index(axis) for axis in slot.axes]).contiguous())
        return found

    def d_like_torch(self) -> list[Any]:
        """The D tensors in the shape of PyTorch's gradient: (G*K, C, filter), (N, G*C, input) in channels last, or one
        value per channel."""
        written, ones = OPERATIONS[self.operation].written, (1,) * self.problem.ndim
        found = []
        for axes, tensor in self._ds:
            whole = tensor.reshape(len(tensor), 1, -1, *ones) if axes == "GC" else tensor
            found.append(like_gradient(self.problem, written, whole))
        return found

    def _d_tensor(self, kind: Kind, own: Element) -> tuple[str, Any]:
        """A D tensor with the names of its axes."""
        written = OPERATIONS[self.operation].written
        sizes = dict(zip(logical_axes(written, self.problem.ndim), self.problem.lengths(written), strict=True))
        axes = "GC" if kind.layout in ("GC", "G_C") else "".join(sizes)
        values = self._uniform([sizes[axis] for axis in axes])
        return axes, values.to(getattr(self._torch, ELEMENTS[kind.dtype or own.name].torch))

    def _fuse(self) -> None:
        """Apply the function to result and error bound, on the CPU, where the growth of errors can be computed."""
        torch, inputs = self._torch, {name: exact(value) for name, value in self.function.scalars}
        for name, (axes, tensor) in zip(self.function.tensors, self._ds, strict=True):
            values = tensor.double().cpu().numpy()
            ones = (1,) * self.problem.ndim
            inputs[name] = exact(values.reshape(len(values), 1, -1, *ones) if axes == "GC" else values)
        value = self.expected.cpu().numpy()
        inputs[RESULT] = Bounded(value, np.full_like(value, self.error))
        found = bounded(self.function.tree, inputs)
        self.expected, self.error = (torch.from_numpy(a).to(self._device) for a in (found.value, found.error))

    def _drawn(self, shape: Sequence[int], element: Element) -> Any:
        """Random elements; integers are -1, 0 and 1, so that few sums leave the range of the type."""
        kind = getattr(self._torch, element.torch)
        values = self._uniform(shape)
        return (values * 1.5).round().to(kind) if element.integer else values.to(kind)

    def _without_ties(self, values: Any, dtype: DType) -> Any:
        """As the function of the same name in ckgen.verify.run_tensors, for tensors of PyTorch."""
        if not dtype.multiplies_tf32:
            return values
        return values.view(self._torch.int32).bitwise_or(1).view(values.dtype)

    def _as_multiplied(self, tensor: TensorName, dtype: DType) -> Any:
        """An operand in logical order, rounded to the type in which kernels of this device multiply it."""
        values = self._logical(tensor)
        if dtype.as_stored:
            return values
        operand = "a" if tensor == OPERATIONS[self.operation].a else "b"
        rounded = as_multiplied(values.double().cpu().numpy(), dtype, operand, self._f8_codes())
        return self._torch.from_numpy(rounded).to(self._device)

    def _f8_codes(self) -> str:
        if self._torch.version.hip is None or str(self._device) == "cpu":
            return "ocp"
        name = self._torch.cuda.get_device_properties(self._device).gcnArchName
        return find_arch(name.partition(":")[0]).f8_codes

    def _uniform(self, shape: Sequence[int]) -> Any:
        return self._torch.empty(tuple(shape), device=self._device).uniform_(-1, 1, generator=self._random)

    def _logical(self, tensor: TensorName) -> Any:
        home = CHANNELS_LAST[self.problem.ndim]
        return self._copies[tensor, home].permute(to_logical(tensor, home))


class GuardedTensor:
    """A tensor inside a larger buffer, between guards; every unit of ``tensor`` is filled with ``poison``."""

    def __init__(self, torch: Any, device: str, shape: tuple[int, ...], dtype: Any, poison: int, size: int) -> None:
        self._torch, self._unit = torch, unit_of(dtype.itemsize)
        self._guard, self._poison = (self._signed(fill_of(pattern, dtype.itemsize)) for pattern in (GUARD, poison))
        self._ends, units = GUARD_BYTES // self._unit, -(-size // self._unit)
        kind = torch.int8 if self._unit == 1 else torch.int16
        self._buffer = torch.full((2 * self._ends + units,), self._guard, dtype=kind, device=device)
        self._body = self._buffer[self._ends : self._ends + units]
        self._body.fill_(self._poison)
        self.tensor = self._body.view(dtype).reshape(shape)

    @property
    def address(self) -> int:
        """The address of the tensor's first element."""
        return int(self._body.data_ptr())

    def fault(self, name: str, *, whole: bool) -> str | None:
        """A message about writes outside the tensor or, if ``whole``, about elements that were not written; None if
        there are none."""
        ends = self._torch.cat((self._buffer[: self._ends], self._buffer[self._ends + self._body.numel() :]))
        outside = int((ends != self._guard).sum())
        if outside:
            return f"{name}: {self._unit * outside} bytes written before or after it"
        untouched = (self._body.reshape(-1, self.tensor.element_size() // self._unit) == self._poison).all(1)
        missing = int(untouched.sum()) if whole else 0
        return f"{missing} of {self.tensor.numel()} elements were never written" if missing else None

    def _signed(self, pattern: int) -> int:
        """The unit's bit pattern as a signed integer."""
        top = 1 << 8 * self._unit
        return pattern - top if pattern >= top // 2 else pattern


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the error and tolerance of the worst element."""

    verdict: str
    message: str
    max_error: float
    tolerance: float


def judge(torch: Any, data: TorchData, result: Any, dtype: str) -> Judgement:
    """Compare ``result``, in logical order, with the float64 result by the project's one tolerance rule."""
    error = (result.double() - data.expected).abs()
    element = element_of(dtype, OPERATIONS[data.operation].written)
    limit = rounding_allowance(element, data.expected, data.error)
    broken = int((~torch.isfinite(error)).sum())
    strain = torch.nan_to_num(error / limit, nan=float("inf")).flatten()
    at = int(strain.argmax())
    worst, allowed = float(error.flatten()[at]), float(limit.flatten()[at])
    if broken:
        return Judgement(bench_job.WRONG, f"{broken} elements are not finite", worst, allowed)
    if worst > allowed:
        return Judgement(bench_job.WRONG, f"error {worst:.3g} is more than {allowed:.3g}", worst, allowed)
    return Judgement(bench_job.OK, "", worst, allowed)
