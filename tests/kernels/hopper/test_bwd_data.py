"""Test family wavelet_tma of backward data on the host platform: edge cases are correct, with splits and functions, and
bugs that a GPU hides are reported with their source lines.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, LibraryError
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, header, link, run_instance, source, write_tree
from tests.support.drawn import draw, gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.planting import replace_once
from tests.support.sweep.sampled import chosen, every_third
from tests.support.weight_copies import OFTEN, check_weight_copies

pytestmark = pytest.mark.compiles

TMA = Instance(
    *("wavelet_tma", "NHWGK/GKYXC/NHWGC", "f16", "Default", 128, 128, 64, 64, 2, 4, 8, 8, 8, 6),
    operation=BWD_DATA,
    archs=("sm_90a",),
)
PINGPONG = replace(TMA, m_per_xdl=128)  # two ping-pong consumers
WIDE = replace(TMA, m_per_block=64, n_per_block=256, stages=4, dtype="bf16")
SMALL = replace(TMA, m_per_block=64, n_per_block=64, math_waves=2)
# 160 columns: two boxes of the weight and a half. The two warpgroups have 128 rows each, or a tile each.
HALF_BOX = replace(TMA, m_per_block=256, n_per_block=160, m_per_xdl=128, stages=3)
HALF_BOX_PINGPONG = replace(PINGPONG, n_per_block=160, stages=4, dtype="bf16")
HALF_BOX_BILINEAR = replace(TMA, n_per_block=160, stages=4, function="Bilinear")
HALF_BOX_ODD = replace(HALF_BOX, c_vector=1, dtype="bf16")
HALF_BOXES = (HALF_BOX, HALF_BOX_PINGPONG, HALF_BOX_BILINEAR, HALF_BOX_ODD)
# 32 output channels at a time, in rows of 64 bytes.
HALF_ROW = replace(TMA, n_per_block=64, k_per_block=32)
HALF_ROW_PINGPONG = replace(PINGPONG, k_per_block=32, dtype="bf16", function="Bilinear")
HALF_ROW_WIDE = replace(HALF_BOX, n_per_block=64, k_per_block=32, stages=6)
HALF_ROW_3D = replace(HALF_ROW, layout="NDHWGK/GKZYXC/NDHWGC", dtype="bf16")
HALF_ROW_ODD = replace(HALF_ROW, c_vector=1)
RESIDUAL = replace(SMALL, function="AddResidual")
BILINEAR = replace(PINGPONG, function="Bilinear", dtype="bf16")
STATIONARY = replace(PINGPONG, family="stationary", stages=4)
STATIONARY_WIDE = replace(STATIONARY, m_per_block=64, n_per_block=256, m_per_xdl=64, stages=6, dtype="bf16")
STATIONARY_RESIDUAL = replace(STATIONARY, m_per_block=192, m_per_xdl=64, math_waves=6, stages=2, function="AddResidual")
TMA_1D = replace(SMALL, layout="NWGK/GKXC/NWGC")
TMA_3D = replace(TMA, layout="NDHWGK/GKZYXC/NDHWGC", m_per_block=192, n_per_block=64, math_waves=6)
TF32 = replace(TMA, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4, c_vector=4)
TF32_PINGPONG = replace(TF32, m_per_xdl=128)
TF32_WIDE = replace(TF32, m_per_block=64, n_per_block=256, stages=4, function="AddResidual")
TF32_1D = replace(TF32, m_per_block=64, n_per_block=64, math_waves=2, layout="NWGK/GKXC/NWGC")
TF32_3D = replace(TF32, layout="NDHWGK/GKZYXC/NDHWGC", m_per_block=192, n_per_block=64, math_waves=6)
# The weight is operand A, in registers.
EXCHANGED = replace(TF32, exchange=True)
EXCHANGED_PINGPONG = replace(EXCHANGED, m_per_xdl=128)
EXCHANGED_WIDE = replace(EXCHANGED, m_per_block=64, n_per_block=256, math_waves=2, stages=4)
EXCHANGED_RESIDUAL = replace(EXCHANGED, function="AddResidual", n_per_block=64)
EXCHANGED_NARROW = replace(EXCHANGED_WIDE, n_per_block=192, math_waves=4)  # two ping-pong consumers
EXCHANGED_1D = replace(TF32_1D, exchange=True)
EXCHANGED_3D = replace(TF32_3D, exchange=True)
EXCHANGES = (
    *(EXCHANGED, EXCHANGED_PINGPONG, EXCHANGED_WIDE, EXCHANGED_RESIDUAL),
    *(EXCHANGED_NARROW, EXCHANGED_1D, EXCHANGED_3D),
)
# f32, each product as three of tf32: with the weight as operand A, or a copy of its parts.
F32 = replace(EXCHANGED, dtype="f32", n_per_block=64)
F32_RESIDUAL = replace(F32, m_per_block=64, math_waves=2, function="AddResidual")
F32_COPIED = replace(F32, exchange=False)
F32_1D = replace(EXCHANGED_1D, dtype="f32", n_per_block=128, stages=4)
F32_3D = replace(EXCHANGED_3D, dtype="f32", m_per_block=128, math_waves=4, stages=4)
F32_COPIED_3D = replace(EXCHANGED_3D, dtype="f32", exchange=False, stages=4)
F32_COPIED_WIDE = replace(F32_COPIED, n_per_block=128, stages=4, function="AddResidual")
F32S = (F32, F32_RESIDUAL, F32_1D, F32_3D, F32_COPIED, F32_COPIED_WIDE, F32_COPIED_3D)
HALF_ROWS = (HALF_ROW, HALF_ROW_PINGPONG, HALF_ROW_WIDE, HALF_ROW_3D)
STATIONARIES = (STATIONARY, STATIONARY_WIDE, STATIONARY_RESIDUAL)
TF32S = (TF32, TF32_PINGPONG, TF32_WIDE, TF32_1D, TF32_3D, *EXCHANGES)
WORDS = (*TF32S, *F32S)  # elements of 32 bits
# Inputs of any number of channels.
ODD = replace(PINGPONG, c_vector=1)
ODD_SMALL = replace(SMALL, c_vector=1, stages=3, dtype="bf16")
ODD_BILINEAR = replace(BILINEAR, c_vector=1)
ODD_1D = replace(TMA_1D, c_vector=1)
ODD_3D = replace(TMA_3D, c_vector=1)
ODD_TF32 = replace(TF32, c_vector=1)
ODD_TF32_WIDE = replace(TF32_WIDE, c_vector=1)
ODD_F32 = replace(F32_COPIED, c_vector=1)
ODDS = (ODD, ODD_SMALL, ODD_BILINEAR, ODD_1D, ODD_3D, ODD_TF32, ODD_TF32_WIDE, ODD_F32, HALF_BOX_ODD, HALF_ROW_ODD)
PLAIN = (TMA, PINGPONG, WIDE, SMALL, HALF_BOX, HALF_BOX_PINGPONG, TMA_1D, TMA_3D)
ALL = (*PLAIN, RESIDUAL, BILINEAR, HALF_BOX_BILINEAR, *HALF_ROWS, *STATIONARIES, *WORDS, *ODDS)

PROBLEMS = {
    "plain": make_problem(batch=2, k=64, c=64, filter=[3, 3], input=[9, 10], pad=1),
    "ragged": make_problem(batch=3, k=136, c=72, filter=[3, 3], input=[9, 10], pad=1),
    "last round split": make_problem(batch=2, k=136, c=64, filter=[3, 3], input=[25, 24], pad=1),
    "groups": make_problem(groups=3, batch=2, k=48, c=72, filter=[2, 3], input=[7, 9], stride=[2, 1], pad=[1, 0]),
    "repacked": make_problem(batch=2, k=36, c=64, filter=[3, 3], input=[13, 13], pad=1),
    "strides": make_problem(batch=2, k=64, c=64, filter=[3, 3], input=[11, 12], stride=2, pad=[2, 1], right_pad=[0, 3]),
    "without taps": make_problem(batch=2, k=64, c=64, filter=[1, 1], input=[11, 12], stride=2),
    "dilation": make_problem(batch=2, k=8, c=64, filter=[3, 3], input=[12, 9], dilation=[2, 3], pad=[2, 3]),
    "gcd": make_problem(batch=2, k=24, c=8, filter=[3, 2], input=[13, 9], stride=[4, 2], dilation=2, pad=[2, 3]),
    "half boxes": make_problem(batch=3, k=72, c=328, filter=[1, 3], input=[9, 11], stride=[2, 1]),
    "tiny": make_problem(batch=1, k=5, c=64, filter=[3, 3], input=[1, 2], pad=1),
    "point": make_problem(batch=1, k=1, c=8, filter=[1, 1], input=[1, 1]),
    "1d": make_problem(groups=2, batch=3, k=32, c=64, filter=[3], input=[50], stride=2, dilation=2, pad=2),
    "3d": make_problem(batch=2, k=9, c=64, filter=[3, 3, 3], input=[5, 4, 6], stride=[1, 2, 2], pad=1),
}

NARROW = {
    "one group": make_problem(batch=2, k=20, c=36, filter=[3, 3], input=[9, 10], stride=[1, 2], pad=1),
    "groups": make_problem(groups=3, batch=2, k=8, c=12, filter=[3, 3], input=[7, 9], pad=1),
    "squeeze and excite": make_problem(batch=64, k=672, c=28, filter=[1, 1], input=[1, 1]),
    "any output channels": make_problem(batch=2, k=255, c=36, filter=[1, 1], input=[9, 7]),
    "any output channels with taps": make_problem(batch=2, k=37, c=64, filter=[3, 2], input=[7, 8], stride=2, pad=1),
    "many channels": make_problem(batch=2, k=132, c=132, filter=[1, 3], input=[6, 9], pad=[0, 1]),
    "1d": make_problem(groups=2, batch=3, k=40, c=20, filter=[3], input=[50], stride=2, dilation=2, pad=2),
    "3d": make_problem(batch=2, k=12, c=28, filter=[3, 3, 3], input=[5, 4, 6], stride=[1, 2, 2], pad=1),
}

ANY = {
    "even": make_problem(batch=2, k=64, c=18, filter=[3, 3], input=[9, 10], pad=1),
    "odd": make_problem(batch=3, k=24, c=37, filter=[3, 2], input=[9, 11], stride=[2, 1], pad=1),
    "single": make_problem(batch=2, k=64, c=1, filter=[3, 3], input=[9, 10], pad=1),
    "both copied": make_problem(batch=2, k=19, c=131, filter=[1, 1], input=[7, 9], stride=[1, 2]),
    "groups": make_problem(groups=3, batch=2, k=32, c=9, filter=[2, 3], input=[7, 9], pad=[1, 0]),
    "without taps": make_problem(batch=2, k=64, c=5, filter=[1, 1], input=[11, 12], stride=2),
    "1d": make_problem(groups=2, batch=3, k=32, c=27, filter=[3], input=[50], stride=2, dilation=2, pad=2),
    "3d": make_problem(batch=2, k=9, c=33, filter=[3, 1, 3], input=[5, 4, 6], stride=[1, 2, 2], pad=1),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


def distinct(library: Library, name: str, problem: ConvProblem, splits: Sequence[int]) -> list[int]:
    """The first of those ``splits`` with the same number of splits."""
    return list({library.split_k(name, problem, split_k): split_k for split_k in reversed(splits)}.values())


@pytest.mark.parametrize("splits", chosen([(1, 3, -1), (2, 9)], [(1, 3, -1)]), ids=str)
@pytest.mark.parametrize("name", PROBLEMS)
def test_wavelet_tma_is_right(library: Library, name: str, splits: tuple[int, ...]) -> None:
    problem = PROBLEMS[name]
    instances = [i for i in ALL if i.ndim == problem.ndim and (i not in WORDS or FAMILIES[i.family].takes(i, problem))]
    assert instances
    for turn, instance in enumerate(instances):
        for split_k in distinct(library, instance.name, problem, splits):
            library.configure_host(seed=turn * abs(split_k))
            run_instance(library, instance.name, problem, split_k)


@pytest.mark.parametrize("splits", chosen([(1, 3), (9, -1)], [(1, 3)]), ids=str)
@pytest.mark.parametrize("name", NARROW)
def test_words_take_input_channels_in_multiples_of_four(library: Library, name: str, splits: tuple[int, ...]) -> None:
    for instance in (i for i in WORDS if i.ndim == NARROW[name].ndim):
        for split_k in distinct(library, instance.name, NARROW[name], splits):
            run_instance(library, instance.name, NARROW[name], split_k)


@pytest.mark.parametrize("splits", chosen([(1, 3), (9, -1)], [(1, 3)]), ids=str)
@pytest.mark.parametrize("name", ANY)
def test_single_elements_of_the_input_take_any_number_of_channels(
    library: Library, name: str, splits: tuple[int, ...]
) -> None:
    for turn, instance in enumerate(i for i in ODDS if i.ndim == ANY[name].ndim):
        library.configure_host(seed=turn)
        for split_k in distinct(library, instance.name, ANY[name], splits):
            run_instance(library, instance.name, ANY[name], split_k)


def test_a_weight_is_copied_only_where_its_channels_are_no_vectors(library: Library) -> None:
    pointwise = make_problem(batch=2, k=64, c=64, filter=[1, 1], input=[5, 5])
    assert library.workspace_size(ODD.name, pointwise) == 0
    assert library.workspace_size(ODD.name, replace(pointwise, c=63)) == 64 * 64 * 2


def test_a_weight_whose_rows_break_cache_lines_is_copied_where_tiles_read_it_often(library: Library) -> None:
    own = (i for i in ALL if i.ndim == 2 and i.elem_bytes == 2 and i.weight_rows == 0)
    check_weight_copies(library, own, SMALL)
    short = replace(OFTEN, k=256, batch=128)  # the whole weight stays in shared memory
    assert library.workspace_size(STATIONARY.name, short) == 0 < library.workspace_size(PINGPONG.name, short)
    assert not FAMILIES[STATIONARY.family].aligns_weight(STATIONARY, short)
    assert library.workspace_size(SMALL.name, OFTEN) == 928 * 256 * 2


@pytest.mark.parametrize("seed", range(3))
def test_random_problems_are_right_with_few_and_many_splits(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    library.configure_host(seed=seed)
    for instance in ALL:
        problem = draw(library, instance, rng)
        for split_k in (rng.randint(1, 7), rng.randint(8, 20)):
            run_instance(library, instance.name, problem, split_k, gap=gap(instance, problem, rng))


@pytest.mark.parametrize("k", [24, 32, 40])
@pytest.mark.parametrize("instance", [TMA, STATIONARY, TF32, EXCHANGED, F32, ODD], ids=lambda one: one.name)
def test_channels_after_those_of_a_slice_are_not_read(library: Library, instance: Instance, k: int) -> None:
    """Positions that are 128 bytes apart are not a copy with zeros after the channels."""
    problem = make_problem(batch=1, k=k, c=64, filter=[3, 3], input=[5, 6], pad=1)
    run_instance(library, instance.name, problem, gap=-k % (128 // instance.elem_bytes))


def test_tf32_copies_the_weight_and_the_output_only_where_it_must(library: Library) -> None:
    """The weight's copy has K innermost, in rows of a multiple of 16 bytes, and so has the output's where its positions
    are not such multiples apart."""
    assert library.workspace_size(TF32.name, PROBLEMS["plain"]) == 64 * 64 * 9 * 4
    weight, output = 64 * 9 * 8 * 4, 2 * 8 * 4  # tiny: K 5 in rows of 8
    assert library.workspace_size(TF32.name, PROBLEMS["tiny"]) == weight + output


def test_an_exchanged_product_copies_no_weight(library: Library) -> None:
    for instance in (EXCHANGED, F32):
        assert library.workspace_size(instance.name, PROBLEMS["plain"]) == 0
        assert library.workspace_size(instance.name, PROBLEMS["tiny"]) == 2 * 8 * 4, "the output, K 5 in rows of 8"


def test_a_d_tensor_may_be_the_input_itself(library: Library) -> None:
    for split_k in (1, 3):
        run_instance(library, RESIDUAL.name, PROBLEMS["strides"], split_k, in_place=True)


def test_an_output_with_gaps_may_need_a_copy_of_it(library: Library) -> None:
    """The required workspace depends on the given tensors, not on gap-free ones: one that is too small is refused."""
    problem = PROBLEMS["plain"]
    shape = problem.shape("out", SMALL.layout)
    wide = np.ones((*shape[:-1], shape[-1] + 1), np.float16)
    in_ = np.full(problem.shape("in", SMALL.layout), np.nan, np.float16)
    wei, out = np.ones(problem.shape("wei", SMALL.layout), np.float16), wide[..., :-1]
    assert library.workspace_size(SMALL.name, problem) == 0
    size = library.workspace_size(SMALL.name, problem, tensors=(in_, wei, out))
    assert size >= out.size * 2
    with pytest.raises(LibraryError, match=f"the workspace must be {size} "):
        library.run(SMALL.name, problem, in_, wei, out, workspace=np.empty(size - 1, np.uint8))
    result = library.run(SMALL.name, problem, in_, wei, out)
    assert result.workspace_bytes == size and in_[0, 4, 4, 0, 0] == 9 * 64


def test_splits_are_reproducible_to_the_bit_and_told(library: Library) -> None:
    problem = PROBLEMS["plain"]
    assert library.split_k(TMA.name, problem, 3) == 3
    assert library.split_k(TMA.name, problem, 100) == 9, "no split without a tile of GEMM-K"
    assert library.workspace_size(TMA.name, problem, split_k=3) == 2 * 3 * 128 * 128 * 4
    assert library.workspace_size(TMA.name, problem) == 0


def test_a_weight_that_stays_is_split_until_it_fits(library: Library) -> None:
    """128 KiB hold 512 rows of 128 columns; the weight has 9 taps of 136 channels in tiles of 48, ten tiles each."""
    assert library.split_k(STATIONARY.name, PROBLEMS["ragged"], 1) == 3
    assert library.split_k(STATIONARY.name, PROBLEMS["ragged"], 2) == 3
    assert library.split_k(STATIONARY.name, PROBLEMS["ragged"], 5) == 5
    assert library.split_k(STATIONARY.name, PROBLEMS["without taps"], 1) == 1


def test_long_sums_are_cut_into_several(tmp_path: Path) -> None:
    """Simulate a matrix unit that truncates, but cut every 64 terms instead of many thousands."""
    tree = write_tree(tmp_path, (TMA, PINGPONG))
    replace_once(header(tree, "problem_checks.hpp"), "bool kTruncates = false", "bool kTruncates = true")
    replace_once(source(tree, "problem_checks.cpp"), "root / 90.", "root * root / 64.")
    library = Library(link(tmp_path, tree))
    for instance in (TMA, PINGPONG):
        for split_k in (1, 2):
            run_instance(library, instance.name, PROBLEMS["last round split"], split_k)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (make_problem(batch=1, k=64, c=64, filter=[3, 3], input=[9, 9], stride=3), ("[sub-gemms]", "9 sub-GEMMs")),
        (make_problem(groups=2, batch=1, k=24, c=64, filter=[1, 1], input=[9, 9]), ("[tma-limits]", "multiple of 16")),
        (make_problem(batch=1, k=64, c=12, filter=[1, 1], input=[9, 9]), ("[b-vector]", "12")),
        (
            make_problem(batch=1, k=64, c=64, filter=[2, 2], input=[300, 300], dilation=260),
            ("[tma-limits]", "beyond what a tensor map can describe (127 and 255)"),
        ),
    ],
    ids=["sub-gemms", "groups", "channels", "offsets"],
)
def test_what_tensor_maps_cannot_describe_is_refused(
    library: Library, problem: ConvProblem, words: Sequence[str]
) -> None:
    reason = library.unsupported_reason(TMA.name, problem)
    assert reason is not None and all(word in reason for word in words), reason


# There are more steps than ring stages, and more tiles than workgroups.
STEPS = make_problem(batch=3, k=136, c=64, filter=[3, 3], input=[19, 20], pad=1)
BUGS = {
    "loads-before-the-previous-kernel-ends": Bug(
        "bwd_data_tma_roles.hpp",
        "            if(!waited)\n                platform::pdl_wait();\n",
        "",
        ("global memory is accessed before pdl_wait()", "bwd_data_wavelet_tma.hpp"),
        STEPS,
    ),
    "expects-too-little": Bug(
        "bwd_data_wavelet_tma.hpp",
        "platform::mbarrier_expect(ring.full(), Out::bytes",
        "platform::mbarrier_expect(ring.full(), Out::bytes / 2",
        ("bytes more than the phase of the mbarrier", "expects at bwd_data_wavelet_tma.hpp"),
        STEPS,
    ),
    "copies-into-the-other-operand": Bug(
        "bwd_data_wavelet_tma.hpp",
        "ring.data() + (kExchanges<D> ? 0 : Out::bytes);",
        "ring.data() + (kExchanges<D> ? 0 : Out::bytes / 2);",
        ("LDS race", "write by a copy at", "and write by a copy at"),
        STEPS,
    ),
    "a-tap-too-far": Bug(
        "bwd_data_wavelet_tma.hpp",
        "p.shift[d] * (tile.taps[d] - 1 - tap.at[d])",
        "p.shift[d] * (tile.taps[d] - tap.at[d])",
        (),
        STEPS,
    ),
    "another-class's-taps": Bug(
        "bwd_data_wavelet_tma.hpp",
        "tile.first[d] + p.tilde[d] * tap.at[d]",
        "p.tilde[d] * tap.at[d]",
        (),
        PROBLEMS["strides"],
    ),
    "the-walk-ends-too-late": Bug(
        "bwd_data_tma.hpp",
        "image.lower[d] + seen.count[s] - p.out_length[s]",
        "image.lower[d] + seen.count[s] + 1 - p.out_length[s]",
        (),
        STEPS,
    ),
    "a-map-of-too-many-images": Bug(
        "bwd_data_tma.hpp",
        "image.images = p.images; image.image_bytes = p.out_image_bytes; for(",
        "image.images = 2 * p.images; image.image_bytes = p.out_image_bytes; for(",
        ("global read of", "out of bounds", "a copy at bwd_data_wavelet_tma.hpp"),
        STEPS,
    ),
    "positions-without-taps-are-left": Bug(
        "bwd_data_view.hpp",
        "rows = tapped ? 0 : rows;",
        "rows = 0;",
        (),
        PROBLEMS["without taps"],
    ),
    "a-line-is-read-before-it-is-there": Bug(
        "wgmma_input_store.hpp",
        "        platform::sync_warp();\n        if constexpr(!narrow)",
        "        if constexpr(!narrow)",
        ("LDS", "wgmma_input_store.hpp"),
        STEPS,
    ),
    "a-line-is-overwritten": Bug(
        "wgmma_input_store.hpp",
        "platform::sync_warp(); transpose<Lines>(acc);",
        "transpose<Lines>(acc);",
        ("LDS race", "wgmma_input_store.hpp"),
        STEPS,
    ),
    "a-store-past-the-input": Bug(
        "wgmma_input_store.hpp",
        "own_offset_ = there ? input_offset<D>(own_, args.in) : kNone;",
        "own_offset_ = input_offset<D>(own_, args.in) + (there ? 0 : 1 << 24);",
        ("global write of 16 bytes out of bounds", "input", "wgmma_input_store.hpp"),
        STEPS,
    ),
    "lines-of-other-rows": Bug(
        "wgmma_input_store.hpp",
        "offset_[i] = offset_of_row(lane_ / 8 + 4 * i);",
        "offset_[i] = offset_of_row(lane_ / 8 + 4 * (3 - i));",
        (),
        STEPS,
    ),
    "no-order-barrier": Bug(
        "tma_consumers.hpp",
        "        platform::mbarrier_wait(ring_.order(consumer_), order_parity_);\n",
        "",
        ("mbarrier",),
        STEPS,
    ),
    "skips-a-stage-too-many": Bug(
        "tma_consumers.hpp",
        "                ring_.skip(tile.k_tiles);\n",
        "                ring_.skip(tile.k_tiles + 1);\n",
        ("nothing moves any more", "tma_consumers.hpp"),
        STEPS,
    ),
}


HALF_BOX_BUGS = {
    "half-a-box-is-not-copied": Bug(
        "bwd_data_wavelet_tma.hpp",
        "weight_boxes = ceil_div(conv::kTileChannels<D>, box_channels);",
        "weight_boxes = conv::kTileChannels<D> / box_channels;",
        ("LDS read of bytes that nobody wrote", "bwd_data_wavelet_tma.hpp"),
        PROBLEMS["half boxes"],
    ),
    "half-a-line-of-other-columns": Bug(
        "tma_consumers.hpp",
        "last[i - lines * line] = acc[Block][i];",
        "last[i - lines * line] = acc[Block][i - line];",
        (),
        PROBLEMS["half boxes"],
    ),
    "warpgroups-with-the-same-rows": Bug(
        "tma_consumers.hpp",
        "first_block_(warpgroup / consumers * own_blocks)",
        "first_block_(warpgroup / consumers)",
        (),
        make_problem(batch=3, k=72, c=160, filter=[1, 1], input=[9, 11]),
    ),
}


@pytest.mark.parametrize("name", every_third(HALF_BOX_BUGS))
def test_planted_bug_of_half_boxes_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(HALF_BOX_BUGS[name], HALF_BOX, run_instance, tmp_path)


@pytest.mark.parametrize("name", every_third(BUGS))
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], PINGPONG, run_instance, tmp_path)


# There are more columns than in a tile, so that the weight changes, and more units of work than workgroups.
COLUMNS = make_problem(batch=3, k=136, c=264, filter=[1, 1], input=[19, 20])
STATIONARY_BUGS = {
    "a-weight-is-not-awaited": Bug(
        "tma_consumers.hpp",
        "                platform::mbarrier_wait(ring_.weight_full(weight.tile), weight.parity());\n",
        "                (void)weight.parity();\n",
        ("LDS", "the matrix unit of warpgroup"),
        COLUMNS,
    ),
    "a-weight-is-overwritten": Bug(
        "bwd_data_tma_roles.hpp",
        "            if(changes && weight.changed > 1)\n",
        "            if(changes && weight.changed < 0)\n",
        ("LDS race", "write by a copy at", "the matrix unit of warpgroup"),
        COLUMNS,
    ),
    "a-weight-is-given-up-too-early": Bug(
        "tma_roles.hpp",
        "platform::mbarrier_init(ring.weight_empty(), D::warpgroups);",
        "platform::mbarrier_init(ring.weight_empty(), 1);",
        ("LDS race", "write by a copy at", "the matrix unit of warpgroup"),
        COLUMNS,
    ),
    "all-tiles-have-one-parity": Bug(
        "tma_ring.hpp",
        "parities ^= ~0u >> (32 - tile.k_tiles);",
        "parities = ~parities;",
        ("LDS",),
        make_problem(batch=3, k=64, c=64, filter=[3, 3], input=[21, 22], stride=2, pad=1),
    ),
    "the-weight-of-other-columns": Bug(
        "bwd_data_view.hpp",
        "tile.weight = block * args.sub_gemms + kind;",
        "tile.weight = kind;",
        (),
        COLUMNS,
    ),
    "runs-overlap": Bug(
        "tile_schedule.hpp",
        "units * (workgroup + 1) / workgroups)",
        "units * (workgroup + 1) / workgroups - 1)",
        (),
        COLUMNS,
    ),
}


@pytest.mark.parametrize("name", every_third(STATIONARY_BUGS))
def test_planted_bug_of_a_weight_that_stays_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(STATIONARY_BUGS[name], STATIONARY, run_instance, tmp_path)


EXCHANGED_BUGS = {
    "copies-over-the-weight": Bug(
        "bwd_data_wavelet_tma.hpp",
        "kExchanges<D> ? weight_boxes * Wei<D::k_per_block>::bytes : 0;",
        "0;",
        ("LDS race", "write by a copy at", "and write by a copy at"),
        STEPS,
    ),
    "a-line-is-read-before-it-is-there": Bug(
        "wgmma_channel_store.hpp",
        "        });\n        platform::barrier_of(barrier, 128);\n",
        "        });\n",
        ("LDS", "wgmma_channel_store.hpp"),
        STEPS,
    ),
    "a-line-is-overwritten": Bug(
        "wgmma_channel_store.hpp",
        "thread_.uniform(thread_.thread_id() / 128);\n        platform::barrier_of(barrier, 128);",
        "thread_.uniform(thread_.thread_id() / 128);",
        ("LDS race", "wgmma_channel_store.hpp"),
        STEPS,
    ),
    "a-store-past-the-input": Bug(
        "wgmma_channel_store.hpp",
        "        if(row >= tile_.rows)\n            return kNone;\n",
        "",
        ("global write of 16 bytes out of bounds", "input", "wgmma_channel_store.hpp"),
        STEPS,
    ),
    "channels-of-other-positions": Bug(
        "wgmma_channel_store.hpp",
        "eight % 16 * 2 + id_ % 32 / 16",
        "eight % 16 * 2",
        (),
        STEPS,
    ),
}


@pytest.mark.parametrize("name", every_third(EXCHANGED_BUGS))
def test_planted_bug_of_an_exchanged_product_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(EXCHANGED_BUGS[name], EXCHANGED_PINGPONG, run_instance, tmp_path)


HALF_ROW_BUGS = {
    "blocks-of-128-bytes": Bug(
        "pipeline/tma/tma_consumers.hpp", "64 * D::k_per_block * D::elem_bytes;", "64 * 128;", (), PROBLEMS["ragged"]
    ),
    "the-swizzle-of-128-bytes": Bug(
        "atom/swizzled_tile.hpp",
        "wgmma_row_descriptor<SwizzledRows<T, Columns>::pitch>",
        "wgmma_row_descriptor<128>",
        (),
        PROBLEMS["ragged"],
    ),
}


@pytest.mark.parametrize("name", every_third(HALF_ROW_BUGS))
def test_planted_bug_of_half_rows_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(HALF_ROW_BUGS[name], HALF_ROW, run_instance, tmp_path)
