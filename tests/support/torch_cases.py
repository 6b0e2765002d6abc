"""Helpers of the tests of ckgen.torch: tensors of small convolutions, and PyTorch's own results to compare with.

On the CPU they use the host library, on a GPU the library that CKGEN_NVIDIA_LIBRARY names (fixture ``torch_library``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; ckgen.torch is for its tensors")

NVIDIA = os.environ.get("CKGEN_NVIDIA_LIBRARY")
DEVICE = "cuda" if NVIDIA else "cpu"
BY_PYTORCH = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
# Channels in and out, groups, filter, input, stride, padding, dilation.
SHAPES = [
    (16, 32, 1, (1, 1), (7, 6), 1, 0, 1),
    (32, 32, 8, (3, 3), (9, 8), 2, 1, 1),
    (6, 9, 3, (3, 2), (8, 9), (1, 2), (1, 0), (2, 1)),
    (8, 8, 8, (3, 3), (6, 6), 1, 1, 1),
    (16, 8, 2, (3,), (17,), 2, 1, 1),
    (8, 16, 2, (3, 1, 2), (5, 4, 6), 1, (1, 0, 1), 1),
    (3, 16, 1, (4, 4), (8, 12), 4, 0, 1),
]
# A problem with few products for each number of dimensions, with a value other than the default in every setting.
TINY = [
    (4, 6, 2, (3,), (5,), 2, 1, 1),
    (4, 6, 2, (2, 3), (4, 5), (2, 1), (0, 1), (1, 2)),
    (2, 4, 1, (2, 1, 2), (3, 2, 3), 1, (1, 0, 0), 1),
]


def channels_last(tensor: Any) -> Any:
    """The tensor if it is channels-last in memory, else a channels-last copy."""
    if tensor.dim() == 3:
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    return tensor.contiguous(memory_format=FORMATS[tensor.dim()])


def uniform(*shape: int, seed: int = 3, dtype: Any = torch.float32) -> Any:
    """Values between -1/2 and 1/2, the same in each call, on the device under test."""
    made = torch.rand(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))) - 0.5
    return made.to(device=DEVICE, dtype=dtype)


def make(shape: tuple[Any, ...], dtype: Any = torch.float32) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Channels-last input and gradient, a weight of the given size, the settings."""
    c, k, groups, filter, edges, stride, padding, dilation = shape
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    input, weight = uniform(2, c, *edges, dtype=dtype), uniform(k, c // groups, *filter, dtype=dtype)
    size = BY_PYTORCH[len(edges)](input.float().cpu(), weight.float().cpu(), **settings).shape
    return channels_last(input), weight, channels_last(uniform(*size, dtype=dtype)), settings


def expected(input: Any, weight: Any, gradient: Any, settings: dict[str, Any], *, of_input: bool = False) -> Any:
    """PyTorch's own gradient in double precision, the weight's or the input's."""
    pair = [tensor.detach().double().cpu().requires_grad_() for tensor in (input, weight)]
    BY_PYTORCH[weight.dim() - 2](*pair, **settings).backward(gradient.double().cpu())
    return pair[0 if of_input else 1].grad


def leaves(*tensors: Any) -> list[Any]:
    """Copies of the tensors, in their memory formats, that collect gradients."""
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def derivatives(function: Callable[..., Any], tensors: list[Any], order: int) -> list[Any]:
    """The function's value and, order by order, the gradients of a function of all values of the previous order."""
    values = [function(*tensors)]
    found = list(values)
    for at in range(order):
        total = sum((value.sin() * (1 + index)).sum() for index, value in enumerate(values))
        values = list(torch.autograd.grad(total, tensors, create_graph=at + 1 < order, materialize_grads=True))
        found += values
    return [value.detach() for value in found]


def assert_close(found: Any, known: Any, tolerance: float = 1e-4) -> None:
    """Fail unless each tensor is within a fraction of the largest value of the other, whose type may be double."""
    pairs = list(zip(found, known, strict=True)) if isinstance(found, list | tuple) else [(found, known)]
    for at, (one, two) in enumerate(pairs):
        assert one.shape == two.shape, at
        error = (one.detach().double().cpu() - two.detach().double().cpu()).abs()
        assert not error.numel() or error.max() <= tolerance * max(1.0, float(two.detach().abs().max())), (
            at,
            error.max(),
        )
