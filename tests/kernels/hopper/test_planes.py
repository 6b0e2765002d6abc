"""Test family wavelet_tma and stationary on tensors whose positions are side by side, for 1x1 filters: edge cases are
correct on the host platform, planted bugs are reported, and other tensors are refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import chosen, every_third
from tests.support.weight_copies import check_weight_copies

pytestmark = pytest.mark.compiles

POINTWISE = "Filter1x1Stride1Pad0"
LAYOUT, DATA_LAYOUT = "NGCHW/GKCYX/NGKHW", "NGKHW/GKCYX/NGCHW"
WEIGHT = Instance("wavelet_tma", LAYOUT, "f16", POINTWISE, 128, 128, 64, 64, 2, 4, 8, 8, 8, 6, archs=("sm_90a",))
WEIGHT_SMALL = replace(WEIGHT, m_per_block=64, n_per_block=64, math_waves=2, dtype="bf16_f32_bf16")
WEIGHT_TF32 = replace(WEIGHT, dtype="f32_comp_tf32", n_per_block=256, k_per_block=32, a_vector=4, b_vector=4, stages=4)
WEIGHT_ROWS_256 = replace(WEIGHT, m_per_block=256, m_per_xdl=128, stages=4)
WEIGHT_1D = replace(WEIGHT, layout="NGCW/GKCX/NGKW", dtype="bf16")
WEIGHT_3D = replace(WEIGHT_SMALL, layout="NGCDHW/GKCZYX/NGKDHW")
WEIGHT_ODD = replace(WEIGHT, c_vector=1)
WEIGHT_ODD_TF32 = replace(WEIGHT_TF32, c_vector=1)
WEIGHT_ODD_FUSED = replace(WEIGHT_SMALL, dtype="bf16", c_vector=1, function="Bilinear")
WEIGHT_F32 = replace(WEIGHT_TF32, dtype="f32", n_per_block=128)
WEIGHT_ODD_F32 = replace(WEIGHT_F32, m_per_block=64, n_per_block=64, math_waves=2, c_vector=1)
DATA = replace(WEIGHT, layout=DATA_LAYOUT, operation=BWD_DATA)
DATA_SMALL = replace(DATA, m_per_block=64, n_per_block=64, math_waves=2, dtype="bf16")
DATA_256 = replace(DATA, n_per_block=256, stages=4)
DATA_PINGPONG = replace(DATA, m_per_block=64, n_per_block=256, stages=4)
DATA_PINGPONG_128 = replace(DATA, m_per_xdl=128, dtype="bf16")
DATA_192 = replace(DATA, m_per_block=192, n_per_block=192, math_waves=6, stages=3)
# 160 columns: two boxes of the weight and a half. The two warpgroups have 128 rows each, or a tile each.
DATA_HALF_BOX = replace(DATA, m_per_block=256, n_per_block=160, m_per_xdl=128, stages=3)
DATA_HALF_BOX_PINGPONG = replace(DATA_PINGPONG_128, n_per_block=160, stages=4)
DATA_HALF_BOX_3D = replace(DATA_HALF_BOX, layout="NGKDHW/GKCZYX/NGCDHW")
DATA_1D = replace(DATA, layout="NGKW/GKCX/NGCW")
DATA_3D = replace(DATA_SMALL, layout="NGKDHW/GKCZYX/NGCDHW")
STATIONARY = replace(DATA, family="stationary", m_per_xdl=128, stages=4)
STATIONARY_256 = replace(DATA_PINGPONG, family="stationary", dtype="bf16", stages=6)
DATA_TF32 = replace(DATA, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4, c_vector=4)
DATA_TF32_PINGPONG = replace(DATA_TF32, m_per_block=64, n_per_block=256, stages=3)
DATA_TF32_1D = replace(DATA_TF32, n_per_block=64, layout="NGKW/GKCX/NGCW")
DATA_TF32_FUSED = replace(DATA_TF32, m_per_block=64, math_waves=2, function="Bilinear")
DATA_F32 = replace(DATA_TF32, dtype="f32", stages=4)
DATA_F32_3D = replace(DATA_F32, m_per_block=64, n_per_block=64, math_waves=2, layout="NGKDHW/GKCZYX/NGCDHW")
DATA_F32_FUSED = replace(DATA_TF32_FUSED, dtype="f32", stages=4)
DATA_FUSED = replace(DATA_SMALL, function="Bilinear")
WEIGHTS = (
    *(WEIGHT, WEIGHT_SMALL, WEIGHT_ROWS_256, WEIGHT_TF32, WEIGHT_1D, WEIGHT_3D),
    *(WEIGHT_ODD, WEIGHT_ODD_TF32, WEIGHT_ODD_FUSED, WEIGHT_F32, WEIGHT_ODD_F32),
)
DATAS = (
    *(DATA, DATA_SMALL, DATA_256, DATA_192, DATA_PINGPONG, DATA_PINGPONG_128, DATA_1D, DATA_3D),
    *(DATA_HALF_BOX, DATA_HALF_BOX_PINGPONG, DATA_HALF_BOX_3D, STATIONARY, STATIONARY_256, DATA_FUSED),
    *(DATA_TF32, DATA_TF32_PINGPONG, DATA_TF32_1D, DATA_TF32_FUSED),
    *(DATA_F32, DATA_F32_3D, DATA_F32_FUSED),
)

PROBLEMS = {
    "ragged": make_problem(batch=3, k=136, c=72, filter=[1, 1], input=[10, 12]),
    "groups": make_problem(groups=3, batch=2, k=20, c=24, filter=[1, 1], input=[6, 8]),
    "many tiles": make_problem(batch=5, k=72, c=200, filter=[1, 1], input=[14, 20]),
    "half boxes": make_problem(batch=3, k=72, c=328, filter=[1, 1], input=[10, 12]),
    "many channels": make_problem(batch=1, k=600, c=16, filter=[1, 1], input=[8, 9]),
    "one box": make_problem(batch=2, k=64, c=64, filter=[1, 1], input=[8, 8]),
    "tiny": make_problem(batch=2, k=1, c=8, filter=[1, 1], input=[1, 8]),
    "odd": make_problem(batch=3, k=13, c=75, filter=[1, 1], input=[8, 9]),
    "odd groups": make_problem(groups=3, batch=2, k=5, c=7, filter=[1, 1], input=[4, 6]),
    "one channel": make_problem(batch=2, k=40, c=1, filter=[1, 1], input=[8, 8]),
    "1d": make_problem(groups=2, batch=3, k=40, c=16, filter=[1], input=[152]),
    "3d": make_problem(batch=2, k=24, c=40, filter=[1, 1, 1], input=[3, 4, 6]),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, (*WEIGHTS, *DATAS)), CHECKED))


@pytest.mark.parametrize("split_k", chosen([1, 2, 3, 9], gate=[1, 3]))
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_right(library: Library, name: str, split_k: int) -> None:
    problem = PROBLEMS[name]
    weights = [one for one in WEIGHTS if one.ndim == problem.ndim and problem.c % one.c_vector == 0]
    datas = [instance for instance in DATAS if instance.ndim == problem.ndim]
    assert weights and datas
    for turn, instance in enumerate((*weights, *datas)):
        library.configure_host(seed=turn * split_k)
        run_instance(library, instance.name, problem, split_k)


@pytest.mark.parametrize(
    ("name", "problem", "rule"),
    [
        (WEIGHT.name, make_problem(batch=2, k=8, c=8, filter=[1, 1], input=[3, 4]), "a-vector"),
        (WEIGHT_TF32.name, make_problem(batch=2, k=8, c=8, filter=[1, 1], input=[3, 5]), "a-vector"),
        (WEIGHT.name, make_problem(batch=2, k=8, c=12, filter=[1, 1], input=[4, 4]), "c-vector"),
        (WEIGHT.name, make_problem(batch=2, k=8, c=8, filter=[3, 3], input=[8, 8], pad=1), "conv-spec"),
        (DATA.name, make_problem(batch=2, k=8, c=8, filter=[1, 1], input=[7, 7]), "a-vector"),
        (STATIONARY.name, make_problem(batch=2, k=8, c=8, filter=[1, 1], input=[8, 8], stride=2), "conv-spec"),
    ],
)
def test_what_does_not_fit_16_bytes_is_refused(library: Library, name: str, problem: object, rule: str) -> None:
    reason = library.unsupported_reason(name, problem)  # type: ignore[arg-type]
    assert reason is not None and reason.startswith(f"[{rule}]")


def test_a_weight_whose_rows_break_cache_lines_is_copied_where_tiles_read_it_often(library: Library) -> None:
    check_weight_copies(library, (DATA, DATA_SMALL, DATA_PINGPONG_128), DATA_SMALL)


def test_gaps_between_positions_are_refused_and_those_between_channels_are_not(library: Library) -> None:
    problem = PROBLEMS["ragged"]
    lengths = problem.lengths("out")
    plane = lengths[3] * lengths[4]
    for name, layout in ((WEIGHT.name, LAYOUT), (DATA.name, DATA_LAYOUT)):
        described = CProblem.make(problem, layout, 1)
        described.set_strides("out", (1, lengths[2] * (plane + 8), plane + 8, lengths[4], 1))
        assert library.check(name, described) is None
        described.set_strides("out", (1, lengths[2] * (plane + 4), plane + 4, lengths[4], 1))
        assert "[a-vector]" in str(library.check(name, described))
        described.set_strides("out", (1, lengths[2] * plane * 2, plane * 2, lengths[4] * 2, 1))
        assert any(rule in str(library.check(name, described)) for rule in ("[strides-layout]", "[conv-spec]"))


STEPS = PROBLEMS["many tiles"]
WEIGHT_BUGS = {
    "expects-too-little": Bug(
        "planes_tma.hpp",
        "(args.out_rows + args.in_rows) * 128);",
        "(args.out_rows + args.in_rows) * 64);",
        ("bytes more than the phase of the mbarrier", "planes_tma.hpp"),
        STEPS,
    ),
    "rows-that-nobody-copies": Bug(
        "planes_tma.hpp",
        "clear(thread, b + args.in_rows * 128, b + D::n_per_block * 128);",
        "",
        ("LDS read of bytes that nobody wrote", "planes_tma.hpp"),
        PROBLEMS["many channels"],
    ),
    "rows-cleared-too-late-for-the-matrix-unit": Bug(
        "planes_tma.hpp",
        "            platform::fence_proxy_async();\n        }\n        Roles::run",
        "        }\n        Roles::run",
        ("fence_proxy_async", "planes_tma.hpp"),
        PROBLEMS["many channels"],
    ),
    "an-image-too-late": Bug(
        "planes_tma.hpp",
        "if(position >= args.problem.out_positions)",
        "if(position > args.problem.out_positions)",
        (),
        PROBLEMS["one box"],
    ),
    "operands-overlap": Bug(
        "planes_tma.hpp",
        "ring.data() + D::m_per_block * 128, args.in",
        "ring.data() + D::m_per_block * 64, args.in",
        ("LDS race", "write by a copy at"),
        STEPS,
    ),
}
DATA_BUGS = {
    "positions-past-the-image": Bug(
        "plane_block.hpp",
        "image < args.images ? args.positions - position : 0",
        "image < args.images ? args.positions : 0",
        (),
        STEPS,
    ),
    "lines-are-read-before-they-are-there": Bug(
        "wgmma_plane_store.hpp",
        "        platform::barrier_of(barrier, 128);\n        if constexpr(any)",
        "        if constexpr(any)",
        ("LDS", "wgmma_plane_store.hpp"),
        STEPS,
    ),
    "lines-are-overwritten": Bug(
        "wgmma_plane_store.hpp",
        "platform::barrier_of(barrier, 128); constexpr int blocks",
        "constexpr int blocks",
        ("LDS race", "wgmma_plane_store.hpp"),
        STEPS,
    ),
    "a-block-of-another-image": Bug(
        "bwd_data_planes_tma.hpp",
        "tile.m_first + 64 * i);",
        "tile.m_first);",
        (),
        STEPS,
    ),
}
DATA_TF32_BUGS = {
    "one-thread-releases-what-a-warpgroup-reads": Bug(
        "tma_consumers.hpp",
        "int tma_releases = View::a_in_registers ? 4 : 1",
        "int tma_releases = 1",
        ("LDS race", "write by a copy at", "plane_fragments.hpp"),
        STEPS,
    ),
    "rows-in-another-order-than-their-results": Bug(
        "plane_words.hpp",
        "offset(row, atom::PlaneRows::slot(id, half))",
        "offset(row, atom::PlaneRows::slot(id, 1 - half))",
        (),
        STEPS,
    ),
    "one-lane-releases-what-others-may-read": Bug(
        "tma_consumers.hpp",
        "        if constexpr(View::a_in_registers)\n            platform::sync_warp();\n",
        "",
        ("LDS race", "write by a copy at", "plane_fragments.hpp"),
        STEPS,
    ),
}


@pytest.mark.parametrize("name", every_third(WEIGHT_BUGS))
def test_planted_bug_of_the_weight_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(WEIGHT_BUGS[name], WEIGHT, run_instance, tmp_path)


@pytest.mark.parametrize("name", every_third(DATA_BUGS))
def test_planted_bug_of_the_data_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(DATA_BUGS[name], DATA, run_instance, tmp_path)


@pytest.mark.parametrize("name", every_third(DATA_TF32_BUGS))
def test_planted_bug_of_the_data_in_tf32_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(DATA_TF32_BUGS[name], DATA_TF32_PINGPONG, run_instance, tmp_path)
