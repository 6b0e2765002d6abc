"""What one compute unit of an architecture holds (`occupancy` reads it) and does in a cycle (`cost_model` reads it).

Beside `hardware`, which says what exists at all. Nothing here is measured by this project.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.hardware.archs import ARCHES, find_arch


@dataclass(frozen=True, slots=True)
class ComputeUnit:
    """Where an AMD workgroup runs: a compute unit (CDNA) or a workgroup processor (RDNA) of `simds` SIMDs.

    Registers are 32-bit words per lane; a wave gets them, and a workgroup its LDS, in whole granules. `lds_bytes` is
    what all resident workgroups share. Waves are those of a SIMD.
    """

    arch: str
    simds: int
    wave: int
    registers: int
    register_granule: int
    max_waves: int
    lds_bytes: int
    lds_granule: int

    def __post_init__(self) -> None:
        arch = ARCHES[self.arch]
        assert self.wave == arch.native_wave, f"{self.arch}: wave {self.wave}"
        assert self.lds_bytes >= arch.lds_bytes, f"{self.arch}: a workgroup may allocate more LDS than there is"
        assert self.lds_bytes % self.lds_granule == 0, f"{self.arch}: LDS is no whole number of granules"
        assert self.registers // self.register_granule >= self.max_waves, f"{self.arch}: waves without registers"


# LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp: getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU; LDS
# granules (128 dwords on gfx90a and gfx942, 320 on gfx950, 256 on gfx11 and gfx12): AMDGPUAsmPrinter.cpp.
UNITS: dict[str, ComputeUnit] = {
    unit.arch: unit
    for unit in (
        ComputeUnit("gfx90a", 4, 64, 512, 8, 8, 64 * 1024, 512),
        ComputeUnit("gfx942", 4, 64, 512, 8, 8, 64 * 1024, 512),
        ComputeUnit("gfx950", 4, 64, 512, 8, 8, 160 * 1024, 1280),
        ComputeUnit("gfx1100", 4, 32, 1536, 24, 16, 128 * 1024, 1024),
        ComputeUnit("gfx1201", 4, 32, 1536, 24, 16, 128 * 1024, 1024),
    )
}
# gfx9 has 800 scalar registers a SIMD, of which a wave sees up to 102: only kernels over 100 lose a wave of eight
# (AMDGPUBaseInfo.cpp, getMaxNumSGPRs). gfx10 and later give every wave all of them.
CDNA_FREE_SGPRS = 100
CDNA_WAVES_BEYOND = 7


@dataclass(frozen=True, slots=True)
class Rates:
    """What a GPU does: of one unit of `simds` in a cycle, and of all `units` together.

    `issue_cycles` is how long a SIMD is busy with an ordinary vector instruction of a wave of `wave` lanes, a slow
    one takes four times as long; a wave issues one instruction in that time. Bytes a cycle: `lds_read_bytes` and
    `lds_write_bytes` of a unit, `load_bytes` that the last shared cache gives a unit when all ask. `matrix_flops` are
    those of one SIMD a cycle by input type (`mma` in front: with the instructions that all NVIDIA GPUs have).
    `start_cycles` is one trip to memory.
    """

    arch: str
    gpu: str
    units: int
    clock_hz: float
    memory_bytes_per_s: float
    simds: int
    wave: int
    issue_cycles: int
    lds_read_bytes: int
    lds_write_bytes: int
    load_bytes: float
    start_cycles: int
    matrix_flops: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        arch = find_arch(self.arch)
        assert self.wave == arch.native_wave, f"{self.arch}: wave {self.wave}"
        assert not arch.peak or dict(arch.peak) == dict(self.matrix_flops), f"{self.arch}: other peaks in `hardware`"

    @property
    def load_bytes_per_s(self) -> float:
        """Bytes a second of all units from the shared cache."""
        return self.load_bytes * self.units * self.clock_hz


# Units, clocks and memory: https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html and the data sheets (MI250X:
# one of its two dies). A 64-wide instruction takes four cycles of a 16-lane SIMD, LDS delivers 128 bytes a cycle:
# "AMD Instinct MI300 CDNA3 ISA", chapters 1 and 11; on CDNA4 it reads 256: https://chipsandcheese.com/p/
# amds-cdna-4-architecture-announcement. L2: 32 channels (MI250X die) or 16 a chiplet (MI300X: 38 units, MI355X: 32)
# of 128 bytes a cycle, "AMD CDNA 2 / CDNA 3 architecture" white papers, shared by the units. A trip to memory is of
# the order of 800 ns on all of them (chipsandcheese.com, "Testing AMD's giant MI300X").
# sm_90a: H200 data sheet (989 TFLOP/s dense at 1.83 GHz on 132 SMs). 16 integer lanes a quarter, 128 bytes of shared
# memory and 64 of L2 a cycle: "NVIDIA H100 Tensor Core GPU architecture", CUDA programming guide, 16.8 and 5.4.1.
# mma.sync reaches 62.9 % of wgmma's rate: Luo et al., "Dissecting the NVIDIA Hopper Architecture through
# Microbenchmarking and Multiple Level Analysis", arXiv 2501.12084.
_HOPPER_MATRIX = (("f16", 1024.0), ("bf16", 1024.0), ("mma-f16", 644.0), ("mma-bf16", 644.0), ("mma-f32", 64.0))
RATES: dict[str, Rates] = {
    rates.arch: rates
    for rates in (
        Rates(
            *("gfx90a", "MI250X die", 110, 1.7e9, 1.6384e12, 4, 64, 4, 128, 128, 4096 / 110, 1400),
            matrix_flops=(("f16", 256), ("bf16", 256), ("f32", 64)),
        ),
        Rates(
            *("gfx942", "MI300X", 304, 2.1e9, 5.3e12, 4, 64, 4, 128, 128, 2048 / 38, 1700),
            matrix_flops=(("f16", 512), ("bf16", 512), ("f32", 64)),
        ),
        Rates(
            *("gfx950", "MI355X", 256, 2.4e9, 8.0e12, 4, 64, 4, 256, 128, 2048 / 32, 1900),
            matrix_flops=(("f16", 1024), ("bf16", 1024), ("f32", 64)),
        ),
        Rates(
            *("sm_90a", "H200", 132, 1.83e9, 4.8e12, 4, 32, 2, 128, 128, 64, 1200),
            matrix_flops=_HOPPER_MATRIX,
        ),
    )
}
