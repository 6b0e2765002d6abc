"""The operations as matrix products: how large they are for one group of a problem."""

from __future__ import annotations

from collections.abc import Callable

from ckgen.conv.problem import ConvProblem
from ckgen.conv.sub_gemms import decompose
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

Gemm = tuple[int, int, int]  # M, N and K


def _of_data(problem: ConvProblem) -> tuple[Gemm, ...]:
    return tuple(sub.gemm(problem) for sub in decompose(problem).sub_gemms)


_PRODUCTS: dict[str, Callable[[ConvProblem], tuple[Gemm, ...]]] = {
    BWD_WEIGHT: lambda problem: (problem.gemm,),
    BWD_DATA: _of_data,
}


def products(operation: str, problem: ConvProblem) -> tuple[Gemm, ...]:
    """(M, N, K) of each matrix product of one group; none where no filter tap sees an input position."""
    return _PRODUCTS[operation](problem)


def accumulations(operation: str, problem: ConvProblem) -> int:
    """The largest number of products summed into one element of the result."""
    return max((k for _, _, k in products(operation, problem)), default=0)


_LEAST_BYTES: dict[str, Callable[[ConvProblem, str], int]] = {
    BWD_WEIGHT: ConvProblem.least_bytes,
    BWD_DATA: ConvProblem.bytes,  # every position of the input is written
}


def least_bytes(operation: str, problem: ConvProblem, dtype: str) -> int:
    """The least memory traffic of any kernel, without D tensors."""
    return _LEAST_BYTES[operation](problem, dtype)
