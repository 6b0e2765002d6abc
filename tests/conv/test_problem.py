"""ckgen.conv.problem: derived sizes, layouts, scaling, and the errors of problems that cannot exist."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.conv.layout import logical_axes, ndim_of, packed_strides, physical_axes, to_logical, to_physical
from ckgen.conv.problem import INT32_MAX, ConvProblem, ProblemError, make_problem
from ckgen.conv.reached import reached
from ckgen.errors import CkgenError
from tests.support.strategies import problems

LAYOUTS = (
    "NWGC/GKXC/NWGK",
    "GNWC/GKXC/GNWK",
    "NHWGC/GKYXC/NHWGK",
    "GNHWC/GKYXC/GNHWK",
    "NDHWGC/GKZYXC/NDHWGK",
    "GNDHWC/GKZYXC/GNDHWK",
)


def base(**changes: object) -> dict[str, object]:
    return {"groups": 2, "batch": 3, "k": 4, "c": 5, "filter": (3, 3), "input": (9, 8), "pad": 1} | changes


def test_sizes_of_a_known_problem() -> None:
    problem = make_problem(groups=32, batch=2, k=8, c=8, filter=(3, 3), input=(200, 199), stride=2, pad=1)
    assert problem.output == (100, 100)
    assert problem.gemm == (8, 72, 20000)
    assert problem.macs == 32 * 8 * 72 * 20000
    assert problem.flops == 2 * problem.macs
    assert problem.lengths("in") == (32, 2, 8, 200, 199)
    assert problem.lengths("wei") == (32, 8, 8, 3, 3)
    assert problem.lengths("out") == (32, 2, 8, 100, 100)
    inputs, weights = 32 * 2 * 8 * (200 * 199 + 100 * 100), 32 * 8 * 8 * 9
    assert problem.bytes("f16") == 2 * (inputs + weights)
    assert problem.bytes("f32") == 4 * (inputs + weights)
    assert problem.bytes("bf16_f32_bf16") == 2 * inputs + 4 * weights
    assert str(problem) == "G32 N2 K8 C8 3x3 on 200x199 s2 p1"


def test_asymmetric_pads_and_dilation_show_in_the_text() -> None:
    problem = make_problem(k=1, c=1, filter=(2, 2), input=(9, 9), dilation=(1, 3), pad=(0, 2), right_pad=1)
    assert str(problem) == "G1 N1 K1 C1 2x2 on 9x9 s1 d1x3 p0x2:1"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_are_those_of_the_array_in_the_layouts_order(layout: str) -> None:
    ndim = ndim_of(layout)
    problem = make_problem(groups=2, batch=3, k=4, c=5, filter=(3, 2, 2)[:ndim], input=(7, 8, 9)[:ndim])
    for tensor in ("in", "wei", "out"):
        array = np.empty(problem.shape(tensor, layout), np.int8)
        logical = array.transpose(to_logical(tensor, layout))
        assert logical.shape == problem.lengths(tensor)
        assert logical.strides == problem.strides_of(tensor, layout)
        assert logical.transpose(to_physical(tensor, layout)).strides == array.strides
        letters = physical_axes(tensor, layout)
        assert "".join(letters[axis] for axis in to_logical(tensor, layout)) == logical_axes(tensor, ndim)


def test_ck_channels_last_strides() -> None:
    """The strides CK's NDHWGC client passes: {C, Di*Hi*Wi*G*C, 1, Hi*Wi*G*C, Wi*G*C, G*C}."""
    g, n, c, d, h, w = 2, 3, 5, 7, 8, 9
    strides = packed_strides("in", "NDHWGC/GKZYXC/NDHWGK", (g, n, c, d, h, w))
    assert strides == (c, d * h * w * g * c, 1, h * w * g * c, w * g * c, g * c)


@pytest.mark.parametrize("layout", ["NHWGC", "NHWGC/GKYXC", "NHWGC/GKXC/NHWGK", "NCC/GKX/NKK", "", "a/b/c/d"])
def test_a_layout_that_is_none_is_refused(layout: str) -> None:
    with pytest.raises(ValueError, match="layout"):
        ndim_of(layout)


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ({"groups": 0}, "problem-positive", "groups is 0"),
        ({"batch": -3}, "problem-positive", "batch is -3"),
        ({"k": 0}, "problem-positive", "k is 0"),
        ({"c": -1}, "problem-positive", "c is -1"),
        ({"filter": (3, 0)}, "problem-positive", "filter is 0"),
        ({"input": (0, 9)}, "problem-positive", "input is 0"),
        ({"stride": 0}, "problem-positive", "strides is 0"),
        ({"dilation": (1, -1)}, "problem-positive", "dilations is -1"),
        ({"pad": -1}, "problem-positive", "left_pads is -1"),
        ({"right_pad": (0, -2)}, "problem-positive", "right_pads is -2"),
        ({"filter": (3,)}, "problem-mismatched-lengths", "filter has 1 entries, the input has 2"),
        ({"stride": (1, 1, 1)}, "problem-mismatched-lengths", "strides has 3 entries"),
        ({"input": (), "filter": (), "pad": ()}, "problem-ndim", "0 spatial dimensions"),
        ({"input": (9,) * 4, "filter": (3,) * 4}, "problem-ndim", "4 spatial dimensions"),
        ({"filter": (12, 3)}, "problem-empty-output", "spans 12 positions, the padded input has 11"),
        ({"dilation": 5}, "problem-empty-output", "dimension 1: the dilated filter spans 11"),
        ({"k": 2.0}, "problem-integer", "k is 2.0"),
        ({"batch": True}, "problem-integer", "batch is True"),
        ({"stride": (1, "2")}, "problem-integer", "strides is '2'"),
        ({"batch": 2**31}, "problem-int32", "batch is 2147483648"),
        ({"pad": INT32_MAX}, "problem-int32", "padded input"),
        ({"dilation": INT32_MAX}, "problem-int32", "dilated filter spans 4294967295"),
        ({"groups": 2**16, "batch": 2**16, "c": 2**29}, "problem-int64", "in tensor"),
        ({"k": INT32_MAX, "c": INT32_MAX}, "problem-int64", "wei tensor"),
    ],
)
def test_broken_problems_say_what_is_wrong(changes: dict[str, object], rule: str, words: str) -> None:
    with pytest.raises(ProblemError) as raised:
        make_problem(**base(**changes))  # type: ignore[arg-type]
    found = raised.value.diagnostics
    assert any(d.rule == rule and words in d.message for d in found), [d.message for d in found]
    assert raised.value.exit_code == 2


def test_all_reasons_come_at_once() -> None:
    with pytest.raises(ProblemError) as raised:
        make_problem(**base(groups=0, k=-1, filter=(3,), stride=(0, 1)))  # type: ignore[arg-type]
    assert len(raised.value.diagnostics) == 4


def test_equal_reasons_come_once() -> None:
    with pytest.raises(ProblemError) as raised:
        make_problem(**base(pad=-1))  # type: ignore[arg-type]
    assert [d.message.partition(" ")[0] for d in raised.value.diagnostics] == ["left_pads", "right_pads"]


@pytest.mark.parametrize("method", [ConvProblem.shape, ConvProblem.strides_of])
@pytest.mark.parametrize(
    ("tensor", "layout", "words"),
    [
        ("x", "NHWGC/GKYXC/NHWGK", "there is no tensor 'x'"),
        ("in", None, "layout is None, none of a 2D problem"),
        ("in", "NHWGC", "layout is 'NHWGC', none of a 2D problem"),
        ("in", "NDHWGC/GKZYXC/NDHWGK", "none of a 2D problem"),
    ],
)
def test_shapes_are_of_a_tensor_in_a_layout_of_the_problem(method: Any, tensor: Any, layout: Any, words: str) -> None:
    with pytest.raises(CkgenError, match=words):
        method(make_problem(k=8, c=8, filter=(3, 3), input=(6, 6)), tensor, layout)


@given(problems())
def test_output_counts_the_places_where_the_filter_fits(problem: ConvProblem) -> None:
    for axis in range(problem.ndim):
        padded = problem.input[axis] + problem.left_pads[axis] + problem.right_pads[axis]
        reach = (problem.filter[axis] - 1) * problem.dilations[axis]
        starts = [s for s in range(0, padded, problem.strides[axis]) if s + reach < padded]
        assert problem.output[axis] == len(starts)


@given(*(st.integers(1, most) for most in (80, 12, 9, 9, 9)), st.integers(0, 12))
def test_reached_positions_are_counted_as_if_one_by_one(
    edge: int, outputs: int, taps: int, stride: int, dilation: int, pad: int
) -> None:
    positions = {output * stride + tap * dilation - pad for output in range(outputs) for tap in range(taps)}
    assert reached(edge, (outputs, taps, stride, dilation, pad)) == len(positions & set(range(edge)))


def test_many_positions_are_counted_at_once() -> None:
    long = make_problem(k=1, c=1, filter=(3,), input=(2**30,), stride=4)
    assert long.bytes("f16") - long.compulsory_bytes("f16") == 2 * 2**28, "a quarter is read by no tap"
    odd = make_problem(k=1, c=1, filter=(46000,), input=(2**31 - 50,), stride=46337, dilation=46339)
    assert odd.compulsory_bytes("f16") < odd.bytes("f16")


@given(problems(), st.integers(1, 4))
def test_scaling_keeps_everything_but_batch_and_image(problem: ConvProblem, batch: int) -> None:
    small = problem.scaled(batch)
    assert small.batch == min(problem.batch, batch)
    assert all(a <= b for a, b in zip(small.input, problem.input, strict=True))
    assert dataclasses.replace(small, batch=problem.batch, input=problem.input) == problem


def test_scaling_keeps_layers_apart_and_in_order() -> None:
    edges = [7, 13, 25, 50, 100, 200]
    scaled = [make_problem(k=1, c=1, filter=(3,), input=(e,), pad=1).scaled(2).input[0] for e in edges]
    assert scaled == [3, 4, 5, 8, 10, 15]


def test_fitting_takes_the_largest_form_under_the_limit() -> None:
    problem = make_problem(batch=32, k=256, c=256, filter=(3, 3), input=(100, 100), pad=1)
    assert problem.fitted(problem.macs) == problem
    assert problem.fitted(problem.macs - 1) == problem.scaled(4)
    assert problem.fitted(problem.scaled(2).macs) == problem.scaled(2)
    assert problem.fitted(1) == problem.scaled(1)


@pytest.mark.parametrize("field", ["filter", "input", "stride", "dilation", "pad", "right_pad"])
@pytest.mark.parametrize("value", [1.5, float("nan"), "same", object()])
def test_what_is_no_list_of_numbers_is_a_problem_error(field: str, value: Any) -> None:
    with pytest.raises(ProblemError, match=f"{field} is .*, not one whole number for each dimension"):
        make_problem(**{"k": 8, "c": 8, "filter": (3, 3), "input": (6, 6), field: value})


def test_integers_of_numpy_are_integers() -> None:
    one, two = np.int64(1), np.array([2, 2])
    given = make_problem(batch=one, k=8, c=np.uint8(8), filter=two, input=np.array([5, 5]), stride=two, pad=one)
    assert given == make_problem(batch=1, k=8, c=8, filter=(2, 2), input=(5, 5), stride=(2, 2), pad=1)
    assert type(given.batch) is int and all(type(edge) is int for edge in (*given.filter, *given.strides))
    for wrong in (np.float64(1), np.array([[1, 1], [1, 1]]), np.bool_(True)):
        with pytest.raises(ProblemError):
            make_problem(batch=1, k=8, c=8, filter=(2, 2), input=(5, 5), stride=wrong)  # type: ignore[arg-type]
