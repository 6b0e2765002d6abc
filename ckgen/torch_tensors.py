"""Tensors of one problem on a device: random inputs in every layout, guarded outputs, and the judgement."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from ckgen import bench_job
from ckgen.element import element_of
from ckgen.guarded import GUARD, GUARD_BYTES
from ckgen.layout import CHANNELS_LAST, TensorName, to_logical, to_physical
from ckgen.problem import ConvProblem
from ckgen.reference import tolerance
from ckgen.torch_conv import backward_weight

_UNITS = GUARD_BYTES // 2


def torch_type(torch: Any, dtype: str, tensor: TensorName) -> Any:
    """PyTorch's name of an element type."""
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
    return getattr(torch, names[element_of(dtype, tensor).name])


class TorchData:
    """Inputs of a problem in one data type, uniform in (-1, 1), and the float64 result that follows from
    them; the same for the same arguments on the same device."""

    def __init__(self, torch: Any, device: str, problem: ConvProblem, dtype: str, seed: int) -> None:
        self._torch, self.problem = torch, problem
        random = torch.Generator(device).manual_seed(seed << 32 | zlib.crc32(str(problem).encode()))
        home = CHANNELS_LAST[problem.ndim]
        self._copies: dict[tuple[TensorName, str], Any] = {}
        for tensor in ("in", "out"):
            values = torch.empty(problem.shape(tensor, home), device=device)
            values.uniform_(-1, 1, generator=random)
            self._copies[tensor, home] = values.to(torch_type(torch, dtype, tensor))
        logical = {tensor: self._logical(tensor) for tensor in ("in", "out")}
        self.expected = backward_weight(torch, problem, logical["in"], logical["out"])
        self.scale = float(logical["in"].abs().max()) * float(logical["out"].abs().max())

    def in_layout(self, tensor: TensorName, layout: str) -> Any:
        """The input or the gradient of the output, gap-free in ``layout``'s order."""
        if (tensor, layout) not in self._copies:
            order = to_physical(tensor, layout)
            self._copies[tensor, layout] = self._logical(tensor).permute(order).contiguous()
        return self._copies[tensor, layout]

    def _logical(self, tensor: TensorName) -> Any:
        home = CHANNELS_LAST[self.problem.ndim]
        return self._copies[tensor, home].permute(to_logical(tensor, home))


class GuardedTensor:
    """``tensor`` lies in a larger buffer, between guards, and every 16-bit unit of it is ``poison``."""

    def __init__(self, torch: Any, device: str, shape: tuple[int, ...], dtype: Any, poison: int, size: int) -> None:
        self._torch, self._poison, units = torch, _signed(poison), -(-size // 2)
        self._buffer = torch.full((2 * _UNITS + units,), _signed(GUARD), dtype=torch.int16, device=device)
        self._body = self._buffer[_UNITS : _UNITS + units]
        self._body.fill_(self._poison)
        self.tensor = self._body.view(dtype).reshape(shape)

    @property
    def address(self) -> int:
        """Where the tensor begins."""
        return int(self._body.data_ptr())

    def fault(self, name: str) -> str | None:
        """What was written outside the tensor, or not written inside it."""
        torch, guard = self._torch, _signed(GUARD)
        ends = torch.cat((self._buffer[:_UNITS], self._buffer[_UNITS + self._body.numel() :]))
        outside = int((ends != guard).sum())
        if outside:
            return f"{name}: {2 * outside} bytes written in front of or behind it"
        untouched = (self._body.reshape(-1, self.tensor.element_size() // 2) == self._poison).all(1)
        missing = int(untouched.sum()) if name == "wei" else 0
        return f"{missing} of {self.tensor.numel()} elements were never written" if missing else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the error and tolerance of the worst element."""

    verdict: str
    message: str
    max_error: float
    tolerance: float


def judge(torch: Any, data: TorchData, wei: Any, dtype: str) -> Judgement:
    """Compare ``wei``, logical order, with the float64 result by the project's one tolerance rule."""
    error = (wei.double() - data.expected).abs()
    limit = tolerance(dtype, data.problem.gemm[2], data.scale, data.expected)
    broken = int((~torch.isfinite(error)).sum())
    strain = torch.nan_to_num(error / limit, nan=float("inf")).flatten()
    at = int(strain.argmax())
    worst, allowed = float(error.flatten()[at]), float(limit.flatten()[at])
    if broken:
        return Judgement(bench_job.WRONG, f"{broken} elements are not finite", worst, allowed)
    if worst > allowed:
        return Judgement(bench_job.WRONG, f"error {worst:.3g} is more than {allowed:.3g}", worst, allowed)
    return Judgement(bench_job.OK, "", worst, allowed)


def _signed(pattern: int) -> int:
    """The 16-bit pattern as the int16 that has it."""
    return pattern - 0x10000 if pattern >= 0x8000 else pattern
