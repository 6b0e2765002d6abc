"""The weight gradient of a grouped convolution in float64, and how far from it a kernel may be.

Independent of every kernel: no tiles, no GEMM view of the library, one matrix product a filter tap and group.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ckgen.conv.dtypes import DTYPES, ELEMENTS, Array, Element, Float64, element_of
from ckgen.conv.problem import ConvProblem

Tensor = TypeVar("Tensor", bound=Any)


def backward_weight(problem: ConvProblem, in_: Array, out: Array) -> Float64:
    """The gradient of the weights, float64, logical shape (G, K, C, filter), channels fastest in memory.

    ``in_`` (G, N, C, input) and ``out`` (G, N, K, output, the gradient of the convolution's output) are real
    arrays in logical order; views with any strides will do. Each weight is

        wei[g, k, c, x] = sum over n, o of out[g, n, k, o] * in_[g, n, c, o * stride + x * dilation - pad]

    with positions outside the input counting as zero. Raises ValueError when a shape is not the problem's.
    """
    if in_.shape != problem.lengths("in") or out.shape != problem.lengths("out"):
        needed = problem.lengths("in"), problem.lengths("out")
        raise ValueError(f"in and out have shapes {in_.shape} and {out.shape}, the problem needs {needed}")
    pads = [(0, 0), (0, 0), *zip(problem.left_pads, problem.right_pads, strict=True), (0, 0)]
    channels_last = np.pad(np.moveaxis(in_, 2, -1).astype(np.float64), pads)  # (G, N, padded input, C)
    # (G, K, N * output)
    gradient = np.moveaxis(out, 2, 1).reshape(problem.groups, problem.k, -1).astype(np.float64)
    wei = np.empty((problem.groups, problem.k, *problem.filter, problem.c), dtype=np.float64)
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in np.ndindex(*problem.filter):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = channels_last[(slice(None), slice(None), *window)].reshape(problem.groups, -1, problem.c)
        wei[(slice(None), slice(None), *tap)] = gradient @ seen
    return np.moveaxis(wei, -1, 2)


def summing_allowance(accumulations: int, scale: float, accumulator: str = "f32") -> float:
    """How far a kernel's sum of ``accumulations`` products may lie from the exact sum; ``scale`` is the largest
    magnitude that a product can have.

    A kernel multiplies and adds in the accumulator type, whose rounding error is u (2**-24 for f32) of the partial sum.
    Products of random sign with magnitudes up to ``scale`` make partial sums of about scale/3 * sqrt(i) after
    i of them, and n independent errors of that size add up to 0.14 * u * n * scale (standard deviation) for
    the worst order, one after the other; blocked orders and split-K err less. The allowance of 2 * u * n *
    scale is therefore 15 standard deviations for large n, and at least the guaranteed bound for n of 1 and 2.
    A product left out or counted twice is scale/4 on average and stands far outside while n < 2**20.
    """
    return 2.0 * ELEMENTS[accumulator].unit_roundoff * accumulations * scale


def rounding_allowance(element: Element, expected: Tensor, before: Any) -> Tensor:
    """How far from ``expected`` a result may lie that was wrong by ``before`` and then rounded to ``element``: that, a
    relative error of the type's unit roundoff, and half the spacing of its subnormals near zero."""
    limit: Tensor = element.unit_roundoff * (abs(expected) + before) + element.least / 2 + before
    return limit


def tolerance(dtype: str, accumulations: int, scale: float, expected: Tensor) -> Tensor:
    """How far each element of a weight gradient may lie from ``expected``; the one tolerance rule of the project.

    ``accumulations`` is the number n of products summed into one element, ``scale`` the largest magnitude a
    product can have (max |in| * max |out|), ``expected`` the float64 result for the very inputs the kernel
    was given, a numpy array or anything else with its arithmetic (a PyTorch tensor). The sum is rounded once, to the
    weight's type.
    """
    summing = summing_allowance(accumulations, scale, DTYPES[dtype].accumulator)
    return rounding_allowance(element_of(dtype, "wei"), expected, summing)
