"""Fold neighbouring positions of a row into channels, where no two output positions read the same input position.

A filter whose last edge is its stride, without pads and dilation there, cuts the rows of a channels-last tensor into
runs of ``edge * c`` neighbouring elements, one per output position. They are the channels of a convolution whose last
edge is 1:

    in[n][h][w * edge + x][c]  = in'[n][h][w][x * c_count + c]
    wei[k][y][x][c]            = wei'[k][y][0][x * c_count + c]

The tensors are the same memory. Patch embeddings are such filters: 16x16 with stride 16 and 3 channels is 16x1 with
stride 16x1 and 48 channels, which fill vectors and tiles.
"""

from __future__ import annotations

from dataclasses import replace

from ckgen.conv.problem import ConvProblem


def run_of(problem: ConvProblem) -> int:
    """The number of positions of a row that fold into channels; 1 if the problem has no such rows."""
    edge, width = problem.filter[-1], problem.input[-1]
    apart = problem.strides[-1] == edge and problem.dilations[-1] == 1
    padded = problem.left_pads[-1] or problem.right_pads[-1]
    return edge if problem.groups == 1 and apart and not padded and width % edge == 0 else 1


def folded(problem: ConvProblem) -> ConvProblem:
    """The same convolution with ``run_of(problem)`` times the channels."""
    run = run_of(problem)
    return replace(
        problem,
        c=problem.c * run,
        filter=(*problem.filter[:-1], problem.filter[-1] // run),
        input=(*problem.input[:-1], problem.input[-1] // run),
        strides=(*problem.strides[:-1], problem.strides[-1] // run),
    )
