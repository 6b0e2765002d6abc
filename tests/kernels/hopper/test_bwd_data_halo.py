"""Test family halo of backward data on the host platform: edge cases are correct, with and without D tensors, and bugs
that a GPU hides are reported with their source lines.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import every_third

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGK/GKYXC/NHWGC"
HALO_8 = Instance(
    *("halo", LAYOUT, "f16", "Default", 8, 8, 64, 16, 2, 4, 8, 8, 8, 6), archs=("sm_90a",), operation=BWD_DATA
)
HALO_16 = replace(HALO_8, m_per_block=16, n_per_block=16, dtype="bf16")
HALO_32 = replace(HALO_8, m_per_block=32, n_per_block=32)
HALO_4 = replace(HALO_8, b_vector=4, groups_to_merge=2)
F32 = {"k_per_block": 128, "a_vector": 4, "b_vector": 4, "c_vector": 4}
HALO_8_TF32 = replace(HALO_8, dtype="f32_comp_tf32", **F32)
HALO_16_TF32 = replace(HALO_16, dtype="f32_comp_tf32", **F32)
HALO_4_TF32 = replace(HALO_8_TF32, groups_to_merge=2)
HALO_8_F32 = replace(HALO_8, dtype="f32", **F32)
HALO_16_F32 = replace(HALO_16, dtype="f32", **F32)
PLAIN = (HALO_8, HALO_16, HALO_32, HALO_4, HALO_8_TF32, HALO_16_TF32, HALO_4_TF32, HALO_8_F32, HALO_16_F32)
FUSED = (
    replace(HALO_8, function="AddResidual"),
    replace(HALO_16, function="Bilinear"),
    replace(HALO_32, function="Scale"),
    replace(HALO_32, function="AddResidual", dtype="bf16"),
    replace(HALO_8_TF32, function="AddResidual"),
    replace(HALO_16_F32, function="Bilinear"),
)
PROBLEMS = {
    "plain": {"batch": 2, "input": [9, 11], "pad": 1},
    "no-pad": {"batch": 3, "input": [6, 9]},
    "wide-pad": {"batch": 1, "input": [5, 9], "pad": 4},
    "strides": {"batch": 2, "input": [9, 12], "stride": 2, "pad": 1},
    "strides-without-pads": {"batch": 2, "input": [8, 7], "stride": 2},
    "dilation": {"batch": 2, "input": [11, 9], "dilation": [2, 3], "pad": [2, 3]},
    "stride-and-dilation": {"batch": 1, "input": [13, 12], "stride": 2, "dilation": 3, "pad": 2},
    "uneven-pads": {"batch": 1, "input": [5, 6], "pad": [2, 0], "right_pad": [0, 2]},
    "tiny": {"batch": 4, "input": [1, 2], "pad": 1},
    "tall": {"batch": 1, "input": [40, 3], "pad": 1},
}


def problem_of(instance: Instance, name: str) -> ConvProblem:
    """One of PROBLEMS with a number of channels that the instance takes; its groups do not fill the last workgroup."""
    channels = instance.n_per_block // instance.groups_to_merge
    groups = 64 // channels + instance.groups_to_merge
    return make_problem(groups=groups, k=channels, c=channels, filter=[3, 3], **PROBLEMS[name])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, (*PLAIN, *FUSED)), CHECKED))


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_right(library: Library, name: str) -> None:
    for turn, instance in enumerate((*PLAIN, *FUSED)):
        library.configure_host(seed=turn)
        run_instance(library, instance.name, problem_of(instance, name))


@pytest.mark.parametrize("name", ["plain", "strides"])
def test_a_d_tensor_may_be_the_input(library: Library, name: str) -> None:
    for instance in FUSED:
        if instance.function != "Scale":
            run_instance(library, instance.name, problem_of(instance, name), in_place=True)


@pytest.mark.parametrize("seed", range(4))
def test_any_schedule_is_right(library: Library, seed: int) -> None:
    """Vary the order of threads and the completion of copies."""
    library.configure_host(seed=seed)
    for instance in (HALO_8, HALO_32, FUSED[0]):
        run_instance(library, instance.name, problem_of(instance, "strides"))


def test_an_odd_problem_is_refused_by_name(library: Library) -> None:
    layer = {"groups": 8, "batch": 1, "k": 8, "c": 8, "filter": [3, 3], "input": [9, 9], "pad": 1}
    refused = {
        "halo-filter": {"filter": [3, 1]},
        "halo-stride": {"stride": [2, 1]},
        "halo-dilation": {"stride": 2, "dilation": 2},
        "halo-groups": {"k": 16},
        "halo-rows": {"input": [3, 700]},
    }
    for rule, fields in refused.items():
        reason = library.unsupported_reason(HALO_8.name, make_problem(**{**layer, **fields}))
        assert reason is not None and reason.startswith(f"[{rule}]"), reason
    assert library.unsupported_reason(HALO_8.name, make_problem(**layer)) is None
    for fields in ({}, {"groups": 1}, {"groups": 7, "k": 4, "c": 4}, {"k": 4}):
        reason = library.unsupported_reason(HALO_4.name, make_problem(**{**layer, **fields}))
        assert reason is not None and reason.startswith("["), reason
    assert library.unsupported_reason(HALO_4.name, make_problem(**{**layer, "k": 4, "c": 4})) is None
    assert library.split_k(HALO_8.name, make_problem(**layer), 7) == 1, "sums are too short to be split"


KERNEL, MATH, WEIGHTS = "bwd_data_halo.hpp", "bwd_data_halo_math.hpp", "bwd_data_halo_weights.hpp"
STEPS = make_problem(groups=9, batch=3, k=8, c=8, filter=[3, 3], input=[37, 21], pad=1)
STRIDED = make_problem(groups=9, batch=3, k=8, c=8, filter=[3, 3], input=[37, 21], stride=2, pad=1)
MULTIPLY = (
    "            if(i >= share_.before)\n"
    "                turn = strided_ ? multiply<2>(walk, turn) : multiply<1>(walk, turn);\n"
)
ARRIVE = (
    "            platform::sync_warp();\n"
    "            if(lane_ == 0)\n"
    "                platform::mbarrier_arrive(walk.ring.empty());\n"
)
MERGED_STEPS = make_problem(groups=18, batch=3, k=4, c=4, filter=[3, 3], input=[37, 21], pad=1)
F32_BUGS = {
    "weights-of-the-other-group": Bug(WEIGHTS, "k / own == c / own", "k / own != c / own", (), MERGED_STEPS),
    "columns-in-another-order": Bug(
        WEIGHTS, "column / 2 % 2 * 2 + column / 4", "column / 2 * column_blocks + column_block", (), MERGED_STEPS
    ),
    "the-second-run-in-the-first-group": Bug(
        MATH, "target + run * run_groups * strides.group", "target + run * strides.group", (), MERGED_STEPS
    ),
    "a-run-past-the-last-group": Bug(
        MATH,
        "if(inside(run * run_groups))",
        "if(inside())",
        ("global write of 16 bytes out of bounds", "input"),
        MERGED_STEPS,
    ),
}
MERGED_BUGS = {
    "weights-of-the-other-group": Bug(
        WEIGHTS, "i / (own / 2) == k / own", "i / (own / 2) != k / own", (), MERGED_STEPS
    ),
}
BUGS = {
    "the-previous-kernel-is-not-awaited": Bug(
        f"pipeline/halo/{KERNEL}",
        "thread.barrier(); platform::pdl_wait(); if(id < load_threads) {",
        "thread.barrier(); if(id >= load_threads) platform::pdl_wait(); if(id < load_threads) {",
        ("global memory is accessed before pdl_wait()", KERNEL),
        STEPS,
    ),
    "math-does-not-wait": Bug(
        MATH,
        "            platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);\n",
        "",
        ("LDS", MATH),
        STEPS,
    ),
    "load-does-not-wait": Bug(
        f"pipeline/halo/{KERNEL}",
        "                platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity ^ 1);\n",
        "",
        ("arrival number 2 in one phase of the mbarrier", KERNEL),
        STEPS,
    ),
    "missing-arrive": Bug(
        MATH,
        "            if(lane_ == 0)\n",
        "            if(lane_ > 31)\n",
        ("nothing moves any more", "of 8 arrivals"),
        STEPS,
    ),
    "arrives-too-early": Bug(
        MATH,
        MULTIPLY + ARRIVE,
        ARRIVE + MULTIPLY,
        ("LDS race", "a copy at", "warp"),
        STEPS,
    ),
    "too-few-arrivals-expected": Bug(
        f"pipeline/halo/{KERNEL}",
        "places.stages.init(1, D::block_size / 32);",
        "places.stages.init(1, D::block_size / 32 - 1);",
        ("LDS race", "a copy at", "warp"),
        STEPS,
    ),
    "wrong-parity": Bug(
        MATH,
        "platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);",
        "platform::mbarrier_wait(walk.ring.full(), walk.ring.parity ^ 1);",
        ("LDS", MATH),
        STEPS,
    ),
    "expects-too-little": Bug(
        f"pipeline/halo/{KERNEL}",
        "platform::mbarrier_expect(full, block_bytes);",
        "platform::mbarrier_expect(full, block_bytes - 128);",
        ("128 bytes more than the phase of the mbarrier", f"expects at {KERNEL}"),
        STEPS,
    ),
    "too-few-blocks-in-a-ring": Bug(
        "halo_geometry.hpp",
        "g.blocks = stages + ceil_div(s.reach_rows + (s.shared_columns > 0 ? 1 : 0), rows);",
        "g.blocks = stages;",
        ("LDS race", "a copy at"),
        STEPS,
    ),
    "a-share-without-the-rows-before-it": Bug(
        "halo_walk.hpp",
        "before(min_of(g.blocks - g.stages, begin % g.steps_per_image))",
        "before(0)",
        ("LDS", MATH),
        STEPS,
    ),
    "weights-are-not-awaited": Bug(
        f"pipeline/halo/{KERNEL}", "            platform::barrier_of(1, D::block_size);\n", "", ("LDS", WEIGHTS), STEPS
    ),
    "barriers-are-not-published": Bug(
        f"pipeline/halo/{KERNEL}",
        "places.stages.init(1, D::block_size / 32); platform::fence_mbarrier_init();",
        "places.stages.init(1, D::block_size / 32);",
        ("which no fence_mbarrier_init made visible", KERNEL),
        STEPS,
    ),
    "no-zeros-before-the-ring": Bug(
        f"pipeline/halo/{KERNEL}",
        "if(math_id < Shape::zero_bytes / 16)",
        "if(math_id < 0)",
        ("LDS read of bytes that nobody wrote", MATH),
        STEPS,
    ),
    "a-map-of-too-many-rows": Bug(
        "op/impl/bwd_data_boxes.hpp",
        "box.rows = p.out_length[0];",
        "box.rows = p.out_length[0] + 1;",
        ("global read of", "out of bounds", f"a copy at {KERNEL}"),
        STEPS,
    ),
    "rows-past-the-input": Bug(
        MATH,
        "row < args_.problem.in_length[0] && column",
        "column",
        ("global write of 16 bytes out of bounds", "input"),
        STRIDED,
    ),
    "a-tap-too-far": Bug(MATH, "bytes(column * conv::kHaloPitch", "bytes((column + 1) * conv::kHaloPitch", (), STEPS),
    "half-an-exchange": Bug(
        MATH,
        "            if constexpr(channels == 8)\n                epilogue::exchange<2, 32>(thread_, lane_, mine);\n",
        "",
        (),
        STEPS,
    ),
    "the-previous-kernel-is-not-awaited-by-math": Bug(
        f"pipeline/halo/{KERNEL}",
        "thread.barrier(); platform::pdl_wait(); if(id < load_threads) {",
        "thread.barrier(); if(id < load_threads) platform::pdl_wait(); if(id < load_threads) {",
        ("global memory is accessed before pdl_wait()", WEIGHTS),
        STEPS,
    ),
    "taps-in-another-order": Bug("bwd_data_halo_shape.hpp", "0x453718620", "0x453781620", (), STRIDED),
}


@pytest.mark.parametrize("name", every_third(BUGS))
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], HALO_8, run_instance, tmp_path)


@pytest.mark.parametrize("name", every_third(MERGED_BUGS))
def test_planted_bug_of_merged_groups_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(MERGED_BUGS[name], HALO_4, run_instance, tmp_path)


@pytest.mark.parametrize("name", every_third(F32_BUGS))
def test_planted_bug_of_f32_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(F32_BUGS[name], HALO_4_TF32, run_instance, tmp_path)
