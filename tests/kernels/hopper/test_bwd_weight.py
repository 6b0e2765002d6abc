"""Test Hopper's families, wavelet_tma and halo, on the host platform: edge cases are correct, and bugs that a GPU hides
are reported with their source lines.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library, UnsupportedProblem
from tests.support.cxx import CHECKED, header, link, run_instance, source, write_tree
from tests.support.drawn import draw, gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.planting import replace_once
from tests.support.sweep.sampled import chosen, every_third

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
TMA = Instance("wavelet_tma", LAYOUT, "f16", "Default", 128, 128, 64, 64, 2, 4, 8, 8, 2, 6, archs=("sm_90a",))
TMA_SMALL = replace(TMA, m_per_block=64, math_waves=2)
TMA_192 = replace(TMA, m_per_block=192, n_per_block=192, math_waves=6, stages=4)
TMA_256 = replace(TMA, n_per_block=256, stages=4)
TMA_ROWS_256 = replace(TMA, m_per_block=256, m_per_xdl=128, stages=4)
TMA_160 = replace(TMA_192, n_per_block=160)
TMA_ROWS_256_160 = replace(TMA_ROWS_256, n_per_block=160)
TMA_1D = replace(TMA_SMALL, layout="NWGC/GKXC/NWGK", dtype="bf16_f32_bf16")
TMA_3D = replace(TMA_192, layout="NDHWGC/GKZYXC/NDHWGK", dtype="bf16")
# tf32, multiplied by mma.sync.
TF32 = replace(TMA, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4)
TF32_SMALL = replace(TF32, m_per_block=64, n_per_block=64, math_waves=2)
TF32_256 = replace(TF32, n_per_block=256, stages=4)
TF32_1D = replace(TF32, layout="NWGC/GKXC/NWGK", m_per_block=192, math_waves=6, stages=4)
TF32_3D = replace(TF32_SMALL, layout="NDHWGC/GKZYXC/NDHWGK", n_per_block=128)
TF32_ALL = (TF32, TF32_SMALL, TF32_256, TF32_1D, TF32_3D)
# f32, each product as three of tf32.
F32 = replace(TF32, dtype="f32", stages=4)
F32_1D = replace(TF32_1D, dtype="f32", m_per_block=128, n_per_block=64, math_waves=4)
F32_3D = replace(TF32_3D, dtype="f32", stages=5)
F32_ALL = (F32, F32_1D, F32_3D)
# Of any C: weights are stored one by one.
ANY_C = replace(TMA_SMALL, c_vector=1)
ANY_C_TF32 = replace(TF32_SMALL, c_vector=1)
ANY_C_1D = replace(TF32_1D, dtype="f32", m_per_block=64, n_per_block=64, math_waves=2, c_vector=1)
ANY_C_3D = replace(TMA_3D, m_per_block=128, math_waves=4, stages=5, c_vector=1)
ANY_C_ALL = (ANY_C, ANY_C_TF32, ANY_C_1D, ANY_C_3D)
TMA_ALL = (TMA, TMA_SMALL, TMA_192, TMA_256, TMA_ROWS_256, TMA_160, TMA_ROWS_256_160, TMA_1D, TMA_3D)
TMA_ALL += (*TF32_ALL, *F32_ALL, *ANY_C_ALL)
HALO_8 = Instance("halo", LAYOUT, "f16", "Default", 8, 8, 16, 16, 2, 4, 8, 8, 4, 6, archs=("sm_90a",))
HALO_16 = replace(HALO_8, m_per_block=16, n_per_block=16, k_per_block=32, dtype="bf16")
HALO_32 = replace(HALO_16, m_per_block=32, n_per_block=32, dtype="bf16_f32_bf16")
HALO_HEAD = replace(HALO_8, m_per_block=40, n_per_block=64, m_per_xdl=64, math_waves=6)
HALO_4 = replace(HALO_8, groups_to_merge=2)
HALO_ALL = (HALO_8, HALO_16, HALO_32, HALO_4)

TMA_PROBLEMS = {
    # Ten tiles for four workgroups, long enough that two workgroups share each of the last two tiles.
    "last round split": make_problem(batch=2, k=136, c=64, filter=[3, 3], input=[25, 24], pad=1),
    "ragged": make_problem(batch=3, k=136, c=64, filter=[3, 3], input=[9, 10], pad=1),
    "groups": make_problem(groups=3, batch=2, k=72, c=64, filter=[2, 3], input=[7, 9], stride=[2, 1], pad=[1, 0]),
    "repacked": make_problem(groups=2, batch=2, k=37, c=128, filter=[1, 1], input=[7, 5]),
    "strides": make_problem(batch=2, k=64, c=64, filter=[3, 3], input=[11, 12], stride=2, pad=[2, 1], right_pad=[0, 3]),
    "dilation": make_problem(batch=2, k=8, c=64, filter=[3, 3], input=[12, 9], dilation=[2, 3], pad=[2, 3]),
    "tiny": make_problem(batch=1, k=5, c=64, filter=[3, 3], input=[1, 2], pad=1),
    "point": make_problem(batch=1, k=1, c=64, filter=[1, 1], input=[1, 1]),
    "1d": make_problem(groups=2, batch=3, k=40, c=64, filter=[3], input=[50], stride=2, dilation=2, pad=2),
    "more columns than 160": make_problem(batch=2, k=40, c=328, filter=[1, 1], input=[8, 7]),
    "taps of more columns than 160": make_problem(batch=2, k=24, c=168, filter=[1, 2], input=[5, 7], pad=1),
    # A box of 64 channels is not full: of the last columns, of every tap, and beside another group.
    "part of a box": make_problem(batch=2, k=24, c=40, filter=[1, 1], input=[9, 7]),
    "part of a box per tap": make_problem(batch=2, k=72, c=72, filter=[3, 2], input=[7, 8], pad=1),
    "parts of groups": make_problem(groups=3, batch=2, k=16, c=24, filter=[3, 3], input=[6, 7], stride=2, pad=1),
    "parts of groups 1x1": make_problem(groups=3, batch=2, k=16, c=136, filter=[1, 1], input=[6, 7]),
    "parts 1d": make_problem(groups=2, batch=2, k=40, c=8, filter=[5], input=[31], pad=2),
    "parts 3d": make_problem(batch=1, k=16, c=200, filter=[2, 1, 2], input=[3, 4, 5]),
    "3d": make_problem(batch=2, k=9, c=64, filter=[2, 2, 2], input=[5, 4, 6], stride=[1, 2, 1], pad=[0, 1, 1]),
}
ANY_C_PROBLEMS = {
    "odd": make_problem(batch=3, k=37, c=27, filter=[3, 3], input=[9, 11], pad=1),
    "groups": make_problem(groups=3, batch=2, k=7, c=5, filter=[3, 2], input=[8, 7], pad=1),
    "more than a box": make_problem(batch=2, k=40, c=75, filter=[1, 2], input=[9, 9], stride=2, pad=1),
    "pointwise": make_problem(batch=2, k=130, c=65, filter=[1, 1], input=[7, 5]),
    "single": make_problem(batch=2, k=16, c=1, filter=[3, 3], input=[6, 6], dilation=2, pad=2),
    "1d": make_problem(groups=2, batch=2, k=9, c=3, filter=[5], input=[31], pad=2),
    "3d": make_problem(batch=2, k=9, c=12, filter=[2, 1, 2], input=[3, 4, 5]),
}
HALO_PROBLEMS = {
    "plain": {"batch": 2, "input": [9, 11], "pad": 1},
    "no-pad": {"batch": 3, "input": [6, 9]},
    "strides": {"batch": 2, "input": [9, 12], "stride": 2, "pad": 1},
    "one-stride": {"batch": 2, "input": [12, 7], "stride": [2, 1], "pad": [0, 1]},
    "dilation": {"batch": 2, "input": [11, 9], "dilation": [2, 3], "pad": [2, 3]},
    "stride-and-dilation": {"batch": 1, "input": [13, 12], "stride": 2, "dilation": 2, "pad": 2},
    "uneven-pads": {"batch": 1, "input": [5, 6], "pad": [2, 0], "right_pad": [0, 2]},
    "tiny": {"batch": 4, "input": [1, 2], "pad": 1},
    "tall": {"batch": 1, "input": [40, 3], "pad": 1},
}


def halo_problem(instance: Instance, name: str) -> ConvProblem:
    """One of HALO_PROBLEMS with a number of channels that the instance takes; its groups do not fill the last
    workgroup."""
    channels = instance.n_per_block // instance.groups_to_merge
    groups = 64 // channels + instance.groups_to_merge
    return make_problem(groups=groups, k=channels, c=channels, filter=[3, 3], **HALO_PROBLEMS[name])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, (*TMA_ALL, *HALO_ALL, HALO_HEAD)), CHECKED))


@pytest.mark.parametrize("splits", chosen([(1, 3), (2, 7)], [(1, 3)]), ids=str)
@pytest.mark.parametrize("name", TMA_PROBLEMS)
def test_wavelet_tma_is_right(library: Library, name: str, splits: tuple[int, ...]) -> None:
    problem = TMA_PROBLEMS[name]
    instances = [instance for instance in TMA_ALL if instance.ndim == problem.ndim]
    assert instances
    for turn, instance in enumerate(instances):
        for split_k in splits:
            library.configure_host(seed=turn * split_k)
            run_instance(library, instance.name, problem, split_k)


@pytest.mark.parametrize("name", ANY_C_PROBLEMS)
def test_inputs_whose_rows_tma_does_not_take_are_copied(library: Library, name: str) -> None:
    """The copy is a part of the workspace; a channel more per position makes no difference."""
    problem = ANY_C_PROBLEMS[name]
    instances = [instance for instance in ANY_C_ALL if instance.ndim == problem.ndim]
    assert instances
    for instance in instances:
        units = -(-problem.c * instance.elem_bytes // 16) * 16 * problem.groups
        size = library.workspace_size(instance.name, problem, split_k=1)
        assert size >= units * problem.batch * np.prod(problem.input)
        for split_k in (1, 3):
            library.configure_host(seed=split_k)
            run_instance(library, instance.name, problem, split_k)
            run_instance(library, instance.name, problem, split_k, gap=1)


def test_rows_of_tma_are_not_copied(library: Library) -> None:
    whole = make_problem(batch=2, k=64, c=64, filter=[3, 3], input=[9, 9], pad=1)
    assert library.workspace_size(ANY_C.name, whole, split_k=1) == 0
    reason = library.unsupported_reason(TMA.name, ANY_C_PROBLEMS["odd"])
    assert reason is not None and reason.startswith("[b-vector]")


@pytest.mark.parametrize("name", HALO_PROBLEMS)
def test_halo_is_right(library: Library, name: str) -> None:
    for turn, instance in enumerate(HALO_ALL):
        for split_k in (1, 2, 3, 7):
            library.configure_host(seed=turn * split_k)
            run_instance(library, instance.name, halo_problem(instance, name), split_k)


def test_strides_of_an_image_of_one_position_do_not_matter(library: Library) -> None:
    """PyTorch gives dimensions of length 1 arbitrary strides, which the driver would refuse in a tensor map."""
    problem = make_problem(batch=3, k=40, c=64, filter=[3, 3], input=[1, 1], pad=1)
    described = CProblem.make(problem, LAYOUT, 1)
    for tensor, channels in (("in", problem.c), ("out", problem.k)):
        described.set_strides(tensor, (1, channels, 1, 1, 1))
    for instance in TMA_ALL:
        if instance.layout == LAYOUT:
            assert library.check(instance.name, described) is None
            start = library.prepare(instance.name, described)
            kind = np.float16 if instance.elem_bytes == 2 else np.float32
            in_, out = np.ones((3, 64), kind), np.ones((3, 40), kind)
            wei = np.full((40, 9, 64), np.nan, kind)
            scratch = np.empty(start.workspace_bytes + 16, np.uint8)
            start(in_.ctypes.data, wei.ctypes.data, out.ctypes.data, scratch.ctypes.data // 16 * 16 + 16, 0)
            assert (wei[:, 4] == 3).all() and not wei[:, 3].any()


@pytest.mark.parametrize("seed", range(3))
def test_random_problems_are_right_with_few_and_many_splits(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    library.configure_host(seed=seed)
    for instance in TMA_ALL:
        problem = draw(library, instance, rng)
        for split_k in (rng.randint(1, 7), rng.randint(8, 20)):
            run_instance(library, instance.name, problem, split_k, gap=gap(instance, problem, rng))


@pytest.mark.parametrize("seed", range(6))
def test_any_schedule_is_right(library: Library, seed: int) -> None:
    """Vary the order of threads and the completion of copies."""
    library.configure_host(seed=seed)
    for instance in (TMA, TF32, TF32_256, HALO_8, HALO_32):
        problem = TMA_PROBLEMS["ragged"] if instance.family == "wavelet_tma" else halo_problem(instance, "plain")
        run_instance(library, instance.name, problem, 2)


def test_rows_too_long_for_the_rings_are_refused(library: Library) -> None:
    long = make_problem(groups=8, batch=1, k=8, c=8, filter=[3, 3], input=[3, 700], pad=1)
    reason = library.unsupported_reason(HALO_8.name, long)
    assert reason is not None and reason.startswith("[halo-rows]")


def test_more_steps_than_31_bits_count_are_refused(library: Library) -> None:
    sizes = {"k": 8, "c": 8, "filter": [3, 3], "input": [1, 1], "dilation": [100, 1], "pad": [100, 1]}
    reason = library.unsupported_reason(HALO_8.name, make_problem(groups=8, batch=12_000_000, **sizes))  # type: ignore[arg-type]
    assert reason is not None and reason.startswith("[gemm-k-size] images * steps = ")


def test_merged_groups_that_the_problem_lacks_are_refused(library: Library) -> None:
    """A single group with the channels of two is not a pair of groups."""
    single = make_problem(batch=1, k=8, c=8, filter=[3, 3], input=[4, 4], pad=1)
    reason = library.unsupported_reason(HALO_4.name, single)
    assert reason is not None and reason.startswith("[halo-groups] the instance merges 2 groups")


def test_weights_that_are_stored_in_lines_begin_at_lines(library: Library) -> None:
    problem = make_problem(batch=2, k=64, c=64, filter=[3, 3], input=[8, 8], pad=1)
    for instance, least in ((TMA, 16), (TF32, 8)):
        for offset in (4, 8, 16):
            described = CProblem.make(problem, instance.layout, 1)
            if offset >= least:
                library.prepare(instance.name, described, (0, 4096 + offset, 0))
                continue
            with pytest.raises(UnsupportedProblem, match="c-alignment"):
                library.prepare(instance.name, described, (0, 4096 + offset, 0))


def test_what_the_host_does_not_emulate_is_refused_by_name(library: Library) -> None:
    """Tiles of family halo on wgmma can be planned, but run only on GPUs."""
    head = make_problem(batch=1, k=36, c=64, filter=[3, 3], input=[9, 9], pad=1)
    reason = library.unsupported_reason(HALO_HEAD.name, head)
    assert reason is not None and reason.startswith("[host]")
    with pytest.raises(UnsupportedProblem, match="host"):
        run_instance(library, HALO_HEAD.name, head, 1)


def test_long_sums_are_cut_into_several(tmp_path: Path) -> None:
    """Simulate a matrix unit that truncates, but cut every 64 positions of GEMM-K instead of many thousands."""
    tree = write_tree(tmp_path, (TMA, TF32, HALO_16))
    replace_once(header(tree, "problem_checks.hpp"), "bool kTruncates = false", "bool kTruncates = true")
    replace_once(source(tree, "problem_checks.cpp"), "root / 90.", "root * root / 64.")
    library = Library(link(tmp_path, tree))
    problem = TMA_PROBLEMS["ragged"]
    assert problem.gemm[2] == 270
    for split_k in (1, 2, 3):
        slots = 2 * 5 * split_k if split_k > 1 else 4  # per tile and split; if there is one split, per workgroup
        for tma in (TMA, TF32):
            assert (
                library.workspace_size(tma.name, problem, split_k=split_k)
                == slots * tma.m_per_block * tma.n_per_block * 4
            )
            run_instance(library, tma.name, problem, split_k)
        run_instance(library, HALO_16.name, halo_problem(HALO_16, "plain"), split_k)


# There are more steps than ring stages, and more tiles than workgroups.
TMA_STEPS = make_problem(batch=2, k=136, c=64, filter=[3, 3], input=[19, 20], pad=1)
HALO_STEPS = make_problem(groups=9, batch=3, k=8, c=8, filter=[3, 3], input=[37, 21], pad=1)
FEW_STEPS = make_problem(groups=8, batch=1, k=8, c=8, filter=[3, 3], input=[9, 11], pad=1)
MERGED_STEPS = make_problem(groups=18, batch=3, k=4, c=4, filter=[3, 3], input=[37, 21], pad=1)
MERGED_BUGS = {
    "products-of-two-groups": Bug("halo.hpp", "if(k / own != c / own)", "if(k / own == c / own)", (), MERGED_STEPS),
    "weights-of-the-other-group": Bug("halo.hpp", "group += k / own;", "group += 1 - k / own;", (), MERGED_STEPS),
    "a-map-of-too-many-channels": Bug(
        "bwd_weight_halo_boxes.hpp",
        "return own > 0 ? own : all;",
        "return all;",
        ("global read of", "out of bounds", "a copy at halo_load.hpp"),
        MERGED_STEPS,
    ),
}
HALO_BUGS = {
    "the-previous-kernel-is-not-awaited": Bug(
        "halo.hpp",
        "thread.barrier(); platform::pdl_wait(); if(id < load_threads) {",
        "thread.barrier(); if(id < load_threads) {",
        ("global memory is accessed before pdl_wait()", "halo_load.hpp"),
        HALO_STEPS,
    ),
    "math-does-not-wait": Bug(
        "halo.hpp",
        "                platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);\n",
        "",
        ("LDS race", "a copy at halo_load.hpp", "warp", "no barrier between"),
        HALO_STEPS,
    ),
    "load-does-not-wait": Bug(
        "halo_load.hpp",
        "            platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity ^ 1);\n",
        "",
        ("arrival number 2 in one phase of the mbarrier", "halo_load.hpp"),
        HALO_STEPS,
    ),
    "missing-arrive": Bug(
        "halo.hpp",
        "                if(lane_ == 0)\n                    platform::mbarrier_arrive(walk.ring.empty());\n",
        "",
        ("nothing moves any more", "of 8 arrivals", "halo.hpp"),
        HALO_STEPS,
    ),
    "one-warp-does-not-arrive": Bug(
        "halo.hpp",
        "thread_(id), lane_(id % 32) ... if(lane_ == 0) platform::mbarrier_arrive(walk.ring.empty());",
        "thread_(id), lane_(id % 32) ... if(lane_ == 0 && thread_ != 32) platform::mbarrier_arrive(walk.ring.empty());",
        ("nothing moves any more", "1 of 8 arrivals"),
        HALO_STEPS,
    ),
    "arrives-too-early": Bug(
        "halo.hpp",
        "                if(i >= share.before)\n                    multiply(walk);\n"
        "                platform::sync_warp();\n"
        "                if(lane_ == 0)\n                    platform::mbarrier_arrive(walk.ring.empty());\n",
        "                platform::sync_warp();\n"
        "                if(lane_ == 0)\n                    platform::mbarrier_arrive(walk.ring.empty());\n"
        "                if(i >= share.before)\n                    multiply(walk);\n",
        ("LDS race", "a copy at", "warp"),
        HALO_STEPS,
    ),
    "too-few-arrivals-expected": Bug(
        "halo.hpp",
        "rings.out.init(1, D::block_size / 32);",
        "rings.out.init(1, D::block_size / 32 - 1);",
        ("LDS race", "a copy at", "warp"),
        HALO_STEPS,
    ),
    "wrong-parity": Bug(
        "halo.hpp",
        "platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);",
        "platform::mbarrier_wait(walk.ring.full(), walk.ring.parity ^ 1);",
        ("LDS race", "a copy at", "warp"),
        HALO_STEPS,
    ),
    "wrong-parity-of-the-load-role": Bug(
        "halo_load.hpp",
        "platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity ^ 1);",
        "platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity);",
        ("nothing moves any more", "thread", "waits for phase 0 of the mbarrier", "halo_load.hpp"),
        HALO_STEPS,
    ),
    "expects-too-little": Bug(
        "halo_load.hpp",
        "platform::mbarrier_expect(full, step_bytes); uint32 target =",
        "platform::mbarrier_expect(full, step_bytes - 128); uint32 target =",
        ("128 bytes more than the phase of the mbarrier", "expects at halo_load.hpp"),
        HALO_STEPS,
    ),
    "expects-too-much": Bug(
        "halo_load.hpp",
        "platform::mbarrier_expect(full, step_bytes); uint32 target =",
        "platform::mbarrier_expect(full, step_bytes + 128); uint32 target =",
        ("nothing moves any more", "0 of 1 arrivals and 128 bytes are missing"),
        HALO_STEPS,
    ),
    "forgets-a-copy": Bug(
        "halo_load.hpp",
        "for(int x = 0; x < p.stride[1]; ++x, target",
        "for(int x = 0; x + 1 < p.stride[1]; ++x, target",
        ("nothing moves any more", "bytes are missing"),
        HALO_STEPS,
    ),
    "copies-into-a-stage-in-use": Bug(
        "halo_load.hpp",
        "uint32 target = rings.in + HaloRings::bytes(walk.block * block_bytes);",
        "uint32 target = rings.in + HaloRings::bytes((walk.block > 0 ? walk.block - 1 : 1) * block_bytes);",
        ("LDS race", "a copy at"),
        HALO_STEPS,
    ),
    "too-few-blocks-in-a-ring": Bug(
        "halo_geometry.hpp",
        "g.blocks = stages + ceil_div(s.reach_rows + (s.shared_columns > 0 ? 1 : 0), rows);",
        "g.blocks = stages;",
        ("LDS race", "a copy at"),
        HALO_STEPS,
    ),
    "a-map-of-too-many-rows": Bug(
        "bwd_weight_halo_boxes.hpp",
        "p.in_length[0], images_of(p), p.in_stride_bytes[1],",
        "p.in_length[0] + 1, images_of(p), p.in_stride_bytes[1],",
        ("global read of", "out of bounds", "a copy at halo_load.hpp"),
        HALO_STEPS,
    ),
    "a-tap-too-far": Bug(
        "halo.hpp",
        "return i * p.dilation[d] / p.stride[d];",
        "return (i + d) * p.dilation[d] / p.stride[d];",
        (),
        HALO_STEPS,
    ),
    "copies-are-not-told-of-stores": Bug(
        "halo.hpp",
        "platform::fence_proxy_async(); thread.barrier();",
        "thread.barrier();",
        ("no fence_proxy_async between", "a copy at", "stored at halo.hpp"),
        HALO_STEPS,
    ),
    "barriers-are-not-published": Bug(
        "halo.hpp",
        "rings.out.init(1, D::block_size / 32); platform::fence_mbarrier_init();",
        "rings.out.init(1, D::block_size / 32);",
        ("which no fence_mbarrier_init made visible", "halo_load.hpp"),
        HALO_STEPS,
    ),
    "results-over-rings-in-use": Bug(
        "halo.hpp",
        "platform::barrier_of(1, D::block_size); spread(thread);",
        "spread(thread);",
        ("LDS race", "write by wave", "read by warp"),
        FEW_STEPS,
    ),
    "products-over-barriers": Bug(
        "halo.hpp",
        "static_assert(D::shares * lines * line_pitch * 4 <= lds_bytes - ... thread.lds_store((base + offset) * 4,",
        "static_assert(D::shares * lines * line_pitch * 4 <= lds_bytes - ... "
        "thread.lds_store(lds_bytes - D::shares * lines * line_pitch * 4 + (base + offset) * 4,",
        ("LDS write", "of an mbarrier, initialised at stage_ring.hpp", "wave"),
        FEW_STEPS,
    ),
    "shares-are-added-too-early": Bug(
        "halo.hpp",
        "            spread(thread);\n            platform::barrier_of(1, D::block_size);\n",
        "            spread(thread);\n",
        ("LDS race", "read by wave", "write by wave"),
        HALO_STEPS,
    ),
    "a-thread-misses-the-barrier": Bug(
        "halo.hpp",
        "thread_(id), lane_(id % 32) ... spread(thread); platform::barrier_of(1, D::block_size);",
        "thread_(id), lane_(id % 32) ... spread(thread); if(thread_ == 5) return; "
        "platform::barrier_of(1, D::block_size);",
        ("nothing moves any more", "barrier number 1", "finished"),
        HALO_STEPS,
    ),
}
TMA_BUGS = {
    "loads-before-the-previous-kernel-ends": Bug(
        "wavelet_tma.hpp",
        "            if(u == run.first)\n                platform::pdl_wait();\n",
        "",
        ("global memory is accessed before pdl_wait()", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "stores-before-the-previous-kernel-ends": Bug(
        "tma_consumers.hpp",
        "platform::pdl_wait(); for(; units.more(); units.advance()) { const typename View::Tile tile = next;"
        " this->release_weight(tile);",
        "for(; units.more(); units.advance()) { const typename View::Tile tile = next; this->release_weight(tile);",
        ("global memory is accessed before pdl_wait()",),
        TMA_STEPS,
    ),
    "math-does-not-wait": Bug(
        "tma_consumers.hpp",
        "            platform::mbarrier_wait(ring_.full(), ring_.parity);\n",
        "",
        ("LDS read of bytes that nobody wrote", "the matrix unit of warpgroup", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "load-does-not-wait": Bug(
        "wavelet_tma.hpp",
        "                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);\n",
        "",
        ("arrival number 2 in one phase of the mbarrier", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "missing-arrive": Bug(
        "tma_consumers.hpp",
        "            if(previous != 0)\n                release(previous);\n            previous = ring_.empty();\n",
        "            previous = ring_.empty();\n",
        ("nothing moves any more", "of 2 arrivals", "tma_consumers.hpp"),
        TMA_STEPS,
    ),
    "arrives-before-the-products-are-done": Bug(
        "tma_consumers.hpp",
        "if(previous != 0) release(previous); previous = ring_.empty();",
        "release(ring_.empty());",
        ("LDS race", "write by a copy at", "read by the matrix unit of warpgroup"),
        TMA_STEPS,
    ),
    "wrong-parity": Bug(
        "tma_consumers.hpp",
        "platform::mbarrier_wait(ring_.full(), ring_.parity);",
        "platform::mbarrier_wait(ring_.full(), ring_.parity ^ 1);",
        ("LDS", "the matrix unit of warpgroup", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "wrong-parity-of-the-load-role": Bug(
        "wavelet_tma.hpp",
        "platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);",
        "platform::mbarrier_wait(ring.empty(), ring.parity);",
        ("nothing moves any more", "2 of 2 arrivals", "1 of 1 arrivals"),
        TMA_STEPS,
    ),
    "expects-too-little": Bug(
        "wavelet_tma.hpp",
        "platform::mbarrier_expect(ring.full(), D::lds_stage_bytes);",
        "platform::mbarrier_expect(ring.full(), D::lds_stage_bytes / 4);",
        ("counts on a phase of the mbarrier", "that was over before it came", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "expects-too-much": Bug(
        "wavelet_tma.hpp",
        "platform::mbarrier_expect(ring.full(), D::lds_stage_bytes);",
        "platform::mbarrier_expect(ring.full(), D::lds_stage_bytes + 16);",
        ("nothing moves any more", "0 of 1 arrivals and 16 bytes are missing"),
        TMA_STEPS,
    ),
    "copies-into-a-stage-in-use": Bug(
        "wavelet_tma.hpp",
        "mbarrier_expect(ring.full(), D::lds_stage_bytes); ... tma_load_2d(ring.data() + i * block_bytes,",
        "mbarrier_expect(ring.full(), D::lds_stage_bytes); ... "
        "tma_load_2d(ring.data() + D::lds_stage_bytes + i * block_bytes,",
        ("LDS", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "overlapping-copies": Bug(
        "wavelet_tma.hpp",
        "platform::tma_load_im2col<ndim, ranks>(ring.data() + (a_blocks + j) * block_bytes,",
        "platform::tma_load_im2col<ndim, ranks>(ring.data() + (a_blocks + j - 1) * block_bytes,",
        ("LDS race", "write by a copy at", "and write by a copy at"),
        TMA_STEPS,
    ),
    "one-stage-too-many": Bug(
        "stage_ring.hpp",
        "if(++stage == stages) {",
        "if(++stage > stages) {",
        ("LDS write", "a copy at wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "a-copy-past-the-end": Bug(
        "wavelet_tma.hpp",
        "platform::tma_load_im2col<ndim, ranks>(ring.data() + (a_blocks + j) * block_bytes,",
        "platform::tma_load_im2col<ndim, ranks>(ring.data() + (a_blocks + 1000 + j) * block_bytes,",
        ("LDS write of 16 bytes", "is outside its", "a copy at wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "a-map-of-too-many-images": Bug(
        "bwd_weight_tma.hpp",
        "image.images = p.k; image.image_bytes = p.in_image_bytes; image.box_channels =",
        "image.images = 2 * p.k; image.image_bytes = p.in_image_bytes; image.box_channels =",
        ("global read of 128 bytes out of bounds", "a copy at wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "a-tap-too-far": Bug(
        "wavelet_tma.hpp",
        "static_cast<uint16>(index % p.filter[d] * p.dilation[d]);",
        "static_cast<uint16>(index % p.filter[d] * p.dilation[d] + 1);",
        (),
        TMA_STEPS,
    ),
    "the-walk-ends-too-late": Bug(
        "bwd_weight_tma.hpp",
        "image.upper[d] = (p.out_length[s] - 1) * p.stride[s]",
        "image.upper[d] = p.out_length[s] * p.stride[s]",
        (),
        TMA_STEPS,
    ),
    "a-descriptor-of-another-stride": Bug(
        "wgmma_operands.hpp",
        "constexpr uint32 eight_rows = 8 * Columns * 2;",
        "constexpr uint32 eight_rows = 8 * Columns * 4;",
        ("LDS", "the matrix unit of warpgroup"),
        TMA_STEPS,
    ),
    "no-wait-for-the-products": Bug(
        "tma_consumers.hpp",
        "        atom::wgmma_wait<0>();\n",
        "",
        ("LDS race", "write by a copy at", "read by the matrix unit of warpgroup"),
        TMA_STEPS,
    ),
    "waits-for-too-few-products": Bug(
        "tma_consumers.hpp",
        "atom::wgmma_wait<View::a_in_registers ? 0 : 1>();",
        "atom::wgmma_wait<View::a_in_registers ? 0 : 2>();",
        ("LDS race", "write by a copy at", "read by the matrix unit of warpgroup"),
        TMA_STEPS,
    ),
    "no-fence": Bug(
        "tma_consumers.hpp",
        "atom::wgmma_fence(); CKGEN_UNROLL for(",
        "CKGEN_UNROLL for(",
        ("with no wgmma_fence since its registers were last used", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "no-commit": Bug(
        "tma_consumers.hpp",
        "atom::wgmma_commit(); atom::wgmma_wait<View::a_in_registers ? 0 : 1>();",
        "atom::wgmma_wait<View::a_in_registers ? 0 : 1>();",
        ("no wgmma_commit between", "tma_consumers.hpp"),
        TMA_STEPS,
    ),
    "barriers-are-not-published": Bug(
        "tma_roles.hpp",
        "init_barriers(ring); platform::fence_mbarrier_init();",
        "init_barriers(ring);",
        ("which no fence_mbarrier_init made visible", "wavelet_tma.hpp"),
        TMA_STEPS,
    ),
    "roles-begin-before-there-are-barriers": Bug(
        "tma_roles.hpp",
        "platform::cluster_barrier(); else thread.barrier();",
        "platform::cluster_barrier();",
        ("mbarrier",),
        TMA_STEPS,
    ),
    "a-store-past-the-weight": Bug(
        "weight_columns.hpp",
        "if(column >= columns)\n            return -1;\n",
        "",
        ("global write of 16 bytes out of bounds", "weight", "wgmma_store.hpp"),
        TMA_STEPS,
    ),
    "half-an-exchange": Bug("lane_exchange.hpp", "    exchange<2>(thread, lane, words);\n", "", (), TMA_STEPS),
    "sums-that-begin-elsewhere": Bug(
        "wgmma_fixup.hpp",
        "float sums[4 * PartBlocks] = {};",
        "float sums[4 * PartBlocks] = {1.f};",
        (),
        TMA_PROBLEMS["last round split"],
    ),
}
TF32_BUGS = {
    "warps-do-not-wait": Bug(
        "tma_warp_products.hpp",
        "        platform::mbarrier_wait(ring.full(), ring.parity);\n",
        "",
        ("LDS read of bytes that nobody wrote", "warp_tile.hpp"),
        TMA_STEPS,
    ),
    "a-stage-is-released-before-its-last-loads": Bug(
        "tma_warp_products.hpp",
        "acc, step);\n            }\n"
        "            if(!ahead)\n                next_stage();\n            release_by_warps(empty, id_);\n",
        "acc, step);\n                release_by_warps(empty, id_);\n            }\n"
        "            if(!ahead)\n                next_stage();\n",
        ("wavelet_tma.hpp",),
        TMA_STEPS,
    ),
    "one-lane-releases-what-others-may-read": Bug(
        "stage_ring.hpp",
        "    platform::sync_warp();\n",
        "",
        ("LDS race", "write by a copy at", "warp_tile.hpp"),
        TMA_STEPS,
    ),
    "the-next-stage-is-not-read": Bug(
        "tma_warp_products.hpp",
        "stage = arrived(ring);\n                    load(operands, stage, 0);\n                }",
        "arrived(ring);\n                    load(operands, stage, 0);\n                }",
        (),
        TMA_STEPS,
    ),
    "positions-of-a-and-b-differ": Bug(
        "warp_tile.hpp",
        "b_byte_[p] = byte_of(id % 4 * 2 + p, id",
        "b_byte_[p] = byte_of(id % 4 * 2 + 1 - p, id",
        (),
        TMA_STEPS,
    ),
    "columns-of-another-warp": Bug(
        "warp_tile.hpp",
        "return thread / 32 * (N / 4) + block",
        "return thread / 64 * (N / 4) + block",
        (),
        TMA_STEPS,
    ),
    "a-row-too-far": Bug(
        "warp_tile_store.hpp",
        "if(row < args_.m && weight >= 0)",
        "if(row <= args_.m && weight >= 0)",
        (),
        TMA_PROBLEMS["groups"],
    ),
    "f32-counts-as-one-half-in-the-copy": Bug(
        "repack.hpp",
        "columns = inside ? args.columns - column : 0;",
        "columns = inside ? args.columns / 2 - column : 0;",
        (),
        TMA_PROBLEMS["repacked"],
    ),
}
F32_BUGS = {
    "a-low-part-is-not-multiplied": Bug(
        "tma_part_products.hpp",
        "            multiply(a.high, low, products, true);\n            multiply(a.high, high, products, true);\n",
        "            multiply(a.high, high, products, true);\n",
        (),
        TMA_STEPS,
    ),
    "positions-of-a-and-b-differ": Bug(
        "part_rows.hpp",
        "position_in_pairs(WgmmaFragment::k(id, i));",
        "WgmmaFragment::k(id, i);",
        (),
        TMA_STEPS,
    ),
    "parts-that-wgmma-may-not-see": Bug(
        "tma_part_products.hpp",
        "            platform::fence_proxy_async();\n"
        "            release_by_warps(ring.empty(), id_);\n            meet();\n",
        "            release_by_warps(ring.empty(), id_);\n            meet();\n",
        ("no fence_proxy_async between", "part_columns.hpp"),
        TMA_STEPS,
    ),
    "another-warpgroup-has-not-filled-the-buffer": Bug(
        "tma_part_products.hpp",
        "            release_by_warps(ring.empty(), id_);\n            meet();\n",
        "            release_by_warps(ring.empty(), id_);\n",
        ("part_columns.hpp",),
        TMA_STEPS,
    ),
    "one-buffer": Bug(
        "tma_part_products.hpp",
        "            if constexpr(splits)\n                buffer += ",
        "            if constexpr(!splits)\n                buffer += ",
        ("part_columns.hpp",),
        TMA_STEPS,
    ),
    "two-buffers": Bug(
        "tma_part_products.hpp",
        "buffer += buffer == TmaRing<D>::buffers() + (D::part_buffers - 1) * buffer_bytes\n"
        "                              ? -(D::part_buffers - 1) * buffer_bytes",
        "buffer += buffer == TmaRing<D>::buffers() + buffer_bytes\n                              ? -buffer_bytes",
        ("part_columns.hpp",),
        TMA_STEPS,
    ),
    "a-stage-is-released-before-it-is-read": Bug(
        "tma_part_products.hpp",
        "ring.parity);\n        if constexpr(splits)\n"
        "            columns_.fill ... release_by_warps(ring.empty(), id_);",
        "ring.parity);\n        release_by_warps(ring.empty(), id_);\n        if constexpr(splits)\n"
        "            columns_.fill ...",
        (),
        TMA_STEPS,
    ),
    "the-rest-of-another-number": Bug(
        "tf32_parts.hpp",
        "low[i][r] = difference(values[i][r], high[i][r]);",
        "low[i][r] = difference(values[i][0], high[i][r]);",
        (),
        TMA_STEPS,
    ),
    "only-high-parts": Bug(
        "tf32_parts.hpp",
        "low[i][r] = difference(values[i][r], high[i][r]);",
        "low[i][r] = 0;",
        (),
        TMA_STEPS,
    ),
}
BUGS = {
    **{("halo", name): bug for name, bug in HALO_BUGS.items()},
    **{("merged", name): bug for name, bug in MERGED_BUGS.items()},
    **{("tma", name): bug for name, bug in TMA_BUGS.items()},
    **{("tf32", name): bug for name, bug in TF32_BUGS.items()},
    **{("f32", name): bug for name, bug in F32_BUGS.items()},
}
BUG_INSTANCES = {"halo": HALO_8, "merged": HALO_4, "tma": TMA, "tf32": TF32, "f32": F32}


@pytest.mark.parametrize("key", every_third(BUGS), ids="-".join)
def test_planted_bug_is_reported(key: tuple[str, str], tmp_path: Path) -> None:
    check_bug(BUGS[key], BUG_INSTANCES[key[0]], run_instance, tmp_path)
