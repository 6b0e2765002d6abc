"""Occupancy: the number of waves of a kernel that are resident on a SIMD at once.

    waves by registers = registers of a SIMD // registers of the kernel rounded up to whole granules, at most max_waves
    workgroups = min(SIMDs * waves by registers // waves of a workgroup, LDS // LDS of the kernel in whole granules)
    waves per SIMD = workgroups * waves of a workgroup / SIMDs

A workgroup is resident as a whole or not at all, so the waves per SIMD may be a fraction.
"""

from __future__ import annotations

from ckgen.hardware.compute_units import CDNA_FREE_SGPRS, CDNA_WAVES_BEYOND, ComputeUnit


def workgroups_per_unit(unit: ComputeUnit, *, vgprs: int, sgprs: int, lds_bytes: int, threads: int) -> int:
    """Workgroups of a kernel that are resident on one compute unit at once; 0 if not even one fits."""
    waves = threads // unit.wave
    resident = unit.simds * _waves_by_registers(unit, vgprs, sgprs) // waves
    return min(resident, unit.lds_capacity // _rounded(max(lds_bytes, 1), unit.lds_granule))


def waves_per_simd(unit: ComputeUnit, *, vgprs: int, sgprs: int, lds_bytes: int, threads: int) -> float:
    """Average number of waves of a kernel that are resident on one SIMD."""
    groups = workgroups_per_unit(unit, vgprs=vgprs, sgprs=sgprs, lds_bytes=lds_bytes, threads=threads)
    return groups * (threads // unit.wave) / unit.simds


def _waves_by_registers(unit: ComputeUnit, vgprs: int, sgprs: int) -> int:
    waves = min(unit.max_waves, unit.registers // _rounded(max(vgprs, 1), unit.register_granule))
    return min(waves, CDNA_WAVES_BEYOND) if unit.wave == 64 and sgprs > CDNA_FREE_SGPRS else waves


def _rounded(value: int, granule: int) -> int:
    return -(-value // granule) * granule
