"""Test backward data with vectors of a weight whose channels come first, on the host platform: random problems are right
with a poisoned workspace and without one, whatever the channels, taps and groups, the weight itself is read where its
channels are side by side, and the size of the workspace counts the copy.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.instance.work import copied_bytes
from ckgen.library.library import Library
from ckgen.selection.takes import takes
from tests.kernels.test_depthwise import run
from tests.support.cxx import CHECKED, link, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

PLANES = Instance(
    *("xdl", "NGKHW/GKCYX/NGCHW", "f16", "Default", 64, 32, 32, 32, 0, 1, 4, 8, 1, 1),
    operation="grouped_conv_bwd_data",
)
SINGLE = replace(PLANES, dtype="f32", k_per_block=16, b_vector=4)
WRITES = replace(PLANES, dtype="bf16", m_per_block=64, n_per_block=64, math_waves=4, a_vector=1, b_vector=4, c_vector=8)
LINE = replace(PLANES, layout="NGKW/GKCX/NGCW", dtype="bf16", b_vector=2)
VOLUME = replace(PLANES, layout="NGKDHW/GKCZYX/NGCDHW", m_per_block=128, n_per_block=128, math_waves=4)
MERGED = replace(PLANES, b_vector=4, groups_to_merge=4)
RING = replace(PLANES, family="wavelet", m_per_block=64, n_per_block=64, load_waves=4, math_waves=4, a_vector=2, b_vector=4, stages=2)
WMMA = replace(PLANES, family="wmma", m_per_block=64, n_per_block=64, m_per_xdl=16, math_waves=4, a_vector=4)
FUSED = replace(PLANES, function="AddResidual")
ALL = (PLANES, SINGLE, WRITES, LINE, VOLUME, MERGED, RING, WMMA, FUSED)
NAMES = [instance.name for instance in ALL]
ROUNDS = 10  # problems per instance and seed


def draw(library: Library, instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    while True:
        problem = _draw(instance, rng)
        if problem is not None and takes(instance, problem) and not library.unsupported_reason(instance.name, problem):
            return problem


def _draw(instance: Instance, rng: random.Random) -> ConvProblem | None:
    """A random convolution, or None if its output would be empty. Rows of the weight may be several tiles of the copy,
    in channels and in taps."""
    most = {1: 90, 2: 14, 3: 6}[instance.ndim]
    filter_ = [rng.choice((1, 2, 3, 3, 5)) for _ in range(instance.ndim)]
    if instance.ndim == 1:
        filter_ = [rng.choice((1, 3, 41, 64, 66))]
    dilation = [rng.choice((1, 1, 2, 3)) for _ in filter_]
    left, right = ([rng.choice((0, 0, 1, 2, 7)) for _ in filter_] for _ in range(2))
    stride = [rng.choice((1, 1, 1, 2, 3)) for _ in filter_] if instance.c_vector == 1 else [1] * instance.ndim
    input_ = [rng.randint(1, most) for _ in filter_]
    input_[-1] = rng.randint(1, 40)
    for size, taps, apart, before, after in zip(input_, filter_, dilation, left, right, strict=True):
        if size + before + after < (taps - 1) * apart + 1:
            return None
    return make_problem(
        groups=rng.choice((1, 1, 2, 3, 5)),
        batch=rng.randint(1, 4),
        k=rng.randint(1, 50),
        c=rng.choice((1, 3, 4, 8, 13, 24, 65, 130)),
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        pad=left,
        right_pad=right,
    )


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
        run(library, name, draw(library, library.instance(name), rng), rng.choice([1, 1, 2, 5]))
