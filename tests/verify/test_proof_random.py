"""Verify the host library of set `ci` on random and broken problems, tensors with gaps and tensors over 2 GiB."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import to_logical, to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library, UnsupportedProblem
from ckgen.operations.bwd_weight import backward_weight
from ckgen.operations.operation import BWD_WEIGHT
from ckgen.problems.sets import NamedProblem
from ckgen.verify.plan import Case
from ckgen.verify.reference import tolerance
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import run_case
from tests.support.host_library import names_of
from tests.support.strategies import problems

DTYPES = ("f16", "bf16", "f32", "bf16_f32_bf16")
TUNED_2D = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f32_default_64x64x16_w0x4_xdl32_v1x1x1_s1_generic"
# The search depends on the strategy, so the examples are derandomised: the same ones run every time.
SEARCH = settings(derandomize=True)


def generic(library: Library, problem: ConvProblem, dtype: str) -> list[Instance]:
    """The generic instances, one per layout, for the problem's dimensionality and a data type."""
    every = map(library.instance, names_of(library, BWD_WEIGHT))
    plain = [i for i in every if i.generic and i.function == PASS_THROUGH]
    alike = [i for i in plain if (i.ndim, i.dtype) == (problem.ndim, dtype)]
    assert len(alike) == 4, "one generic instance per layout"
    return alike


@settings(SEARCH, max_examples=60)
@given(problem=problems(), dtype=st.sampled_from(DTYPES), split_k=st.sampled_from([-1, 1, 2, 7]), data=st.data())
def test_generic_instances_take_every_problem_and_all_takers_are_right(
    host_library: Library, problem: ConvProblem, dtype: str, split_k: int, data: st.DataObject
) -> None:
    alike = generic(host_library, problem, dtype)
    every = map(host_library.instance, names_of(host_library, BWD_WEIGHT))
    others = [i.name for i in every if i.dtype == dtype and i not in alike]
    names = [data.draw(st.sampled_from([i.name for i in alike]))]
    takers = host_library.supporting(problem, others, split_k=split_k)
    names += [data.draw(st.sampled_from(takers))] if takers else []
    for name in names:
        inputs = make_data(problem, dtype, 11, BWD_WEIGHT, host_library.function_of(name))
        row = run_case(host_library, Case(name, NamedProblem("random", problem), split_k, twice=True), inputs, seed=3)
        assert row.ok, row


@settings(SEARCH, max_examples=25)
@given(problem=problems(max_channels=12, max_groups=3), dtype=st.sampled_from(DTYPES))
def test_the_two_references_agree(host_library: Library, problem: ConvProblem, dtype: str) -> None:
    """The C++ and Python references are independent implementations of the definition."""
    for instance in generic(host_library, problem, dtype):
        layout, data = instance.layout, make_data(problem, dtype, seed=5)
        in_ = np.ascontiguousarray(data.in_.transpose(to_physical("in", layout)))
        out = np.ascontiguousarray(data.out.transpose(to_physical("out", layout)))
        wei = np.empty(problem.shape("wei", layout), element_of(dtype, "wei").storage)
        host_library.reference(dtype, layout, problem, in_, wei, out)
        actual = decode(wei.transpose(to_logical("wei", layout)), element_of(dtype, "wei"))
        limit = tolerance(dtype, problem.gemm[2], data.scale, data.expected)
        assert (np.abs(actual - data.expected) <= limit).all()


@settings(SEARCH, max_examples=40)
@given(
    problem=problems(max_channels=16, max_groups=3),
    gaps=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_tensors_with_gaps_are_right_or_refused(host_library: Library, problem: ConvProblem, gaps: list[int]) -> None:
    for instance in generic(host_library, problem, "f32"):
        data, layout = make_data(problem, "f32", seed=2), instance.layout
        spread = iter(gaps)
        arrays = {}
        for tensor, values in (("in", data.in_), ("out", data.out)):
            physical = values.transpose(to_physical(tensor, layout))
            room = np.full([edge + next(spread) for edge in physical.shape], np.nan, np.float32)
            arrays[tensor] = room[tuple(slice(0, edge) for edge in physical.shape)]
            arrays[tensor][...] = physical
        wei = np.full(problem.shape("wei", layout), np.nan, np.float32)
        try:
            host_library.run(instance.name, problem, arrays["in"], wei, arrays["out"], split_k=2)
        except UnsupportedProblem as refusal:
            assert "stride" in refusal.reason
            continue
        error = np.abs(wei.transpose(to_logical("wei", layout)) - data.expected)
        assert (error <= tolerance("f32", problem.gemm[2], data.scale, data.expected)).all()


BROKEN: list[tuple[str, int | None, int]] = [
    *((f"{t}_lengths", i, value) for t in ("in", "wei", "out") for i in range(5) for value in (0, -4, 2**31)),
    ("in_lengths", 0, 3), ("wei_lengths", 0, 3), ("out_lengths", 0, 3),
    ("in_lengths", 1, 9), ("out_lengths", 1, 9), ("in_lengths", 2, 7), ("wei_lengths", 2, 7),
    ("wei_lengths", 1, 7), ("out_lengths", 2, 7), ("out_lengths", 3, 4), ("out_lengths", 4, 6),
    ("in_lengths", 3, 40), ("wei_lengths", 4, 90),
    ("strides", 0, 0), ("strides", 1, -1), ("strides", 0, 2**40), ("dilations", 0, 0), ("dilations", 1, -2),
    ("dilations", 1, 2**62), ("left_pads", 0, -1), ("right_pads", 1, -1), ("left_pads", 1, 2**62),
    ("in_strides", 1, -1), ("in_strides", 1, 2**62), ("in_strides", 3, 0), ("out_strides", 4, 2**61),
    ("out_strides", 2, 2), ("wei_strides", 3, 1), ("in_strides", 0, -(2**63)),
    ("ndim", None, 0), ("ndim", None, 1), ("ndim", None, 3), ("ndim", None, 7), ("ndim", None, -2),
    ("split_k", None, 0), ("split_k", None, -2), ("split_k", None, 2**31 - 1), ("split_k", None, -(2**31)),
]  # fmt: skip


@pytest.mark.parametrize(("field", "index", "value"), BROKEN)
def test_broken_problems_are_refused_with_a_reason(
    host_library: Library, field: str, index: int | None, value: int
) -> None:
    """The problems are passed through the C API, which accepts any arguments."""
    problem = make_problem(groups=2, batch=3, k=8, c=4, filter=(3, 3), input=(9, 8), stride=(1, 2), pad=1)
    described = host_library.describe(TUNED_2D, problem)
    assert host_library.check(TUNED_2D, described) is None
    change(described, field, index, value)
    reason = host_library.check(TUNED_2D, described)
    assert reason is not None
    assert reason.startswith("[")
    assert len(reason.split()) >= 4


def change(described: CProblem, field: str, index: int | None, value: int) -> None:
    if index is None:
        setattr(described, field, value)
    else:
        getattr(described, field)[index] = value


SPATIAL_AND_TENSOR = ["strides", "dilations", "left_pads", "right_pads"] + [
    f"{tensor}_{what}" for tensor in ("in", "wei", "out") for what in ("lengths", "strides")
]
NUMBERS = st.one_of(
    st.integers(-2, 40), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**24, 2**31, 2**32, 2**62])
)


@settings(SEARCH, max_examples=400)
@given(
    st.lists(st.tuples(st.sampled_from(SPATIAL_AND_TENSOR), st.integers(0, 5), NUMBERS), min_size=1, max_size=4),
    st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-1, 1, 2]),
)
def test_whatever_is_asked_gets_an_answer(
    host_library: Library, changes: list[tuple[str, int, int]], split_k: int
) -> None:
    problem = make_problem(groups=2, batch=3, k=8, c=4, filter=(3, 3), input=(9, 8), stride=(1, 2), pad=1)
    for instance in map(host_library.instance, names_of(host_library, BWD_WEIGHT)[::5]):
        described = host_library.describe(TUNED_2D, problem, split_k=split_k)
        for field, index, value in changes:
            change(described, field, index % len(getattr(described, field)), value)
        reason = host_library.check(instance.name, described)
        assert reason is None or reason.startswith("[")
    assert ctypes.sizeof(described) == ctypes.sizeof(CProblem)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_tensors_over_2_gib_are_reached_to_their_end(host_library: Library, dtype: str) -> None:
    """Images of the input are 96 MiB apart, positions of the gradient 4 MiB: both exceed 2**31 bytes.

    The memory between them is never touched, so the machine does not need that much.
    """
    problem = make_problem(groups=1, batch=48, k=5, c=3, filter=(2, 2), input=(6, 7), stride=2, pad=1)
    instance = next(i for i in generic(host_library, problem, dtype) if i.layout.startswith("NHWGC"))
    element, data = element_of(dtype, "in"), make_data(problem, dtype, seed=8)
    images, (height, width) = problem.batch, problem.output
    far, near = 96 << 20, 4 << 20
    row = 7 * 3 * element.bytes
    strides = {
        "in": (far, row, 3 * element.bytes, row, element.bytes),
        "out": (near * width * height, near * width, near, near, element.bytes),
    }
    arrays = {}
    for tensor, values in (("in", data.in_), ("out", data.out)):
        physical = values.transpose(to_physical(tensor, instance.layout))
        memory = np.zeros(images * strides[tensor][0] // element.bytes, element.storage)
        assert memory.nbytes > 2**31
        arrays[tensor] = as_strided(memory, physical.shape, strides[tensor])
        arrays[tensor][...] = physical
    wei = encode(np.full(problem.shape("wei", instance.layout), np.nan), element)
    host_library.run(instance.name, problem, arrays["in"], wei, arrays["out"], split_k=2)
    actual = decode(wei.transpose(to_logical("wei", instance.layout)), element)
    limit = tolerance(dtype, problem.gemm[2], data.scale, data.expected)
    assert (np.abs(actual - data.expected) <= limit).all()


def test_shuffled_schedules_give_the_same_bits(host_library: Library) -> None:
    problem = make_problem(groups=2, batch=2, k=20, c=12, filter=(3, 3), input=(11, 9), pad=1)
    for dtype in DTYPES:
        for instance in generic(host_library, problem, dtype):
            data, results = make_data(problem, dtype, seed=1), set()
            in_ = np.ascontiguousarray(data.in_.transpose(to_physical("in", instance.layout)))
            out = np.ascontiguousarray(data.out.transpose(to_physical("out", instance.layout)))
            for seed, threads in ((0, 1), (1, 1), (2, 2), (3, 2)):
                host_library.configure_host(seed=seed, threads=threads)
                wei = np.empty(problem.shape("wei", instance.layout), element_of(dtype, "wei").storage)
                host_library.run(instance.name, problem, in_, wei, out, split_k=3)
                results.add(wei.tobytes())
            assert len(results) == 1
    host_library.configure_host()


def test_the_reference_of_a_one_pixel_problem_is_a_product() -> None:
    """Check the smallest problem by hand: an error that both references share could only be in its product."""
    problem = make_problem(k=1, c=1, filter=(1,), input=(1,))
    assert backward_weight(problem, np.full((1, 1, 1, 1), 3.0), np.full((1, 1, 1, 1), 5.0)).item() == 15.0
