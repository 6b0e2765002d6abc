"""Gradients by cuDNN (MIOpen on ROCm) as a reference for timing.

PyTorch is passed in as ``torch``, so this module can be imported without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import CHANNELS_LAST, TensorName, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS


def prepare(torch: Any) -> None:
    """Let cuDNN choose its fastest algorithm per problem, and keep float32 products in float32 (see rounding())."""
    torch.backends.cudnn.benchmark = True
    _allow_tf32(torch, False)


@contextmanager
def rounding(torch: Any, dtype: str) -> Iterator[None]:
    """Let PyTorch's products of float32 round to tf32 where instances of ``dtype`` do."""
    _allow_tf32(torch, DTYPES[dtype].multiplies_tf32)
    try:
        yield
    finally:
        _allow_tf32(torch, False)


def _allow_tf32(torch: Any, allowed: bool) -> None:
    torch.backends.cudnn.allow_tf32 = allowed
    torch.backends.cuda.matmul.allow_tf32 = allowed


def gradient_launcher(
    torch: Any, problem: ConvProblem, tensors: Mapping[TensorName, Any], operation: str = DEFAULT_OPERATION
) -> Callable[[], Any]:
    """A function that starts one gradient of PyTorch and returns it: (G*K, C, filter) or (N, G*C, input).

    ``tensors`` are the operands of the operation, gap-free in the layout CHANNELS_LAST; PyTorch gets them as
    channels-last views without a copy. 1D problems are passed as 2D problems of height 1. The pads must be equal on
    both sides.
    """
    line, record = problem.ndim == 1, OPERATIONS[operation]
    unit, flat = ((1,), (0,)) if line else ((), ())
    shapes: dict[TensorName, tuple[int, ...]] = {
        "wei": (problem.groups * problem.k, problem.c, *unit, *problem.filter),
        "in": (problem.batch, problem.groups * problem.c, *unit, *problem.input),
        "out": (problem.batch, problem.groups * problem.k, *unit, *problem.output),
    }
    form, given = torch.channels_last_3d if problem.ndim == 3 else torch.channels_last, tensors[record.a]
    blank = torch.empty(shapes[record.written], dtype=given.dtype, device=given.device).to(memory_format=form)
    seen = {record.written: blank}
    for name in record.read:
        seen[name] = _VIEWS[name](tensors[name], line)
    strides, dilations = [*unit, *problem.strides], [*unit, *problem.dilations]
    pads, zeros = [*flat, *problem.left_pads], [0] * (len(flat) + problem.ndim)
    rest = (strides, pads, dilations, False, zeros, problem.groups)
    return lambda: record.pytorch(torch, seen["in"], seen["wei"], seen["out"], rest)


def to_logical(problem: ConvProblem, gradient: Any, operation: str = DEFAULT_OPERATION) -> Any:
    """The result of ``gradient_launcher``'s function as (G, K, C, filter) or (G, N, C, input)."""
    tensor = OPERATIONS[operation].written
    lengths = problem.lengths(tensor)
    if tensor == "wei":
        return gradient.reshape(lengths)
    groups, images, *rest = lengths
    return gradient.reshape(images, groups, *rest).movedim(1, 0)


def like_gradient(problem: ConvProblem, tensor: TensorName, values: Any) -> Any:
    """A tensor in logical order, in the shape of ``gradient_launcher``'s result; an axis of length 1 is broadcast."""
    if tensor == "wei":  # PyTorch has G and K as one axis
        values = values.expand(-1, problem.k, *values.shape[2:])
    last = values.permute(to_physical(tensor, CHANNELS_LAST[problem.ndim])).contiguous()
    return _VIEWS[tensor](last, problem.ndim == 1)


def _weight_first(tensor: Any, line: bool) -> Any:
    """A view (G*K, C, filter) of a gap-free (G, K, filter, C) tensor; with ``line``, a height of 1 is added."""
    merged = tensor.flatten(0, 1)
    return (merged.unsqueeze(1) if line else merged).movedim(-1, 1)


def _channels_first(tensor: Any, line: bool) -> Any:
    """A view (N, G*C, spatial) of a gap-free (N, spatial, G, C) tensor; with ``line``, a height of 1 is added."""
    merged = tensor.flatten(-2)
    return (merged.unsqueeze(1) if line else merged).movedim(-1, 1)


_VIEWS = {"in": _channels_first, "wei": _weight_first, "out": _channels_first}
