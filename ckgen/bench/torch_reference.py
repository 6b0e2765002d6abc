"""Gradients by PyTorch: in float64 to judge by, and by cuDNN (MIOpen on ROCm) to be measured against.

PyTorch is passed in as ``torch``, so that nothing here needs it to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from ckgen.conv.layout import TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS


def backward_weight(torch: Any, problem: ConvProblem, in_: Any, out: Any) -> Any:
    """The gradient of the weights in float64, logical shape (G, K, C, filter), on the device of ``in_``.

    ``in_`` (G, N, C, input) and ``out`` (G, N, K, output) are in logical order, with any strides. It is the
    sum of ``ckgen.verify.reference.backward_weight`` as one batched product a filter tap, over groups and images.
    """
    pads = [0, 0]
    for left, right in reversed(list(zip(problem.left_pads, problem.right_pads, strict=True))):
        pads += [left, right]
    seen = torch.nn.functional.pad(in_.double().movedim(2, -1), pads)  # (G, N, padded input, C)
    gradient = out.flatten(3).double()  # (G, N, K, output)
    wei = torch.empty(problem.lengths("wei"), dtype=torch.float64, device=in_.device)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in product(*map(range, problem.filter)):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        positions = seen[(slice(None), slice(None), *window)].flatten(2, -2)  # (G, N, output, C)
        wei[(..., *tap)] = (gradient @ positions).sum(1)
    return wei


def backward_data(torch: Any, problem: ConvProblem, out: Any, wei: Any) -> Any:
    """The gradient of the input in float64, logical shape (G, N, C, input), on the device of ``out``.

    ``out`` (G, N, K, output) and ``wei`` (G, K, C, filter) are in logical order, with any strides. It is the sum of
    ``ckgen.verify.reference_bwd_data.backward_data`` as one batched product a filter tap, over groups and images.
    """
    pads = list(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = [edge + left + right for edge, (left, right) in zip(problem.input, pads, strict=True)]
    shape = (problem.groups, problem.batch, *padded, problem.c)
    in_ = torch.zeros(shape, dtype=torch.float64, device=out.device)
    gradient = out.double().movedim(2, -1).flatten(2, -2)  # (G, N, output, K)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in product(*map(range, problem.filter)):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = gradient @ wei[(..., *tap)].double().unsqueeze(1)  # (G, N, output, C)
        here = in_[(slice(None), slice(None), *window)]
        here += seen.reshape(here.shape)
    image = tuple(slice(left, left + edge) for edge, (left, _) in zip(problem.input, pads, strict=True))
    return in_[(slice(None), slice(None), *image)].movedim(-1, 2)


GRADIENTS: dict[str, Callable[[Any, ConvProblem, Mapping[TensorName, Any]], Any]] = {
    BWD_WEIGHT: lambda torch, problem, seen: backward_weight(torch, problem, seen["in"], seen["out"]),
    BWD_DATA: lambda torch, problem, seen: backward_data(torch, problem, seen["out"], seen["wei"]),
}


def prepare(torch: Any) -> None:
    """Let cuDNN choose its fastest algorithm for each problem, and keep float32 what it says."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def gradient_launcher(
    torch: Any, problem: ConvProblem, tensors: Mapping[TensorName, Any], operation: str = BWD_WEIGHT
) -> Callable[[], Any]:
    """A function that starts one gradient of PyTorch and returns it: (G*K, C, filter) or (N, G*C, input).

    ``tensors`` are those that the operation reads, gap-free in the layout CHANNELS_LAST; PyTorch gets them as
    channels-last views without a copy. 1D problems go in as 2D ones of height 1. The pads must be the same on both
    sides.
    """
    line, given, written = problem.ndim == 1, tensors["out"], OPERATIONS[operation].written
    gradient = _channels_first(given, line)
    unit, flat = ((1,), (0,)) if line else ((), ())
    shapes = {
        "wei": (problem.groups * problem.k, problem.c, *unit, *problem.filter),
        "in": (problem.batch, problem.groups * problem.c, *unit, *problem.input),
    }
    form = torch.channels_last_3d if problem.ndim == 3 else torch.channels_last
    blank = torch.empty(shapes[written], dtype=given.dtype, device=given.device).to(memory_format=form)
    image = _channels_first(tensors["in"], line) if written != "in" else blank
    wei = _weight_first(tensors["wei"], line) if written != "wei" else blank
    strides, dilations = [*unit, *problem.strides], [*unit, *problem.dilations]
    pads, zeros = [*flat, *problem.left_pads], [0] * (len(flat) + problem.ndim)
    backward, wanted = torch.ops.aten.convolution_backward, [written == "in", written == "wei", False]

    def launch() -> Any:
        found = backward(
            *(gradient, image, wei, None, strides, pads, dilations),
            *(False, zeros, problem.groups, wanted),
        )
        return found[wanted.index(True)]

    return launch


def to_logical(problem: ConvProblem, gradient: Any, operation: str = BWD_WEIGHT) -> Any:
    """What ``gradient_launcher``'s function returned, as (G, K, C, filter) or (G, N, C, input)."""
    if OPERATIONS[operation].written == "wei":
        return gradient.reshape(problem.lengths("wei"))
    return gradient.reshape(problem.batch, problem.groups, problem.c, *problem.input).movedim(1, 0)


def _weight_first(tensor: Any, line: bool) -> Any:
    """A view (G*K, C, filter) of a gap-free (G, K, filter, C) tensor, with a height of 1 where it is a line."""
    merged = tensor.flatten(0, 1)
    return (merged.unsqueeze(1) if line else merged).movedim(-1, 1)


def _channels_first(tensor: Any, line: bool) -> Any:
    """A view (N, G*C, spatial) of a gap-free (N, spatial, G, C) tensor, with a height of 1 where it is a
    line."""
    merged = tensor.flatten(-2)
    return (merged.unsqueeze(1) if line else merged).movedim(-1, 1)
