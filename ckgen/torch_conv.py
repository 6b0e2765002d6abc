"""Weight gradients by PyTorch: in float64 to judge by, and by cuDNN (MIOpen on ROCm) to be measured against.

PyTorch is passed in as ``torch``, so that nothing here needs it to be imported.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from ckgen.problem import ConvProblem


def backward_weight(torch: Any, problem: ConvProblem, in_: Any, out: Any) -> Any:
    """The gradient of the weights in float64, logical shape (G, K, C, filter), on the device of ``in_``.

    ``in_`` (G, N, C, input) and ``out`` (G, N, K, output) are in logical order, with any strides. It is the
    sum of ``ckgen.reference.backward_weight`` as one batched product a filter tap, over groups and images.
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


def prepare(torch: Any) -> None:
    """Let cuDNN choose its fastest algorithm for each problem, and keep float32 what it says."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def gradient_launcher(torch: Any, problem: ConvProblem, in_: Any, out: Any) -> Callable[[], Any]:
    """A function that starts one weight gradient of PyTorch and returns its (G*K, C, filter) tensor.

    ``in_`` and ``out`` are gap-free in the layout CHANNELS_LAST; PyTorch gets them as channels-last views
    without a copy. 1D problems go in as 2D ones of height 1. The pads must be the same on both sides.
    """
    line = problem.ndim == 1
    image, gradient = (_channels_first(tensor, line) for tensor in (in_, out))
    unit, flat = ((1,), (0,)) if line else ((), ())
    wei_shape = (problem.groups * problem.k, problem.c, *unit, *problem.filter)
    form = torch.channels_last_3d if problem.ndim == 3 else torch.channels_last
    wei = torch.empty(wei_shape, dtype=in_.dtype, device=in_.device).to(memory_format=form)
    strides, dilations = [*unit, *problem.strides], [*unit, *problem.dilations]
    pads, zeros = [*flat, *problem.left_pads], [0] * (len(flat) + problem.ndim)
    backward = torch.ops.aten.convolution_backward

    def launch() -> Any:
        found = backward(
            *(gradient, image, wei, None, strides, pads, dilations),
            *(False, zeros, problem.groups, [False, True, False]),
        )
        return found[1]

    return launch


def to_logical(problem: ConvProblem, gradient: Any) -> Any:
    """What ``gradient_launcher``'s function returned, as (G, K, C, filter)."""
    return gradient.reshape(problem.lengths("wei"))


def _channels_first(tensor: Any, line: bool) -> Any:
    """A view (N, G*C, spatial) of a gap-free (N, spatial, G, C) tensor, with a height of 1 where it is a
    line."""
    merged = tensor.flatten(-2)
    return (merged.unsqueeze(1) if line else merged).movedim(-1, 1)
