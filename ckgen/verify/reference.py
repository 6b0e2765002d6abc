"""The weight gradient of a grouped convolution in float64, and the allowed error of a kernel's result.

It is independent of every kernel: no tiles, no GEMM view of the library, one matrix product per filter tap and group.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ckgen.conv.dtypes import DTYPES, ELEMENTS, Element, element_of

Tensor = TypeVar("Tensor", bound=Any)


def summing_allowance(accumulations: int, scale: float, dtype: str = "f32") -> float:
    """Largest allowed distance of a kernel's sum of ``accumulations`` products from the exact sum; ``scale`` is the
    largest magnitude that a product can have.

    A kernel multiplies and adds in the accumulator type, whose rounding error is u (2**-24 for f32) of the partial sum.
    Products of random sign with magnitudes up to ``scale`` make partial sums of about scale/3 * sqrt(i) after i of
    them, and n independent errors of that size add up to 0.14 * u * n * scale (standard deviation) for the worst order,
    one after the other; blocked orders and split-K have smaller errors. The allowance of 2 * u * n * scale is therefore
    15 standard deviations for large n, and at least the guaranteed bound for n of 1 and 2. A product that is missing or
    counted twice is scale/4 on average and far outside the allowance while n < 2**20.

    Products of tf32 have four times the allowance: NVIDIA's matrix units round partial sums toward zero every 8
    products, so that errors have one sign. On an H100 they were up to 1.6 of the allowance of other types (n = 21384).
    On tensor cores a product of f32 is three of tf32 and off by at most 8 * u of its magnitude, which is the least
    allowance of f32.
    """
    times = 8.0 if DTYPES[dtype].multiplies_tf32 else 2.0
    least = 8.0 if dtype == "f32" else 0.0
    return max(times * accumulations, least) * ELEMENTS[DTYPES[dtype].accumulator].unit_roundoff * scale


def rounding_allowance(element: Element, expected: Tensor, before: Any) -> Tensor:
    """Largest allowed distance from ``expected`` of a result that had the error ``before`` and was then rounded to
    ``element``: that error, a relative error of the type's unit roundoff, and half the spacing of its subnormals near
    zero."""
    limit: Tensor = element.unit_roundoff * (abs(expected) + before) + element.least / 2 + before
    return limit


def tolerance(dtype: str, accumulations: int, scale: float, expected: Tensor) -> Tensor:
    """Largest allowed distance of each element of a weight gradient from ``expected``; the project's one tolerance
    rule.

    ``accumulations`` is the number n of products summed into one element, ``scale`` the largest magnitude a product can
    have (max |in| * max |out|), ``expected`` the float64 result for the same inputs that the kernel gets, a numpy array
    or another type with its arithmetic (a PyTorch tensor). The sum is rounded once, to the weight's type.
    """
    summing = summing_allowance(accumulations, scale, dtype)
    return rounding_allowance(element_of(dtype, "wei"), expected, summing)
