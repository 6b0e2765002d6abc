"""Tests of instances: names are unique and can be parsed back; derived values match the kernels and CK's rows."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.registry import DERIVED_NAMES, FAMILIES
from ckgen.instance.instance import (
    CONV_SPECS,
    FIELD_NAMES,
    Instance,
    derived,
    parse,
    primary,
)
from ckgen.operations.operation import BWD_DATA, OPERATIONS, Operation
from tests.support.specs import default_expansion, instance

NUMBERS = st.integers(1, 999)
FUNCTIONS = st.from_regex(r"[A-Z][A-Za-z0-9]*", fullmatch=True)


def _instances(operation: Operation) -> st.SearchStrategy[Instance]:
    return st.builds(
        Instance,
        family=st.sampled_from(tuple(FAMILIES)),
        layout=st.sampled_from(operation.layouts),
        dtype=st.sampled_from(operation.dtypes),
        conv_spec=st.sampled_from(tuple(CONV_SPECS)),
        m_per_block=NUMBERS,
        n_per_block=NUMBERS,
        k_per_block=NUMBERS,
        m_per_xdl=st.sampled_from((16, 32, 64)),
        load_waves=st.integers(0, 8),
        math_waves=st.integers(1, 8),
        a_vector=st.integers(1, 16),
        b_vector=st.integers(1, 64),
        c_vector=st.integers(1, 16),
        stages=st.integers(1, 4),
        generic=st.booleans(),
        operation=st.just(operation.name),
        groups_to_merge=st.integers(1, 32),
        exchange=st.booleans(),
        cluster=st.integers(1, 4),
        function=FUNCTIONS,
    )


INSTANCES = st.sampled_from(tuple(OPERATIONS.values())).flatmap(_instances)


def test_a_name() -> None:
    wavelet = instance(family="wavelet", load_waves=4, a_vector=4, b_vector=4, c_vector=2, stages=2)
    assert wavelet.name == (
        "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v4x4x2_s2"
    )
    assert wavelet.add_function == "add_device_grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_instances"
    pointwise = instance(conv_spec="Filter1x1Stride1Pad0", dtype="bf16_f32_bf16")
    assert pointwise.add_function.endswith("_xdl_nhwgc_gkyxc_nhwgk_bf16_f32_bf16_1x1s1p0_instances")
    assert instance(generic=True).name.endswith("_v8x8x8_s1_generic")
    assert instance(cluster=2, generic=True).name.endswith("_v8x8x8_s1_c2_generic")
    assert instance(groups_to_merge=4, exchange=True, cluster=2).name.endswith("_v8x8x8_s1_m4_exchange_c2")


def test_a_name_of_backward_data() -> None:
    """CK lists the layout of the output first for backward data, and names functions after the family."""
    plain = instance(operation=BWD_DATA, layout="NHWGK/GKYXC/NHWGC")
    assert plain.name == "grouped_conv2d_bwd_data_xdl_nhwgk_gkyxc_nhwgc_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1"
    assert plain.add_function == "add_device_grouped_conv2d_bwd_data_xdl_nhwgk_gkyxc_nhwgc_f16_instances"
    volume = instance(operation=BWD_DATA, layout="NDHWGK/GKZYXC/NDHWGC", dtype="bf16", function="Bilinear")
    assert volume.add_function == "add_device_grouped_conv3d_bwd_data_xdl_bilinear_ndhwgk_gkzyxc_ndhwgc_bf16_instances"
    assert (
        "_xdl_scaled_residual_ngkhw_gkyxc_ngchw_"
        in replace(plain, function="ScaledResidual", layout="NGKHW/GKYXC/NGCHW").name
    )


@given(INSTANCES)
def test_names_round_trip(given_instance: Instance) -> None:
    assert parse(given_instance.name) == given_instance
    assert parse(given_instance.name).name == given_instance.name


@given(INSTANCES, INSTANCES)
def test_different_instances_have_different_names(a: Instance, b: Instance) -> None:
    assert (a.name == b.name) == (a == b)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "grouped_conv2d",
        "grouped_conv3d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_0128x128x32_w0x4_xdl32_v8x8x8_s1",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_gkyxc_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1_",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1_c1",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1_c2_exchange",
        "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s\u0661",
    ],
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of an instance"):
        parse(name)


def test_archs_are_no_part_of_the_identity() -> None:
    assert instance(archs=("gfx942",)) == instance()
    assert hash(instance(archs=("gfx942",))) == hash(instance())
    assert "archs" not in FIELD_NAMES


def test_instances_are_frozen_and_keep_their_name_right() -> None:
    with pytest.raises(FrozenInstanceError):
        instance().stages = 2  # type: ignore[misc]
    assert replace(instance(), stages=2).name == instance(stages=2).name


def test_fields_and_derived_values_by_name() -> None:
    assert list(primary(instance())) == list(FIELD_NAMES)
    values = derived(instance())
    assert list(values) == list(FAMILIES["xdl"].formulas.names) == list(FAMILIES["wavelet"].formulas.names)
    assert set(DERIVED_NAMES) == {name for family in FAMILIES.values() for name in family.formulas.names}
    assert all(type(value) is int for value in values.values())


def test_derived_values_of_a_wavelet() -> None:
    """128x128, four load and four math waves: CK's cluster [4, 32, 2], 2x2 atoms per wave, 512 threads."""
    wavelet = instance(family="wavelet", load_waves=4, a_vector=4, b_vector=4, c_vector=2, stages=2)
    expected = {
        "copy_threads": 256,
        "block_size": 256,
        "launch_threads": 512,
        "m_waves": 2,
        "m_xdl_per_wave": 2,
        "n_xdl_per_wave": 2,
        "k_step": 16,
        "acc_registers": 64,
        "a_elems": 16,
        "a_dst_vector": 4,
        "a_slices": 1,
        "a_pad": 0,
        "lds_stage_bytes": 16384,
        "epilogue_rows": 16,
        "lds_epilogue_bytes": 16384,
        "lds_bytes": 32768,
        "vgpr_estimate": 64 + 32 + 48,
        "vgpr_budget": 256,
    }
    assert {name: derived(wavelet)[name] for name in expected} == expected


def test_derived_values_of_hoppers_wavelet() -> None:
    """128x256 with 64 positions per step: two math warpgroups, 128 accumulators per thread, 48 KiB per stage."""
    tma = parse("grouped_conv2d_bwd_weight_wavelet_tma_nhwgc_gkyxc_nhwgk_f16_default_128x256x64_w2x4_xdl64_v8x8x2_s4")
    assert tma.family == "wavelet_tma" and tma.uses_tma and not instance().uses_tma
    assert derived(tma) == {
        "ndim": 2,
        "as_stored": 1,
        "part_buffers": 0,
        "shift_buffers": 0,
        "row_buffers": 0,
        "weight_parts": 1,
        "elem_bytes": 2,
        "c_bytes": 2,
        "block_size": 256,
        "box_columns": 256,
        "launch_threads": 384,
        "acc_registers": 128,
        "lds_stage_bytes": 49152,
        "lds_bytes": 4 * 49152 + 1024 + 4 * 16,
        "lds_store_bytes": 0,
        "lds_beside_stages": 1024,
        "weight_rows": 0,
        "lds_weight_bytes": 0,
        "wave_size": 64,
        "warpgroups": 2,
    }
    stays = parse("grouped_conv2d_bwd_data_stationary_nhwgk_gkyxc_nhwgc_f16_default_64x256x64_w2x4_xdl64_v8x8x8_s6")
    assert (stays.lds_stage_bytes, stays.weight_rows) == (64 * 64 * 2, 256)
    assert stays.lds_weight_bytes == 128 * 1024 + (256 // 16 + 2) * 8
    assert stays.lds_bytes == 6 * (8192 + 16) + 1024 + stays.lds_weight_bytes + 8 * 4096


def test_narrow_tiles_are_padded_and_f32_has_half_the_k() -> None:
    narrow = instance(m_per_block=32, math_waves=1, dtype="f32", k_per_block=16, a_vector=4, b_vector=4, c_vector=4)
    assert (narrow.k1, narrow.k_step, narrow.a_pad, narrow.b_pad) == (4, 8, 0, 0)
    assert instance(m_per_block=32, math_waves=1).a_pad == 4


@pytest.mark.parametrize(
    ("math_waves", "m", "n", "grid"),
    [
        (1, 64, 64, (1, 1)),
        (2, 128, 64, (2, 1)),
        (2, 64, 64, (1, 2)),
        (4, 256, 64, (2, 2)),
        (8, 256, 128, (4, 2)),
    ],
)
def test_wave_grids(math_waves: int, m: int, n: int, grid: tuple[int, int]) -> None:
    made = instance(math_waves=math_waves, m_per_block=m, n_per_block=n)
    assert (made.m_waves, made.n_waves) == grid


def test_the_accumulators_hold_the_tile() -> None:
    for made in default_expansion().instances:
        if made.family == "halo" and made.a_k_major:
            assert made.acc_registers * made.block_size == made.k_per_block * 128 // made.elem_bytes
            continue
        if made.family == "halo":  # all taps of the block's groups, once per share; with 8 channels, ten taps
            taps = 10 if made.n_per_block == 8 else 9
            products = 64 // made.n_per_block * made.m_per_block * made.n_per_block * taps
            assert made.acc_registers * made.block_size == products * made.shares
            continue
        if made.family == "depthwise":  # taps of a sweep for backward weight, else positions
            sums = max(made.m_per_block * made.block_size * made.a_vector, made.k_per_block * made.n_per_block)
            assert made.acc_registers * made.block_size == made.stages * sums
            continue
        if made.family == "depthwise_tma":  # all taps of a part of the filter
            assert made.acc_registers == made.a_vector * made.stages * made.m_per_block
            continue
        if made.family == "warp_split":  # each warp has sums of the whole tile
            assert made.acc_registers * 32 == made.m_per_block * made.n_per_block
            continue
        if made.family == "streaming":
            assert made.acc_registers * made.block_size == made.m_per_block * made.n_per_block
            continue
        tiles = made.warpgroups * made.m_per_xdl // made.m_per_block if made.uses_tma else 1  # ping-pong
        assert made.acc_registers * made.block_size == made.m_per_block * made.n_per_block * tiles
        if made.uses_tma:
            continue
        rows = 1 if made.a_k_major else made.a_vector
        assert made.a_slices * rows * made.a_dst_vector * made.a_copy_threads == made.m_per_block * made.k_per_block
