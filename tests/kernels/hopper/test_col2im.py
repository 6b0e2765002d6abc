"""Test family col2im on the host platform: random problems of few input channels are right in every dimension and type,
tiles that share rows write each element once, problems that it does not take are refused, and bugs that a GPU hides are
reported.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.columns import with_columns
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import gap
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

COL2IM = Instance(
    *("col2im", "NHWGK/GKYXC/NHWGC", "f16", "Default", 128, 64, 64, 64, 2, 4, 8, 8, 1, 3),
    operation=BWD_DATA,
    archs=("sm_90a",),
)
SMALL = replace(COL2IM, m_per_block=64, math_waves=2, stages=4, dtype="bf16")
WIDE = replace(COL2IM, n_per_block=128, function="Bilinear")
RESIDUAL = replace(SMALL, n_per_block=128, function="AddResidual")
TF32 = replace(COL2IM, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4)
TF32_WIDE = replace(TF32, n_per_block=128, function="AddResidual")
F32 = replace(TF32, dtype="f32")
F32_WIDE = replace(TF32_WIDE, dtype="f32", m_per_block=64, math_waves=2)
LINE = replace(SMALL, layout="NWGK/GKXC/NWGC")
LINE_TF32 = replace(TF32, layout="NWGK/GKXC/NWGC")
VOLUME = replace(COL2IM, layout="NDHWGK/GKZYXC/NDHWGC")
VOLUME_TF32 = replace(TF32, layout="NDHWGK/GKZYXC/NDHWGC", function="Bilinear")
# Four channels at once.
FOURS = tuple(replace(i, c_vector=4) for i in (COL2IM, WIDE, RESIDUAL, TF32, F32, LINE, VOLUME_TF32))
WORDS = (TF32, TF32_WIDE, F32, F32_WIDE)
ALL = (COL2IM, SMALL, WIDE, RESIDUAL, *WORDS, LINE, LINE_TF32, VOLUME, VOLUME_TF32, *FOURS)

PROBLEMS = {
    "stem": make_problem(batch=2, k=64, c=3, filter=[7, 7], input=[30, 37], stride=2, pad=3),
    "stem of stride 4": make_problem(batch=3, k=24, c=3, filter=[7, 7], input=[29, 31], stride=4, pad=2),
    "image": make_problem(batch=2, k=72, c=3, filter=[3, 3], input=[17, 19], pad=1),
    "one channel": make_problem(batch=2, k=130, c=1, filter=[5, 5], input=[21, 13], stride=[3, 2], pad=[2, 0]),
    "long filter": make_problem(batch=2, k=16, c=2, filter=[3, 21], input=[11, 90], stride=[1, 2], pad=[1, 10]),
    "channels of a vector": make_problem(batch=2, k=40, c=16, filter=[3, 3], input=[13, 15], pad=1),
    "fours and strides": make_problem(batch=2, k=32, c=12, filter=[3, 5], input=[17, 18], stride=[2, 3], pad=[1, 2]),
    "one tap": make_problem(batch=2, k=40, c=5, filter=[1, 1], input=[13, 15]),
    "one tap of a stride": make_problem(batch=2, k=40, c=5, filter=[1, 1], input=[14, 15], stride=2),
    "gaps between rows": make_problem(batch=2, k=40, c=3, filter=[2, 2], input=[15, 14], stride=3, right_pad=[2, 1]),
    "dilation": make_problem(batch=2, k=8, c=3, filter=[3, 3], input=[19, 18], dilation=[2, 3], pad=[2, 3]),
    "dilation and stride": make_problem(
        batch=2, k=24, c=2, filter=[3, 4], input=[23, 29], stride=[4, 2], dilation=[2, 3], pad=[2, 3]
    ),
    "common factor": make_problem(batch=2, k=24, c=4, filter=[3, 3], input=[23, 29], stride=[2, 4], dilation=2, pad=2),
    "wide pads": make_problem(batch=2, k=24, c=3, filter=[3, 3], input=[6, 7], pad=[5, 4], right_pad=[4, 6]),
    "groups": make_problem(groups=3, batch=2, k=48, c=2, filter=[3, 3], input=[9, 11], stride=2, pad=1),
    "odd output channels": make_problem(batch=2, k=37, c=3, filter=[3, 3], input=[9, 11], pad=1),
    "dilation of one tap": make_problem(batch=2, k=24, c=3, filter=[1, 1], input=[9, 7], dilation=[2, 1 << 24]),
    "tiny": make_problem(batch=1, k=5, c=3, filter=[3, 3], input=[1, 2], pad=1),
    "point": make_problem(batch=1, k=1, c=1, filter=[1, 1], input=[1, 1]),
    "sound": make_problem(groups=2, batch=3, k=32, c=1, filter=[10], input=[301], stride=5),
    "sound with dilation": make_problem(batch=3, k=30, c=6, filter=[7], input=[333], stride=2, dilation=3, pad=9),
    "video": make_problem(batch=2, k=24, c=3, filter=[3, 7, 7], input=[6, 19, 23], stride=[1, 2, 2], pad=[1, 3, 3]),
    "volume": make_problem(batch=2, k=16, c=1, filter=[5, 5, 5], input=[9, 8, 10], stride=[2, 2, 2], pad=2),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_of_few_input_channels_are_right(library: Library, name: str) -> None:
    problem = PROBLEMS[name]
    instances = [i for i in ALL if i.ndim == problem.ndim and problem.c % i.c_vector == 0]
    taken = [i for i in instances if library.unsupported_reason(i.name, problem) is None]
    assert len(taken) >= len(instances) - 3
    for turn, instance in enumerate(taken):
        library.configure_host(seed=turn)
        for split_k in (1, 5, -1):
            run_instance(library, instance.name, problem, split_k)
        run_instance(library, instance.name, problem, gap=gap(instance, problem, random.Random(turn)))


def drawn(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem whose filter rows fit the columns."""
    ndim = instance.ndim
    taps = [rng.choice([1, 2, 3, 3, 5, 7]) for _ in range(ndim)]
    most = instance.n_per_block // taps[-1] // instance.c_vector
    c = instance.c_vector * rng.randint(1, most)
    stride, dilation = [rng.randint(1, 4) for _ in taps], [rng.choice([1, 1, 2, 3]) for _ in taps]
    reach = [(edge - 1) * step for edge, step in zip(taps, dilation, strict=True)]
    pad, right = ([rng.randint(0, edge) for edge in reach] for _ in range(2))
    least = [max(1, edge + 1 - left - end) for edge, left, end in zip(reach, pad, right, strict=True)]
    return make_problem(
        groups=rng.choice([1, 1, 1, 2]),
        batch=rng.randint(1, 3),
        k=rng.choice([1, 16]) * rng.randint(1, 8),
        c=c,
        filter=taps,
        input=[edge + rng.randint(0, 24 if ndim < 3 else 8) for edge in least],
        stride=stride,
        dilation=dilation,
        pad=pad,
        right_pad=right,
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_problems_are_right(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    library.configure_host(seed=seed)
    ran = 0
    for instance in ALL:
        for _ in range(6):
            problem = drawn(instance, rng)
            if library.unsupported_reason(instance.name, problem) is None:
                run_instance(library, instance.name, problem, gap=gap(instance, problem, rng))
                ran += 1
    assert ran > 40


def test_the_weight_is_copied_in_rows_of_a_tile(library: Library) -> None:
    assert library.workspace_size(COL2IM.name, PROBLEMS["stem"]) == 64 * 4 * 64 * 2, "each of 4 taps in 64 columns"
    assert library.workspace_size(VOLUME.name, PROBLEMS["video"]) == 24 * 3 * 4 * 64 * 2, "the same in three planes"
    assert library.workspace_size(TF32.name, PROBLEMS["stem"]) == (3 * 42 + 64) * 64 * 4, "the last tap in 64 columns"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"c": 10}, "[col2im-columns] C * taps of a filter row = 70 is more than the 64 columns of a tile"),
        ({"c": 1, "filter": [3, 64], "input": [9, 130], "pad": 0, "stride": 1}, "reaches over 63 output positions"),
        ({"filter": [7, 17], "stride": [1, 17]}, "[col2im-stride] stride 17 of the last dimension is more than 16"),
        ({"groups": 3, "k": 63, "c": 1}, "[tma-limits] K 63 of several groups is not a multiple of 16"),
    ],
)
def test_other_problems_are_refused(library: Library, fields: dict[str, object], words: str) -> None:
    sizes: dict[str, object] = {"batch": 2, "k": 64, "c": 3, "filter": [7, 7], "input": [30, 37], "stride": 2, "pad": 3}
    problem = make_problem(**{**sizes, **fields})  # type: ignore[arg-type]
    reason = library.unsupported_reason(SMALL.name, problem)
    assert reason is not None and words in reason


@pytest.mark.parametrize("instance", [VOLUME, VOLUME_TF32], ids=lambda one: one.dtype)
def test_a_weight_too_large_to_copy_is_refused(library: Library, instance: Instance) -> None:
    huge = [1 << 17, 1 << 14, 1]
    problem = make_problem(batch=1, k=8, c=4, filter=huge, input=huge)
    reason = library.unsupported_reason(instance.name, problem)
    assert reason is not None and "[workspace-size] C * taps = 8589934592 of a weight to copy" in reason
    problem = make_problem(batch=1, k=1, c=1, filter=[1 << 27, 1], input=[1 << 27, 1])
    reason = library.unsupported_reason(COL2IM.name, problem)
    assert reason is not None and "a row of the weight's copy has 8589934592 elements" in reason


@pytest.mark.parametrize("k", [24, 32, 40])
@pytest.mark.parametrize("instance", [COL2IM, SMALL, TF32], ids=lambda one: one.dtype)
def test_channels_after_those_of_a_slice_are_not_read(library: Library, instance: Instance, k: int) -> None:
    problem = make_problem(batch=1, k=k, c=3, filter=[3, 3], input=[5, 6], pad=1)
    run_instance(library, instance.name, problem, gap=-k % (128 // instance.elem_bytes))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("most", [64, 128])
def test_the_counted_problem_has_the_cells_as_positions(name: str, most: int) -> None:
    problem = PROBLEMS[name]
    seen = with_columns(problem, most)
    assert with_columns(seen, most) == seen
    taps, stride, pad = problem.filter[-1], problem.strides[-1], problem.left_pads[-1]
    cells = {(i + pad) // stride for i in range(problem.input[-1])}
    assert seen.input[-1] == max(cells) + 1 and seen.filter[-1] == 1
    rows = seen.c // (problem.c * taps)
    assert rows * problem.c * taps == seen.c and rows in (1, problem.strides[-2] if problem.ndim > 1 else 1)
    if rows > 1:
        of_rows = {(i + problem.left_pads[-2]) // rows for i in range(problem.input[-2])}
        assert seen.input[-2] == len(of_rows) and seen.left_pads[-2] == min(of_rows)
        assert (seen.filter[-2] - 1) * rows < problem.filter[-2] <= seen.filter[-2] * rows


STORE = "epilogue/col2im_store.hpp"
BUGS = {
    "no wait before the product is read": Bug(
        STORE,
        "        put_cells();\n        wait();\n",
        "        put_cells();\n",
        ("LDS read of bytes that nobody wrote", "col2im_store.hpp"),
        PROBLEMS["stem"],
    ),
    "no wait before the product is overwritten": Bug(
        STORE,
        "        wait();  // until the previous product has been read\n        put_product(acc);",
        "        put_product(acc);",
        ("LDS race", "col2im_store.hpp"),
        replace(PROBLEMS["stem"], batch=9),
    ),
    "cells of the row before": Bug(
        STORE,
        "before < 0 ? 0 : min_of(element.taps.count, seen)",
        "element.taps.count",
        (),
        PROBLEMS["stem"],
    ),
    "tiles that share no rows": Bug(
        "load/bwd_data_view.hpp",
        "(kSumsColumns<D> ? units.row_overlap : 0)",
        "0",
        (),
        PROBLEMS["stem"],
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], COL2IM, run_instance, tmp_path)
