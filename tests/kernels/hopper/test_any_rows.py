"""Test family wavelet_tma of backward weight on channels-last tensors whose channels do not fill units of 16 bytes:
weights are right on the host platform without copies, planted bugs are reported.
"""

from __future__ import annotations

import functools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import draw, gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import chosen, every_third

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
POINTWISE = "Filter1x1Stride1Pad0"
ROWS = Instance("wavelet_tma", LAYOUT, "bf16", POINTWISE, 128, 128, 64, 64, 2, 4, 1, 1, 1, 2, archs=("sm_90a",))
SMALL = replace(ROWS, m_per_block=64, n_per_block=64, math_waves=2, dtype="f16", stages=6)
TALL, WIDE = replace(ROWS, n_per_block=64, stages=3), replace(SMALL, n_per_block=128, stages=4)
FUSED = replace(SMALL, function="Scale", stages=2)
ONE_D, THREE_D = replace(WIDE, layout="NWGC/GKXC/NWGK"), replace(SMALL, layout="NDHWGC/GKZYXC/NDHWGK", stages=5)
ALL = (ROWS, SMALL, TALL, WIDE, FUSED, ONE_D, THREE_D)


def pointwise(batch: int, k: int, c: int, *edges: int, groups: int = 1) -> ConvProblem:
    return make_problem(groups=groups, batch=batch, k=k, c=c, filter=[1] * len(edges), input=edges)


PROBLEMS = {
    "odd": pointwise(2, 130, 75, 7, 5),
    "more than a ring": pointwise(5, 33, 142, 13, 11),
    "few": pointwise(3, 37, 27, 9, 11),
    "groups": pointwise(4, 7, 5, 8, 7, groups=3),
    "groups of more than a tile": pointwise(3, 135, 69, 7, 9, groups=2),
    "single": pointwise(2, 1, 1, 6, 6),
    "multiples of 8": pointwise(2, 72, 64, 9, 8),
    "one position": pointwise(1, 3, 7, 1, 1),
    "last row of a tile": pointwise(1, 9, 11, 8, 8),
    "1d": pointwise(2, 9, 3, 131, groups=2),
    "3d": pointwise(2, 9, 12, 3, 4, 5),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


@pytest.mark.parametrize("split_k", chosen([1, 2, 3, 9], gate=[1, 3]))
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_right(library: Library, name: str, split_k: int) -> None:
    problem = PROBLEMS[name]
    instances = [instance for instance in ALL if instance.ndim == problem.ndim]
    assert instances
    for turn, instance in enumerate(instances):
        library.configure_host(seed=turn * split_k)
        run_instance(library, instance.name, problem, split_k)
        run_instance(library, instance.name, problem, split_k, gap=1)


@pytest.mark.parametrize("seed", chosen(range(24), gate=range(6)))
def test_weights_of_random_problems_are_right(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    library.configure_host(seed=seed)
    for instance in ALL:
        problem = draw(library, instance, rng)
        run_instance(library, instance.name, problem, rng.randint(1, 7), gap=gap(instance, problem, rng))


def test_nothing_is_copied(library: Library) -> None:
    assert all(library.workspace_size(ROWS.name, PROBLEMS[name], split_k=1) == 0 for name in ("odd", "few"))


LONG = PROBLEMS["more than a ring"]
BUGS = {
    "a-slot-less-per-row": Bug("any_rows.hpp", "if(slot_ == 0)", "if(slot_ == slots)", ("nobody wrote",), LONG),
    "a-stage-that-is-still-read": Bug(
        "any_rows.hpp",
        "platform::mbarrier_wait(stage.empty(), stage.parity ^ 1);",
        "",
        ("LDS race", "any_rows.hpp"),
        LONG,
    ),
    "a-slot-past-the-end": Bug(
        "any_rows.hpp", "left < 16 ? static_cast<int>(left) : 16", "16", ("out of bounds",), PROBLEMS["odd"]
    ),
    "rows-past-the-end": Bug(
        "any_rows.hpp", "left >= 64 && last <= end_", "last > end_ || left >= 64", ("out of bounds",), PROBLEMS["odd"]
    ),
    "a-shift-of-words": Bug("any_rows.hpp", "shift_ = past / 2;", "shift_ = past / 4;", (), LONG),
    "rows-of-the-last-group-shifted-as-those-of-the-next": Bug(
        "any_rows.hpp", "if(p.groups > 1)", "if(p.groups > 99)", (), pointwise(4, 5, 7, 12, 11, groups=9)
    ),
}


@pytest.mark.parametrize("name", every_third(BUGS))
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], ROWS, functools.partial(run_instance, split_k=1), tmp_path)
