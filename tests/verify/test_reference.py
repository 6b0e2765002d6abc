"""Compare ckgen.verify.reference with a plain loop over the definition, and the tolerance with real f32 sums."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.conv.dtypes import ELEMENTS, Float64, element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.operations.bwd_weight import backward_weight
from ckgen.verify.reference import tolerance
from tests.support.strategies import problems


def plain_loop(problem: ConvProblem, in_: Float64, out: Float64) -> Float64:
    """Compute the definition with a loop over output positions and taps, without code of the module."""
    wei = np.zeros(problem.lengths("wei"))
    for position in product(*map(range, problem.output)):
        for tap in product(*map(range, problem.filter)):
            place = tuple(
                o * s + x * d - p
                for o, s, x, d, p in zip(
                    position, problem.strides, tap, problem.dilations, problem.left_pads, strict=True
                )
            )
            if all(0 <= at < edge for at, edge in zip(place, problem.input, strict=True)):
                for g, n in product(range(problem.groups), range(problem.batch)):
                    seen, gradient = in_[(g, n, slice(None), *place)], out[(g, n, slice(None), *position)]
                    wei[(g, slice(None), slice(None), *tap)] += np.outer(gradient, seen)
    return wei


@given(problems(max_channels=4, max_groups=3), st.integers(0, 2**32))
def test_equals_the_plain_loop(problem: ConvProblem, seed: int) -> None:
    random = np.random.default_rng(seed)
    in_, out = random.uniform(-1, 1, problem.lengths("in")), random.uniform(-1, 1, problem.lengths("out"))
    assert np.allclose(backward_weight(problem, in_, out), plain_loop(problem, in_, out), rtol=1e-12, atol=1e-12)


def test_a_case_worked_out_by_hand() -> None:
    """Input 1 2 3 4, gradient 1 10, filter 2, stride 2, a pad on the left: windows (0, 1) and (2, 3)."""
    problem = make_problem(k=1, c=1, filter=(2,), input=(4,), stride=2, pad=1, right_pad=0)
    in_, out = np.array([1.0, 2, 3, 4]).reshape(1, 1, 1, 4), np.array([1.0, 10]).reshape(1, 1, 1, 2)
    assert backward_weight(problem, in_, out).ravel().tolist() == [20.0, 31.0]


def test_the_weights_of_one_group_depend_on_that_group_only() -> None:
    problem = make_problem(groups=3, batch=2, k=2, c=2, filter=(3,), input=(5,))
    random = np.random.default_rng(1)
    in_, out = random.uniform(-1, 1, problem.lengths("in")), random.uniform(-1, 1, problem.lengths("out"))
    before = backward_weight(problem, in_, out)
    in_[1] += 1
    after = backward_weight(problem, in_, out)
    assert [bool((before[g] == after[g]).all()) for g in range(3)] == [True, False, True]


def test_wrong_shapes_are_refused() -> None:
    problem = make_problem(k=1, c=1, filter=(1,), input=(4,))
    with pytest.raises(ValueError, match="shapes"):
        backward_weight(problem, np.zeros((1, 1, 1, 4)), np.zeros((1, 1, 1, 3)))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "bf16_f32_bf16"])
@pytest.mark.parametrize("depth", [1, 2, 3, 100, 20000])
def test_f32_sums_in_the_worst_order_keep_the_tolerance_with_room(dtype: str, depth: int) -> None:
    inputs, weights = element_of(dtype, "in"), element_of(dtype, "wei")
    random = np.random.default_rng(depth)
    a, b = (decode(encode(random.uniform(-1, 1, (50, depth)), inputs), inputs) for _ in "ab")
    expected = (a * b).sum(axis=1)
    products = (a.astype(np.float32) * b.astype(np.float32)).astype(np.float32)
    in_order = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
    error = np.abs(decode(encode(in_order, weights), weights) - expected)
    assert (error <= tolerance(dtype, depth, 1.0, expected)).all()
    summing = np.abs(in_order.astype(np.float64) - expected).max()
    assert depth < 100 or summing < tolerance("f32", depth, 1.0, np.zeros(1))[0] / 4


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "bf16_f32_bf16"])
@pytest.mark.parametrize("depth", [100, 20000])
def test_a_missing_product_is_outside_the_tolerance(dtype: str, depth: int) -> None:
    """If each of many elements lacks one product, the tolerance detects most; one is enough to fail a kernel."""
    random = np.random.default_rng(depth)
    a, b = random.uniform(-1, 1, (2, 200, depth))
    expected = (a * b).sum(axis=1)
    lacking = expected - a[:, -1] * b[:, -1]
    found = np.abs(lacking - expected) > tolerance(dtype, depth, 1.0, expected)
    assert found.mean() > 0.5


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_sums_kept_in_sixteen_bits_are_outside_the_tolerance(dtype: str) -> None:
    element, random = element_of(dtype, "wei"), np.random.default_rng(5)
    products = random.uniform(-1, 1, (50, 1000))
    total = np.zeros(50)
    for column in products.T:
        total = decode(encode(total + column, element), element)
    expected = products.sum(axis=1)
    assert (np.abs(total - expected) > tolerance(dtype, 1000, 1.0, expected)).mean() > 0.5


@given(st.floats(width=32), st.sampled_from(sorted(ELEMENTS)))
def test_encoding_rounds_to_the_nearest_value(value: float, name: str) -> None:
    element = ELEMENTS[name]
    stored = encode(np.array([value]), element)
    back = float(decode(stored, element)[0])
    if np.isnan(value):
        assert np.isnan(back) or element.integer
    elif element.integer:
        assert back == min(
            max(round(value) if np.isfinite(value) else value, -(2**element.precision)), 2**element.precision - 1
        )
    elif np.isfinite(back):
        assert abs(back - value) <= max(abs(value) * element.unit_roundoff, element.least / 2)
    else:
        exponents = {"f16": 15, "f8": 8, "bf8": 15, "f8_fnuz": 7, "bf8_fnuz": 15}
        largest = (2 - 2.0 ** (1 - element.precision)) * 2.0 ** exponents.get(name, 127)
        largest = 448.0 if name == "f8" else largest
        assert abs(value) > largest
    assert encode(decode(stored, element), element).tobytes() == stored.tobytes() or np.isnan(back)


def test_bf16_ties_go_to_even_and_nan_payloads_stay_nan() -> None:
    element = ELEMENTS["bf16"]
    ties = np.array([1 + 2**-8, 1 + 3 * 2**-8])
    assert decode(encode(ties, element), element).tolist() == [1.0, 1 + 2**-6]
    assert np.isnan(decode(encode(np.array([0x7F800001], np.uint32).view(np.float32), element), element))
    assert np.isposinf(decode(encode(np.array([3.4e38]), element), element))


def test_decoding_another_storage_type_is_refused() -> None:
    with pytest.raises(TypeError, match="bf16 is stored as uint16, this array is float32"):
        decode(np.zeros(1, np.float32), ELEMENTS["bf16"])
