"""Test the folding of positions into channels: the same elements multiply each other, and other problems stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckgen.conv.folding import folded, run_of
from ckgen.conv.problem import ConvProblem, make_problem

PATCH: dict[str, Any] = {
    **{"batch": 2, "k": 5, "c": 3},
    **{"filter": [4, 4], "input": [9, 12], "stride": [3, 4], "pad": [1, 0]},
}


def weight_gradient(problem: ConvProblem, input: np.ndarray, output: np.ndarray) -> np.ndarray:
    """[K][Y][X][C] of input [N][H][W][C] and output [N][H][W][K], by the definition."""
    (rows, columns), (down, across) = problem.filter, problem.strides
    top, left = problem.left_pads
    found = np.zeros((problem.k, rows, columns, problem.c))
    for (n, y, x, k), value in np.ndenumerate(output):
        for r, s in np.ndindex(rows, columns):
            at = y * down + r - top, x * across + s - left
            if all(0 <= place < edge for place, edge in zip(at, problem.input, strict=True)):
                found[k, r, s] += value * input[n, at[0], at[1]]
    return found


def test_a_folded_problem_has_the_same_gradient_in_the_same_memory() -> None:
    problem = make_problem(**PATCH)
    own, random = folded(problem), np.random.default_rng(1)
    assert run_of(problem) == 4
    assert (own.c, own.filter, own.input, own.strides) == (12, (4, 1), (9, 3), (3, 1))
    assert own.output == problem.output
    input, output = random.random((2, 9, 12, 3)), random.random((2, *problem.output, 5))
    known = weight_gradient(problem, input, output)
    assert np.allclose(known.reshape(5, 4, 1, 12), weight_gradient(own, input.reshape(2, 9, 3, 12), output))


@pytest.mark.parametrize(
    "change",
    [
        {"stride": [3, 3]},
        {"stride": [4, 5]},
        {"pad": [1, 2]},
        {"dilation": [1, 2]},
        {"input": [9, 13]},
        {"groups": 2},
        {"filter": [4, 1], "stride": [3, 1]},
    ],
    ids=str,
)
def test_other_problems_stay(change: dict[str, Any]) -> None:
    problem = make_problem(**PATCH | change)
    assert run_of(problem) == 1
    assert folded(problem) == problem
