"""Taps of a filter row as columns of a product: the problem that family col2im of backward data computes.

In the last dimension, of stride s, a cell has s input positions. Each tap of the row reaches the positions of a cell
from one output position, so the product of an output position and the weight has a column for each tap and channel. In
the dimension before, if its dilation is 1, a cell has the rows of one stride too, as many as fit the columns of a tile;
the taps that reach one row of a cell are terms of the sums. templates/include/ckgen/conv/col2im.hpp has the formulas.
"""

from __future__ import annotations

from ckgen.conv.problem import ConvProblem


def with_columns(problem: ConvProblem, most: int) -> ConvProblem:
    """The problem whose channels are the columns of ``problem``, at most ``most`` if a filter row has no more. It has
    one tap in the last dimension; its input positions are cells. Applied to its result, it changes nothing."""
    edge, stride, pad = problem.filter[-1], problem.strides[-1], problem.left_pads[-1]
    c = problem.c * edge
    axes = list(zip(problem.filter, problem.input, problem.strides, problem.dilations, strict=True))
    pads = list(zip(problem.left_pads, problem.right_pads, strict=True))
    axes[-1], pads[-1] = (1, (problem.input[-1] - 1 + pad) // stride + 1, 1, 1), (0, 0)
    if problem.ndim > 1 and problem.dilations[-2] == 1 and problem.strides[-2] * c <= most:
        c *= problem.strides[-2]
        axes[-2], pads[-2] = _rows(problem)
    filter_, input_, strides, dilations = zip(*axes, strict=True)
    left, right = zip(*pads, strict=True)
    return ConvProblem(problem.groups, problem.batch, problem.k, c, filter_, input_, strides, dilations, left, right)


def _rows(problem: ConvProblem) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """The dimension before the last in cells of one stride: filter, input, stride and dilation; pads."""
    stride, pad, output = problem.strides[-2], problem.left_pads[-2], problem.output[-2]
    taps, first = -(-problem.filter[-2] // stride), pad // stride
    cells = (problem.input[-2] - 1 + pad) // stride - first + 1
    return (taps, cells, 1, 1), (first, max(0, output + taps - 1 - cells - first))
