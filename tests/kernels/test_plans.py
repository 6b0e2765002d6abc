"""Test the host code that all backward-weight operators share, called from C++: planning, the split-K sum, the copy of
outputs for TMA, and the number of checks per argument.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.library.c_api import CProblem
from tests.support.bwd_data_library import PLANNED_SOURCES
from tests.support.cxx import CHECKED, ROOT, shared_library, write_tree
from tests.support.trees import XDL

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
SOURCES = (
    *(*PLANNED_SOURCES, "kernels/reduce"),
    *("host/bank_conflicts", "host/matrix_units", "host/runtime", "host/stacks", "host/thread", "host/tma"),
)
FloatRows = npt.NDArray[np.float32]
Tensor = tuple[Sequence[int], Sequence[int]]  # lengths and strides of 6 axes
SHIM = ROOT / "tests/data/plan_host/shim.cpp"


def core_in(folder: Path, flags: Sequence[str]) -> ctypes.CDLL:
    """The shared host code as a library."""
    tree = write_tree(folder, [XDL])
    sources = [*(tree / f"src/{name}.cpp" for name in SOURCES), SHIM]
    library = shared_library(folder / "core.so", sources, [tree / "include"], flags)
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = core_in(tmp_path_factory.mktemp("core"), CHECKED)
    loaded.reason.restype = ctypes.c_char_p
    loaded.head_reason.restype = loaded.strided_reason.restype = ctypes.c_char_p
    loaded.workspace.restype = loaded.head_workspace.restype = ctypes.c_int64
    return loaded


def divide_up(a: int, b: int) -> int:
    return -(-a // b)


def pointer(array: np.ndarray) -> ctypes.c_void_p:  # type: ignore[type-arg]
    return ctypes.c_void_p(array.ctypes.data)


def sum_in_order(rows: FloatRows) -> FloatRows:
    total = np.zeros(rows.shape[1:], np.float32)
    for row in rows:
        total += row
    return total


def sum_of_splits(partial: FloatRows) -> FloatRows:
    """The sum of each element: several threads have equal shares of many splits, and their sums are added in order."""
    splits, elements = partial.shape
    threads = 1
    while threads < 32 and splits // threads >= 16 and elements // 4 * threads < 1 << 16:
        threads *= 2
    share = divide_up(splits, threads)
    return sum_in_order(np.stack([sum_in_order(partial[at * share : (at + 1) * share]) for at in range(threads)]))


@pytest.mark.parametrize(
    ("elements", "splits"),
    [
        *((elements, splits) for elements in (1, 3, 4, 127, 512, 4096, 4099) for splits in (2, 3, 7, 8, 9, 16, 29)),
        *((elements, splits) for elements in (1, 4, 66, 512, 8196) for splits in (31, 33, 129, 600)),
        (140000, 40),  # by two threads, where few elements have four
        (262144, 17),  # by one
    ],
)
def test_partials_are_summed_in_a_fixed_order(core: ctypes.CDLL, elements: int, splits: int) -> None:
    """The sum equals the expected one to the bit, in 16-byte accesses and, if the weight is not aligned for them, in
    single-element ones."""
    partial = np.random.default_rng(splits).standard_normal((splits, elements)).astype(np.float32)
    expected = sum_of_splits(partial)
    for shift in (0, 1):
        wei = np.full(elements + 8, np.nan, np.float16)
        core.reduce(pointer(partial), pointer(wei[shift:]), ctypes.c_int64(elements), splits)
        np.testing.assert_array_equal(wei[shift : shift + elements], expected.astype(np.float16))
        assert np.isnan(wei[shift + elements :]).all() and np.isnan(wei[:shift]).all()


@pytest.mark.parametrize(
    ("positions", "groups", "columns", "strides"),
    [
        (1, 1, 1, (1, 1)),
        (50, 1, 819, (819, 819)),
        (33, 1, 36, (37, 36)),
        (17, 3, 21, (70, 22)),
        (9, 2, 16, (33, 17)),
        (700, 5, 3, (15, 3)),
    ],
)
def test_outputs_are_copied_into_aligned_rows(
    core: ctypes.CDLL, positions: int, groups: int, columns: int, strides: tuple[int, int]
) -> None:
    source = np.random.default_rng(columns).integers(1, 1 << 16, positions * strides[0], np.uint16)
    last = (positions - 1) * strides[0] + (groups - 1) * strides[1] + columns
    at = np.array(strides)[:, None, None, None]
    index = at[0] * np.arange(positions)[:, None, None] + at[1] * np.arange(groups)[:, None] + np.arange(columns)
    pitch = divide_up(columns, 8) * 8
    target = np.zeros((positions, groups, pitch), np.uint16) + np.uint16(7)
    sizes = (ctypes.c_int64(last * 2), ctypes.c_int64(positions), groups, columns, pitch)
    core.repack(pointer(source), pointer(target), *sizes, *(ctypes.c_int64(stride) for stride in strides))
    np.testing.assert_array_equal(target[:, :, :columns], source[index])
    assert not target[:, :, columns:].any()


def c_problem(problem: ConvProblem, split_k: int = 1) -> ctypes.c_void_p:
    return ctypes.byref(CProblem.make(problem, LAYOUT, split_k))  # type: ignore[return-value]


def tiles(sizes: Sequence[int]) -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * 3)(*sizes)


def test_rows_that_are_no_multiple_of_16_bytes_need_workspace(core: ctypes.CDLL) -> None:
    """Only a TMA kernel needs it, and only for such rows; the partials of split_k precede the copy."""
    of = [make_problem(batch=2, k=k, c=64, filter=(3, 3), input=(5, 5), pad=1) for k in (819, 36, 40)]
    pitches = (832, 40, 0)  # whole lines of 64 if the padding costs at most an eighth
    for problem, pitch in zip(of, pitches, strict=True):
        assert core.workspace(c_problem(problem), tiles((128, 256, 64))) == 50 * pitch * 2
        partial = 3 * tile_count(problem, (128, 256)) * 128 * 256 * 4
        offset = divide_up(partial, 256) * 256
        expected = offset + 50 * pitch * 2 if pitch else partial
        assert core.workspace(c_problem(problem, 3), tiles((128, 256, 64))) == expected
    # 24 and 32 elements per position; TMA cannot begin at a group's 6.
    for k, expected in ((6, 50 * 4 * 8 * 2), (8, 0)):
        grouped = make_problem(groups=4, batch=2, k=k, c=64, filter=(1, 1), input=(5, 5))
        assert core.workspace(c_problem(grouped), tiles((128, 256, 64))) == expected


@pytest.mark.parametrize(
    ("groups", "k", "pitch"), [(1, 36, 0), (1, 40, 0), (1, 35, 40), (1, 44, 48), (2, 36, 80), (2, 40, 0), (1, 4, 0)]
)
def test_a_head_of_an_odd_number_of_8_bytes_needs_no_copy(core: ctypes.CDLL, groups: int, k: int, pitch: int) -> None:
    """The rows pass through shared memory, which holds only one group of a tile's outputs."""
    problem = make_problem(groups=groups, batch=2, k=k, c=64, filter=(3, 3), input=(5, 5), pad=1)
    assert core.head_workspace(c_problem(problem)) == 50 * pitch * 2


@pytest.mark.parametrize("k", [36, 40])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("pad", [0, 1, 4, 7])
@pytest.mark.parametrize("edges", [(7, 7), (13, 25), (50, 50), (100, 100), (9, 101)], ids=str)
def test_strips_hold_what_their_steps_read(
    core: ctypes.CDLL, k: int, dilation: int, pad: int, edges: tuple[int, int]
) -> None:
    """Rows are also wide enough that a tap outside the output reads zeros, not the next row."""
    problem = make_problem(batch=2, k=k, c=64, filter=(3, 3), input=edges, dilation=dilation, pad=pad)
    found = (ctypes.c_int * 10)()
    core.head_strips(c_problem(problem), found)
    rows, plane, stages, per_image, stage, buffer, read, written, out, inside = found
    assert rows * per_image >= edges[0] > rows * (per_image - 1)
    assert out >= max(read, written) and inside >= rows * plane and inside % 16 == 0
    assert stage >= inside * 128 + out * 80 and stages >= 2
    assert stages * (stage + 16) + buffer + 16 + 1024 <= 227 * 1024
    assert (buffer > 0) == (k == 36)
    width, first = problem.output[1], pad - 2 * dilation  # the output column at which a strip's rows begin
    for column in range(edges[1]):
        for tap in range(3):
            place = column + (2 - tap) * dilation
            x = first + place if place < plane else first + place - plane  # in this row or the next
            real = column + pad - tap * dilation
            assert x == real if 0 <= real < width else not 0 <= x < width


def test_a_head_is_refused_with_its_numbers(core: ctypes.CDLL) -> None:
    wide = make_problem(batch=1, k=36, c=64, filter=(3, 3), input=(9, 300), pad=1)
    assert core.head_reason(c_problem(wide)).decode().startswith("[halo-rows] rows of 300 output positions")
    strided = make_problem(batch=1, k=36, c=64, filter=(3, 3), input=(9, 9), pad=1, stride=2)
    assert core.head_reason(c_problem(strided)).decode() == "[halo-stride] stride 2 is not 1"


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (make_problem(batch=2, k=819, c=64, filter=(3, 3), input=(5, 5), pad=1), ""),
        (make_problem(batch=2, k=819, c=48, filter=(3, 3), input=(5, 5), pad=1), "[b-vector] C 48"),
        (make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(50, 50), stride=9), "[tma-limits] stride 9"),
        (make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=128), "[tma-limits] padding"),
    ],
    ids=str,
)
def test_tma_says_what_it_cannot_do(core: ctypes.CDLL, problem: ConvProblem, words: str) -> None:
    reason = core.reason(c_problem(problem), tiles((128, 256, 64))).decode()
    assert reason.startswith(words) and bool(reason) == bool(words)


def units_cost(tile: tuple[int, int], waves: int, k_tiles: int) -> float:
    blocks = tile[0] * tile[1] // 4096
    return waves * (k_tiles * (40 + 75 * blocks) + 700 + 220 * blocks)


def shared_cost(tile: tuple[int, int], tiles: int, k_tiles: int, split: int, units: int) -> float:
    main = units_cost(tile, divide_up(tiles * split, units), divide_up(k_tiles, split))
    return main + (2500 + tiles * split * tile[0] * tile[1] * 4 / 3200 if split > 1 else 0)


def tile_count(problem: ConvProblem, tile: tuple[int, int]) -> int:
    m, n, _ = problem.gemm
    return divide_up(m, tile[0]) * divide_up(n, tile[1]) * problem.groups


def split_k_cost(problem: ConvProblem, tile: tuple[int, int], split_k: int, units: int) -> float:
    """Nanoseconds by the formula of plan/tile_work.hpp."""
    tiles, k_tiles = tile_count(problem, tile), divide_up(problem.gemm[2], 64)
    waves, rest = divmod(tiles, units)
    if split_k > 1 or not waves or not rest:
        return shared_cost(tile, tiles, k_tiles, split_k, units)
    tail = min(shared_cost(tile, rest, k_tiles, split, units) for split in range(1, 9))
    return units_cost(tile, waves, k_tiles) + tail


@pytest.mark.parametrize("tile", [(128, 256), (64, 128)], ids=str)
@pytest.mark.parametrize("k", [256, 819, 2376])
@pytest.mark.parametrize("edge", [7, 25, 100])
def test_persistent_kernels_get_the_cheapest_split(core: ctypes.CDLL, tile: tuple[int, int], k: int, edge: int) -> None:
    """Compare with a search over every factor."""
    problem = make_problem(batch=32, k=k, c=256, filter=(3, 3), input=(edge, edge), pad=1)
    chosen = core.split_k(c_problem(problem, -1), tiles((*tile, 64)), 132)
    k_tiles = divide_up(problem.gemm[2], 64)
    costs = {s: split_k_cost(problem, tile, s, 132) for s in range(1, min(128, k_tiles) + 1)}
    assert costs[chosen] <= 1.01 * min(costs.values())
    assert k_tiles > (chosen - 1) * divide_up(k_tiles, chosen)  # no split is empty


@pytest.mark.parametrize("split_k", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("edge", [10, 50, 100, 200])
def test_a_unit_that_truncates_never_sums_too_many_terms(core: ctypes.CDLL, edge: int, split_k: int) -> None:
    """Every split is cut into sums: their number is at least sqrt(terms) / 90 in total, and no larger than needed. A
    single split that is cut needs memory for partials."""
    problem = make_problem(batch=32, k=256, c=256, filter=(1, 1), input=(edge, edge))
    terms = problem.gemm[2]
    wanted = max(1, math.ceil(math.sqrt(terms) / 90))
    a_split = divide_up(divide_up(terms, 64), split_k)
    summed = core.summed_tiles(c_problem(problem, split_k), tiles((128, 256, 64)))
    cut = divide_up(a_split, summed)
    assert cut * split_k >= wanted and (cut == 1 or (cut - 1) * split_k < wanted)
    units = 4  # of the host platform; each has a slot if a whole tile is cut
    slots = 2 * split_k if split_k > 1 else units if cut > 1 else 0
    assert core.workspace(c_problem(problem, split_k), tiles((128, 256, 64))) == slots * 128 * 256 * 4
    many = make_problem(batch=32, k=4096, c=4096, filter=(1, 1), input=(edge, edge))
    assert core.plain_split_k(c_problem(many, -1), tiles((128, 128, 32)), 132) == wanted


def test_one_launch_checks_the_problem_once(core: ctypes.CDLL) -> None:
    """Creating the argument checks; the support query, the workspace size and the run reuse the result."""
    problem = make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=1)
    assert core.launch_twice(c_problem(problem, 2), tiles((128, 256, 64))) == 1


def test_a_workspace_of_unknown_size_is_not_used(core: ctypes.CDLL) -> None:
    """A caller that never asks for the size computed it for CK's kernels, which need less or none."""
    problem = c_problem(make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=1), 2)
    assert core.split_with_workspace(problem, tiles((128, 256, 64)), 1) == 2
    assert core.split_with_workspace(problem, tiles((128, 256, 64)), 0) == 1


def test_a_library_can_allocate_the_workspace_of_a_run(tmp_path: Path) -> None:
    """A workspace of unknown size is not used then either: the partial sums are in memory of the library."""
    core = core_in(tmp_path, ["-DCKGEN_ALLOCATES_WORKSPACE=1"])
    problem = c_problem(make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=1), 2)
    assert core.split_with_workspace(problem, tiles((128, 256, 64)), 1) == 2
    assert core.split_with_workspace(problem, tiles((128, 256, 64)), 0) == 2


def test_an_argument_of_another_operator_is_planned_anew(core: ctypes.CDLL) -> None:
    """The first kernel takes the problem; the second, with wider vectors, does not."""
    problem = make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=1)
    assert core.foreign_argument(c_problem(problem), tiles((128, 256, 64))) == 1


def test_tensor_maps_that_the_driver_refuses_are_a_refusal_by_name(core: ctypes.CDLL) -> None:
    """The refusal is known when the argument is created, from placeholder addresses of memory that is not allocated
    yet."""
    problem = make_problem(batch=2, k=64, c=64, filter=(3, 3), input=(5, 5), pad=1)
    assert core.refused_maps(c_problem(problem), tiles((128, 256, 64))) == 1


def overlap(core: ctypes.CDLL, one: tuple[int, Tensor], other: tuple[int, Tensor], bytes: int) -> bool:
    begins = (ctypes.c_int64 * 2)(one[0], other[0])
    lengths = (ctypes.c_int64 * 12)(*one[1][0], *other[1][0])
    strides = (ctypes.c_int64 * 12)(*one[1][1], *other[1][1])
    return bool(core.overlap(begins, lengths, strides, bytes))


def addresses(begin: int, tensor: Tensor, bytes: int) -> set[int]:
    found = {begin}
    for length, stride in zip(*tensor, strict=True):
        found = {at + step * stride * bytes for at in found for step in range(length)}
    return {at + byte for at in found for byte in range(bytes)}


def slice_of(draw: random.Random, whole: Sequence[int]) -> tuple[int, Tensor]:
    """A part of a gap-free tensor of 6 axes, with the axes in any order: the offset of its first element, lengths and
    strides."""
    packed = [math.prod(whole[at + 1 :]) for at in range(6)]
    first = [draw.randrange(length) for length in whole]
    lengths = [draw.randint(1, length - at) for length, at in zip(whole, first, strict=True)]
    order = draw.sample(range(6), 6)
    begin = sum(at * step for at, step in zip(first, packed, strict=True))
    return begin, ([lengths[axis] for axis in order], [packed[axis] for axis in order])


def test_overlap_is_told_for_slices_of_one_tensor(core: ctypes.CDLL) -> None:
    """Overlap is never missed, and disjoint slices along one axis, as in a concatenation, are reported as disjoint."""
    draw = random.Random(5)
    for _ in range(2000):
        whole = [draw.choice((1, 1, 2, 3, 4)) for _ in range(6)]
        bytes = draw.choice((2, 4))
        one, other = ((4096 + begin * bytes, part) for begin, part in (slice_of(draw, whole), slice_of(draw, whole)))
        meet = bool(addresses(*one, bytes) & addresses(*other, bytes))
        assert overlap(core, one, other, bytes) >= meet, (one, other, bytes)
    for _ in range(500):
        whole = [draw.choice((1, 2, 3, 4)) for _ in range(6)]
        axis = draw.randrange(6)
        whole[axis] = draw.randint(2, 6)
        packed = [math.prod(whole[at + 1 :]) for at in range(6)]
        cut = draw.randint(1, whole[axis] - 1)
        low, high = list(whole), list(whole)
        low[axis], high[axis] = cut, whole[axis] - cut
        parts = (4096, (low, packed)), (4096 + 2 * cut * packed[axis], (high, packed))
        assert not overlap(core, *parts, 2), parts
        assert overlap(core, parts[0], (4096, (whole, packed)), 2)


@pytest.mark.parametrize("axes", ["CGWHDN", "CWHDNG", "WHDCGN"])
def test_dimensions_of_length_one_have_the_strides_of_packed_tensors(core: ctypes.CDLL, axes: str) -> None:
    """The caller's strides are ignored: PyTorch gives an image of one position arbitrary strides."""
    place = {axis: at for at, axis in enumerate("GNCDHW")}
    order = (ctypes.c_int * 6)(*(place[axis] for axis in reversed(axes)))
    draw = random.Random(7)
    for _ in range(200):
        sizes = {axis: draw.choice((1, 1, 2, 3)) for axis in "GNCDHW"}
        problem = make_problem(
            groups=sizes["G"], batch=sizes["N"], k=2, c=sizes["C"], filter=(1, 1, 1), input=[sizes[a] for a in "DHW"]
        )
        given, step, packed = CProblem.make(problem, "NDHWGC/GKZYXC/NDHWGK", 1), 1, [0] * 6
        for axis in axes:
            packed[place[axis]] = step
            step *= sizes[axis]
        strides = [packed[at] if sizes[axis] > 1 else draw.choice((0, 1, 77)) for axis, at in place.items()]
        given.set_strides("in", tuple(strides))
        found = (ctypes.c_int64 * 12)()
        core.unit_strides(ctypes.byref(given), order, found)
        outer = 0  # the stride of the next longer axis outside
        for axis in reversed(axes[1:]):
            assert found[place[axis]] == (packed[place[axis]] if sizes[axis] > 1 or not outer else outer), axis
            outer = packed[place[axis]] if sizes[axis] > 1 else outer
        assert found[place[axes[0]]] == 1


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("edges", [(5, 5), (1, 5), (5, 1), (1, 1)])
def test_groups_may_be_outermost_in_memory(core: ctypes.CDLL, batch: int, edges: tuple[int, int]) -> None:
    """The stride of a single image means nothing. Groups may not be nearer than their positions reach."""
    problem, image = make_problem(groups=2, batch=batch, k=4, c=4, filter=(1, 1), input=edges), 4 * edges[0] * edges[1]
    for group, images in itertools.product((batch * image, batch * image - 4), (0, 1000) if batch == 1 else (image,)):
        given = CProblem.make(problem, LAYOUT, 1)
        given.set_strides("in", (group, images, 1, 4 * edges[1], 4))
        reason = core.strided_reason(ctypes.byref(given)).decode()
        assert reason.startswith("[strides-layout] input") == (group < batch * image) == bool(reason), (group, images)


def test_a_process_may_fork_while_kernels_run(core: ctypes.CDLL) -> None:
    """The child must not inherit a lock that a thread of its parent holds."""
    assert core.forked_children_that_hang(70) == 0


@pytest.mark.parametrize("sizes", [(3, 1, 1), (3, 1, 4), (2, 5, 1)])
def test_tensors_that_repeat_elements_are_refused(core: ctypes.CDLL, sizes: tuple[int, int, int]) -> None:
    """PyTorch's expand gives such tensors a stride of 0; they are refused even if all other dimensions have length
    1."""
    batch, *edges = sizes
    problem = make_problem(batch=batch, k=64, c=64, filter=(1, 1), input=edges)
    for tensor in ("in", "out"):
        for axis in (1, 3, 4):
            given = CProblem.make(problem, LAYOUT, 1)
            strides = list(problem.strides_of(tensor, LAYOUT))
            repeats = problem.lengths(tensor)[axis] > 1
            strides[axis] = 0
            given.set_strides(tensor, tuple(strides))
            reason = core.reason(ctypes.byref(given), tiles((128, 256, 64))).decode()
            assert reason.startswith("[strides-layout]") == repeats, (tensor, axis, reason)
