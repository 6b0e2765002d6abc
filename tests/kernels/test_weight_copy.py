"""Test backward data with vectors of a weight whose channels come first, on the host platform: random problems are
right with a poisoned workspace and without one, the weight itself is read where its channels are side by side, and the
size of the workspace counts the copy.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.instance.work import copied_bytes
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library, LibraryError
from ckgen.selection.takes import takes
from ckgen.verify.run_tensors import make_data
from tests.support.cxx import CHECKED, header, link, write_tree
from tests.support.planted_bugs import Bug, check_bug
from tests.support.planting import replace_once

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
RING = replace(
    PLANES,
    family="wavelet",
    m_per_block=64,
    n_per_block=64,
    load_waves=4,
    math_waves=4,
    a_vector=2,
    b_vector=4,
    stages=2,
)
WMMA = replace(PLANES, family="wmma", m_per_block=64, n_per_block=64, m_per_xdl=16, math_waves=4, a_vector=4)
FUSED = replace(PLANES, function="AddResidual")
ALL = (PLANES, SINGLE, WRITES, LINE, VOLUME, MERGED, RING, WMMA, FUSED)
NAMES = [instance.name for instance in ALL]
ROUNDS = 10  # problems per instance and seed
COPIED = make_problem(groups=2, batch=2, k=9, c=70, filter=[3, 3], input=[5, 6], pad=1)
POINT = make_problem(groups=2, batch=2, k=9, c=16, filter=[1, 1], input=[5, 6], stride=2)
LONG = make_problem(groups=1, batch=2, k=5, c=9, filter=[9, 8], input=[9, 10], pad=4)


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


def run(library: Library, name: str, problem: ConvProblem, split_k: int = 1, *, workspace: bool = True) -> None:
    """Run into a poisoned result, with a poisoned workspace or none, and compare with float64."""
    instance = library.instance(name)
    data = make_data(problem, instance.dtype, 1, instance.operation, library.function_of(name))
    arrays = {
        tensor: np.ascontiguousarray(array.transpose(to_physical(tensor, instance.layout)))
        for tensor, array in data.tensors.items()
    }
    element = element_of(instance.dtype, "in")
    result = encode(np.full(problem.shape("in", instance.layout), np.nan), element)
    ds = [
        np.ascontiguousarray(data.d_array(at, slot))
        for at, slot in enumerate(d_slots(instance, library.function_of(name)))
    ]
    size = library.workspace_size(name, problem, split_k=split_k)
    memory = np.full(size, 0xFF, np.uint8) if workspace and size else None
    library.run(name, problem, result, arrays["wei"], arrays["out"], split_k=split_k, ds=ds, workspace=memory)
    order = to_physical("in", instance.layout)
    error = np.abs(decode(result, element) - data.expected.transpose(order))
    wrong = ~(error <= data.allowance(element).transpose(order))
    assert not wrong.any(), f"{name}, {problem}, split_k {split_k}: {int(wrong.sum())} of {wrong.size} are wrong"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    library.configure_host(seed=seed)
    for turn in range(ROUNDS):
        problem = draw(library, library.instance(name), rng)
        run(library, name, problem, rng.choice([1, 1, 2, 5]), workspace=turn % 3 > 0)


def test_workgroups_that_copy_several_rows_are_right(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, (PLANES,))
    replace_once(header(tree, "weight_copy_args.hpp"), "kWeightCopyBlocks = 4096", "kWeightCopyBlocks = 3")
    library = Library(link(tmp_path, tree, CHECKED))
    for seed in range(3):
        library.configure_host(seed=seed)
        run(library, PLANES.name, COPIED)


def test_the_workspace_has_the_copy(library: Library) -> None:
    """70 channels take 72 elements of each tap. The copy begins after the partials, at a multiple of 256 bytes."""
    copy = 2 * 9 * 9 * 72 * 2
    assert library.workspace_size(PLANES.name, COPIED) == copy
    partials = 3 * 2 * 2 * 70 * 5 * 6 * 4
    assert library.workspace_size(PLANES.name, COPIED, split_k=3) == -(-partials // 256) * 256 + copy
    assert copied_bytes(PLANES, COPIED) == copy + 2 * 9 * 9 * 70 * 2


def test_channels_that_are_side_by_side_need_no_copy(library: Library) -> None:
    assert library.workspace_size(PLANES.name, POINT) == 0 and copied_bytes(PLANES, POINT) == 0
    run(library, PLANES.name, POINT)
    odd = replace(POINT, c=15)
    assert library.workspace_size(PLANES.name, odd) == 2 * 9 * 16 * 2 and copied_bytes(PLANES, odd) == 2 * 9 * 31 * 2
    run(library, PLANES.name, odd)
    run(library, PLANES.name, odd, workspace=False)


def test_a_copy_may_have_more_than_4_gib(library: Library) -> None:
    large = make_problem(groups=1, batch=1, k=1 << 16, c=2047, filter=[3, 3, 3], input=[4, 4, 4], pad=1)
    assert library.unsupported_reason(VOLUME.name, large) is None
    assert library.workspace_size(VOLUME.name, large) == (1 << 16) * 27 * 2048 * 2


def test_merged_groups_need_whole_vectors(library: Library) -> None:
    """Columns of the next group follow those of a group, where a row of the copy has zeros."""
    problem = make_problem(groups=8, batch=2, k=4, c=6, filter=[3, 3], input=[5, 6], pad=1)
    reason = library.unsupported_reason(MERGED.name, problem)
    assert reason is not None and reason.startswith("[b-vector] C 6 is not a multiple of the vector 4")
    assert not takes(MERGED, problem) and takes(MERGED, replace(problem, c=4)) and takes(PLANES, problem)


@pytest.mark.parametrize(
    ("old", "new", "words", "problem"),
    [
        (
            "inside ? thread.template lds_load<uint32>(at) : 0",
            "thread.template lds_load<uint32>(at)",
            ("weight_copy.hpp",),
            COPIED,
        ),
        (
            "thread.barrier(); write(args, thread, part, row);",
            "write(args, thread, part, row);",
            ("nobody wrote",),
            COPIED,
        ),
        (
            "(row * args.channels - lacking + tile.first_channel) * args.taps + tile.first_tap; const char*",
            "(row * args.channels - lacking + tile.first_channel) * args.taps; const char*",
            (),
            LONG,
        ),
    ],
    ids=["zeros after the channels", "the barrier before writing", "the tile's first tap"],
)
def test_a_bug_is_noticed(old: str, new: str, words: tuple[str, ...], problem: ConvProblem, tmp_path: Path) -> None:
    check_bug(Bug("weight_copy.hpp", old, new, words, problem), PLANES, run, tmp_path)


def test_rows_of_a_workgroup_are_a_barrier_apart(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, (PLANES,))
    replace_once(header(tree, "weight_copy_args.hpp"), "kWeightCopyBlocks = 4096", "kWeightCopyBlocks = 3")
    old, new = "write(args, thread, part, row); thread.barrier(); }", "write(args, thread, part, row); }"
    replace_once(header(tree, "weight_copy.hpp"), old, new)
    library = Library(link(tmp_path, tree))
    with pytest.raises(LibraryError, match="LDS race"):
        run(library, PLANES.name, COPIED)
