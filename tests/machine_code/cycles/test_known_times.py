"""Kernels whose cycles follow from AMD's documents or from published measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.hardware.timing import TIMINGS
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.machine_code.cycles.wave import (
    BARRIER_OPEN,
    LDS_BUSY,
    MATRIX_BUSY,
    MATRIX_RESULT,
    MEMORY_BUSY,
    RESULT,
    WAITS,
    Wave,
)
from tests.machine_code.cycles.kernels import execute, traced

pytestmark = pytest.mark.compiles

MFMA = {"gfx90a": "v_mfma_f32_32x32x8f16", "gfx942": "v_mfma_f32_32x32x8_f16", "gfx950": "v_mfma_f32_32x32x16_f16"}
CYCLES = {"gfx90a": 64, "gfx942": 32, "gfx950": 32}  # 16, 8 and 8 passes of 4 cycles: the ISA manuals
POINTER = ["s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)"]


def times(wave: Wave, word: str) -> list[int]:
    """When a wave issued the instructions whose text has a word."""
    return [at for (operation, _), at in zip(wave.record, wave.issued, strict=True) if word in operation.text]


def between(wave: Wave, word: str) -> set[int]:
    """The cycles between them."""
    found = times(wave, word)
    return {after - before for before, after in zip(found, found[1:], strict=False)}


def stalled(wave: Wave, reason: str) -> int:
    return sum(stall.cycles for stall in wave.stalls if stall.reason == reason)


def waves(unit: ComputeUnit) -> list[Wave]:
    return unit.groups[0].waves


def registers(arch: str) -> tuple[str, str]:
    return ("v[0:3]", "v[4:7]") if arch == "gfx950" else ("v[0:1]", "v[4:5]")


@pytest.mark.parametrize("arch", MFMA)
def test_accumulating_matrix_instructions_follow_each_other(arch: str, tmp_path: Path) -> None:
    a, b = registers(arch)
    unit = execute(tmp_path, arch, [f"{MFMA[arch]} v[16:31], {a}, {b}, v[16:31]"] * 10).simulate()
    assert between(waves(unit)[0], "mfma") == {CYCLES[arch]}
    assert sum(unit.matrix_busy) == 10 * CYCLES[arch]


@pytest.mark.parametrize("arch", MFMA)
def test_a_product_of_a_product_waits_for_it(arch: str, tmp_path: Path) -> None:
    """The compiler must put passes + 3 (gfx950: + 4) wait states of 4 cycles between the two."""
    _, b = registers(arch)
    a = "v[16:19]" if arch == "gfx950" else "v[16:17]"
    unit = execute(tmp_path, arch, [f"{MFMA[arch]} v[16:31], {a}, {b}, 0"] * 5).simulate()
    assert between(waves(unit)[0], "mfma") == {CYCLES[arch] + (20 if arch == "gfx950" else 16)}
    assert stalled(waves(unit)[0], MATRIX_RESULT) > 0


def test_independent_matrix_instructions_fill_the_matrix_unit(tmp_path: Path) -> None:
    lines = [
        f"{MFMA['gfx942']} v[{16 * k}:{16 * k + 15}], v[0:1], v[4:5], v[{16 * k}:{16 * k + 15}]" for k in (1, 2, 3)
    ]
    one, five = (execute(tmp_path, "gfx942", lines * 4, waves=count).simulate() for count in (1, 5))
    assert between(waves(one)[0], "mfma") == {32}
    # Waves 0 and 4 share a SIMD: its matrix unit has twice the work, that of the others does not.
    first, last = (times(waves(five)[at], "mfma") for at in (0, 4))
    assert max(first[-1], last[-1]) - min(first[0], last[0]) == 23 * 32
    assert stalled(waves(five)[4], MATRIX_BUSY) > 0 and times(waves(five)[1], "mfma")[-1] == 11 * 32 + 1


def test_vector_instructions_run_beside_a_matrix_instruction_unless_its_inputs_are_f32(tmp_path: Path) -> None:
    additions = [f"v_add_u32 v{60 + k}, v40, v41" for k in range(7)]
    for text, cycles in (
        ("v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[4:5], 0", 32),
        ("v_mfma_f32_32x32x2_f32 v[16:31], v0, v4, 0", 64),
    ):
        unit = execute(tmp_path, "gfx942", [text, *additions, text]).simulate()
        matrix, vector = times(waves(unit)[0], "mfma"), times(waves(unit)[0], "add")
        beside = cycles == 32
        assert vector[0] - matrix[0] == (4 if beside else 64)
        assert matrix[1] - matrix[0] == (32 if beside else 64 + 7 * 4)


@pytest.mark.parametrize(("arch", "chain", "apart"), [("gfx942", 4, 4), ("gfx1100", 5, 1)])
def test_vector_instructions(arch: str, chain: int, apart: int, tmp_path: Path) -> None:
    name = "v_add_u32" if arch == "gfx942" else "v_add_nc_u32"
    dependent = execute(tmp_path, arch, [f"{name} v1, v1, v1"] * 8).simulate()
    independent = execute(tmp_path, arch, [f"{name} v{k}, v0, v0" for k in range(1, 9)]).simulate()
    assert between(waves(dependent)[0], "add") == {chain}
    assert between(waves(independent)[0], "add") == {apart}
    assert (stalled(waves(dependent)[0], RESULT) > 0) == (chain > apart)


@pytest.mark.parametrize(("shift", "width", "cycles"), [(2, 32, 8), (4, 128, 20)])
def test_stores_to_lds_take_the_published_time(shift: int, width: int, cycles: int, tmp_path: Path) -> None:
    """ROCm Compute Profiler, "Local data share": a store of 64 times 4 bytes takes 8 cycles, of 16 bytes 20."""
    data = "v2" if width == 32 else "v[4:7]"
    lines = [f"v_lshlrev_b32 v1, {shift}, v0", *[f"ds_write_b{width} v1, {data}"] * 6]
    assert between(waves(execute(tmp_path, "gfx942", lines).simulate())[0], "ds_write") == {cycles}


def test_a_loop_of_lds_reads_runs_at_the_bandwidth_of_lds(tmp_path: Path) -> None:
    """128 bytes per cycle: 4 waves x 32 reads x 1024 bytes in 1024 cycles, and the latency of the last."""
    lines = ["v_lshlrev_b32 v1, 4, v0", *(f"ds_read_b128 v[{4 + k % 8 * 4}:{7 + k % 8 * 4}], v1" for k in range(32))]
    unit = execute(tmp_path, "gfx942", [*lines, "s_waitcnt lgkmcnt(0)"], waves=4).simulate()
    assert 1024 <= unit.end <= 1024 + 80
    assert unit.lds.busy == 1024 and unit.lds.conflicts == 0
    assert all(stalled(wave, WAITS[2]) > 400 for wave in waves(unit))


def test_lanes_in_one_bank_take_turns(tmp_path: Path) -> None:
    lines = ["v_lshlrev_b32 v1, 8, v0", *["ds_read_b32 v2, v1"] * 8, "s_waitcnt lgkmcnt(0)"]
    unit = execute(tmp_path, "gfx942", lines).simulate()
    assert unit.lds.busy == 8 * 64 and unit.lds.conflicts == 8 * 62
    assert unit.end >= 8 * 64


def test_a_read_of_lds_has_the_measured_latency(tmp_path: Path) -> None:
    lines = ["v_lshlrev_b32 v1, 2, v0", *["ds_read_b32 v2, v1", "s_waitcnt lgkmcnt(0)"] * 8]
    (gap,) = between(waves(execute(tmp_path, "gfx942", lines).simulate())[0], "ds_read")
    assert 51 <= gap <= 51 + 8  # and the turns of the two instructions
    assert stalled(waves(execute(tmp_path, "gfx942", lines).simulate())[0], LDS_BUSY) == 0


@pytest.mark.parametrize("arch", MFMA)
def test_a_chain_of_loads_has_the_measured_latencies(arch: str, tmp_path: Path) -> None:
    """The first load misses the first cache, the others hit."""
    chain = ["global_load_dword v2, v1, s[4:5]", "s_waitcnt vmcnt(0)"] * 6
    records = execute(tmp_path, arch, [*POINTER, "v_mov_b32 v1, 0", *chain])
    timing = TIMINGS[arch]
    for source, first in ((Source.L2, timing.l2_latency), (Source.MEMORY, timing.memory_latency)):
        at = times(waves(records.simulate(source))[0], "global_load")
        assert first <= at[1] - at[0] <= first + 40
        assert {after - before for before, after in zip(at[1:], at[2:], strict=False)} <= set(
            range(timing.l1_latency, timing.l1_latency + 9)
        )


def test_loads_of_separate_lines_occupy_the_address_unit(tmp_path: Path) -> None:
    """64 lanes in 64 lines take 64 cycles, in 4 lines of 64 bytes 4."""
    for shift, cycles in ((7, 64), (2, 4)):
        lines = [*POINTER, f"v_lshlrev_b32 v1, {shift}, v0", *["global_load_dword v2, v1, s[4:5]"] * 4]
        wave = waves(execute(tmp_path, "gfx942", lines).simulate())[0]
        assert between(wave, "global_load") == {cycles}
        assert (stalled(wave, MEMORY_BUSY) > 0) == (cycles > 4)


def test_two_waves_of_a_simd_hide_each_others_latency(tmp_path: Path) -> None:
    work = ["global_load_dword v2, v1, s[4:5]", "s_waitcnt vmcnt(0)", *["v_add_u32 v3, v3, v3"] * 10]
    lines = [*POINTER, "v_mov_b32 v1, 0", *work * 10]
    alone, four, five = (execute(tmp_path, "gfx942", lines, waves=count).simulate().end for count in (1, 4, 5))
    assert alone > 10 * 116
    assert four < 1.1 * alone, "waves on other SIMDs do not disturb"
    assert five < 1.3 * alone, "a second wave on a SIMD works while the first waits"


def test_waves_wait_at_a_barrier_for_the_last(tmp_path: Path) -> None:
    """Wave 0 adds 100 times before the barrier, the others do not."""
    lines = ["v_readfirstlane_b32 s6, v0", "s_cmp_lg_u32 s6, 0", "s_cbranch_scc1 after"]
    lines += [*["v_add_u32 v3, v3, v3"] * 100, "after:", "s_barrier", "v_mov_b32 v4, 0"]
    unit = execute(tmp_path, "gfx942", lines, waves=3).simulate()
    slow, *others = waves(unit)
    assert times(slow, "s_barrier")[0] >= 400
    assert all(stalled(wave, BARRIER_OPEN) >= 350 for wave in others)
    assert stalled(slow, BARRIER_OPEN) == 0
    assert all(times(wave, "v_mov")[0] > times(slow, "s_barrier")[0] for wave in others)


def test_a_wave_with_priority_goes_first(tmp_path: Path) -> None:
    """Wave 4, the younger one of SIMD 0, raises its priority."""
    lines = ["v_readfirstlane_b32 s6, v0", "s_cmp_lg_u32 s6, 256", "s_cbranch_scc1 after", "s_setprio 3", "after:"]
    lines += ["v_add_u32 v3, v3, v3"] * 100
    first, *_, last = waves(execute(tmp_path, "gfx942", lines, waves=5).simulate())
    assert times(last, "v_add")[-1] < times(first, "v_add")[-1]


def test_recording_changes_nothing_and_is_off_unless_asked_for(tmp_path: Path) -> None:
    source = ["v_mov_b32 v1, 1.0", "v_lshlrev_b32 v2, 2, v0", "ds_write_b32 v2, v1"]
    trace, steps = traced(tmp_path, "gfx942", source, waves=2)
    assert steps == len(trace.events) == 2 * (len(source) + 1)
    assert [int(event["ins"]) for event in trace.waves()[0, 1]] == [0, 1, 2, 3]
    (store,) = (event for event in trace.waves()[0, 1] if event["count"])
    assert trace.lanes(store).tolist() == list(range(256, 512, 4))
