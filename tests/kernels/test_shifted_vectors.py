"""Test vectors of input positions that filter taps shift, on the host platform: random problems are right, whatever
part of a vector is padding or lies outside the tensor, and problems in which a vector is not contiguous are refused.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

PLANES = Instance("xdl", "NGCHW/GKCYX/NGKHW", "f16", "Default", 64, 64, 32, 32, 0, 1, 8, 8, 1, 1)
HALF = replace(PLANES, layout="NGCHW/GKYXC/NGKHW", dtype="bf16", a_vector=4, b_vector=4, math_waves=4)
PAIR = replace(PLANES, a_vector=1, b_vector=2)
LINE = replace(PLANES, layout="NGCW/GKCX/NGKW", dtype="bf16")
LINE_HALF = replace(LINE, b_vector=4)
VOLUME = replace(PLANES, layout="NGCDHW/GKCZYX/NGKDHW")
VOLUME_HALF = replace(VOLUME, a_vector=2, b_vector=4, math_waves=4)
SINGLE = replace(PLANES, dtype="f32", k_per_block=16, a_vector=4, b_vector=4)
SINGLE_HALF = replace(SINGLE, layout="NGCDHW/GKZYXC/NGKDHW", a_vector=1, b_vector=2)
MERGED = Instance(
    "two_stage", "NGCHW/GKYXC/NGKHW", "f16", "Default", 32, 64, 32, 16, 0, 1, 4, 8, 1, 1, groups_to_merge=4
)
ALL = (PLANES, HALF, PAIR, LINE, LINE_HALF, VOLUME, VOLUME_HALF, SINGLE, SINGLE_HALF, MERGED)
NAMES = [instance.name for instance in ALL]
ROUNDS = 10  # problems per instance and seed


def draw(library: Library, instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    while True:
        problem = _draw(instance, rng)
        if not library.unsupported_reason(instance.name, problem):
            return problem


def _draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random convolution whose output is as large as its input; its padding may exceed a row."""
    lengths = {1: (4, 8, 24, 32, 40, 56), 2: (1, 2, 3, 4, 5, 6, 8, 10, 12, 33, 40), 3: (1, 2, 3, 4, 5, 6)}[
        instance.ndim
    ]
    filter_ = [rng.choice((1, 2, 3, 3, 5)) for _ in range(instance.ndim)]
    dilation = [rng.choice((1, 1, 2, 3)) for _ in filter_]
    reach = [(edge - 1) * step for edge, step in zip(filter_, dilation, strict=True)]
    left = [rng.choice((all_ // 2, rng.randint(0, all_))) for all_ in reach]
    return make_problem(
        groups=rng.choice((1, 1, 2, 3, 5)),
        batch=rng.randint(1, 4),
        k=rng.randint(1, 70),
        c=rng.randint(1, 20),
        filter=filter_,
        input=[rng.choice(lengths) for _ in filter_],
        dilation=dilation,
        pad=left,
        right_pad=[all_ - before for all_, before in zip(reach, left, strict=True)],
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


SAME = make_problem(groups=1, batch=2, k=5, c=3, filter=[3, 3], input=[4, 6], pad=1)


@pytest.mark.parametrize(
    ("header", "old", "new"),
    [
        ("shifted_slot_copy.hpp", "if(any_moved != 0)", "if(any_moved == 1)"),
        (
            "shifted_plane_source.hpp",
            "const uint32 to_next = period - in_period;",
            "const uint32 to_next = period - in_period + 1;",
        ),
        ("shifted_plane_source.hpp", "|= outer_padding(slice, part, position)", "|= 0 * position"),
        ("shifted_plane_source.hpp", "place_[d] + step_[d]", "place_[d]"),
    ],
    ids=["moved vectors", "the next row's padding", "padding of rows", "place of the next tile"],
)
def test_a_bug_is_noticed(header: str, old: str, new: str, tmp_path: Path) -> None:
    def once(library: Library, name: str, problem: ConvProblem) -> None:
        run_instance(library, name, problem, 1)

    check_bug(Bug(header, old, new, (), SAME), PLANES, once, tmp_path)


def test_a_vector_outside_the_tensor_is_noticed(tmp_path: Path) -> None:
    def once(library: Library, name: str, problem: ConvProblem) -> None:
        run_instance(library, name, problem, 1)

    old, new = "max_of(low, min_of(high, wanted))", "min_of(high, wanted)"
    check_bug(
        Bug("shifted_plane_source.hpp", old, new, ("tile_copy.hpp", "out of bounds"), SAME), PLANES, once, tmp_path
    )


@pytest.mark.parametrize(
    ("instance", "fields", "words"),
    [
        (PLANES, {"input": (8, 16), "stride": 2}, "stride 2"),
        (PLANES, {"input": (4, 6), "pad": 0, "right_pad": 0}, "output length 2"),
        (PAIR, {"input": (5, 7)}, "35 is not a multiple"),
        (PLANES, {"input": (2, 40), "dilation": 36, "pad": 36}, "36 positions"),
        (VOLUME, {"filter": (3, 3, 3), "input": (8, 2, 3)}, "6 positions"),
    ],
)
def test_a_vector_that_is_not_contiguous_is_refused(
    library: Library, instance: Instance, fields: dict[str, object], words: str
) -> None:
    problem = make_problem(**({"groups": 1, "batch": 2, "k": 5, "c": 3, "filter": (3, 3), "pad": 1} | fields))  # type: ignore[arg-type]
    reason = library.unsupported_reason(instance.name, problem)
    assert reason is not None and reason.startswith("[b-vector]") and words in reason
