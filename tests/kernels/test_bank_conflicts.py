"""Test LDS bank conflicts: the main loop of every instance has none, and planted ones are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ckgen.conv.layout import LAYOUTS
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS
from tests.support.bank_conflicts import TRANSPOSING, Count, Counting, one_tile
from tests.support.planting import replace_once
from tests.support.specs import default_expansion
from tests.support.sweep.sampled import chosen

pytestmark = pytest.mark.compiles

# Allowed conflicts outside of main loops, by the factor by which they prolong the accesses. The epilogue reorders
# columns between slots word by word, eight columns in one bank, and 16-wide atoms write rows four lines apart, which
# begin at one bank; reads of halo's products cross the end of a line; halo of backward data stores its weights once per
# workgroup, in pairs.
ALLOWED = {
    ("epilogue/cshuffle.hpp", "lds_store(base"): 2.0,
    ("epilogue/cshuffle.hpp", "lds_load<typename D::Accumulator>"): 8.0,
    ("pipeline/halo/halo.hpp", "lds_load<Vec<float, 4>>"): 1.5,
    ("pipeline/halo/bwd_data_halo_weights.hpp", "lds_store(base"): 9.0,
}

# One layout for each combination of contiguous axes, by operation.
CLASSES = {
    (operation.name, LAYOUTS[name].channels_last_in(operation.a), LAYOUTS[name].channels_last_in(operation.b)): name
    for operation in OPERATIONS.values()
    for name in reversed(operation.layouts)
    if LAYOUTS[name].ndim == 2
}


def lds_classes(*families: str) -> tuple[Instance, ...]:
    """One instance of the repository's spec per combination of the properties that LDS accesses depend on.

    Rows whose writes to LDS are given, as in CK's tables, may have conflicts: they are left out, and so are those of
    8-bit operands with a given K1, which fills half a slot.
    """
    classes: dict[Instance, Instance] = {}
    for instance in default_expansion().instances:
        given = instance.given_write or (instance.given_copy and instance.compute_bytes == 1)
        if instance.family in families and instance.function == PASS_THROUGH and not given:
            layout = "NHWGK/GKYXC/NHWGC" if instance.a_k_major else "NHWGC/GKYXC/NHWGK"
            word = instance.dtype if FAMILIES[instance.family].uses_wgmma else "f32"
            dtype = "f16" if instance.elem_bytes == 2 else word
            spec = "Default" if instance.channels_last else instance.conv_spec
            exchange = instance.exchange and instance.a_k_major
            alike = replace(instance, layout=layout, dtype=dtype, conv_spec=spec, generic=False, exchange=exchange)
            classes.setdefault(alike, instance)
    return tuple(classes.values())


# Reads of 16-wide atoms, for tiles of few channels, take up to twice as long: docs/two_stage.md.
NARROW = tuple(instance for instance in lds_classes("xdl") if instance.m_per_xdl == 16)
TILES = tuple(instance for instance in lds_classes("xdl", "wavelet") if instance.m_per_xdl != 16)
ROWS = tuple(instance for instance in TILES if instance.elem_bytes == 2)
HOPPER = tuple(i for i in lds_classes("wavelet_tma", "stationary", "halo") if i.family != "halo" or i.m_per_xdl == 16)


def on_hopper(instance: Instance) -> ConvProblem:
    """A small problem; for family halo, one whose steps begin at an odd number of positions from each other; a
    filter of one tap where the instance takes no other."""
    if instance.pointwise:
        positions = [9, 9] if instance.a_vector == 1 else [8, 11]  # odd ones, or whole vectors
        return make_problem(groups=1, batch=2, k=64, c=64, filter=[1, 1], input=positions)
    channels = instance.n_per_block // instance.groups_to_merge if instance.family == "halo" else 64
    return make_problem(groups=64 // channels, batch=2, k=channels, c=channels, filter=[3, 3], input=[9, 11], pad=1)


@pytest.fixture(scope="module", params=chosen(["a sixth", "the others"], gate=["a sixth"]))
def part(request: pytest.FixtureRequest) -> frozenset[Instance]:
    """The instances to compile, of TILES and NARROW."""
    return frozenset(i for n, i in enumerate((*TILES, *NARROW)) if (n % 6 == 0) == (request.param == "a sixth"))


def those_in(part: frozenset[Instance], instances: Iterable[Instance]) -> list[Instance]:
    """The instances of a part, in their order."""
    return [instance for instance in instances if instance in part]


@pytest.fixture(scope="module")
def tiles(part: frozenset[Instance], tmp_path_factory: pytest.TempPathFactory) -> Counting:
    return Counting(tmp_path_factory.mktemp("tiles"), those_in(part, (*TILES, *NARROW)))


@pytest.fixture(scope="module")
def rows(part: frozenset[Instance], tmp_path_factory: pytest.TempPathFactory) -> Counting:
    return Counting(tmp_path_factory.mktemp("rows"), those_in(part, ROWS), (TRANSPOSING,))


def kinds(instances: Iterable[Instance]) -> dict[tuple[object, ...], list[Instance]]:
    """Instances by the kernel and the kind of its stores."""
    found: dict[tuple[object, ...], list[Instance]] = {}
    for i in instances:
        kind = i.operation, i.family, i.elem_bytes, i.exchange, i.channels_last, i.a_vector > 1
        found.setdefault(kind, []).append(i)
    return found


@pytest.fixture(scope="module", params=chosen(["a third", "the others"], gate=["a third"]))
def hopper_part(request: pytest.FixtureRequest) -> list[Instance]:
    """The instances of HOPPER to compile: a third of each kind, or the others."""
    wanted = request.param == "a third"
    return [i for kind in kinds(HOPPER).values() for n, i in enumerate(kind) if (n % 3 == 0) == wanted]


@pytest.fixture(scope="module")
def hopper(hopper_part: list[Instance], tmp_path_factory: pytest.TempPathFactory) -> Counting:
    return Counting(tmp_path_factory.mktemp("hopper"), hopper_part)


def check(name: str, found: Iterable[Count], factor: int = 1) -> set[tuple[str, bool]]:
    """Fail for conflicts other than ALLOWED ones, times `factor`. Return the files whose LDS accesses were seen, and
    whether they write."""
    seen = set()
    for count in found:
        allowed = [times for (file, text), times in ALLOWED.items() if file == count.file and text in count.text]
        assert count.least > 0 and count.cycles <= sum([factor * times for times in allowed] or [1]) * count.least, (
            name,
            count,
        )
        seen.add((count.file, count.writes))
    return seen


TILE_FILES = {("atom/mfma.hpp", False), ("epilogue/cshuffle.hpp", False), ("epilogue/cshuffle.hpp", True)}
COPIES = {"block/tile_copy.hpp", "block/slot_copy.hpp", "block/row_copy.hpp", "block/direct_copy.hpp"}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_tiles_have_no_conflict(part: frozenset[Instance], tiles: Counting, arch: str) -> None:
    assert len(TILES) > 80
    for instance in those_in(part, TILES):
        seen = check(instance.name, tiles.run(instance.name, one_tile(instance), arch))
        assert seen > TILE_FILES and {file for file, _ in seen - TILE_FILES} <= COPIES


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_reads_of_narrow_tiles_take_at_most_twice_as_long(
    part: frozenset[Instance], tiles: Counting, arch: str
) -> None:
    assert len(NARROW) > 10
    ratios = set()
    for instance in those_in(part, NARROW):
        found = tiles.run(instance.name, one_tile(instance), arch)
        reads = [count for count in found if (count.file, count.writes) == ("atom/mfma.hpp", False)]
        assert reads and all(count.cycles <= 2 * count.least for count in reads), (instance.name, reads)
        ratios |= {count.cycles / count.least for count in reads}
        # Their chunks have 16 rows instead of 8, so that twice as many threads read a column of the result.
        check(instance.name, (count for count in found if count.file != "atom/mfma.hpp"), factor=2)
    assert max(ratios) > 1, "no conflict is left: use check() alone"


def test_tiles_of_gfx950_have_no_conflict(part: frozenset[Instance], tiles: Counting, rows: Counting) -> None:
    """Tiles of 16-bit types are stored by rows and read transposed; others are as on the other architectures."""
    assert len(ROWS) > 50
    copies = set()
    for instance in those_in(part, TILES):
        counting = rows if instance in ROWS else tiles
        seen = check(instance.name, counting.run(instance.name, one_tile(instance), "gfx950"))
        assert seen > TILE_FILES
        copies |= {file for file, _ in seen - TILE_FILES}
    assert copies == COPIES


def test_hopper_has_no_conflict(hopper: Counting, hopper_part: list[Instance]) -> None:
    """TMA copies and wgmma run asynchronously and are not counted."""
    assert len(HOPPER) > 90 and len(hopper_part) > 30
    for instance in hopper_part:
        seen = check(instance.name, hopper.run(instance.name, on_hopper(instance), "sm_90a"))
        files = {file for file, _ in seen}
        in_full = instance.elem_bytes == 4 and instance.as_stored
        if instance.operation == BWD_WEIGHT:
            by_warps = instance.elem_bytes == 4 and instance.channels_last
            of_products = {"atom/warp_tile.hpp"} if by_warps else set()
            if in_full:
                of_products = {"atom/part_rows.hpp", "atom/part_columns.hpp"}
            wide = not instance.channels_last and max(instance.m_per_block, instance.n_per_block) > 64
            cleared = {"pipeline/tma/planes_tma.hpp"} if wide else set()  # rows of a tile with fewer channels
            if instance.a_vector == 1:
                copied = "any_rows" if instance.channels_last else "word_rows"
                cleared = set() if in_full else {f"pipeline/tma/{copied}.hpp"}
            expected = {"pipeline/halo/halo.hpp"} if instance.family == "halo" else of_products | cleared
            assert files == expected, instance.name
        elif instance.family == "halo":
            staged = {"pipeline/halo/bwd_data_halo_weights.hpp"} if instance.elem_bytes == 2 else set()
            own = {"pipeline/halo/bwd_data_halo.hpp", "pipeline/halo/bwd_data_halo_math.hpp"}
            assert files == own | staged, instance.name
        else:
            written = "channel" if instance.exchange else "input" if instance.channels_last else "plane"
            words = instance.a_vector == 1 and instance.elem_bytes == 4
            expected = {f"epilogue/wgmma_{'word' if words else written}_store.hpp"}
            if instance.a_vector == 1 and not words:
                expected.add("pipeline/tma/shifted_products.hpp")
            if words and not in_full:
                expected.add("pipeline/tma/word_rows.hpp")
            if instance.elem_bytes == 4:
                in_place = instance.exchange or instance.b_vector == 1
                copied = set() if in_place else {"load/weight_copy.hpp"}
                through_registers = instance.exchange or not instance.channels_last
                loaded = {"atom/plane_fragments.hpp", "epilogue/plane_words.hpp"} if through_registers else set()
                parts = "columns" if instance.exchange else "rows" if instance.channels_last else ""
                expected |= copied | loaded | ({f"atom/part_{parts}.hpp"} if in_full and parts else set())
            assert files == expected, instance.name


@dataclass(frozen=True)
class Plant:
    """Replace ``old`` by ``new`` in ``header``: ``access`` of ``file`` must then take ``times`` as long as the
    minimum."""

    id: str
    header: str
    old: str
    new: str
    instance: Instance
    file: str
    access: str
    times: float
    arch: str = "gfx942"


def first(instances: Iterable[Instance], operation: str, **fields: object) -> Instance:
    """The first instance of an operation with these fields."""
    wanted = {"operation": operation, **fields}
    return next(i for i in instances if all(getattr(i, name) == value for name, value in wanted.items()))


WIDE = first(ROWS, BWD_WEIGHT, family="xdl", m_per_block=128, a_vector=8)
HALO = first(HOPPER, BWD_WEIGHT, family="halo", n_per_block=32)
PLANTS = (
    Plant(
        "columns-not-dealt",
        "block/lds_layout.hpp",
        "int group = Columns_ <= 8 * Vector_ ? Columns_ : min_of(8 * Vector_, power_of_two_in(Columns_));",
        "int group = Vector_;",
        WIDE,
        *("block/tile_copy.hpp", "lds_store", 2),
    ),
    Plant(
        "planes-without-padding",
        "config/derived.hpp",
        " ... ".join(["max_of(1, 8 / planes)"] * 6),  # of A and B, in three families
        " ... ".join("000000"),
        first(ROWS, BWD_DATA, family="xdl", m_per_block=128),
        *("block/slot_copy.hpp", "lds_store", 2),
    ),
    Plant(
        "rows-not-moved",
        "block/lds_layout.hpp",
        "return row / max_of(1, 128 / Columns_) % min_of(4, power_of_two_in(Columns_) / 32) * 64;",
        "return 0 * row;",
        WIDE,
        *("atom/mfma.hpp", "lds_load_transposed", 2, "gfx950"),
    ),
    Plant(
        "slots-of-columns-not-moved",
        "block/lds_layout.hpp",
        "return column / (16 / Planes_) % Planes_;",
        "return 0 * column;",
        first(ROWS, BWD_DATA, family="wavelet", load_waves=1, m_per_block=128),
        *("atom/mfma.hpp", "(at ^ planes)", 4, "gfx950"),
    ),
    Plant(
        "input-read-without-swizzle",
        "atom/swizzled_tile.hpp",
        "pitch == 128 ? row & 7 :",
        "pitch == 128 ? 0 * row :",
        HALO,
        *("pipeline/halo/halo.hpp", "load_matrices_transposed(row", 8, "sm_90a"),
    ),
    Plant(
        "output-read-without-swizzle",
        "atom/swizzled_tile.hpp",
        "pitch == 128 ? row & 7 :",
        "pitch == 128 ? 0 * row :",
        HALO,
        *("pipeline/halo/halo.hpp", "load_matrices_transposed(out", 8, "sm_90a"),
    ),
    Plant(
        "lines-of-products-without-padding",
        "pipeline/halo/halo.hpp",
        "line_pitch = line_floats + 4;",
        "line_pitch = line_floats;",
        HALO,
        *("pipeline/halo/halo.hpp", "lds_store((base", 4, "sm_90a"),
    ),
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)
def test_a_planted_conflict_is_counted(plant: Plant, tmp_path: Path) -> None:
    flags = (TRANSPOSING,) if plant.arch == "gfx950" else ()
    counting = Counting(
        tmp_path,
        (plant.instance,),
        flags,
        lambda headers: replace_once(headers / plant.header, plant.old, plant.new),
    )
    problem = on_hopper(plant.instance) if plant.instance in HOPPER else one_tile(plant.instance)
    found = counting.run(plant.instance.name, problem, plant.arch)
    there = [count for count in found if count.file == plant.file and plant.access in count.text]
    assert sum(count.cycles for count in there) >= plant.times * sum(count.least for count in there) > 0, found
    with pytest.raises(AssertionError):
        check(plant.instance.name, found)


@pytest.mark.parametrize(("arch", "beside", "apart"), [("gfx942", 20, 4), ("gfx90a", 21, 7), ("gfx950", 12, 28)])
def test_phases_are_those_of_the_architecture(tiles: Counting, arch: str, beside: int, apart: int) -> None:
    """All lanes but 0 and another read one word. If both are in one phase, one phase takes longer, else two."""

    def extra(lane: int) -> int:
        lanes = [0] * 64
        lanes[0] = lanes[lane] = 4096
        used, least = tiles.cycles(arch, lanes, 16, False)
        return used - least

    assert (extra(beside), extra(apart)) == (1, 2)
