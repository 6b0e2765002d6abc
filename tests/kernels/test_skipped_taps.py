"""Test on the host platform that tiles of backward data skip the taps that meet padding in all of their rows: results
of random problems are right, and the weights of skipped taps are not read.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from ckgen.verify.run_tensors import make_data
from tests.kernels.test_depthwise import result_of
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

VOLUME = Instance(
    *("xdl", "NDHWGK/GKZYXC/NDHWGC", "f16", "Default", 32, 32, 32, 32, 0, 1, 1, 1, 1, 1), operation=BWD_DATA
)
PLANES = replace(VOLUME, layout="NGKDHW/GKCZYX/NGCDHW", a_vector=4)
IMAGE = replace(VOLUME, layout="NHWGK/GKYXC/NHWGC", dtype="f32", k_per_block=16, m_per_block=64)
LINE = replace(VOLUME, layout="NWGK/GKXC/NWGC", dtype="bf16")
RING = replace(VOLUME, family="wavelet", m_per_block=64, n_per_block=64, load_waves=4, math_waves=4, stages=4)
WMMA = replace(IMAGE, family="wmma", dtype="f16", m_per_xdl=16, k_per_block=32)
ALL = (VOLUME, PLANES, IMAGE, LINE, RING, WMMA)
NAMES = [instance.name for instance in ALL]
ROUNDS = 10  # problems per instance and seed


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


def draw(ndim: int, rng: random.Random) -> ConvProblem:
    """A random problem whose first dimension has few positions, beside which its filter is long."""
    while True:
        filter_ = [rng.choice((2, 3, 5)), *(rng.choice((1, 2, 3)) for _ in range(ndim - 1))]
        stride = [rng.choice((1, 1, 2, 3)) for _ in filter_]
        dilation = [rng.choice((1, 1, 2, 3)) for _ in filter_]
        pads = [rng.choice((0, rng.randint(0, edge * step))) for edge, step in zip(filter_, dilation, strict=True)]
        input_ = [rng.randint(1, 9), *(rng.randint(3, 9) for _ in range(ndim - 1))]
        axes = zip(input_, filter_, dilation, pads, strict=True)
        if all(edge + 2 * pad > (taps - 1) * step for edge, taps, step, pad in axes):
            break
    return make_problem(
        groups=rng.choice((1, 2)),
        batch=rng.randint(1, 3),
        k=rng.choice((3, 9, 40)),
        c=rng.randint(1, 40),
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        pad=pads,
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    library.configure_host(seed=seed)
    for _ in range(ROUNDS):
        problem = draw(library.instance(name).ndim, rng)
        run_instance(library, name, problem, rng.choice([1, 1, 2, 5]))


# Without padding each of the three depths of the input sees one tap; its planes of 64 positions are whole tiles, and a
# tile of GEMM-K has channels of one tap.
DEEP = make_problem(groups=1, batch=2, k=40, c=5, filter=[3, 3, 3], input=[3, 8, 8])
TALL = make_problem(groups=1, batch=2, k=40, c=5, filter=[3, 1], input=[3, 64])


@pytest.mark.parametrize(("instance", "problem"), [(VOLUME, DEEP), (PLANES, DEEP), (RING, DEEP), (IMAGE, TALL)])
@pytest.mark.parametrize("split_k", [1, 3])
def test_an_infinite_weight_reaches_only_positions_that_see_its_tap(
    library: Library, instance: Instance, problem: ConvProblem, split_k: int
) -> None:
    data = make_data(problem, instance.dtype, 1, instance.operation, library.function_of(instance.name))
    spoiled = {tensor: array.copy() for tensor, array in data.tensors.items()}
    spoiled["wei"][:, :, :, 1] = np.inf
    result = result_of(library, instance.name, problem, replace(data, tensors=spoiled), split_k)
    finite = np.isfinite(result).all(axis=(0, 1, 2, *range(4, result.ndim)))
    assert finite.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("quotient(most, args.shift[0]) + 1", "quotient(most, args.shift[0])"),
        ("least = origin[0] + first - args.out_length[0] + 1", "least = origin[0] + first - args.out_length[0] + 2"),
        ("if(last >= count[1])", "if(last > count[1])"),
        ("k_tile_first = first + split * share;", "k_tile_first = split * share;"),
    ],
    ids=["last tap", "first tap", "rows of several images", "first tile"],
)
def test_a_bug_is_noticed(old: str, new: str, tmp_path: Path) -> None:
    check_bug(
        Bug("bwd_data_view.hpp", old, new, (), replace(DEEP, batch=3, input=(3, 5, 5))), VOLUME, run_instance, tmp_path
    )
