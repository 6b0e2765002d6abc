"""Test family wavelet_tma on tensors whose positions are side by side in any number, for 1x1 filters: edge cases and
random problems are correct on the host platform, planted bugs are reported, other tensors are refused.
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
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import chosen, every_third

pytestmark = pytest.mark.compiles

POINTWISE, LAYOUT, WEIGHT_LAYOUT = "Filter1x1Stride1Pad0", "NGKHW/GKCYX/NGCHW", "NGCHW/GKCYX/NGKHW"
DATA = Instance(
    "wavelet_tma", LAYOUT, "f16", POINTWISE, 128, 128, 64, 64, 2, 4, 1, 8, 1, 4, operation=BWD_DATA, archs=("sm_90a",)
)
SMALL = replace(DATA, m_per_block=64, n_per_block=64, math_waves=2, dtype="bf16", stages=3)
WIDE = replace(SMALL, n_per_block=256, dtype="f16", stages=2)
FUSED = replace(SMALL, function="Bilinear")
ONE_D, THREE_D = replace(DATA, layout="NGKW/GKCX/NGCW"), replace(SMALL, layout="NGKDHW/GKCZYX/NGCDHW")
# Single words of 32 bits are copied.
WORDS = replace(DATA, dtype="f32_comp_tf32", k_per_block=32, b_vector=4)
WORDS_SMALL = replace(WORDS, m_per_block=64, n_per_block=256, math_waves=2)
WORDS_FUSED = replace(WORDS_SMALL, n_per_block=64, function="Bilinear", stages=3)
WORDS_F32 = replace(WORDS, dtype="f32", n_per_block=64)
WORDS_1D = replace(WORDS, layout=ONE_D.layout)
WORDS_3D = replace(WORDS_F32, layout=THREE_D.layout, m_per_block=64, math_waves=2)
WORDS_ONLY = replace(WORDS_SMALL, b_vector=1, n_per_block=128, stages=6)
WORDS_ONLY_WIDE = replace(WORDS, b_vector=1, n_per_block=64, stages=6)
WORDS_ONLY_3D = replace(WORDS_3D, dtype="f32_comp_tf32", b_vector=1)
WEIGHT = replace(WORDS, layout=WEIGHT_LAYOUT, operation=BWD_WEIGHT, b_vector=1, c_vector=1, stages=6)
WEIGHT_SMALL = replace(WEIGHT, m_per_block=64, n_per_block=64, math_waves=2)
WEIGHT_FUSED = replace(WEIGHT_SMALL, function="Scale", n_per_block=128, stages=2)
WEIGHT_F32 = replace(WEIGHT, dtype="f32", n_per_block=64, stages=5)
WEIGHT_1D = replace(WEIGHT_F32, layout="NGCW/GKCX/NGKW", m_per_block=64, math_waves=2)
WEIGHT_3D = replace(WEIGHT_SMALL, layout="NGCDHW/GKCZYX/NGKDHW")
WEIGHTS = (WEIGHT, WEIGHT_SMALL, WEIGHT_FUSED, WEIGHT_F32, WEIGHT_1D, WEIGHT_3D)
WORDS_ONLY_ALL = (WORDS_ONLY, WORDS_ONLY_WIDE, WORDS_ONLY_3D)
WORDS_ALL = (WORDS, WORDS_SMALL, WORDS_FUSED, WORDS_F32, WORDS_1D, WORDS_3D, *WORDS_ONLY_ALL, *WEIGHTS)
DATAS = (DATA, SMALL, WIDE, FUSED, ONE_D, THREE_D, *WORDS_ALL)


def pointwise(batch: int, k: int, c: int, *edges: int, groups: int = 1) -> ConvProblem:
    return make_problem(groups=groups, batch=batch, k=k, c=c, filter=[1] * len(edges), input=edges)


PROBLEMS = {
    "7x7": pointwise(5, 136, 72, 7, 7),
    "14x14": pointwise(3, 72, 200, 14, 14),
    "the last slot reaches into the next row": pointwise(8, 40, 33, 7, 9),
    "one more than a block": pointwise(8, 13, 24, 5, 13),
    "small images": pointwise(8, 31, 64, 5, 5),
    "tiny images": pointwise(5, 9, 8, 1, 3),
    "one row": pointwise(1, 1, 5, 1, 5),
    "groups": pointwise(8, 20, 24, 13, 13, groups=3),
    "odd channels": pointwise(3, 75, 27, 7, 7),
    "many channels": pointwise(2, 600, 16, 9, 9),
    "6x9": pointwise(3, 24, 40, 6, 9),
    "multiples of 8": pointwise(2, 24, 40, 8, 9),
    "1d": pointwise(4, 40, 16, 378, groups=2),
    "3d": pointwise(2, 24, 40, 3, 5, 7),
}


def random_problem(source: random.Random) -> ConvProblem:
    """One with at most four million products."""
    while True:
        edges = [source.randint(1, 24) for _ in range(source.choice((1, 2, 2, 2, 3)))]
        channels = source.randint(1, 150), source.randint(1, 150)
        found = pointwise(source.randint(1, 12), *channels, *edges, groups=source.choice((1, 1, 2)))
        if found.elements("out") * found.c <= 4_000_000:
            return found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, DATAS), CHECKED))


@pytest.mark.parametrize("split_k", chosen([1, 2, 3, 9], gate=[1, 3]))
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_right(library: Library, name: str, split_k: int) -> None:
    problem = PROBLEMS[name]
    datas = [instance for instance in DATAS if instance.ndim == problem.ndim]
    assert datas
    for turn, instance in enumerate(datas):
        library.configure_host(seed=turn * split_k)
        run_instance(library, instance.name, problem, split_k)


@pytest.mark.parametrize("seed", chosen(range(60), gate=range(15)))
def test_gradients_of_random_problems_are_right(library: Library, seed: int) -> None:
    source = random.Random(seed)
    problem = random_problem(source)
    instance = source.choice([one for one in DATAS if one.ndim == problem.ndim])
    library.configure_host(seed=seed)
    run_instance(library, instance.name, problem, source.choice((1, 1, 2)))


def test_gaps_between_positions_are_refused_and_those_between_channels_are_not(library: Library) -> None:
    problem = PROBLEMS["7x7"]
    described = CProblem.make(problem, LAYOUT, 1)
    described.set_strides("out", (1, 136 * 51, 51, 7, 1))
    assert library.check(DATA.name, described) is None
    far = 1 << 24  # elements from one channel to the next
    described.set_strides("out", (1, 136 * far, far, 7, 1))
    assert "[tma-limits]" in str(library.check(DATA.name, described))
    described.set_strides("out", (1, 136 * 98, 98, 14, 2))
    assert any(rule in str(library.check(DATA.name, described)) for rule in ("[strides-layout]", "[tma-limits]"))


STEPS = PROBLEMS["7x7"]
BUGS = {
    "two-buffers": Bug(
        "tma_ring.hpp",
        "D::shift_buffers * D::m_per_block * 128 +",
        "(D::shift_buffers - 1) * D::m_per_block * 128 +",
        ("LDS race",),
        PROBLEMS["many channels"],
    ),
    "shifted-rows-are-not-visible-to-the-matrix-unit": Bug(
        "shifted_products.hpp",
        "        platform::fence_proxy_async();\n        meet();",
        "        meet();",
        ("fence_proxy_async", "shifted_products.hpp"),
        STEPS,
    ),
    "rows-are-multiplied-before-all-are-there": Bug(
        "shifted_products.hpp",
        "        platform::fence_proxy_async();\n        meet();",
        "        platform::fence_proxy_async();",
        ("LDS race", "shifted_products.hpp"),
        STEPS,
    ),
    "a-row-shifted-by-words-only": Bug(
        "shifted_products.hpp",
        "(begin & 2) * 8);",
        "(begin & 0) * 8);",
        (),
        STEPS,
    ),
    "positions-of-the-next-image": Bug(
        "shifted_products.hpp",
        "second_begin = begin(block.image + 1, 0)",
        "second_begin = begin(block.image, 0)",
        (),
        PROBLEMS["odd channels"],
    ),
    "channels-past-the-last": Bug(
        "bwd_data_any_planes.hpp",
        "& 1) != 0 && j * channels_at_once < channels",
        "& 1) != 0",
        (),
        STEPS,
    ),
    "rows-that-begin-at-half-a-slot": Bug(
        "shifted_products.hpp",
        "(args.out_k_bytes % 8 | args.out_image_bytes % 8 | args.out_group_bytes % 8) == 0",
        "(args.out_k_bytes % 4 | args.out_image_bytes % 4 | args.out_group_bytes % 4) == 0",
        (),
        PROBLEMS["6x9"],
    ),
    "a-copy-past-the-end": Bug(
        "bwd_data_any_planes.hpp",
        "end - from < 16 ? static_cast<int>(end - from) : 16",
        "16",
        ("out of bounds", "bwd_data_any_planes.hpp"),
        PROBLEMS["odd channels"],
    ),
    "slots-of-the-next-row-only": Bug(
        "bwd_data_any_planes.hpp",
        "slot_byte < byte % 16 + bytes",
        "slot_byte < bytes",
        (),
        PROBLEMS["the last slot reaches into the next row"],
    ),
    "the-next-image-at-the-place-of-the-first": Bug(
        "wgmma_plane_store.hpp",
        "input_offset<D>(second ? next_image() : first_, args_.in) + in_image",
        "input_offset<D>(first_, args_.in) + in_image",
        (),
        STEPS,
    ),
    "a-word-across-rows": Bug(
        "wgmma_plane_store.hpp",
        "left > (Between ? 2 : 1)",
        "left > 1",
        (),
        PROBLEMS["many channels"],
    ),
}


@pytest.mark.parametrize("name", every_third(BUGS))
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], DATA, run_instance, tmp_path)


# Of the kernels that copy words: the instance, and the bug.
WORD_BUGS = {
    "words-are-used-before-they-arrive": (
        WEIGHT,
        Bug("word_rows.hpp", "platform::async_wait<most>();", "", (), STEPS),
    ),
    "words-of-other-lanes-are-rounded-before-they-arrive": (
        WEIGHT,
        Bug(
            "word_rows.hpp",
            "platform::sync_warp();  // all lanes have waited\n        arrived(next_);",
            "arrived(next_);",
            ("word_rows.hpp",),
            STEPS,
        ),
    ),
    "rounded-words-are-not-visible-to-the-matrix-unit": (
        WEIGHT,
        Bug(
            "word_rows.hpp",
            "platform::fence_proxy_async();\n        platform::sync_warp();",
            "platform::sync_warp();",
            ("fence_proxy_async",),
            STEPS,
        ),
    ),
    "no-stage-is-left-to-the-math-role": (
        replace(WEIGHT, stages=2),
        Bug("word_rows.hpp", "D::stages - 2)", "D::stages - 1)", ("nothing moves any more",), STEPS),
    ),
    "channels-past-the-last-row": (
        WEIGHT,
        Bug("word_rows.hpp", "first_ + i * Step < rows", "rows > 0", ("out of bounds",), PROBLEMS["odd channels"]),
    ),
    "a-position-past-the-image": (
        WEIGHT,
        Bug(
            "any_planes.hpp",
            "if(position >= args.problem.out_positions)",
            "if(position > args.problem.out_positions)",
            (),
            PROBLEMS["6x9"],
        ),
    ),
    "positions-past-the-last-image": (
        WORDS,
        Bug(
            "bwd_data_word_planes.hpp",
            "at.at[0] < p.images ? min_of(p.k - channel, p.tap_rows) : 0",
            "min_of(p.k - channel, p.tap_rows)",
            ("out of bounds",),
            STEPS,
        ),
    ),
    "weights-past-the-last-channel": (
        WORDS_ONLY,
        Bug(
            "word_rows.hpp",
            "row() + i * 32 < rows ? words : 0",
            "words",
            ("out of bounds",),
            PROBLEMS["odd channels"],
        ),
    ),
    "a-weight-that-is-not-rounded": (
        WORDS_ONLY,
        Bug("bwd_data_word_planes.hpp", "weight.round(byte + D::m_per_block * 128);", ";", (), STEPS),
    ),
    "columns-past-the-last-channel": (
        WORDS,
        Bug("wgmma_word_store.hpp", "if(there_ && column < columns_)", "if(there_)", ("out of bounds",), STEPS),
    ),
    "rows-of-the-product-in-their-own-order": (
        WORDS,
        Bug(
            "bwd_data_planes_tma.hpp",
            "tile.m_first + row / 64 * 64 < tile.rows",
            "tile.m_first + row < tile.rows",
            (),
            PROBLEMS["14x14"],
        ),
    ),
}


@pytest.mark.parametrize("name", every_third(WORD_BUGS))
def test_planted_bug_of_words_is_reported(name: str, tmp_path: Path) -> None:
    instance, bug = WORD_BUGS[name]
    check_bug(bug, instance, functools.partial(run_instance, split_k=2), tmp_path)
