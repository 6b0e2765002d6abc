"""Test backward weight with input and output exchanged on the host platform: random problems of few output channels are
right in every family, layout and type, with a function and with a poisoned workspace; problems that have no exchanged
problem are refused by name, and bugs in the places of the weight are found.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.ck.exporting import has_row
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance, parse
from ckgen.library.library import Library
from ckgen.selection.takes import takes
from ckgen.verify.simulated import problem_of as simulated_problem
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

WIDE = Instance("xdl", "NHWGC/GKYXC/NHWGK", "f16", "Default", 64, 128, 32, 32, 0, 4, 4, 1, 1, 1, exchange=True)
SMALL = replace(WIDE, dtype="bf16", m_per_block=32, n_per_block=16, m_per_xdl=16, math_waves=1, a_vector=8)
FOUR = replace(WIDE, dtype="f32", n_per_block=32, k_per_block=16, math_waves=2, b_vector=4)
SINGLE = replace(WIDE, n_per_block=64, math_waves=2, a_vector=1, dtype="f32_comp_tf32", k_per_block=16)
LINE = replace(SMALL, layout="NWGC/GKXC/NWGK")
VOLUME = replace(WIDE, layout="NDHWGC/GKZYXC/NDHWGK", n_per_block=64, dtype="bf16_f32_bf16")
OUTERMOST = replace(SMALL, layout="GNHWC/GKYXC/GNHWK", a_vector=2, dtype="f16")
FUSED = replace(SMALL, function="Bilinear", dtype="f32", k_per_block=16, a_vector=4)
PIPELINE = replace(WIDE, pipeline_version=3, n_per_block=64)
RING = replace(WIDE, family="wavelet", load_waves=4, n_per_block=64, a_vector=2, stages=2)
WMMA = replace(WIDE, family="wmma", m_per_xdl=16, n_per_block=64)
DL = replace(WIDE, family="dl", n_per_block=64, k_per_block=16, math_waves=2)
# Positions are contiguous: taps shift vectors of the output where it is as large as the input.
PLANES = replace(WIDE, layout="NGCHW/GKCYX/NGKHW", n_per_block=64, a_vector=8)
SHIFTED = replace(PLANES, dtype="bf16", b_vector=8, math_waves=2)
PLANES_OF_CK = replace(PLANES, layout="NGCHW/GKYXC/NGKHW", a_vector=1, dtype="f32", k_per_block=16)
PLANES_LINE = replace(PLANES, layout="NGCW/GKCX/NGKW", dtype="bf16", a_vector=2)
PLANES_VOLUME = replace(PLANES, layout="NGCDHW/GKCZYX/NGKDHW", function="Bilinear", a_vector=1)
ALL = (WIDE, SMALL, FOUR, SINGLE, LINE, VOLUME, OUTERMOST, FUSED, PIPELINE, RING, WMMA, DL)
ALL += (PLANES, SHIFTED, PLANES_OF_CK, PLANES_LINE, PLANES_VOLUME)
NAMES = [instance.name for instance in ALL]
ROUNDS = 8  # problems per instance and seed


def draw(library: Library, instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes; its vectors divide the channels, seldom its tile."""
    while True:
        problem = _draw(instance, rng)
        if problem is not None and takes(instance, problem) and not library.unsupported_reason(instance.name, problem):
            return problem


def _draw(instance: Instance, rng: random.Random) -> ConvProblem | None:
    first = instance.b_k_major
    filter_ = [rng.choice((1, 2, 3, 5, 7)) for _ in range(instance.ndim)]
    dilation = [rng.choice((1, 1, 2, 3)) for _ in filter_]
    reach = [(edge - 1) * step for edge, step in zip(filter_, dilation, strict=True)]
    left = [rng.randint(0, most) for most in reach]
    same = instance.b_vector > 1 and first
    right = [most - before if same else rng.randint(0, most) for most, before in zip(reach, left, strict=True)]
    longest = {1: 60, 2: 13, 3: 6}[instance.ndim]
    input_ = [rng.randint(1, longest) * (instance.a_vector if first and at == 0 else 1) for at in range(instance.ndim)]
    if any(edge + a + b <= most for edge, a, b, most in zip(input_, left, right, reach, strict=True)):
        return None
    c = rng.randint(1, 70) if first else rng.choice((1, 2, 3, 5, 9, 17)) * instance.a_vector
    k = rng.randint(1, 15) if first else rng.randint(1, 15 // instance.b_vector) * instance.b_vector
    sizes = {"groups": rng.choice((1, 1, 2, 3)), "batch": rng.randint(1, 3), "k": k, "c": c}
    return make_problem(**sizes, filter=filter_, input=input_, dilation=dilation, pad=left, right_pad=right)


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
        run_instance(library, name, draw(library, library.instance(name), rng), rng.choice([1, 1, 2, 5, 40]))


def test_an_instance_has_its_own_name_and_no_row_of_ck() -> None:
    assert parse(WIDE.name) == WIDE and WIDE.name.endswith("_s1_exchange")
    assert not has_row(WIDE) and has_row(replace(WIDE, exchange=False))


IMAGE = make_problem(groups=2, batch=2, k=3, c=8, filter=[3, 2], input=[9, 8], dilation=[1, 2], pad=[2, 1])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"strides": (1, 2)}, "[exchange] stride 2 of dimension 1 is not 1"),
        ({"left_pads": (3, 0)}, "[exchange] pads 3, 2 of dimension 0 are more than the 2 positions"),
        ({"right_pads": (2, 3)}, "[exchange] pads 1, 3 of dimension 1 are more than the 2 positions"),
        ({"c": 6}, "[a-vector] C 6 is not a multiple of the vector 4"),
    ],
)
def test_a_problem_that_cannot_be_exchanged_is_refused(library: Library, fields: dict[str, object], words: str) -> None:
    problem = replace(IMAGE, **fields)
    assert not library.unsupported_reason(WIDE.name, IMAGE) and takes(WIDE, IMAGE)
    assert words in library.unsupported_reason(WIDE.name, problem) and not takes(WIDE, problem)


def test_the_output_fills_vectors_of_b(library: Library) -> None:
    assert "[b-vector] K 3 is not a multiple of the vector 4" in library.unsupported_reason(FOUR.name, IMAGE)
    assert not takes(FOUR, IMAGE) and takes(FOUR, replace(IMAGE, k=4))


def test_tensors_of_many_gib_are_planned(library: Library) -> None:
    large = replace(IMAGE, batch=64, c=64, input=(4096, 4096))
    assert large.elements("in") * 2 > 1 << 36 and not library.unsupported_reason(WIDE.name, large)
    assert "images * input positions" in library.unsupported_reason(WIDE.name, replace(large, batch=256))


def test_the_simulated_problem_fills_tiles() -> None:
    for instance in ALL:
        problem = simulated_problem(instance, 48)
        rows, columns, _ = instance.products(problem)[0]
        assert takes(instance, problem), instance.name
        assert rows % instance.m_per_block == 0 and columns >= instance.n_per_block


def test_the_product_has_the_channels_of_the_input_as_rows() -> None:
    assert WIDE.products(IMAGE) == ((8, 18, 2 * 9 * 8),)
    assert replace(WIDE, exchange=False).products(IMAGE) == ((3, 48, 2 * 11 * 8),)


OF_A = "+ scalar(thread, tile.group) * args.out_group_bytes, first_row(thread, tile), scalar(thread, tile.m_first)"
OF_B = "+ scalar(thread, tile.group) * args.in_group_bytes, first_row(thread, tile), tile.n_first"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("exchanged_weight.hpp", "taps - 1 - (taps_fastest ? inner : outer)", "(taps_fastest ? inner : outer)"),
        ("exchanged_weight.hpp", "static_cast<int64>(k) * taps * args.m", "static_cast<int64>(k) * args.m"),
        ("bwd_weight_loader.hpp", f"(kExchanges<D> ? args.in : args.out) {OF_A}", f"args.out {OF_A}"),
        ("bwd_weight_loader.hpp", f"(kExchanges<D> ? args.out : args.in) {OF_B}", f"args.in {OF_B}"),
    ],
    ids=["taps", "output channels", "operand A", "operand B"],
)
def test_a_bug_is_noticed(file: str, old: str, new: str, tmp_path: Path) -> None:
    check_bug(Bug(file, old, new, (), replace(IMAGE, groups=1)), SMALL, run_instance, tmp_path)


def test_a_bug_in_the_sums_of_splits_is_noticed(tmp_path: Path) -> None:
    def split(library: Library, name: str, problem: ConvProblem) -> None:
        run_instance(library, name, problem, 2)

    bug = Bug("bwd_weight_reduce.hpp", "const int m = place / args.n", "const int m = place / args.c", (), IMAGE)
    check_bug(bug, SMALL, split, tmp_path)
