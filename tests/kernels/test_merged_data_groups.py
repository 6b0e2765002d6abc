"""Test merged groups of backward data on the host platform: random problems of few channels per group are right,
whatever number of groups is left over, and vectors that reach over groups are refused where groups do not fill them.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.ck.exporting import has_row
from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from ckgen.selection.candidates import chain
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.few_channels import Sizes, draw
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

BASE = Instance("xdl", "NHWGK/GKYXC/NHWGC", "f16", "Default", 64, 32, 32, 32, 0, 1, 8, 4, 8, 1, operation=BWD_DATA)
WIDE = replace(BASE, groups_to_merge=8)
ODD = replace(WIDE, a_vector=1, b_vector=1, c_vector=1, groups_to_merge=4)
TWO_WAVES = replace(WIDE, dtype="bf16", m_per_block=128, math_waves=2, b_vector=2, c_vector=2, groups_to_merge=16)
SINGLES = replace(WIDE, dtype="f32", k_per_block=16, a_vector=4, b_vector=1, c_vector=4, groups_to_merge=2, stages=2)
LINE = replace(ODD, layout="NWGK/GKXC/NWGC", dtype="bf16", a_vector=2, groups_to_merge=32)
VOLUME = replace(ODD, layout="NDHWGK/GKZYXC/NDHWGC", groups_to_merge=3)
POINTWISE = replace(WIDE, conv_spec="Filter1x1Stride1Pad0", b_vector=1)
FUSED = replace(WIDE, function="Bilinear", b_vector=1, c_vector=4)
SCALED = replace(ODD, function="Scale", groups_to_merge=8, c_vector=2)
# Positions are contiguous, so that vectors of C are positions of one channel.
PLANES = replace(ODD, layout="NGKHW/GKYXC/NGCHW", b_vector=2, c_vector=4)
PLANES_OWN = replace(PLANES, layout="NGKHW/GKCYX/NGCHW", dtype="f32", k_per_block=16, b_vector=1, c_vector=1)
WMMA = replace(WIDE, family="wmma", m_per_xdl=16)
DL = replace(WIDE, family="dl", m_per_block=64)
DL_ODD = replace(ODD, family="dl", layout="NDHWGK/GKZYXC/NDHWGC", dtype="f32", k_per_block=16, groups_to_merge=3)
ALL = (
    BASE,
    WIDE,
    ODD,
    TWO_WAVES,
    SINGLES,
    LINE,
    VOLUME,
    POINTWISE,
    FUSED,
    SCALED,
    PLANES,
    PLANES_OWN,
    WMMA,
    DL,
    DL_ODD,
)
NAMES = [instance.name for instance in ALL]
ROUNDS = 8  # problems per instance and seed


def sizes(instance: Instance, rng: random.Random) -> Sizes:
    groups, k, c = rng.choice([1, 2, 3, 5, 8, 9, 16, 33]), rng.randint(1, 17), rng.randint(1, 17)
    return groups, k, rng.choice([2, 4, 8, 12]) if rng.random() < 0.5 else c


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    library.configure_host(seed=seed)
    for _ in range(ROUNDS):
        run_instance(library, name, draw(library.instance(name), rng, sizes), rng.choice([1, 1, 2, 5]))


@pytest.mark.parametrize("sizes", [(32, 4, 4), (32, 1, 1), (5, 3, 12), (64, 8, 8), (2, 64, 64), (1, 4, 4), (16, 16, 8)])
def test_cpp_and_python_order_candidates_alike(library: Library, sizes: tuple[int, int, int]) -> None:
    groups, k, c = sizes
    problem = make_problem(groups=groups, batch=8, k=k, c=c, filter=(3, 3), input=(14, 14), pad=1)
    own = [instance for instance in ALL if instance.family == "xdl"]
    found = chain(problem, "f16", BASE.layout, "sm_90a", own, (), operation=BWD_DATA)
    expected = [one.name for one in found if library.unsupported_reason(one.name, problem) is None]
    chosen = library.candidates(problem, "f16", layout=BASE.layout, arch="sm_90a", operation=BWD_DATA)
    assert [one.name for one in chosen] == expected


def test_ck_has_no_row_that_merges_groups_of_backward_data() -> None:
    assert has_row(BASE) and not has_row(WIDE)


# The last merged group has five of eight.
THIRTEEN = make_problem(groups=13, batch=2, k=3, c=2, filter=[3, 3], input=[6, 5], pad=1)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("bwd_data_loader.hpp", "first.ahead - this->first_row;", "first.ahead;"),
        ("bwd_data_loader.hpp", "if(merges || taps_.chunk == change_)", "if(taps_.chunk == change_)"),
        ("bwd_data_args.hpp", "last_(tile.group == args.groups - 1)", "last_(tile.group == args.groups)"),
        ("bwd_data_store.hpp", "tile.n_first + column < channels();", "tile.n_first + column < args_.n;"),
    ],
    ids=["blocks off the diagonal", "groups of a chunk", "groups past the last", "writes past the last group"],
)
def test_a_bug_is_noticed(file: str, old: str, new: str, tmp_path: Path) -> None:
    problem = replace(THIRTEEN, k=9)
    check_bug(Bug(file, old, new, (), problem), replace(ODD, groups_to_merge=8), run_instance, tmp_path)


@pytest.mark.parametrize(
    ("instance", "rule", "fields"),
    [
        (WIDE, "a-vector", {"groups": 9}),
        (WIDE, "b-vector", {"c": 2}),
        (SINGLES, "c-vector", {"c": 1, "groups": 4}),
    ],
)
def test_vectors_that_groups_do_not_fill_are_refused(
    library: Library, instance: Instance, rule: str, fields: dict[str, int]
) -> None:
    whole = replace(THIRTEEN, groups=8, k=4, c=4)
    assert library.unsupported_reason(instance.name, whole) is None
    reason = library.unsupported_reason(instance.name, replace(whole, **fields))
    assert reason is not None and reason.startswith(f"[{rule}]"), reason
