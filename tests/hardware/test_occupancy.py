"""Waves per SIMD, compared with LLVM's tables and with its comments in assembly."""

from __future__ import annotations

import pytest

from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.occupancy import waves_per_simd, workgroups_per_unit


@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [(1, 8), (64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (81, 5), (96, 5), (97, 4), (128, 4), (129, 3), (168, 3)]
    + [(169, 2), (256, 2), (257, 1), (512, 1)],
)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_registers_limit_waves_as_llvm_says(arch: str, vgprs: int, waves: int) -> None:
    """https://reviews.llvm.org/D138443: `--print-cpu-reg-limits` for gfx90a and gfx940."""
    assert waves_per_simd(UNITS[arch], vgprs=vgprs, sgprs=40, lds_bytes=16, threads=256) == waves


@pytest.mark.parametrize(("vgprs", "waves"), [(96, 16), (97, 12), (120, 12), (121, 10), (144, 10), (256, 5)])
def test_rdna_has_more_registers_in_larger_granules(vgprs: int, waves: int) -> None:
    assert waves_per_simd(UNITS["gfx1100"], vgprs=vgprs, sgprs=40, lds_bytes=16, threads=128) == waves


def test_lds_limits_workgroups_in_whole_granules() -> None:
    sizes = {"vgprs": 32, "sgprs": 40, "threads": 256}
    assert workgroups_per_unit(UNITS["gfx942"], lds_bytes=16384, **sizes) == 4
    assert workgroups_per_unit(UNITS["gfx942"], lds_bytes=16385, **sizes) == 3
    assert workgroups_per_unit(UNITS["gfx950"], lds_bytes=40960, **sizes) == 4
    assert workgroups_per_unit(UNITS["gfx942"], lds_bytes=65536 + 1, **sizes) == 0


def test_a_workgroup_is_resident_as_a_whole() -> None:
    """Registers allow three waves per SIMD, twelve on four SIMDs: one workgroup of eight waves, not one and a half."""
    assert waves_per_simd(UNITS["gfx90a"], vgprs=168, sgprs=40, lds_bytes=16, threads=512) == 2
    assert waves_per_simd(UNITS["gfx90a"], vgprs=92, sgprs=40, lds_bytes=6144, threads=64) == 2.5


def test_many_scalar_registers_cost_cdna_a_wave() -> None:
    assert waves_per_simd(UNITS["gfx942"], vgprs=64, sgprs=100, lds_bytes=16, threads=64) == 8
    assert waves_per_simd(UNITS["gfx942"], vgprs=64, sgprs=102, lds_bytes=16, threads=64) == 7
    assert waves_per_simd(UNITS["gfx1100"], vgprs=64, sgprs=106, lds_bytes=16, threads=32) == 16
