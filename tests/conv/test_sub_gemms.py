"""ckgen.conv.sub_gemms against the definition of the convolution, over all small parameters."""

from __future__ import annotations

from itertools import product
from math import ceil, prod

import pytest
from hypothesis import given

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.conv.sub_gemms import AxisClass, Decomposition, Progression, SubGemm, decompose, split_axis, tilde
from tests.support.strategies import problems

Position = tuple[int, ...]
Triple = tuple[Position, Position, Position]


def defined_triples(problem: ConvProblem) -> list[Triple]:
    """Every (input, tap, output) triple of the convolution's definition."""
    found = []
    for out, tap in product(product(*map(range, problem.output)), product(*map(range, problem.filter))):
        at = tuple(
            o * s + x * d - p
            for o, s, x, d, p in zip(out, problem.strides, tap, problem.dilations, problem.left_pads, strict=True)
        )
        if all(0 <= i < edge for i, edge in zip(at, problem.input, strict=True)):
            found.append((at, tap, out))
    return sorted(found)


def axis_triples(axis: AxisClass, length: int) -> list[tuple[int, int, int]]:
    """The (input, tap, output) triples of one dimension that a class contains."""
    return [
        (position, tap, axis.output(t, j))
        for t, position in enumerate(axis.positions)
        for j, tap in enumerate(axis.taps)
        if 0 <= axis.output(t, j) < length
    ]


def triples(problem: ConvProblem, sub: SubGemm) -> list[Triple]:
    """The (input, tap, output) triples that a sub-GEMM sums over."""
    parts = [axis_triples(axis, edge) for axis, edge in zip(sub.axes, problem.output, strict=True)]
    return [tuple(zip(*parts, strict=True)) for parts in product(*parts)]  # type: ignore[misc]


def positions(found: Decomposition) -> list[Position]:
    """Every input position of a decomposition, with duplicates."""
    boxes = [tuple(axis.positions for axis in sub.axes) for sub in found.sub_gemms] + list(found.without_taps)
    return sorted(position for box in boxes for position in product(*box))


def check(problem: ConvProblem) -> None:
    found = decompose(problem)
    assert positions(found) == list(product(*map(range, problem.input))), problem
    mine = sorted(triple for sub in found.sub_gemms for triple in triples(problem, sub))
    assert mine == defined_triples(problem), problem
    for sub in found.sub_gemms:
        assert sub.positions > 0
        assert sub.taps > 0
        assert sub.gemm(problem) == (problem.batch * sub.positions, problem.c, problem.k * sub.taps)
    assert [sub.taps for sub in found.sub_gemms] == sorted((sub.taps for sub in found.sub_gemms), reverse=True)
    assert found.most_taps == max((sub.taps for sub in found.sub_gemms), default=0)


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2, 3, 4])
def test_every_small_problem_of_one_dimension(stride: int, dilation: int) -> None:
    checked = 0
    for length, filter, left, right in product(range(1, 10), range(1, 5), range(4), range(4)):
        if (filter - 1) * dilation + 1 <= length + left + right:
            sizes = {"stride": stride, "dilation": dilation, "pad": left, "right_pad": right}
            check(make_problem(batch=2, k=3, c=5, filter=(filter,), input=(length,), **sizes))
            checked += 1
    assert checked > 250


@given(problems(ndims=(2, 3), max_channels=4, max_groups=2))
def test_random_problems_of_two_and_three_dimensions(problem: ConvProblem) -> None:
    check(problem)


def test_a_class_of_positions_is_seen_by_exactly_its_taps() -> None:
    """Even if the output had no bounds, no other tap would reach these positions."""
    for length, filter, stride, dilation, pad in product((7,), range(1, 8), range(1, 7), range(1, 7), range(4)):
        axis = split_axis(length, filter, stride, dilation, pad)
        for one in axis.classes:
            for position in one.positions:
                seeing = [x for x in range(filter) if (position + pad - x * dilation) % stride == 0]
                assert seeing == list(one.taps)
        for position in (p for gap in axis.without_taps for p in gap):
            assert all((position + pad - x * dilation) % stride for x in range(filter))


def test_stride_two_has_a_class_a_first_tap() -> None:
    axis = split_axis(length=7, filter=3, stride=2, dilation=1, left_pad=1)
    even = AxisClass(Progression(1, 2, 3), Progression(0, 2, 2), origin=1, shift=1)
    odd = AxisClass(Progression(0, 2, 4), Progression(1, 2, 1), origin=0, shift=1)
    assert axis.classes == (even, odd)
    assert axis.without_taps == ()


def test_a_common_factor_of_stride_and_dilation_leaves_positions_without_a_tap() -> None:
    assert tilde(4, 2) == 2
    axis = split_axis(length=9, filter=3, stride=4, dilation=2, left_pad=0)
    assert [(list(one.positions), list(one.taps)) for one in axis.classes] == [([0, 4, 8], [0, 2]), ([2, 6], [1])]
    assert [list(gap) for gap in axis.without_taps] == [[1, 5], [3, 7]]
    assert axis.classes[0].shift == 1


def test_a_large_stride_and_a_large_filter_make_short_tables() -> None:
    """There is one class per tap that exists, not per tap that could."""
    axis = split_axis(length=5, filter=2, stride=1 << 24, dilation=1, left_pad=0)
    assert [list(one.positions) for one in axis.classes] == [[0], [1]]
    assert [list(gap) for gap in axis.without_taps] == [[2], [3], [4]]
    assert len(split_axis(length=5, filter=1 << 20, stride=3, dilation=1, left_pad=1 << 20).classes) == 3


def test_taps_that_see_padding_only_make_no_sub_gemm() -> None:
    problem = make_problem(k=1, c=1, filter=(1,), input=(2,), stride=4, pad=1, right_pad=2)
    assert problem.output == (2,)
    assert decompose(problem) == Decomposition((), ((Progression(0, 4, 1),), (Progression(1, 4, 1),)))
    assert decompose(problem).most_taps == 0


def test_sub_gemms_with_the_most_taps_come_first() -> None:
    found = decompose(make_problem(k=1, c=1, filter=(5, 3), input=(9, 9), stride=2))
    assert [sub.taps for sub in found.sub_gemms] == [6, 4, 3, 2]  # by first taps it would be 6 3 4 2


def test_positions_without_a_tap_lie_in_few_boxes() -> None:
    """The complement of the even positions of a volume is three boxes, not seven (one per parity of coordinates)."""
    found = decompose(make_problem(k=1, c=1, filter=(1, 1, 1), input=(6, 6, 6), stride=2))
    assert len(found.sub_gemms) == 1
    sizes = [prod(progression.count for progression in box) for box in found.without_taps]
    assert sizes == [3 * 6 * 6, 3 * 3 * 6, 3 * 3 * 3]


def brute_seen_share(axis: AxisClass, inside: int, tile_rows: int, length: int) -> float:
    """The mean over all first rows of a tile of the share of taps that some of its rows see."""
    count, shares = axis.positions.count, []
    for row in range(count * inside):
        positions_ = range(row // inside, (row + tile_rows - 1) // inside + 1)
        seen = {j for t in positions_ for j in range(axis.taps.count) if 0 <= axis.output(t, j) < length}
        shares.append(1.0 if positions_[-1] >= count else len(seen) / axis.taps.count)
    return sum(shares) / len(shares)


@given(problem=problems())
def test_tiles_see_as_many_taps_as_their_rows(problem: ConvProblem) -> None:
    for sub in decompose(problem).sub_gemms:
        first, inside = sub.axes[0], sub.positions // sub.axes[0].positions.count
        for tile_rows in (1, 5, 32):
            share = brute_seen_share(first, inside, tile_rows, problem.output[0])
            whole = problem.k * sub.taps
            mean = sub.gemm(problem, 1, tile_rows)[2]
            assert mean == whole or mean == problem.k * ceil(sub.taps * share - 1e-9), (problem, tile_rows)
            if share < 0.8:
                assert mean < whole or share * sub.taps > sub.taps - 1, (problem, tile_rows)


def test_rounding_adds_no_tap() -> None:
    """Two thirds of nine taps are six, though the product of the numbers is a little more."""
    problem = make_problem(k=1, c=1, filter=(3, 3, 1), input=(2, 3, 2), right_pad=(1, 0, 0))
    assert decompose(problem).sub_gemms[0].gemm(problem, 1, 5)[2] == 6
