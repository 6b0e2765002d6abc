"""Test family wavelet_tma in clusters of two workgroups: weights are right on the host platform, and bugs in what the
workgroups share are reported.
"""

from __future__ import annotations

import functools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import draw, gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import chosen, every_third

pytestmark = pytest.mark.compiles

PAIR = Instance(
    "wavelet_tma", "NHWGC/GKYXC/NHWGK", "bf16", "Default", 128, 192, 64, 64, 2, 4, 8, 8, 2, 5, cluster=2,
    archs=("sm_90a",),
)  # fmt: skip
SMALL = replace(PAIR, m_per_block=64, n_per_block=64, math_waves=2, dtype="f16", stages=3)
WIDE = replace(PAIR, n_per_block=256, stages=4)
TALL = replace(PAIR, m_per_block=192, n_per_block=128, math_waves=6)
FUSED = replace(SMALL, function="Scale", n_per_block=128)
PING = replace(PAIR, n_per_block=128, m_per_xdl=128, stages=4)  # two math warpgroups with a tile each
ONE_D = replace(SMALL, layout="NWGC/GKXC/NWGK", dtype="bf16_f32_bf16")
THREE_D = replace(TALL, layout="NDHWGC/GKZYXC/NDHWGK")
PAIRS = (PAIR, SMALL, WIDE, TALL, PING, FUSED, ONE_D, THREE_D)
PROBLEMS = {
    "one tile": make_problem(batch=2, k=5, c=64, filter=[3, 3], input=[1, 2], pad=1),
    "an odd number of tiles": make_problem(batch=3, k=330, c=72, filter=[1, 1], input=[9, 10]),
    "the last round is split": make_problem(batch=2, k=700, c=72, filter=[1, 1], input=[17, 15]),
    "more stages than the ring": make_problem(batch=4, k=136, c=40, filter=[1, 1], input=[20, 21]),
    "taps": make_problem(batch=2, k=72, c=72, filter=[3, 2], input=[7, 8], stride=[2, 1], pad=1),
    "groups": make_problem(groups=3, batch=2, k=72, c=64, filter=[2, 3], input=[7, 9], pad=[1, 0]),
    "groups of 40": make_problem(groups=2, batch=2, k=40, c=136, filter=[1, 1], input=[6, 7]),
    "repacked": make_problem(groups=2, batch=2, k=37, c=128, filter=[1, 1], input=[7, 5]),
    "1d": make_problem(groups=2, batch=3, k=200, c=72, filter=[3], input=[50], stride=2, dilation=2, pad=2),
    "3d": make_problem(batch=2, k=9, c=64, filter=[2, 2, 2], input=[5, 4, 6], stride=[1, 2, 1], pad=[0, 1, 1]),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, PAIRS), CHECKED))


@pytest.mark.parametrize("split_k", chosen([1, 2, 3, 9], gate=[1, 3]))
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_right(library: Library, name: str, split_k: int) -> None:
    problem = PROBLEMS[name]
    pairs = [instance for instance in PAIRS if instance.ndim == problem.ndim]
    assert pairs
    for turn, instance in enumerate(pairs):
        library.configure_host(seed=turn * split_k)
        run_instance(library, instance.name, problem, split_k)


@pytest.mark.parametrize("seed", chosen(range(24), gate=range(6)))
def test_weights_of_random_problems_are_right(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    library.configure_host(seed=seed)
    for instance in PAIRS:
        problem = draw(library, instance, rng)
        run_instance(library, instance.name, problem, rng.randint(1, 7), gap=gap(instance, problem, rng))


LONG = PROBLEMS["more stages than the ring"]
BUGS = {
    "both-signals-in-the-own-workgroup": Bug(
        "tma_consumers.hpp",
        "platform::mbarrier_arrive_at(empty, id_ / 32);",
        "platform::mbarrier_arrive(empty);",
        ("LDS race", "wavelet_tma.hpp"),
        LONG,
    ),
    "no-signal-in-the-other-workgroup": Bug(
        "tma_consumers.hpp", "id_ / 32 < kCluster<D>)", "id_ < 32)", ("nothing moves any more",), LONG
    ),
    "stages-count-the-signals-of-one-workgroup": Bug(
        "tma_roles.hpp",
        "tma_releases<View> * cluster);",
        "tma_releases<View>);",
        ("LDS race", "wavelet_tma.hpp"),
        LONG,
    ),
    "copies-to-the-own-workgroup-alone": Bug(
        "wavelet_tma.hpp",
        "platform::tma_load_im2col<ndim, ranks>",
        "platform::tma_load_im2col<ndim>",
        ("nothing moves any more",),
        LONG,
    ),
    "both-workgroups-copy-all-boxes": Bug(
        "wavelet_tma.hpp",
        "if(ranks == 0 || (j + ring.stage) % kCluster<D> == rank)",
        "if(ranks == 0 || rank < kCluster<D>)",
        ("LDS race", "wavelet_tma.hpp"),
        LONG,
    ),
    "copies-before-the-others-barriers-are-there": Bug(
        "tma_roles.hpp",
        "if constexpr(cluster > 1)\n            platform::cluster_barrier();\n"
        "        else\n            thread.barrier();",
        "platform::barrier_of(0, launch_threads);",
        ("mbarrier",),
        LONG,
    ),
    "a-workgroup-that-ends-early": Bug(
        "tma_roles.hpp",
        "else if constexpr(cluster > 1)\n            platform::cluster_barrier();",
        "",
        ("no cluster_barrier after",),
        LONG,
    ),
}


@pytest.mark.parametrize("name", every_third(BUGS))
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], PAIR, functools.partial(run_instance, split_k=1), tmp_path)
