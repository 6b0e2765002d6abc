"""The sizes of each operation's matrix products for one group of a problem, looked up by the operation's name."""

from __future__ import annotations

from ckgen.conv.problem import ConvProblem
from ckgen.operations.operation import OPERATIONS
from ckgen.operations.record import Gemm


def products(operation: str, problem: ConvProblem) -> tuple[Gemm, ...]:
    """(M, N, K) of each matrix product of one group; empty if no filter tap reaches an input position."""
    return OPERATIONS[operation].products(problem)


def accumulations(operation: str, problem: ConvProblem) -> int:
    """The largest number of products summed into one element of the result."""
    return max((k for _, _, k in products(operation, problem)), default=0)


def compulsory_bytes(operation: str, problem: ConvProblem, dtype: str) -> int:
    """The compulsory bytes of a problem: the traffic if each tensor is read or written once, without D tensors."""
    return OPERATIONS[operation].compulsory_bytes(problem, dtype)
