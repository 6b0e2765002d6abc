"""Compare ckgen.verify.reference_fused with plain loops, the convolution and the GEMM view, and its allowance with
f32.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.conv.dtypes import ELEMENTS, Float64
from ckgen.conv.encoding import decode, encode
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.conv.sub_gemms import decompose
from ckgen.elementwise.error_bounds import Bounded
from ckgen.elementwise.function import BUILTINS, make_function
from ckgen.operations.bwd_data import backward_data
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.verify.reference import summing_allowance
from ckgen.verify.reference_fused import (
    D_LAYOUTS,
    DTensor,
    allowance,
    fused,
    logical_view,
)
from tests.support.strategies import problems


def plain_loop(problem: ConvProblem, out: Float64, wei: Float64) -> Float64:
    """Compute the definition with loops over group, image, output channel, input channel, output position and tap."""
    in_ = np.zeros(problem.lengths("in"))
    counts = (problem.groups, problem.batch, problem.k, problem.c)
    positions, taps = list(product(*map(range, problem.output))), list(product(*map(range, problem.filter)))
    for g, n, k, c in product(*map(range, counts)):
        for position, tap in product(positions, taps):
            place = tuple(
                o * s + x * d - p
                for o, s, x, d, p in zip(
                    position, problem.strides, tap, problem.dilations, problem.left_pads, strict=True
                )
            )
            if all(0 <= at < edge for at, edge in zip(place, problem.input, strict=True)):
                in_[(g, n, c, *place)] += out[(g, n, k, *position)] * wei[(g, k, c, *tap)]
    return in_


def data_of(problem: ConvProblem, seed: int) -> tuple[Float64, Float64]:
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, problem.lengths("out")), random.uniform(-1, 1, problem.lengths("wei"))


@settings(max_examples=40)
@given(problems(max_channels=3, max_groups=2), st.integers(0, 2**32))
def test_equals_the_plain_loops(problem: ConvProblem, seed: int) -> None:
    out, wei = data_of(problem, seed)
    assert np.allclose(backward_data(problem, out, wei), plain_loop(problem, out, wei), rtol=1e-12, atol=1e-12)


def convolution(problem: ConvProblem, in_: Float64, wei: Float64) -> Float64:
    """The forward convolution, tap by tap."""
    pads = [(0, 0)] * 3 + list(zip(problem.left_pads, problem.right_pads, strict=True))
    padded, result = np.pad(in_, pads), np.zeros(problem.lengths("out"))
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in product(*map(range, problem.filter)):
        starts = [x * dilation for x, (dilation, _, _) in zip(tap, axes, strict=True)]
        ends = [at + (edge - 1) * stride + 1 for at, (_, edge, stride) in zip(starts, axes, strict=True)]
        window = tuple(map(slice, starts, ends, problem.strides))
        result += np.einsum("gnc...,gkc->gnk...", padded[(..., *window)], wei[(..., *tap)])
    return result


@given(problems(max_channels=4, max_groups=3), st.integers(0, 2**32))
def test_is_the_transpose_of_the_convolution(problem: ConvProblem, seed: int) -> None:
    """Check <dOut, conv(x, W)> = <dIn, x> for every x."""
    out, wei = data_of(problem, seed)
    x = np.random.default_rng(seed + 1).uniform(-1, 1, problem.lengths("in"))
    forward = float((out * convolution(problem, x, wei)).sum())
    assert np.isclose(float((backward_data(problem, out, wei) * x).sum()), forward, rtol=1e-10, atol=1e-10)


@given(problems(max_channels=4, max_groups=2), st.integers(0, 2**32))
def test_the_sub_gemms_compute_it_and_leave_no_position_out(problem: ConvProblem, seed: int) -> None:
    """Run a kernel's steps in numpy: gather A, multiply by B, scatter C; boxes of positions without a tap get zeros."""
    out, wei = data_of(problem, seed)
    found = np.full(problem.lengths("in"), np.nan)
    decomposition = decompose(problem)
    for sub in decomposition.sub_gemms:
        rows = [tuple(enumerate(axis.positions)) for axis in sub.axes]
        taps = [tuple(enumerate(axis.taps)) for axis in sub.axes]
        for row in product(*rows):
            total = np.zeros((problem.groups, problem.batch, problem.c))
            for tap in product(*taps):
                at = tuple(axis.output(t[0], j[0]) for axis, t, j in zip(sub.axes, row, tap, strict=True))
                if all(0 <= o < edge for o, edge in zip(at, problem.output, strict=True)):
                    total += out[(..., *at)] @ wei[(..., *(x for _, x in tap))]
            place = (slice(None), slice(None), slice(None), *(position for _, position in row))
            assert np.isnan(found[place]).all()
            found[place] = total
    for box in decomposition.without_taps:
        found[(slice(None), slice(None), slice(None), *np.ix_(*map(list, box)))] = 0
    assert np.allclose(found, backward_data(problem, out, wei), rtol=1e-12, atol=1e-12)


def test_a_case_worked_out_by_hand() -> None:
    """Filter 1 10 100 with stride 2 on 5 positions, gradient 1 2: taps 0 and 2 meet in the middle."""
    problem = make_problem(k=1, c=1, filter=(3,), input=(6,), stride=2)
    out, wei = np.array([1.0, 2]).reshape(1, 1, 1, 2), np.array([1.0, 10, 100]).reshape(1, 1, 1, 3)
    assert backward_data(problem, out, wei).ravel().tolist() == [1.0, 10, 102, 20, 200, 0]
    assert OPERATIONS[BWD_DATA].accumulations(problem) == 2


def test_wrong_shapes_are_refused() -> None:
    problem = make_problem(k=1, c=1, filter=(1,), input=(4,))
    with pytest.raises(ValueError, match=r"out and wei have shapes \(1, 1, 1, 3\)"):
        backward_data(problem, np.zeros((1, 1, 1, 3)), np.zeros((1, 1, 1, 1)))


LENGTHS = (3, 2, 5, 4, 6)  # G, N, C, H, W


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("layout", D_LAYOUTS["in", 2])
def test_d_of_every_layout_and_type_is_read_in_logical_order(layout: str, dtype: str) -> None:
    g, n, c, h, w = np.indices(LENGTHS)
    full = (c + 8 * g + (0 if layout in ("GC", "G_C") else 32 * n + 64 * h + 256 * w)) / 16.0
    axes = layout.replace("_", "")
    whole = full.transpose(["GNCHW".index(axis) for axis in ("NHWGC" if axes == "GC" else axes)])
    array = encode(whole[0, 0, 0] if axes == "GC" else whole, ELEMENTS[dtype])
    values = logical_view("d0", DTensor(array, dtype, layout), LENGTHS)
    assert values.shape == LENGTHS
    assert np.array_equal(values, decode(encode(full, ELEMENTS[dtype]), ELEMENTS[dtype]))


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_a_value_a_channel_reaches_every_position(ndim: int) -> None:
    lengths = (2, 3, 4, *(5, 6, 7)[:ndim])
    values = logical_view("d0", DTensor(np.arange(8, dtype=np.float32).reshape(2, 4), "f32", "G_C"), lengths)
    assert values.shape == lengths
    assert np.array_equal(values[(1, 2, slice(None), *[-1] * ndim)], [4, 5, 6, 7])


def test_tensors_that_do_not_fit_are_refused() -> None:
    gradient = np.zeros(LENGTHS)
    bias = DTensor(np.zeros((3, 5), np.float32), "f32", "GC")
    add, scale = BUILTINS["AddResidual"], BUILTINS["Scale"]
    with pytest.raises(ValueError, match=r"d0 has shape \(3, 4\), GC of this problem is \(3, 5\)"):
        fused(gradient, 0.0, add, {"d0": DTensor(np.zeros((3, 4), np.float32), "f32", "GC")})
    with pytest.raises(ValueError, match="d0 has layout NWGC"):
        fused(gradient, 0.0, add, {"d0": DTensor(bias.array, "f32", "NWGC")})
    with pytest.raises(ValueError, match=r"AddResidual has tensors \['d0'\], these are \[\]"):
        fused(gradient, 0.0, add, {})
    with pytest.raises(ValueError, match=r"Scale has tensors \[\], these are \['d0'\]"):
        fused(gradient, 0.0, scale, {"d0": bias})
    with pytest.raises(ValueError, match=r"Scale has scalars \['scale'\], these are \['factor'\]"):
        fused(gradient, 0.0, scale, {}, {"factor": 2.0})
    with pytest.raises(TypeError, match="bf16 is stored as uint16"):
        fused(gradient, 0.0, add, {"d0": DTensor(bias.array, "bf16", "GC")})


def test_positions_without_a_tap_get_the_function_of_zero() -> None:
    problem = make_problem(k=2, c=2, filter=(1,), input=(5,), stride=2)
    out, wei = data_of(problem, 1)
    skip = np.arange(10, dtype=np.float32).reshape(1, 1, 5, 2)  # GNWC
    function = make_function("Mine", "2 * e - d0", ("d0",))
    found = fused(backward_data(problem, out, wei), 0.0, function, {"d0": DTensor(skip, "f32", "GNWC")})
    assert found.value[0, 0, :, 1].tolist() == [-2, -3]
    assert found.value[0, 0, :, 3].tolist() == [-6, -7]
    assert not np.array_equal(found.value[0, 0, :, 2], [-4, -5])


def test_two_tensors_of_different_types_and_layouts() -> None:
    gradient = np.arange(12, dtype=np.float64).reshape(1, 2, 3, 2)
    mask = encode(gradient.transpose(1, 3, 0, 2) % 2, ELEMENTS["bf16"])  # NWGC
    bias = np.array([[10.0, 20, 30]], np.float16)
    function = make_function("Mine", "e * mask + s * bias if e < 9 else bias", ("mask", "bias"), {"s": 2.0})
    tensors = {"mask": DTensor(mask, "bf16", "NWGC"), "bias": DTensor(bias, "f16", "GC")}
    channel = np.array([10.0, 20, 30]).reshape(1, 1, 3, 1)
    for s in (2.0, 0.5):
        expected = np.where(gradient < 9, gradient * (gradient % 2) + s * channel, channel)
        assert np.array_equal(fused(gradient, 0.0, function, tensors, {"s": s}).value, expected)
    default = fused(gradient, 0.0, function, tensors)
    assert np.array_equal(default.value, fused(gradient, 0.0, function, tensors, {"s": 2.0}).value)


def kernel_like(products: Any, function: str, d0: Any, scalars: dict[str, float]) -> Any:
    """Sum in f32 in the worst order, one after another, and apply the function in f32."""
    e = np.cumsum(products.astype(np.float32), axis=1, dtype=np.float32)[:, -1]
    d, s = d0.astype(np.float32), {name: np.float32(value) for name, value in scalars.items()}
    if function == "Bilinear":
        return s["alpha"] * e + s["beta"] * d
    return np.clip(e, s["lo"], s["hi"]) if function == "Clip" else np.maximum(e + d, np.float32(0))


CASES = [
    ("Bilinear", {"alpha": 100.0, "beta": 0.25}),
    ("Bilinear", {"alpha": 0.001, "beta": -3.0}),
    ("Clip", {"lo": -0.5, "hi": 0.5}),
    ("AddRelu", {}),
]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("depth", [1, 100, 5000])
@pytest.mark.parametrize(("name", "scalars"), CASES)
def test_f32_kernels_keep_the_allowance_and_those_that_drop_a_product_do_not(
    name: str, scalars: dict[str, float], depth: int, dtype: str
) -> None:
    element, random = ELEMENTS[dtype], np.random.default_rng(depth)
    a, b = (decode(encode(random.uniform(-1, 1, (200, depth)), element), element) for _ in "ab")
    d0 = encode(random.uniform(-1, 1, 200), element)
    function = BUILTINS[name]
    tensors = {"d0": DTensor(d0.reshape(1, 1, 200, 1), dtype, "GNWC")} if function.tensors else {}
    exact_sum = (a * b).sum(axis=1)

    def judged(products: Float64) -> Any:
        error = summing_allowance(depth, 1.0)
        result = fused(exact_sum.reshape(1, 1, 1, 200), error, function, tensors, scalars)
        found = decode(encode(kernel_like(products, name, decode(d0, element), scalars), element), element)
        return abs(found.reshape(1, 1, 1, 200) - result.value) <= allowance(element, result)

    assert judged(a * b).all()
    if name != "Clip" and depth > 1 and (dtype == "f32" or scalars.get("alpha") != 0.001):
        assert (~judged(a[:, 1:] * b[:, 1:])).mean() > 0.3  # of 200; one is enough to fail a kernel


def test_the_allowance_of_the_plain_gradient_is_the_one_rule() -> None:
    value, summing = np.array([0.0, 1.0, -70.0]), 2 * 2.0**-24 * 300 * 0.9
    assert summing_allowance(300, 0.9) == summing
    gradient = value.reshape(1, 1, 3, 1)
    plain = allowance(ELEMENTS["f16"], fused(gradient, summing, BUILTINS["PassThrough"], {}))
    by_hand = 2.0**-11 * (abs(gradient) + summing) + 2.0**-25 + summing
    assert np.array_equal(plain, by_hand)
    assert np.array_equal(plain, allowance(ELEMENTS["f16"], Bounded(gradient, np.full_like(gradient, summing))))
