"""Test family streaming on the host platform: random problems of 1x1 filters are right in both orders of memory and
with every width of access, with functions too; weights that do not fit are refused; bugs that a GPU hides are reported.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import gap
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

LAST = Instance(
    *("streaming", "NHWGK/GKYXC/NHWGC", "f16", "Filter1x1Stride1Pad0", 256, 32, 32, 16, 0, 4, 8, 8, 8, 16),
    operation=BWD_DATA,
    archs=("sm_90a",),
)
FIRST = replace(LAST, layout="NGKHW/GKCYX/NGCHW", m_per_block=512, k_per_block=16, stages=32)
NARROW = {
    "two warps of 16 positions": replace(LAST, m_per_block=32, math_waves=1, n_per_block=64, dtype="bf16"),
    "fours": replace(LAST, a_vector=4, b_vector=4, c_vector=4, n_per_block=96),
    "pairs": replace(LAST, a_vector=2, b_vector=2, c_vector=2, k_per_block=64, dtype="bf16"),
    "single weights": replace(LAST, b_vector=1, c_vector=2, m_per_block=128, k_per_block=128, stages=8),
    "positions in fours": replace(FIRST, m_per_block=256, a_vector=4, c_vector=4, n_per_block=112, k_per_block=32),
    "positions in pairs": replace(FIRST, m_per_block=64, math_waves=2, a_vector=2, c_vector=2, n_per_block=16),
    "planes, single weights": replace(FIRST, b_vector=1, n_per_block=48, k_per_block=32, dtype="bf16"),
    "a line": replace(LAST, layout="NWGK/GKXC/NWGC"),
    "groups outermost": replace(LAST, layout="GNHWK/GKYXC/GNHWC"),
    "planes, weight's channels last": replace(FIRST, layout="NGKHW/GKYXC/NGCHW"),
    "volumes": replace(FIRST, layout="NGKDHW/GKCZYX/NGCDHW", n_per_block=64),
}
TF32 = replace(LAST, dtype="f32_comp_tf32", a_vector=4, b_vector=4, c_vector=4, k_per_block=16)
TF32_FIRST = replace(TF32, layout="NGKHW/GKCYX/NGCHW", n_per_block=64)
OF_F32 = {
    "tf32": replace(TF32, m_per_block=128, n_per_block=48, k_per_block=32),
    "tf32, pairs": replace(
        TF32, m_per_block=64, math_waves=2, n_per_block=16, k_per_block=48, a_vector=2, b_vector=1, c_vector=1
    ),
    "f32": replace(TF32, dtype="f32", c_vector=2),
    "tf32, planes": TF32_FIRST,
    "tf32, single positions and weights": replace(TF32_FIRST, m_per_block=64, a_vector=1, b_vector=1, c_vector=1),
    "f32, positions in pairs": replace(TF32_FIRST, dtype="f32", m_per_block=128, a_vector=2, b_vector=2, c_vector=2),
}
FUSED = (
    replace(LAST, function="Bilinear"),
    replace(LAST, function="AddResidual", c_vector=4, dtype="bf16"),
    replace(FIRST, function="AddResidual"),
    replace(FIRST, function="Scale", m_per_block=256, a_vector=4, c_vector=4),
    replace(TF32, function="AddResidual"),
    replace(TF32_FIRST, function="Bilinear"),
)
ALL = (LAST, FIRST, *NARROW.values(), *OF_F32.values(), *FUSED)
SIZES = {1: [60], 2: [4, 14], 3: [2, 4, 5]}  # positions of an image


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


def drawn(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes, with images of any size that its vectors divide."""
    last = instance.channels_last
    step = {"k": instance.a_vector if last else 1, "c": max(instance.b_vector, instance.c_vector if last else 1)}
    while True:
        k, c = (step[name] * rng.randint(1, 200 // step[name]) for name in ("k", "c"))
        tiles = -(-k // instance.k_per_block) * -(-c // instance.n_per_block)
        image = [rng.randint(1, edge) for edge in SIZES[instance.ndim]]
        image[-1] *= 1 if last else instance.a_vector
        if tiles <= instance.stages:
            groups = rng.choice([1, 1, 1, 3])
            return make_problem(groups=groups, batch=rng.randint(1, 5), k=k, c=c, filter=[1] * len(image), input=image)


@pytest.mark.parametrize("instance", ALL, ids=lambda one: f"{one.name[17:]}")
def test_random_problems_are_right(library: Library, instance: Instance) -> None:
    rng = random.Random(instance.name)
    for seed in range(8):
        problem = drawn(instance, rng)
        assert library.unsupported_reason(instance.name, problem) is None, problem
        library.configure_host(seed=seed)
        run_instance(library, instance.name, problem, rng.choice([1, 3, -1]), gap=gap(instance, problem, rng))


@pytest.mark.parametrize("instance", [LAST, FIRST], ids=lambda one: one.layout[:5])
def test_warps_take_several_tiles(library: Library, instance: Instance) -> None:
    # The host counts few compute units, so that this many positions are several tiles of each warp.
    many = make_problem(batch=5, k=40, c=72, filter=[1, 1], input=[41, 40])
    run_instance(library, instance.name, many, 1)


@pytest.mark.parametrize(
    ("instance", "fields", "words"),
    [
        (LAST, {"k": 520}, "[weight-size] a weight of 520 by 32 channels has 17 tiles; the instance has shared memory"),
        (FIRST, {"k": 264, "c": 64}, "[weight-size] a weight of 264 by 64 channels has 34 tiles"),
        (LAST, {"c": (1 << 31) - 8, "k": 8, "input": [1, 1], "batch": 1}, "[weight-size]"),
        (LAST, {"k": 36}, "K 36 is not a multiple"),
        (FIRST, {"input": [5, 7]}, "not a multiple"),
        (LAST, {"filter": [3, 3], "pad": 1}, "[conv-spec]"),
        (LAST, {"stride": 2}, "[conv-spec]"),
    ],
)
def test_other_problems_are_refused(
    library: Library, instance: Instance, fields: dict[str, object], words: str
) -> None:
    sizes: dict[str, object] = {"batch": 2, "k": 64, "c": 32, "filter": [1, 1], "input": [8, 8]}
    reason = library.unsupported_reason(instance.name, make_problem(**{**sizes, **fields}))  # type: ignore[arg-type]
    assert reason is not None and words in reason


KERNEL = "pipeline/bwd_data_streaming.hpp"
LARGE = make_problem(batch=3, k=40, c=40, filter=[1, 1], input=[41, 40])
BUGS = {
    "no wait for the weight": (
        LAST,
        Bug(
            KERNEL,
            "thread.barrier();\n        platform::pdl_launch_dependents();",
            "platform::pdl_launch_dependents();",
            ("LDS", "bwd_data_streaming.hpp"),
            LARGE,
        ),
    ),
    "the last positions are not left out": (LAST, Bug(KERNEL, "i * 16 + half * 8 >= rows_left || ", "", (), LARGE)),
    "vectors in the order of the columns": (
        FIRST,
        Bug(KERNEL, "tile * 8 + row_ % 2 * 4 + row_ / 2", "tile * 8 + row_", (), LARGE),
    ),
    "the next channels are those of the same step": (
        LAST,
        Bug(KERNEL, "source, last ? 0 : k + 1", "source, last ? 0 : k", (), LARGE),
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    instance, bug = BUGS[name]
    check_bug(bug, instance, run_instance, tmp_path)
