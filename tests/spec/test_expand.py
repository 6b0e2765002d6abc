"""Tests that specs expand to exactly the expected instances, each with the places of its values."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import ARCHES
from ckgen.instance.instance import CONV_SPECS, Instance
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS
from ckgen.spec.models import AXES
from tests.support.specs import (
    DATA,
    ROOT,
    TMA,
    USUAL_DTYPES,
    WAVELET,
    WEIGHT_LAYOUTS,
    XDL,
    default_expansion,
    expand_groups,
    instances_of,
    usual_instances_of,
)

FACTS: dict[str, Any] = yaml.safe_load((DATA / "ck_rows.yaml").read_text(encoding="utf-8"))
BWD_DATA_FACTS = yaml.safe_load((DATA / "ck_bwd_data_rows.yaml").read_text(encoding="utf-8"))
NHWGC = "NHWGC/GKYXC/NHWGK"
PYTORCHS = "NGCHW/GKCYX/NGKHW"
CHANNELS_LAST_LAYOUTS = tuple(layout for layout in WEIGHT_LAYOUTS if LAYOUTS[layout].channels_last)


def ck_rows(dtype: str) -> list[dict[str, int]]:
    """CK's 16 rows for a dtype."""
    if dtype in ("f16", "bf16", "f32"):
        rows: list[dict[str, int]] = FACTS["f32" if dtype == "f32" else "f16"]
        return rows
    changes = FACTS[dtype]
    return [{**row, **changes.get(number, changes["others"])} for number, row in enumerate(FACTS["f16"])]


def as_ck_row(made: Instance) -> dict[str, int]:
    return {
        "block": made.block_size,
        "m": made.m_per_block,
        "n": made.n_per_block,
        "k0": made.k_per_block // made.k1,
        "k1": made.k1,
        "xdl": made.m_per_xdl,
        "m_xdl": made.m_xdl_per_wave,
        "n_xdl": made.n_xdl_per_wave,
        "a": made.a_vector,
        "b": made.b_vector,
        "c": made.c_vector,
    }


def key(row: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(row.items()))


def test_the_sizes_of_the_catalogue() -> None:
    expansion = default_expansion()
    sizes = {name: len(members) for name, members in expansion.sets.items()}
    weight_tma = (6 + 3 + 4) * 3 * 3 + 6 * 3 + (6 + 2) * 3 * 3  # channels last, of tf32, and first
    weight_tma += 6 * 2 * 3 + 4 * 3 + 2 * 3  # channels last, of any C
    weight_tma += (4 + 2) * 3  # channels first, of any number of positions
    weight_tma += 2 * (4 + 2 * 2) + 2 * 2  # of clusters of two workgroups, and of 160 columns
    weight_tma += 2 * (4 + 2)  # channels last, of any number
    weight = 44 + 8 + 16 * 2 * 4 * 6 + 24 + weight_tma + 15
    tma_first = (6 + 2) * 3 * 2 + 6 * 3  # of backward data, channels first: wavelet_tma, stationary
    tma_first += (3 * 3 + 2) * 2 + (3 + 1 + 3) * 3 + 3  # with any number of positions
    tma = (11 + 4 + 4) * 3 * 2 + 4 * 3 * 2 + 12 * 3  # of backward data: 16 bits, with functions, tf32
    stationary = 2 * 3 * 2 + 2 * 3 * 2 + tma_first
    hopper = tma + stationary + 4 * 2 * 3
    data = 44 + 24 + 16 * 2 * 3 * 6 + 27 + hopper
    fused = 3 * (16 * 2 * 3 * 2 + 6) + 16
    fused_weight = 2 * 16 * 2 * 3 + 3 * 4 * 12
    merged = 3 * 3 * 2 * 6 + 3 * 2 * (2 + 1) * 6 + 3 * 3 * 2 * 4
    merged += 6 * 3 * 3 * 4  # channels first
    two_stage_rows = 2 * 2 * 2 * (6 + 2 * 16)  # channels first: of two orders of the weight
    ck_rows = 2 * (5 * (3 * 7 + 2) + (4 + 2) * (2 * 3 + 17) + 2 * (2 * 7 + 2) + 1) + 5 * (3 * 2 + 1) + 4
    ck_rows += two_stage_rows
    ck_rows += 3 * 2 * 16 + 2 * 17  # operands of 8 bits
    wmma_rows = 2 * (2 * 13 + 4 * 4) + 2 * (2 * 17 + 4 * 8) + 4 * 2
    depthwise = 40 + 36
    generic_types, more_generic = 2 * 3 * 3, 3 + 3 + 2 * 3 + 2 + 4  # the others: groups outermost, and functions
    rdna_types = 2 * 2 * 2
    types = 2 * (3 * 4 * 2) + 3 * 2 + 2 * 2 * 3 * 2 + generic_types + more_generic + rdna_types
    types += 1 + 6  # tf32: a narrow tile of each operation, with groups merged or not
    rdna = 2 * (6 * (2 * 9 + 4 * 3) + 4 * (2 * 10 + 3 * 3)) + wmma_rows + rdna_types
    rdna += 3 * (2 + 3) * 2 * (3 + 2)  # groups merged, of weights and of data
    shifted = 6 * 2 * 2  # layouts, data types and widths of vectors that taps shift
    rows = 3 * 3 * 8 + 3 * 3 * 2  # the same for backward data: weights in PyTorch's order, and in CK's
    first = 24 + 276 + shifted, 9 + 198 + rows  # channels first: generic and tuned
    few = 3 * 3 * (2 + 3) + 3 * 3 * (3 + 7) + 3 * 3 * 3 * 2 + 3 * 3 * 2  # few channels: last and first, per operation
    data_merged = 3 * 3 * (2 * 2 + 1 + 2 + 2)
    merged_first = 3 * 3 * (4 + 2 + 2)  # of backward data
    narrow = (
        few + data_merged + merged_first + 2 * (2 * 3 + 2 * 3 + 2 * 3 * 3) + 2 * 3 * 3
    )  # depthwise: one group, and few groups
    outputs, outputs_first = 3 * 3 * 8, 3 * 3 * (6 + 2) + 3 * 2 * 3  # few output channels, channels last and first
    rdna_outputs = 3 * 2 * 2 + 3 * 3 * 2
    types += 2
    narrow += outputs + outputs_first
    rdna += rdna_outputs
    full = weight + data + fused + fused_weight + ck_rows + depthwise + merged + types + rdna - rdna_types
    full += sum(first) + narrow
    default = 44 + 8 + 16 * 2 * 4 + 24 + 110 + 24 + 28 + 9 + 27 + 30 + generic_types + 3 * (5 + 2) + more_generic
    default += (outputs + outputs_first) // 3 + 2 * 3 * 2 + 2 * (3 * 2 + 2)
    default += 12  # direct loads of backward data
    default += 2 * 3 * 2 * 3 + merged_first * 2 // 3 + 3 * 2  # few channels per group, channels first
    default += 199  # a large and a small tile of every other layout, data type and function
    default += 66 + 48 + shifted + data_merged * 2 // 3  # depthwise, few channels
    default += 3 * (3 + 1 + 2 + 3) + 3 + 3 + 2 + 2 + 2  # narrow tiles of other cells, wide ones in three dimensions
    default += 9 * 3 + 3 + 9 * 4 + 2 * 6  # tiles of backward data with channels first, with a copy and without
    default += 3 * 3 + 2 * 3 + 4 + 3 + 6 * 2 + 3 * 3 + 2 * 3 + 1 + 2 + 8 + 2  # other dimensions, various
    default += 3 * (4 + 2) + 2 * 2 + 2 * 4 + 2 * 3 + 1  # groups merged in 3D, few channels on both sides in 1D and 3D
    default += 3 + 1 + 2 + 2  # depthwise, few and odd channels of other dimensions, groups of 48 to 64 channels
    quick = 3 * (4 + 3) + 2 + 3 + 5 + 2 + 1 + 1 + generic_types + 4 + 4 + 1 + 2 + 1 + 1 + 1 + 2
    ci = 78 + 51 + 24 + 8 + 9 + 7 + 19 + 17 + 2 + 3 + 4 + 6 + 2 + 4 + 4 + 13 + 9
    chosen = {"default": default, "quick": quick, "ci": ci, "hopper": weight_tma + 15 + hopper}
    chosen |= {"types": types, "rdna": rdna, "ck_rows": ck_rows + wmma_rows}
    chosen["torch"] = weight_tma + tma_first + tma + 15 + 3 * 2 + 40 + 30 + 3 * 3 + 60 + 36
    chosen["torch"] += (data_merged + merged_first) * 2 // 3 * 2 // 3 + 2 * 3 * 3
    chosen["torch"] += 60 + 47 + 3 + 3 + 18  # depthwise with channels first, tf32, merged weights
    chosen["torch"] += 3 * 3 * 2 + 2  # few output channels
    chosen["two_stage"] = merged + two_stage_rows
    depthwise += 2 * 30 + 2 * 3 * 3
    depthwise_tma = (3 + 1) * 3 + (2 + 1) * 3
    odd = 2 * (5 + 2 * 2) + 5 + 2  # inputs of any number of channels
    odd += 10 * 3  # weights of tf32 as operand A
    full += odd
    chosen["torch"] += odd
    chosen["hopper"] += odd
    full += depthwise_tma
    depthwise += depthwise_tma
    chosen["torch"] += depthwise_tma
    chosen["hopper"] += depthwise_tma
    vectors = 2 * 8 + 8 + 5  # of fewer than 16 bytes: inputs of 16 bits, and of tf32, weights of tf32
    vectors += 3 * 3 * 2  # weights of images of few channels
    types_of_vectors = 8 + 5
    halves = 3 + 2  # family halo with two groups of 4 channels
    full += vectors + halves
    chosen["torch"] += vectors + halves
    chosen["hopper"] += halves
    chosen["types"] += types_of_vectors
    col2im = 3 * 4 * (3 + 3)  # inputs of few channels, one and four at once
    full += col2im
    chosen["torch"] += col2im
    chosen["hopper"] += col2im
    streaming = 2 * (5 + 2 * 2 + 7 + 2 * 3)  # 1x1 filters, channels last and first, in two dimensions and others
    streaming += 2 * (2 + 3 + 1) + 3  # in f32 and tf32; with positions side by side more of tf32
    full += streaming
    chosen["torch"] += streaming
    chosen["hopper"] += streaming
    warp_split = 2 * (3 + 2 + 3 + 3)  # small products of inputs and of weights, in two dimensions more
    warp_split += 2 * 3 * 2  # weights with the channels first
    warp_split += 2 * 3 * 4  # weights of images of few channels
    full += warp_split
    chosen["torch"] += warp_split
    chosen["hopper"] += warp_split
    chosen["quick"] += 3
    chosen["default"] += 3 * 2  # weights of images of few channels
    planes = 3 * (2 * 4 + 3)  # inputs with positions side by side: tiles of 192, and the ping-pong tile
    full += planes
    chosen["torch"] += planes
    chosen["hopper"] += planes
    half_boxes = 2 * 2 * 3 * 2  # inputs of 160, 320 or 640 channels
    full += half_boxes
    chosen["torch"] += half_boxes
    chosen["hopper"] += half_boxes
    odd_depthwise = 4 * (10 + 2) + 3 * (9 + 2)  # one or two groups per lane, and few groups
    full += odd_depthwise
    depthwise += odd_depthwise
    chosen["torch"] += odd_depthwise
    chosen["default"] += 3 * (9 + 2 + 8 + 2)
    f32 = 3 * (4 + 3 + 1) + 3 * (3 + 2 + 2) + 2  # each product as three of tf32: weights, and inputs
    full += f32
    chosen["torch"] += f32
    chosen["hopper"] += f32
    halo_f32, half_rows = 2 * 2 + 1, 2 * 3 * 2  # groups of 4 to 16 channels; steps of 32 output channels
    full += halo_f32 + half_rows
    chosen["hopper"] += halo_f32 + half_rows
    chosen["torch"] += halo_f32 + half_rows
    chosen["torch"] += 2 * 2 * 3 + 2 * 9  # merged groups of weights in 1D and 3D, of inputs in 3D
    merged = 2 * (4 + 8)  # the same in tf32
    full += merged
    chosen["types"] += merged
    chosen["two_stage"] += 2 * 4
    chosen["torch"] += merged
    few_tf32, merged_tf32 = 2 * (2 + 5), 4 + 2  # narrow tiles of inputs; merged groups of weights and inputs
    full += few_tf32 + merged_tf32
    narrow += few_tf32
    chosen["types"] += few_tf32 + merged_tf32
    chosen["two_stage"] += 4
    chosen["default"] += 4
    chosen["torch"] += few_tf32 + merged_tf32 + 3 * 3 * 2 * 3 + 2 * 2 + 3 * 2 * 10  # and of inputs with few channels
    assert sizes == {"full": full, "depthwise": depthwise, "narrow": narrow, "odd": vectors, **chosen}
    assert len(expansion.instances) == sizes["full"]
    assert expansion.removed == ()


def test_every_cell_has_an_instance_for_each_valid_problem() -> None:
    expansion = default_expansion()
    full = frozenset(expansion.sets["full"])
    cells = defaultdict(list)
    for made in expansion.instances:
        if made.name in full:
            cells[(made.operation, made.layout, made.dtype, made.function)].append(made.generic)
    assert [cell for cell, generic in cells.items() if not any(generic)] == []


def is_ck_row(instance: Instance) -> bool:
    """True if an instance is in set ck_rows: a row with CK's numbers where ours differ."""
    return instance.name in frozenset(default_expansion().sets["ck_rows"])


def is_narrow(instance: Instance) -> bool:
    """True if an instance is in set narrow or odd, which CK's tables lack."""
    sets = default_expansion().sets
    return instance.name in frozenset((*sets["narrow"], *sets["odd"]))


def is_default_two_stage(instance: Instance) -> bool:
    """True for the vectors of all channels with merged groups up to 16, and for single elements with two numbers."""
    if instance.family != "two_stage" or (instance.m_per_block, instance.n_per_block) != (16, 64):
        return False
    if instance.layout in LAST_OF_OTHER_DIMENSIONS:
        return instance.b_vector >= 4 and instance.groups_to_merge in (4, 8) and not is_ck_row(instance)
    if instance.layout == "NGCDHW/GKCZYX/NGKDHW" and instance.b_vector > 1:
        return False
    if instance.layout != NHWGC and "GKC" not in instance.layout:
        return False
    if instance.layout != NHWGC:
        return instance.a_vector > 1 and instance.groups_to_merge in (2, 4, 8) and not is_ck_row(instance)
    merged = {1: (2, 8), 2: ()}.get(instance.b_vector, (1, 2, 4, 8, 16))
    return instance.groups_to_merge in merged


def is_cks_wavelet(instance: Instance) -> bool:
    """True if an instance is a wavelet, except those that only gfx950 can run."""
    return instance.family == "wavelet" and instance.archs != ("gfx950",)


def test_wavelet_is_exactly_the_44_instances_of_cks_coverage() -> None:
    expected = Counter(
        (*row["ratio"], row["m"], row["n"], layout, dtype, spec)
        for row in FACTS["wavelet"]
        for layout in FACTS["wavelet_layouts"]["x".join(map(str, row["ratio"]))]
        for dtype in ("f16", "bf16")
        for spec in CONV_SPECS
    )
    made = [instance for instance in instances_of(BWD_WEIGHT) if is_cks_wavelet(instance)]
    assert len(made) == 44
    assert expected == Counter(
        (i.load_waves, i.math_waves, i.m_per_block, i.n_per_block, i.layout, i.dtype, i.conv_spec) for i in made
    )


def test_wavelet_follows_from_tile_and_ratio_as_in_cks_rows() -> None:
    rows = {(*row["ratio"], row["m"], row["n"]): row for row in FACTS["wavelet"]}
    for made in instances_of(BWD_WEIGHT):
        if not is_cks_wavelet(made):
            continue
        row = rows[made.load_waves, made.math_waves, made.m_per_block, made.n_per_block]
        assert made.copy_threads == row["load"]
        assert made.block_size == row["math"], "CK's BlockSize is the math threads"
        assert made.launch_threads == row["load"] + row["math"]
        assert (made.k_per_block, made.k1, made.m_per_xdl) == (32, 8, 32)
        assert (made.m_xdl_per_wave, made.n_xdl_per_wave) == (row["m_xdl"], row["n_xdl"])
        assert (made.a_vector, made.b_vector, made.c_vector) == (row["a"], row["b"], row["c"])
        assert made.a_dst_vector == made.b_dst_vector == row["lds_write"]


def test_hoppers_wavelet_has_tiles_with_the_stages_that_fit() -> None:
    expansion = default_expansion()
    members = {name for name in expansion.sets["hopper"] if "_wavelet_tma_" in name}
    every = [instance for instance in expansion.instances if instance.family == "wavelet_tma"]
    made = [instance for instance in every if instance.elem_bytes == 2]
    of_weight = [instance for instance in made if instance.operation == BWD_WEIGHT]
    assert {instance.name for instance in every} == members and len(of_weight) == 233
    made = [instance for instance in made if instance.channels_last]
    tiles = {(128, 256): 4, (128, 192): 5, (128, 128): 6, (64, 256): 5, (64, 192): 6, (64, 128): 6}
    tiles |= {(192, 192): 4, (192, 128): 5, (192, 64): 6}
    few_channels, of_160 = {(128, 64): 6, (64, 64): 6}, {(192, 160): 4, (256, 160): 4}
    deep = [i for i in made if i.stages > 6]
    assert {(i.operation, i.m_per_block, i.n_per_block, i.stages) for i in deep} == {
        (BWD_WEIGHT, 64, 128, 9),
        (BWD_WEIGHT, 64, 64, 12),
        (BWD_DATA, 64, 128, 8),
        (BWD_DATA, 64, 64, 12),
    }
    short = {(64, 64, 2), (64, 64, 3), (128, 64, 4), (128, 128, 3)}  # of short sums
    found = {(i.m_per_block, i.n_per_block, i.stages) for i in made if i.operation == BWD_DATA}
    assert short <= found
    made = [i for i in made if i.stages <= 6 and (i.m_per_block, i.n_per_block, i.stages) not in short]
    made = [i for i in made if (i.operation, i.a_vector) != (BWD_WEIGHT, 1)]  # whose rows have buffers beside the ring
    found = {(i.m_per_block, i.n_per_block): i.stages for i in made if i.operation == BWD_WEIGHT}
    assert found == tiles | few_channels | of_160
    of_data = {(i.m_per_block, i.n_per_block, i.m_per_xdl): i.stages for i in made if i.operation == BWD_DATA}
    # Whose buffer for reordering lines replaces one stage
    lines = {(192, 192, 64): 3, (192, 128, 64): 4, (128, 192, 64): 4, (64, 256, 64): 4}
    assert of_data == {(m, n, 64): stages for (m, n), stages in tiles.items()} | lines | {
        (128, 64, 64): 6,
        (64, 64, 64): 6,
        (128, 128, 128): 6,
        (128, 160, 128): 4,
        (256, 160, 128): 3,
        (256, 64, 128): 6,
    }
    for instance in made:
        assert instance.archs == ("sm_90a",)
        assert instance.load_waves == 2
        if instance.operation == BWD_WEIGHT:
            waves = (4, 128) if instance.m_per_block == 256 else (instance.m_per_block // 32, 64)
            assert (instance.math_waves, instance.m_per_xdl) == waves
        assert instance.k_per_block == 64 or (instance.operation == BWD_DATA and instance.k_per_block == 32)
        assert instance.conv_spec == "Default"
        assert instance.layout.startswith("N") and instance.dtype != "f32"


def test_layouts_that_the_family_does_not_have_are_found_among_others() -> None:
    """A shape is checked once for all layouts that rules cannot distinguish."""
    group = {**TMA, "layout": ["NHWGC/GKYXC/NHWGK", "GNHWC/GKYXC/GNHWK", "NWGC/GKXC/NWGK"], "invalid": "skip"}
    expansion = expand_groups(group)
    assert [instance.ndim for instance in expansion.instances] == [2, 1]
    assert [removed.violations[0].rule.id for removed in expansion.removed] == ["tma-layout"]


FUSED_LAYOUT = "NDHWGC/GKZYXC/NDHWGK"


@pytest.mark.parametrize(
    ("dtype", "layout", "function"),
    [(dtype, layout, "PassThrough") for dtype in USUAL_DTYPES for layout in CHANNELS_LAST_LAYOUTS]
    + [(dtype, FUSED_LAYOUT, word) for dtype in ("f16", "f32", "bf16_f32_bf16") for word in ("Bilinear", "Scale")],
)
@pytest.mark.parametrize("conv_spec", CONV_SPECS)
def test_xdl_has_every_row_of_cks_tables_and_no_other(dtype: str, layout: str, function: str, conv_spec: str) -> None:
    """Each row has CK's vectors, or those that tests/data/ck_rows.yaml lists with a reason."""
    differs = FACTS["differs"]
    wanted = []
    for number, row in enumerate(ck_rows(dtype)):
        ours = differs["rows"].get(number, {}) if dtype in differs["dtypes"] else {}
        wanted.append(key({**row, **ours}))
    made = [
        as_ck_row(instance)
        for instance in default_expansion().instances
        if instance.family == "xdl" and not instance.generic and not is_ck_row(instance) and not is_narrow(instance)
        if (instance.dtype, instance.layout, instance.conv_spec, instance.function)
        == (dtype, layout, conv_spec, function)
    ]
    assert len(made) == 16
    assert sorted(map(key, made)) == sorted(wanted)


@pytest.mark.parametrize("dtype", [dtype for dtype in OPERATIONS[BWD_DATA].dtypes if dtype in USUAL_DTYPES])
@pytest.mark.parametrize("layout", [layout for layout in OPERATIONS[BWD_DATA].layouts if layout.endswith("C")])
@pytest.mark.parametrize("conv_spec", CONV_SPECS)
def test_backward_data_has_every_row_of_cks_table_and_no_other(dtype: str, layout: str, conv_spec: str) -> None:
    """The rows exist without a function in every layout, and with CK's functions where CK has them."""
    widest = 4 if dtype == "f32" else 8
    wanted = []
    for number, row in enumerate(BWD_DATA_FACTS["rows"]):
        ours = {**row, **(BWD_DATA_FACTS["differs"].get(number, {}) if dtype != "f32" else {})}
        wanted.append(key({name: min(size, widest) if name in "abc" else size for name, size in ours.items()}))
    functions = [PASS_THROUGH, *(["Bilinear", "Scale", "AddResidual"] if layout.startswith(("NHWG", "NDHWG")) else [])]
    for function in functions:
        made = [
            as_ck_row(instance)
            for instance in instances_of(BWD_DATA)
            if instance.family == "xdl" and not instance.generic and instance.function == function
            if not is_ck_row(instance) and not is_narrow(instance)
            if (instance.dtype, instance.layout, instance.conv_spec) == (dtype, layout, conv_spec)
        ]
        assert sorted(key({name: row[name] for name in BWD_DATA_FACTS["rows"][0]}) for row in made) == sorted(wanted)


def test_what_differs_from_ck_takes_more_problems() -> None:
    for number, ours in FACTS["differs"]["rows"].items():
        for dtype in FACTS["differs"]["dtypes"]:
            row = ck_rows(dtype)[number]
            assert all(row[name] % value == 0 and value < row[name] for name, value in ours.items())


def test_every_layout_and_dtype_has_one_generic_instance_for_every_architecture() -> None:
    generic = [i for i in default_expansion().instances if i.generic and i.dtype in USUAL_DTYPES]
    plain = Counter((i.layout, i.dtype) for i in generic if i.function == PASS_THROUGH)
    assert plain == Counter(
        (layout, dtype)
        for o in OPERATIONS.values()
        for layout in o.layouts
        for dtype in o.dtypes
        if dtype in USUAL_DTYPES
    )
    for made in generic:
        assert (made.a_vector, made.b_vector, made.c_vector, made.conv_spec) == (1, 1, 1, "Default")
        assert made.archs == tuple(ARCHES)


def has_machine_code_table(instance: Instance) -> bool:
    """True for families of AMD kernels whose main loops are committed in docs/isa; depthwise has none."""
    return not instance.uses_tma and bool(FAMILIES[instance.family].loops)


def test_the_ci_set_has_every_path() -> None:
    expansion = default_expansion()
    members = frozenset(expansion.sets["ci"])
    everywhere = [i for i in usual_instances_of(BWD_WEIGHT) if has_machine_code_table(i)]
    made = [instance for instance in everywhere if instance.name in members]
    assert 55 <= len(made) <= 150
    assert {(i.family, i.dtype) for i in made} == {(i.family, i.dtype) for i in everywhere}
    assert {(i.family, i.conv_spec) for i in made} == {(i.family, i.conv_spec) for i in everywhere}
    assert {i.function for i in made} == {i.function for i in everywhere}
    assert {i.layout for i in made if i.family == "wavelet"} == {NHWGC, "NDHWGC/GKZYXC/NDHWGK"}
    assert {i.math_waves for i in made if i.family == "wavelet"} == {2, 4}
    assert any(i.a_vector < i.b_vector for i in made)
    first = [i for i in made if not LAYOUTS[i.layout].channels_last and not i.generic]
    assert {(i.pointwise, i.b_vector > 1) for i in first} == {
        (False, False),
        (False, True),
        (True, True),
        (True, False),
    }
    assert {i.a_vector for i in first} >= {1, 4, 8}


def test_the_ci_set_has_sweeps_and_rows_of_depthwise() -> None:
    """In both operations and both orders of memory."""
    members = frozenset(default_expansion().sets["ci"])
    for operation in (BWD_WEIGHT, BWD_DATA):
        every = [i for i in usual_instances_of(operation) if i.family == "depthwise" and i.name in members]
        assert {LAYOUTS[i.layout].channels_last for i in every} == {True, False}
        assert {i.stages > 1 for i in every} == {True, False}


def test_the_ci_set_has_every_path_of_backward_data() -> None:
    members = frozenset(default_expansion().sets["ci"])
    every = [i for i in usual_instances_of(BWD_DATA) if has_machine_code_table(i)]
    made = [instance for instance in every if instance.name in members]
    assert 45 <= len(made) <= 110
    assert {(i.family, i.dtype) for i in made} == {(i.family, i.dtype) for i in every}
    assert {(i.family, i.conv_spec) for i in made} == {(i.family, i.conv_spec) for i in every}
    assert {i.function for i in made} == {i.function for i in every}
    assert {i.layout for i in made if i.generic} == set(OPERATIONS[BWD_DATA].layouts)
    assert {i.a_vector for i in made if not i.generic} == {1, 4, 8}
    first = [i for i in made if not LAYOUTS[i.layout].channels_last and not i.generic]
    assert {(i.a_vector > 1, i.c_vector > 1) for i in first} == {(False, False), (False, True), (True, False)}


def is_usual_tile(made: Instance) -> bool:
    """True for the large and the small tile of which set default has one for every layout."""
    size = (made.m_per_block, made.n_per_block, made.block_size)
    usual = size == (128, 128, 256) or (size == (64, 64, 64) and made.a_vector >= 4)
    kept = made.conv_spec == "Default" and not is_ck_row(made)
    return usual and kept and made.family == "xdl" and made.m_per_xdl == 32


def is_default_narrow(i: Instance) -> bool:
    """True for tiles of backward weight of set default with channels first for few channels or three dimensions, and
    with channels last for few channels in f32."""
    tile, volume = (i.m_per_block, i.n_per_block), i.layout == "NGCDHW/GKCZYX/NGKDHW"
    if i.b_vector > 1 or i.pointwise or is_ck_row(i):
        return False
    if i.dtype == "f32" and i.layout in LAST_OF_OTHER_DIMENSIONS:
        return tile == (16, 64) and i.a_vector == 1
    if i.dtype == "f32" and i.layout == "NGCW/GKCX/NGKW":
        return tile == (16, 32)
    if i.dtype == "f32":
        return tile == (16, 64) and i.a_vector == 4 and (volume or i.layout == PYTORCHS)
    if i.layout == PYTORCHS and tile == (64, 128):
        return i.dtype in ("f16", "bf16") and i.c_vector == 8
    if i.layout == "NGCW/GKCX/NGKW":
        return tile == (16, 32) and i.dtype in ("f16", "bf16")
    wide = volume and tile in ((32, 64), (256, 128)) or (i.layout == PYTORCHS and tile == (16, 64))
    return wide and i.dtype in ("f16", "bf16") and i.a_vector == 8


def is_default_exchange(i: Instance) -> bool:
    """True for instances that exchange input and output: all in two dimensions, else two tiles of single elements, and
    with channels first two more tiles."""
    tile, first = (i.m_per_block, i.n_per_block), i.layout.startswith("NG")
    if i.ndim == 2 or not i.exchange:
        return i.exchange
    if first and tile in ((64, 64), (32, 128)) and i.dtype in ("f16", "bf16") and i.a_vector == 8:
        return True
    if first and tile == (16, 64) and i.dtype == "f32" and i.ndim == 3:
        return True
    return i.b_vector == 1 and (tile in ((64, 64), (64, 16)) or (first and tile == (16, 64)))


def is_default_half(i: Instance) -> bool:
    """True for half tiles of backward weight that set default has for one and three dimensions with channels last, and
    for 1x1 filters with channels first."""
    tile = (i.m_per_block, i.n_per_block)
    if i.dtype not in ("f16", "bf16") or i.b_vector != 8 or is_ck_row(i) or i.exchange:
        return False
    if i.layout in LAST_OF_OTHER_DIMENSIONS:
        return tile in ((32, 128), (64, 128)) and i.block_size == 128 and not i.pointwise
    return i.layout in (PYTORCHS, "NGCW/GKCX/NGKW", "NGCDHW/GKCZYX/NGKDHW") and tile == (64, 128) and i.pointwise


def is_default_depthwise(i: Instance) -> bool:
    """True for instances of backward weight that set default has for one and three dimensions."""
    first = i.layout in ("NGCW/GKCX/NGKW", "NGCDHW/GKCZYX/NGKDHW")
    tile = (7, 1) if first else (7, 64) if i.ndim == 1 else (3, 64)
    if i.layout == "NGCDHW/GKCZYX/NGKDHW" and (i.m_per_block, i.n_per_block) == (3, 1):
        return True
    own = first or i.layout in ("NWGC/GKXC/NWGK", "NDHWGC/GKZYXC/NDHWGK")
    return own and i.dtype in ("f16", "bf16", "f32") and (i.m_per_block, i.n_per_block, i.stages) == (*tile, 1)


LAST_OF_OTHER_DIMENSIONS = ("NWGC/GKXC/NWGK", "NDHWGC/GKZYXC/NDHWGK")
TILES_OF_PYTORCHS = ((128, 128), (64, 64), (16, 32))


def test_the_default_set_has_all_wavelets_all_generics_and_xdl_for_2d() -> None:
    expansion = default_expansion()
    expected = [
        i.name
        for i in usual_instances_of(BWD_WEIGHT)
        if i.function == "PassThrough"
        if i.family == "wavelet"
        or i.generic
        or (i.family == "xdl" and i.layout == NHWGC and not is_ck_row(i))
        or is_usual_tile(i)
        or is_default_two_stage(i)
        or (i.layout == PYTORCHS and (i.m_per_block, i.n_per_block) in TILES_OF_PYTORCHS and not i.uses_tma)
        or (i.family == "depthwise" and i.layout in (NHWGC, PYTORCHS) and i.dtype in ("f16", "bf16", "f32"))
        or (i.family == "xdl" and (is_default_narrow(i) or is_default_exchange(i) or is_default_half(i)))
        or (i.family == "depthwise" and is_default_depthwise(i))
    ]
    weights = {i.name for i in usual_instances_of(BWD_WEIGHT) if i.function == "PassThrough"}
    assert [name for name in expansion.sets["default"] if name in weights] == expected
    plain = {i.layout for i in usual_instances_of(BWD_DATA) if i.generic and i.name in expansion.sets["default"]}
    assert plain == set(OPERATIONS[BWD_DATA].layouts)


def test_names_are_unique_and_sets_keep_the_files_order() -> None:
    expansion = default_expansion()
    names = [instance.name for instance in expansion.instances]
    assert len(set(names)) == len(names)
    assert list(expansion.provenance) == names
    for members in expansion.sets.values():
        assert list(members) == [name for name in names if name in frozenset(members)]


def test_the_last_axis_varies_fastest() -> None:
    made = expand_groups({**XDL, "dtype": ["f16", "f32"], "tile": ["128x128", "64x64"], "stages": [1, 2]}).instances
    assert [(i.dtype, i.m_per_block, i.stages) for i in made] == [
        ("f16", 128, 1),
        ("f16", 128, 2),
        ("f16", 64, 1),
        ("f16", 64, 2),
        ("f32", 128, 1),
        ("f32", 128, 2),
        ("f32", 64, 1),
        ("f32", 64, 2),
    ]


@settings(max_examples=30)
@given(
    st.sets(st.sampled_from(WEIGHT_LAYOUTS), min_size=1),
    st.sets(st.sampled_from(tuple(DTYPES)), min_size=1),
    st.sets(st.sampled_from(tuple(CONV_SPECS)), min_size=1),
    st.sets(st.sampled_from(("128x128", "128x64", "64x128", "64x64")), min_size=1),
    st.sets(st.sampled_from((1, 2)), min_size=1),
)
def test_a_group_stands_for_the_product_of_its_axes(
    layouts: set[str], dtypes: set[str], conv_specs: set[str], tiles: set[str], stages: set[int]
) -> None:
    axes: dict[str, set[Any]] = {"layout": layouts, "dtype": dtypes, "conv_spec": conv_specs}
    axes |= {"tile": tiles, "stages": stages}
    made = expand_groups({**XDL, **{axis: sorted(values) for axis, values in axes.items()}}).instances
    assert len({instance.name for instance in made}) == len(made) == math.prod(map(len, axes.values()))


def test_include_adds_and_its_keys_replace_the_groups() -> None:
    group = {**XDL, "dtype": ["f16", "bf16"], "include": [{"tile": "64x64", "dtype": "f32"}, {"stages": 2}]}
    made = expand_groups(group).instances
    assert [(i.dtype, i.m_per_block, i.stages) for i in made] == [
        ("f16", 128, 1),
        ("bf16", 128, 1),
        ("f32", 64, 1),
        ("f16", 128, 2),
        ("bf16", 128, 2),
    ]


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ([{"dtype": "f16"}], 4),
        ([{"dtype": "f16", "tile": "64x64"}], 6),
        ([{"dtype": ["f16", "f32"], "tile": "64x64"}, {"stages": 2}], 2),
        ([{"tile": "64x64x32"}], 6),
        ([{"block_size": 256, "tile": "64x64"}], 4),
        ([{"k_per_block": 16}], 4),
        ([{"vector": {"a": 4}, "dtype": "f16"}], 6),
        ([{"m_per_xdl": 32, "conv_spec": "Default", "layout": NHWGC, "stages": 1}], 4),
    ],
)
def test_exclude_takes_out_what_matches_every_key(exclude: list[dict[str, Any]], left: int) -> None:
    group = {
        **XDL,
        "dtype": ["f16", "f32"],
        "tile": ["128x128", "64x64"],
        "stages": [1, 2],
        "exclude": exclude,
    }
    expansion = expand_groups(group)
    assert len(expansion.instances) == left
    assert len(expansion.removed) == 8 - left
    assert all(removed.reason.startswith("excluded at instances.yaml:") for removed in expansion.removed)


def test_exclude_by_wave_ratio_and_include_is_not_excluded() -> None:
    group = {
        **WAVELET,
        "tile": "64x64",
        "wave_ratio": [[4, 4], [4, 2]],
        "exclude": [{"wave_ratio": [4, 2]}],
        "include": [{"wave_ratio": [4, 2], "dtype": "bf16"}],
    }
    assert [(i.math_waves, i.dtype) for i in expand_groups(group).instances] == [(4, "f16"), (2, "bf16")]


def test_skip_leaves_out_what_breaks_rules_and_remembers_why() -> None:
    expansion = expand_groups({**XDL, "k_per_block": [32, 20], "invalid": "skip"})
    assert [instance.k_per_block for instance in expansion.instances] == [32]
    removed = expansion.removed[0]
    assert [violation.rule.id for violation in removed.violations] == ["k-per-block-step"]
    assert "k_per_block 20 is not a multiple of 16" in removed.reason


def test_defaults_of_the_family_win_over_those_for_all() -> None:
    defaults = {"dtype": "f16", "stages": 2, "xdl": {"dtype": "bf16"}, "wavelet": {"tile": "64x64"}}
    bare = {key: value for key, value in XDL.items() if key != "dtype"}
    wavelet = {key: value for key, value in WAVELET.items() if key not in ("dtype", "tile")}
    made = expand_groups(bare, wavelet, defaults=defaults).instances
    assert [(i.family, i.dtype, i.m_per_block, i.stages) for i in made] == [
        ("xdl", "bf16", 128, 2),
        ("wavelet", "f16", 64, 2),
    ]


def test_a_tile_may_bring_its_own_k_and_block_size() -> None:
    tiles = ["128x128x64", {"m_per_block": 64, "n_per_block": 64, "block_size": 64}]
    made = expand_groups({**XDL, "tile": tiles, "block_size": 256} | {"tile": tiles[:1]}).instances
    assert made[0].k_per_block == 64
    bare = {key: value for key, value in XDL.items() if key != "block_size"}
    made = expand_groups({**bare, "tile": tiles[1:]}, defaults={"block_size": [128, 256]}).instances
    assert [(i.math_waves, i.k_per_block) for i in made] == [(1, 32)]


@pytest.mark.parametrize(
    ("dtype", "tile", "vector", "expected"),
    [
        ("f16", "128x128", "full", (8, 8, 8)),
        ("f32", "128x128", "full", (4, 4, 4)),
        ("bf16_f32_bf16", "128x128", "full", (8, 8, 4)),
        ("f16", "128x64", "full", (8, 4, 8)),
        ("f16", "128x128", "small", (2, 2, 2)),
        ("bf16_f32_bf16", "128x128", "small", (1, 1, 1)),
        ("f16", "128x128", {"a": "small", "c": 4}, (2, 8, 4)),
    ],
)
def test_vectors_by_rule(dtype: str, tile: str, vector: Any, expected: tuple[int, int, int]) -> None:
    made = expand_groups({**XDL, "dtype": dtype, "tile": tile, "vector": vector}).instances[0]
    assert (made.a_vector, made.b_vector, made.c_vector) == expected


def test_k_and_stages_by_rule() -> None:
    f32, wide, narrow = expand_groups(
        {**XDL, "dtype": "f32"}, WAVELET, {**WAVELET, "name": "narrow", "tile": "64x64"}
    ).instances
    assert (f32.k_per_block, f32.stages) == (16, 1)
    assert (wide.k_per_block, wide.stages, narrow.stages) == (32, 2, 4)


def test_archs_by_rule_and_by_hand() -> None:
    large = {**WAVELET, "tile": "128x128x64", "stages": 4}
    assert expand_groups(large).instances[0].archs == ("gfx950",)
    assert expand_groups({**XDL, "archs": ["gfx942"]}).instances[0].archs == ("gfx942",)
    with pytest.raises(CkgenError, match="131072 bytes of LDS, gfx90a has 65536"):
        expand_groups({**large, "archs": ["gfx90a", "gfx950"]})


def test_sets_add_up_groups_and_lines_and_see_the_sets_above() -> None:
    expansion = expand_groups(
        {**XDL, "sets": "mine"},
        {**XDL, "name": "b", "dtype": ["bf16", "f32"]},
        sets={"mine": ["dtype=f32"], "both": ["set=mine dtype=f32", "dtype=bf16"]},
    )
    dtypes = {instance.name: instance.dtype for instance in expansion.instances}
    found = {name: [dtypes[member] for member in members] for name, members in expansion.sets.items()}
    everything = ["f16", "bf16", "f32"]
    assert found == {
        "mine": ["f16", "f32"],
        "both": ["bf16", "f32"],
        "default": everything,
        "full": everything,
    }


def test_every_value_has_a_place_or_a_rule() -> None:
    expansion = default_expansion()
    lines = (ROOT / "instances.yaml").read_text(encoding="utf-8").splitlines()
    for instance in expansion.instances[::17]:
        origins = expansion.provenance[instance.name].origins(instance)
        assert {origin.field for origin in origins} >= {
            "family",
            "layout",
            "dtype",
            "m_per_block",
            "a_vector",
        }
        for origin in origins:
            assert origin.place is not None or origin.how.startswith(("by rule", f"{instance.family}: "))
            if origin.field in ("layout", "dtype", "conv_spec") and origin.place is not None:
                line = lines[origin.place.line - 1][origin.place.column - 1 :]
                assert line.startswith(str(origin.value))


def test_a_choice_knows_who_made_it() -> None:
    expansion = default_expansion()
    instance = next(i for i in expansion.instances if i.family == "xdl" and i.a_vector == 2 and i.b_vector == 8)
    provenance = expansion.provenance[instance.name]
    assert provenance.group == "xdl-small-vectors"
    sources = {choice.axis: choice.source for choice in provenance.choices}
    assert sources["tile"] == "an include of group `xdl-small-vectors`"
    assert sources["layout"] == "the defaults"
    assert set(sources) <= {*AXES, "archs"}


def test_the_product_is_refused_before_it_is_made() -> None:
    huge = {**XDL, "k_per_block": list(range(1, 1001)), "tile": [f"{n}x64" for n in range(1, 1001)]}
    with pytest.raises(CkgenError) as caught:
        expand_groups(huge)
    assert [diagnostic.rule for diagnostic in caught.value.diagnostics] == ["product-size"]


def test_one_cause_is_told_once_with_a_change_that_works() -> None:
    group = {**XDL, "layout": list(CHANNELS_LAST_LAYOUTS), "k_per_block": [20, 32], "conv_spec": list(CONV_SPECS)}
    with pytest.raises(CkgenError) as caught:
        expand_groups(group)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "k-per-block-step"
    assert "and 11 more of group `a`" in diagnostic.notes[-1]
    assert diagnostic.help == "k_per_block 16 or 32 would satisfy every rule"


def test_expansion_does_not_depend_on_hash_seeds_or_repetition() -> None:
    first = expand_groups(XDL, WAVELET)
    second = expand_groups(XDL, WAVELET)
    assert [i.name for i in first.instances] == [i.name for i in second.instances]
    assert dict(first.sets) == dict(second.sets)
