"""Test family two_stage on the host platform: random problems of few channels per group are right, whatever number of
groups is left over, and vectors that reach over groups are refused where groups do not fill them.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.ck.exporting import has_row, type_string
from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.verify.run_tensors import make_data
from tests.kernels.test_depthwise import result_of
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.few_channels import Sizes, draw
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

WIDE = Instance("two_stage", "NHWGC/GKYXC/NHWGK", "f16", "Default", 32, 64, 32, 16, 0, 1, 8, 8, 1, 1, groups_to_merge=8)
ODD = replace(WIDE, m_per_block=16, a_vector=1, b_vector=1, groups_to_merge=4)
TWO_WAVES = replace(WIDE, dtype="bf16", n_per_block=128, math_waves=2, a_vector=4, groups_to_merge=32)
C_VECTOR = replace(WIDE, dtype="f32", k_per_block=16, a_vector=4, b_vector=4, c_vector=4, groups_to_merge=2, stages=2)
LINE = replace(ODD, layout="NWGC/GKXC/NWGK", dtype="bf16", groups_to_merge=16)
VOLUME = replace(ODD, layout="NDHWGC/GKZYXC/NDHWGK", m_per_block=32, groups_to_merge=8)
POINTWISE = replace(WIDE, conv_spec="Filter1x1Stride1Pad0")
# Rows of CK in which a quarter of the threads copies A, or B.
FEW_COPY_A = replace(
    WIDE, n_per_block=128, m_per_xdl=32, a_vector=8, b_vector=8, a_write=8, b_write=8, groups_to_merge=8, stages=2
)
FEW_COPY_B = replace(FEW_COPY_A, dtype="bf16", m_per_block=128, n_per_block=32, stages=1)
# Positions are contiguous, so that vectors of A are positions of one channel.
PLANES = replace(ODD, layout="NGCHW/GKYXC/NGKHW")
PLANES_WIDE = replace(PLANES, dtype="bf16", n_per_block=128, math_waves=2, a_vector=4, groups_to_merge=8, stages=2)
PLANES_POINTWISE = replace(PLANES, conv_spec="Filter1x1Stride1Pad0", m_per_block=32, a_vector=8, b_vector=8)
PLANES_VOLUME = replace(PLANES, layout="NGCDHW/GKZYXC/NGKDHW", dtype="f32", k_per_block=16, c_vector=4)
PLANES_LINE = replace(PLANES, layout="NGCW/GKXC/NGKW", groups_to_merge=32)
# PyTorch's default memory format: columns have the order of the weight, whose taps are contiguous.
DEFAULT = replace(PLANES, layout="NGCHW/GKCYX/NGKHW", a_vector=2, groups_to_merge=3)
DEFAULT_SHIFTED = replace(
    DEFAULT, a_vector=8, b_vector=8, groups_to_merge=8, m_per_block=32, n_per_block=128, math_waves=2
)
DEFAULT_TAPS = replace(DEFAULT, c_vector=4, dtype="bf16", groups_to_merge=2, stages=2)
DEFAULT_POINTWISE = replace(PLANES_POINTWISE, layout="NGCHW/GKCYX/NGKHW", c_vector=4)
DEFAULT_VOLUME = replace(PLANES, layout="NGCDHW/GKCZYX/NGKDHW", dtype="f32", k_per_block=16, a_vector=1)
DEFAULT_LINE = replace(PLANES, layout="NGCW/GKCX/NGKW", groups_to_merge=32)
ALL = (WIDE, ODD, TWO_WAVES, C_VECTOR, LINE, VOLUME, POINTWISE, FEW_COPY_A, FEW_COPY_B)
# A row of CK, which has a kernel for each width of its copy; this family has one for each width of reading positions.
PLANES_ROW = replace(
    PLANES_WIDE,
    dtype="f16",
    n_per_block=32,
    m_per_block=32,
    math_waves=1,
    transpose_dst=1,
    transpose_vector=4,
    transpose_lds=4,
)
ALL += (PLANES_ROW, PLANES, PLANES_WIDE, PLANES_POINTWISE, PLANES_VOLUME, PLANES_LINE)
# RDNA.
WMMA = replace(WIDE, family="wmma", m_per_block=16)
WMMA_ODD = replace(ODD, family="wmma", layout="NDHWGC/GKZYXC/NDHWGK", dtype="bf16", n_per_block=32, groups_to_merge=3)
DL = replace(WIDE, family="dl", m_per_xdl=32, c_vector=2)
DL_ODD = replace(ODD, family="dl", layout="NWGC/GKXC/NWGK", dtype="f32", m_per_block=32, m_per_xdl=32, k_per_block=16)
ALL += (WMMA, WMMA_ODD, DL, DL_ODD)
ALL += (DEFAULT, DEFAULT_SHIFTED, DEFAULT_TAPS, DEFAULT_POINTWISE, DEFAULT_VOLUME, DEFAULT_LINE)
NAMES = [instance.name for instance in ALL]
ROUNDS = 8  # problems per instance and seed


def sizes(instance: Instance, rng: random.Random) -> Sizes:
    groups, k, c = rng.choice([1, 2, 3, 5, 7, 9, 16, 33]), rng.randint(1, 17), rng.randint(1, 17)
    return groups, k, rng.choice([4, 8]) if instance.c_vector > 1 else c


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


def test_type_strings_are_those_of_the_library(library: Library) -> None:
    for instance in filter(has_row, ALL):
        assert library.type_string(instance.name) == type_string(instance)
    assert has_row(PLANES_ROW) and not has_row(PLANES)


FIVE = make_problem(groups=5, batch=2, k=3, c=2, filter=[3, 3], input=[6, 5], pad=1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("groups.by_c.quotient(channel) != group ||", ""),
        ("|| tile_.group + group >= args_.groups", ""),
        ("outer * groups.c + channel", "outer * args_.c + channel"),
    ],
    ids=["blocks off the diagonal", "groups past the last", "columns of merged groups"],
)
def test_a_bug_in_the_store_is_noticed(old: str, new: str, tmp_path: Path) -> None:
    check_bug(Bug("bwd_weight_store.hpp", old, new, (), FIVE), ODD, run_instance, tmp_path)


@pytest.mark.parametrize(
    ("instance", "file", "old", "new"),
    [
        (PLANES, "bwd_weight_view.hpp", "args.k, existing(channels, args.m), first_row", "args.k, args.m, first_row"),
        (DEFAULT, "im2col_source.hpp", "channel >= channels", "channel > channels"),
        (replace(DEFAULT_SHIFTED, groups_to_merge=4), "shifted_plane_source.hpp", "args.c - channels", "0"),
    ],
    ids=["output", "input", "input in shifted vectors"],
)
def test_a_read_of_groups_past_the_last_is_noticed(
    instance: Instance, file: str, old: str, new: str, tmp_path: Path
) -> None:
    check_bug(Bug(file, old, new, (), replace(FIVE, input=(4, 6))), instance, run_instance, tmp_path)


def test_an_infinity_stays_in_its_group(library: Library) -> None:
    problem = replace(FIVE, groups=8, k=4, c=4)
    for instance in (WIDE, ODD, PLANES, DEFAULT):
        data = make_data(problem, instance.dtype, 1, instance.operation, library.function_of(instance.name))
        spoiled = {tensor: array.copy() for tensor, array in data.tensors.items()}
        spoiled["in"][2, :, 1] = np.inf
        result = result_of(library, instance.name, problem, replace(data, tensors=spoiled))
        wrong = ~np.isfinite(result)
        assert wrong[2, :, 1].any()
        wrong[2, :, 1] = False
        assert not wrong.any(), np.argwhere(wrong)


@pytest.mark.parametrize(
    ("instance", "rule", "fields"),
    [
        (WIDE, "a-vector", {"groups": 5}),
        (WIDE, "b-vector", {"groups": 4, "k": 4, "c": 3}),
        (C_VECTOR, "c-vector", {"groups": 8, "k": 4, "c": 2}),
    ],
)
def test_vectors_that_groups_do_not_fill_are_refused(
    library: Library, instance: Instance, rule: str, fields: dict[str, int]
) -> None:
    whole = replace(FIVE, groups=8, k=4, c=4)
    assert library.unsupported_reason(instance.name, whole) is None
    reason = library.unsupported_reason(instance.name, replace(whole, **fields))
    assert reason is not None and reason.startswith(f"[{rule}]"), reason
