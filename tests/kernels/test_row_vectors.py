"""Test backward data with vectors of output positions that filter taps shift, on the host platform: random problems are
right, whatever part of a vector is outside the row of the image, the plane or the tensor, and planes in which a vector
cannot be loaded are refused.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.selection.takes import takes
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

PLANES = Instance(
    *("xdl", "NGKHW/GKCYX/NGCHW", "f16", "Default", 64, 32, 32, 32, 0, 1, 8, 1, 1, 1),
    operation="grouped_conv_bwd_data",
)
HALF = replace(PLANES, layout="NGKHW/GKYXC/NGCHW", dtype="bf16", m_per_block=64, n_per_block=64, a_vector=4, b_vector=8)
PAIR = replace(PLANES, m_per_block=64, n_per_block=16, m_per_xdl=16, a_vector=2)
LINE = replace(PLANES, layout="NGKW/GKCX/NGCW", dtype="bf16")
LINE_HALF = replace(LINE, a_vector=4)
VOLUME = replace(PLANES, layout="NGKDHW/GKCZYX/NGCDHW")
VOLUME_HALF = replace(VOLUME, a_vector=4, math_waves=4, m_per_block=128, n_per_block=128)
SINGLE = replace(PLANES, dtype="f32", k_per_block=16, a_vector=4)
SINGLE_HALF = replace(SINGLE, layout="NGKDHW/GKZYXC/NGCDHW", a_vector=2)
# Vectors of the weight: tiles of one tap.
ONE_TAP = replace(PLANES, a_vector=4, b_vector=8, m_per_block=64, n_per_block=64)
VOLUME_ONE_TAP = replace(VOLUME_HALF, b_vector=4)
SINGLE_ONE_TAP = replace(SINGLE, layout="NGKDHW/GKCZYX/NGCDHW", b_vector=2)
ALL = (
    *(PLANES, HALF, PAIR, LINE, LINE_HALF, VOLUME, VOLUME_HALF, SINGLE, SINGLE_HALF),
    *(ONE_TAP, VOLUME_ONE_TAP, SINGLE_ONE_TAP),
)
NAMES = [instance.name for instance in ALL]
ROUNDS = 10  # problems per instance and seed


def draw(library: Library, instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    while True:
        problem = _draw(instance, rng)
        if problem is not None and not library.unsupported_reason(instance.name, problem):
            return problem


def _draw(instance: Instance, rng: random.Random) -> ConvProblem | None:
    """A random convolution, or None if its output would be empty; its padding may exceed a row."""
    most = {1: 90, 2: 14, 3: 6}[instance.ndim]
    filter_ = [rng.choice((1, 2, 3, 3, 5)) for _ in range(instance.ndim)]
    dilation = [rng.choice((1, 1, 2, 3)) for _ in filter_]
    left, right = ([rng.choice((0, 0, 1, 2, 7)) for _ in filter_] for _ in range(2))
    stride = [rng.choice((1, 1, 1, 2, 3)) for _ in filter_]
    input_ = [rng.randint(1, most) for _ in filter_]
    input_[-1] = rng.randint(1, 40)
    for size, taps, apart, before, after in zip(input_, filter_, dilation, left, right, strict=True):
        if size + before + after < (taps - 1) * apart + 1:
            return None
    return make_problem(
        groups=rng.choice((1, 1, 2, 3)),
        batch=rng.randint(1, 4),
        k=rng.randint(1, 70),
        c=rng.randint(1, 5) * instance.b_vector,
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
        run_instance(library, name, draw(library, library.instance(name), rng), rng.choice([1, 1, 2, 5]))


# The gradient of a 3x3 convolution: vectors begin before the plane, end after it, and lie over an end of each row.
SAME = make_problem(groups=1, batch=2, k=5, c=3, filter=[3, 3], input=[4, 6], pad=1)


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [
        ("row_end_copy.hpp", "if(any_moved != 0)", "if(any_moved == 1)"),
        ("row_position_source.hpp", "block::RowEnd(vector, -first,", "block::RowEnd(vector, 0 * first,"),
        ("row_position_source.hpp", "d == last ? vector - 1 : 0", "d == last ? 0 : 0"),
        ("bwd_data_store.hpp", "if(D::row_vector == 1 || ", "if(D::row_vector > 0 || "),
    ],
    ids=[
        "moved vectors",
        "elements before the row",
        "vectors that begin before the row",
        "rows of the GEMM past the end",
    ],
)
def test_a_bug_is_noticed(header: str, old: str, new: str, tmp_path: Path) -> None:
    def once(library: Library, name: str, problem: ConvProblem) -> None:
        run_instance(library, name, problem, 1)

    check_bug(Bug(header, old, new, (), SAME), PLANES, once, tmp_path)


def test_a_vector_outside_the_tensor_is_noticed(tmp_path: Path) -> None:
    def once(library: Library, name: str, problem: ConvProblem) -> None:
        run_instance(library, name, problem, 1)

    old, new = "max_of(0, min_of(room_, wanted))", "min_of(room_, wanted)"
    bug = Bug("row_position_source.hpp", old, new, ("tile_copy.hpp", "out of bounds"), SAME)
    check_bug(bug, PLANES, once, tmp_path)


@pytest.mark.parametrize(
    ("instance", "fields", "words"),
    [
        (PLANES, {"input": (2, 3)}, "a plane of 6 output positions"),
        (LINE, {"filter": (3,), "input": (7,)}, "a plane of 7 output positions"),
    ],
)
def test_a_plane_smaller_than_a_vector_is_refused(
    library: Library, instance: Instance, fields: dict[str, object], words: str
) -> None:
    problem = make_problem(**({"groups": 1, "batch": 2, "k": 5, "c": 3, "filter": (3, 3), "pad": 1} | fields))  # type: ignore[arg-type]
    reason = library.unsupported_reason(instance.name, problem)
    assert reason is not None and reason.startswith("[a-vector]") and words in reason
    assert not takes(instance, problem)


def test_rows_count_as_whole_vectors() -> None:
    problem = make_problem(groups=1, batch=3, k=5, c=7, filter=(3, 3), input=(4, 9), pad=1)
    assert PLANES.products(problem) == ((3 * 4 * 16, 7, 5 * 9),)
    assert replace(PLANES, a_vector=1).products(problem) == ((3 * 4 * 9, 7, 5 * 9),)
    strided = replace(problem, strides=(2, 2))
    assert [m for m, _, _ in PLANES.products(strided)] == [3 * 2 * 8] * 4


def test_few_channels_fill_a_tile_of_one_tap() -> None:
    problem = make_problem(groups=1, batch=3, k=5, c=8, filter=(3, 3), input=(4, 9), pad=1)
    assert not PLANES.one_tap_tiles and ONE_TAP.one_tap_tiles
    assert ONE_TAP.products(problem) == ((3 * 4 * 12, 8, 32 * 9),)
    assert ONE_TAP.products(replace(problem, k=40)) == ((3 * 4 * 12, 8, 40 * 9),)
    assert not replace(ONE_TAP, groups_to_merge=2).one_tap_tiles
    planes = replace(ONE_TAP, layout="NGCHW/GKCYX/NGKHW", conv_spec="Filter1x1Stride1Pad0")
    weight = replace(planes, operation="grouped_conv_bwd_weight")
    point = replace(problem, filter=(1, 1), left_pads=(0, 0), right_pads=(0, 0))
    assert weight.products(point) == ((5, 8, 3 * 4 * 9),)
