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
