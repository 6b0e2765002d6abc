"""Test the cost model: its arithmetic by hand, the limiting resource per kernel, and the page about the H200."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ckgen.conv.problem import make_problem
from ckgen.cost.model import (
    bound_of,
    bound_of_row,
    code_sentence,
    groups_of_row,
    roles_of_row,
)
from ckgen.cost.rank import KERNEL_START_S, CodeBook, predict, rank
from ckgen.families import halo_cost
from ckgen.families.registry import FAMILIES
from ckgen.families.tile_cost import Bound, Code, RoleLoad, TileBytes
from ckgen.hardware.compute_units import RATES, Rates
from ckgen.instance.instance import Instance, parse
from ckgen.machine_code.cycles.table import Cycles, CyclesTable, digest_of
from ckgen.machine_code.table import load_table, row_of
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from tests.machine_code.test_table import report
from tests.support.specs import ROOT, instance, instances_of
from tests.support.trees import GENERIC, TMA, WAVELET, XDL

MI300X = RATES["gfx942"]
WAVELET_ROLES = (RoleLoad("math", 3, 0, 16, 46), RoleLoad("load", 123, 0, 0, 168))
LAYER = make_problem(batch=32, k=256, c=256, filter=(3, 3), input=(50, 50), pad=1)


def tile_bound(made: Instance, rates: Rates, roles: Sequence[RoleLoad], groups: int) -> Bound:
    return FAMILIES[made.family].bound(made, rates, roles, groups)


def halo_bound(made: Instance, rates: Rates, strides: tuple[int, int]) -> Bound:
    return halo_cost.bound(made, rates, strides, FAMILIES["halo"].matrix_rate(made.dtype, rates))


def test_the_arithmetic_of_the_page() -> None:
    """Check the example of docs/isa.md: the 128x128x32 f16 wavelet on gfx942."""
    bound = tile_bound(WAVELET, MI300X, WAVELET_ROLES, 2)
    cycles = dict(bound.resources)
    assert cycles["matrix"] == 2 * 128 * 128 * 32 / 2048 == 512
    assert cycles["vector"] == (19 + 123) * 4 * 4 / 4 == 568
    assert cycles["wave"] == 168 * 4 / 2
    assert cycles["lds"] == 4 * (2 + 2) * 32 * 32 * 2 / 128 + 256 * 32 * 2 / 128
    assert cycles["load"] == pytest.approx(256 * 32 * 2 / (2048 / 38))
    assert (bound.limiter, bound.cycles) == ("vector", 568)
    assert bound.fraction == pytest.approx(512 / 568)
    assert str(bound) == "90% vector"


def test_slow_instructions_count_four_times_and_idle_simds_are_no_help() -> None:
    slow = (WAVELET_ROLES[0], RoleLoad("load", 123, 10, 0, 168))
    assert dict(tile_bound(WAVELET, MI300X, slow, 2).resources)["vector"] == 568 + 10 * 3 * 4
    one_wave = instance(m_per_block=32, n_per_block=64, math_waves=1)
    alone, many = (dict(tile_bound(one_wave, MI300X, (), groups).resources)["matrix"] for groups in (1, 8))
    assert alone == 4 * many


def test_bytes_of_a_tile() -> None:
    assert FAMILIES[XDL.family].tile_bytes(XDL) == TileBytes(4 * 4 * 32 * 32 * 2, 256 * 32 * 2, 256 * 32 * 2)
    assert FAMILIES[TMA.family].tile_bytes(TMA) == TileBytes((128 + 2 * 256) * 64 * 2, 384 * 64 * 2, 384 * 64 * 2)


def test_rates_of_matrix_instructions() -> None:
    assert FAMILIES[XDL.family].matrix_rate(XDL.dtype, MI300X) == 512
    assert FAMILIES[TMA.family].matrix_rate(TMA.dtype, RATES["sm_90a"]) == 1024
    assert FAMILIES[XDL.family].matrix_rate(XDL.dtype, RATES["sm_90a"]) == 644
    assert FAMILIES[GENERIC.family].matrix_rate(GENERIC.dtype, RATES["sm_90a"]) == 107  # three products of tf32
    assert FAMILIES["depthwise"].matrix_rate("f32", RATES["sm_90a"]) == 64  # multiply-adds


def test_a_row_of_a_table_gives_what_the_report_gave() -> None:
    """With made-up numbers: four waves per SIMD are two workgroups of eight waves."""
    made = report(WAVELET.name)
    row = row_of(made)
    assert roles_of_row(row, WAVELET) == WAVELET_ROLES[:1] + (RoleLoad("load", 123, 4, 0, 168),)
    assert groups_of_row(row, WAVELET, "gfx942") == 2
    assert bound_of_row(row, WAVELET, "gfx942") == bound_of(made, WAVELET)
    assert bound_of_row(row, GENERIC, "gfx1100") is None
    sentence = code_sentence(row, WAVELET, "gfx942")
    assert "88 vector registers, 4 waves per SIMD, 0.19 VALU per matrix" in sentence and "123 VALU per tile" in sentence


def book(arch: str = "gfx942") -> CodeBook:
    table = load_table(ROOT / "docs" / "isa", "gfx942")
    assert table is not None
    return CodeBook(arch, table)


def test_a_prediction_is_the_busiest_units_time() -> None:
    """One tile of the output for each of 18 x 2 workgroups: one workgroup per compute unit, 2500 tiles of GEMM-K."""
    code = Code(WAVELET_ROLES, 2)
    made = predict(WAVELET, LAYER, 1, code, MI300X)
    cycles = tile_bound(WAVELET, MI300X, WAVELET_ROLES, 1).cycles
    write = 128 * 128 * 2 / MI300X.load_bytes
    assert made.unit_seconds == pytest.approx((2500 * cycles + MI300X.start_cycles + write) / MI300X.clock_hz)
    assert made.seconds == pytest.approx(made.unit_seconds + KERNEL_START_S)
    assert made.memory_seconds == pytest.approx(LAYER.compulsory_bytes("f16") / MI300X.memory_bytes_per_s)
    split = predict(WAVELET, LAYER, 8, code, MI300X)
    assert split.unit_seconds < made.unit_seconds / 4 and split.memory_seconds > made.memory_seconds


def test_simulated_cycles_slow_a_family_down() -> None:
    """The slowdown of the nearest simulated instance of the same family counts; another family has none."""
    plain = book()
    table = load_table(ROOT / "docs" / "isa", "gfx942")
    assert table is not None
    known = next(parse(name) for name in table.rows if "_wavelet_nhwgc" in name and "f16_default_128x128x32" in name)
    bound = bound_of_row(table.rows[known.name], known, "gfx942")
    assert bound is not None
    row = Cycles(known.name, digest_of(table.rows[known.name]), 2, 1.5 * bound.cycles, 2 * bound.cycles)
    slowed = CodeBook("gfx942", table, CyclesTable("gfx942", table.compiler, {known.name: row}))
    other = next(i for i in instances_of(BWD_WEIGHT) if i.family == "wavelet" and i.name not in table.rows)
    for one, factor in ((known, 1.5), (other, 1.5), (XDL, 1.0)):
        assert slowed.code_of(one).slowdown == pytest.approx(factor)
        assert plain.code_of(one).slowdown == 1.0
    before, after = (predict(known, LAYER, 1, which.code_of(known), MI300X) for which in (plain, slowed))
    start = (MI300X.start_cycles + 128 * 128 * 2 / MI300X.load_bytes) / MI300X.clock_hz
    assert after.unit_seconds - start == pytest.approx(1.5 * (before.unit_seconds - start))
    stale = replace(row, code="0" * 12)
    again = CodeBook("gfx942", table, CyclesTable("gfx942", table.compiler, {known.name: stale}))
    assert again.code_of(known).slowdown == 1.0


def test_halos_tile_by_hand() -> None:
    """16 channels per group: 64 positions, 4 warps of 16 channels each 4 times, nine taps by two blocks of 8
    columns."""
    halo = next(i for i in instances_of(BWD_WEIGHT) if i.family == "halo" and i.n_per_block == 16 and i.dtype == "f16")
    assert (halo.k_per_block, halo.units, halo.shares, halo.m_per_block) == (16 * halo.shares, 4, halo.shares, 16)
    rates, warps = RATES["sm_90a"], 4 * halo.shares
    cycles = dict(halo_bound(halo, rates, (1, 1)).resources)
    assert cycles["matrix"] == pytest.approx(warps * 9 * 2 * 4096 / (4 * 644))
    copied = halo.k_per_block * (128 + 128)
    assert cycles["lds"] == pytest.approx(warps * (9 + 1) * 512 / 128 + copied / 128)
    assert cycles["load"] == pytest.approx(copied / 64)
    strided = dict(halo_bound(halo, rates, (2, 2)).resources)
    assert strided["load"] == pytest.approx(halo.k_per_block * (4 * 128 + 128) / 64)
    assert strided["matrix"] == cycles["matrix"]


def test_halo_takes_groups_and_taps_together_and_rows_as_wide_as_taps_reach() -> None:
    halo = next(i for i in instances_of(BWD_WEIGHT) if i.family == "halo" and i.n_per_block == 16 and i.dtype == "f16")
    layer = make_problem(groups=32, batch=32, k=16, c=16, filter=(3, 3), input=(50, 50), pad=1)
    assert halo_cost.workgroups(halo, layer) == 32 * 16 / 64
    assert halo_cost.tiles(halo, layer, 4) == -(-32 * 50 * (50 + 2) // halo.k_per_block // 4)
    rates = RATES["sm_90a"]
    one, split = (predict(halo, layer, split_k, Code((), 1), rates) for split_k in (1, 16))
    bound = halo_bound(halo, rates, (1, 1)).cycles
    cycles = halo_cost.tiles(halo, layer, 1) * bound + rates.start_cycles + 64 * 16 * 9 * 2 / rates.load_bytes
    assert one.unit_seconds == pytest.approx(cycles / rates.clock_hz)
    assert split.unit_seconds < one.unit_seconds / 8


def test_splitting_pays_where_tiles_do_not_fill_the_gpu() -> None:
    small = replace(LAYER, input=(200, 200), k=64, c=16)
    (first,) = rank([WAVELET], small, book())
    assert first.split_k > 1
    assert [p.split_k for p in rank([WAVELET], small, book(), split_ks=(1,))] == [1]


def test_large_tiles_win_on_large_layers_and_every_instance_can_be_ranked() -> None:
    large = replace(LAYER, k=1024, c=1024)
    every = [i for i in instances_of(BWD_WEIGHT) if i.dtype == "f16" and i.ndim == 2 and book().arch in i.archs]
    instances = [i for i in every if not i.uses_tma and not i.pointwise and FAMILIES[i.family].takes(i, large)]
    ranked = rank(instances, large, book())
    assert len(ranked) == len(instances) and list(ranked) == sorted(ranked, key=lambda p: p.seconds)
    assert ranked[0].instance.m_per_block * ranked[0].instance.n_per_block >= 128 * 64
    assert ranked[-1].instance.generic or ranked[-1].instance.a_vector <= 2
    assert all(p.seconds >= LAYER.flops / (304 * 2048 * 2.1e9) for p in ranked)


def test_the_smallest_sweep_that_has_the_taps_wins_where_memory_limits() -> None:
    """Instances of family depthwise on groups of one channel: each has a row of taps at once, or those of a sweep."""
    layer = replace(LAYER, groups=256, k=1, c=1, filter=(3, 3))
    every = [i for i in instances_of(BWD_WEIGHT) if i.dtype == "f16" and i.ndim == 2 and not i.pointwise]
    taken = [i for i in every if FAMILIES[i.family].takes(i, layer) and not i.uses_tma]
    best = rank(taken, layer, book())[0].instance
    assert (best.family, best.m_per_block, best.stages) == ("depthwise", 3, 3)


def depthwise(stages: int, taps: int = 3, positions: int = 128) -> Instance:
    data = Instance("depthwise", "NHWGK/GKYXC/NHWGC", "f16", "Default", 3, 8, 128, 1, 0, 4, 1, 1, 1, 1)
    return replace(data, operation=BWD_DATA, m_per_block=taps, k_per_block=positions, stages=stages)


@pytest.mark.parametrize(
    ("made", "fields", "passes"),
    [
        (depthwise(1), {"filter": (3, 3), "pad": 1}, 3),
        (depthwise(3), {"filter": (3, 3), "pad": 1}, 1),
        (depthwise(1), {"filter": (3, 3), "pad": 1, "k": 2}, 6),  # each output channel has taps of its own
        (depthwise(1), {"filter": (64, 1)}, 1),  # the output has one row: a row of the input meets one tap
        (depthwise(1, positions=1024), {"filter": (64, 1)}, 8),  # and eight rows of 128 meet eight
        (depthwise(1), {"filter": (64, 128)}, 43),  # and all positions of a row all taps of a row
        (depthwise(1), {"filter": (7, 7), "pad": 3, "stride": 2}, 4 * 2),  # every other tap reaches a position
        (depthwise(1), {"filter": (3, 3), "stride": 2, "dilation": 2}, 3 / 4),  # one position in four has taps
    ],
)
def test_backward_data_of_depthwise_multiplies_the_taps_that_meet_the_output(
    made: Instance, fields: dict[str, Any], passes: float
) -> None:
    layer = make_problem(**{"groups": 8, "batch": 4, "k": 1, "c": 1, "input": (64, 128), **fields})
    work = FAMILIES["depthwise"].work(made, layer, 1, Code((), 1), MI300X)
    assert work.tiles * MI300X.units == pytest.approx(4 * 64 * 128 / made.k_per_block * passes)


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"filter": (3, 3)}, True),
        ({"filter": (4, 3)}, False),
        ({"filter": (3, 4)}, False),
        ({"filter": (6, 5), "stride": 2}, True),
        ({"filter": (3, 3), "k": 200}, False),  # more weights than LDS holds
    ],
)
def test_a_sweep_takes_the_filters_that_it_has_sums_for(fields: dict[str, Any], taken: bool) -> None:
    layer = make_problem(**{"groups": 8, "k": 1, "c": 1, "input": (64, 128), **fields})
    assert FAMILIES["depthwise"].takes(depthwise(3), layer) == taken
    assert FAMILIES["depthwise"].takes(depthwise(1), layer)


@pytest.mark.parametrize(("stride", "dilation", "taken"), [(1, 2, True), (2, 2, True), (2, 1, False)])
def test_a_sweep_of_backward_weight_needs_neighbouring_taps(stride: int, dilation: int, taken: bool) -> None:
    sweep = replace(depthwise(3), layout="NHWGC/GKYXC/NHWGK", operation=BWD_WEIGHT)
    layer = make_problem(groups=8, k=1, c=1, input=(64, 128), filter=(3, 3), stride=stride, dilation=dilation)
    assert FAMILIES["depthwise"].takes(sweep, layer) == taken


def test_code_that_is_not_in_the_table_is_scaled_from_the_nearest() -> None:
    """Three loads per thread instead of four reduce the address arithmetic in proportion; matrix instructions follow
    the tile."""
    small = replace(XDL, m_per_block=64)
    known, other = book().code_of(XDL), book().code_of(small)
    (main,), (scaled,) = known.roles, other.roles
    assert (main.matrix, scaled.matrix) == (16, 8)
    assert scaled.valu / main.valu == pytest.approx(3 / 4)
    assert book("sm_90a").code_of(TMA) == Code((), 1)
    assert book("sm_90a").code_of(XDL).roles[0].matrix == 128 * 128 * 32 / 2048 / 8


def test_the_page_about_the_h200_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("cost_model_bench", ROOT / "bench" / "cost_model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    points = module.load_points(module.ROWS)
    assert module.page(points, module.ROWS) == (ROOT / "docs" / "cost_model_h200.md").read_text(encoding="utf-8")
    assert len(points) > 1000
