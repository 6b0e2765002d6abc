"""The amount of work that a kernel instance does for a problem."""

from __future__ import annotations

from math import prod

from ckgen.conv.problem import ConvProblem
from ckgen.instance.instance import Instance


def padded_macs(instance: Instance, problem: ConvProblem) -> int:
    """Multiply-accumulates that an instance performs, including those on the padding of its tiles."""
    tile = (instance.m_per_block, instance.n_per_block, instance.k_per_block)
    return problem.groups * sum(
        prod(-(-size // block) * block for size, block in zip(gemm, tile, strict=True))
        for gemm in instance.products(problem)
    )


def copied_bytes(instance: Instance, problem: ConvProblem) -> int:
    """Bytes that the copy of the weight before the main kernel reads and writes; 0 if that reads the weight itself,
    as without taps it can if vectors divide the channels."""
    taps, vector = prod(problem.filter), instance.b_vector
    if not instance.copies_weight or (taps == 1 and problem.c % vector == 0):
        return 0
    written = -(-problem.c // vector) * vector
    return problem.groups * problem.k * taps * (problem.c + written) * instance.elem_bytes
