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
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import draw, gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import chosen, every_third

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
ROWS = Instance("wavelet_tma", LAYOUT, "bf16", "Default", 128, 128, 64, 64, 2, 4, 1, 1, 1, 3, archs=("sm_90a",))
SMALL = replace(ROWS, m_per_block=64, n_per_block=64, math_waves=2, dtype="f16", stages=6)
TALL, WIDE = replace(ROWS, n_per_block=64, stages=4), replace(SMALL, n_per_block=128, stages=4)
FUSED = replace(SMALL, function="Scale", stages=2)
ONE_D, THREE_D = replace(WIDE, layout="NWGC/GKXC/NWGK"), replace(SMALL, layout="NDHWGC/GKZYXC/NDHWGK", stages=5)
ALL = (ROWS, SMALL, TALL, WIDE, FUSED, ONE_D, THREE_D)
PROBLEMS = {
    "pointwise": make_problem(batch=2, k=130, c=75, filter=[1, 1], input=[7, 5]),
    "more than a ring": make_problem(batch=5, k=33, c=142, filter=[1, 1], input=[13, 11]),
    "odd": make_problem(batch=3, k=37, c=27, filter=[3, 3], input=[9, 11], pad=1),
    "groups": make_problem(groups=3, batch=2, k=7, c=5, filter=[3, 2], input=[8, 7], pad=1),
    "more than a box": make_problem(batch=2, k=40, c=75, filter=[1, 2], input=[9, 9], stride=2, pad=1),
    "single": make_problem(batch=2, k=1, c=1, filter=[3, 3], input=[6, 6], dilation=2, pad=2),
    "multiples of 8": make_problem(batch=2, k=72, c=64, filter=[1, 1], input=[9, 8]),
    "one position": make_problem(batch=1, k=3, c=7, filter=[1, 1], input=[1, 1]),
    "uneven pads": make_problem(batch=2, k=9, c=11, filter=[3, 3], input=[11, 12], stride=2, pad=[2, 1], right_pad=[0, 3]),
    "1d": make_problem(groups=2, batch=2, k=9, c=3, filter=[5], input=[131], pad=2),
    "3d": make_problem(batch=2, k=9, c=12, filter=[2, 1, 2], input=[3, 4, 5], stride=[1, 2, 1]),
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
    assert all(library.workspace_size(ROWS.name, PROBLEMS[name], split_k=1) == 0 for name in ("pointwise", "odd"))


def test_tensors_that_begin_beside_multiples_of_16_bytes_are_refused(library: Library) -> None:
    described = CProblem.make(PROBLEMS["pointwise"], LAYOUT, 1)
    assert library.check(ROWS.name, described) is None
