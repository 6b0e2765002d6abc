"""The capacity of one compute unit per architecture (`occupancy` reads it) and its throughput per cycle (the cost model
reads it).

`archs` says which hardware exists. All numbers here come from the sources cited; none was measured by this project.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.hardware.archs import ARCHES, find_arch


@dataclass(frozen=True, slots=True)
class ComputeUnit:
    """An AMD compute unit (CDNA) or workgroup processor (RDNA) with `simds` SIMDs, which runs whole workgroups.

    Registers are 32-bit words per lane. Registers of a wave and LDS of a workgroup are allocated in whole granules.
    `registers` and `max_waves` are per SIMD. `lds_capacity` is the LDS in bytes that all resident workgroups share.
    `gpu` is the architecture's largest product and `count` the number of its units.
    """

    arch: str
    simds: int
    wave: int
    registers: int
    register_granule: int
    max_waves: int
    lds_capacity: int
    lds_granule: int
    gpu: str
    count: int

    def __post_init__(self) -> None:
        arch = ARCHES[self.arch]
        assert self.wave == arch.native_wave, f"{self.arch}: wave {self.wave}"
        assert self.lds_capacity >= arch.lds_limit, f"{self.arch}: a workgroup may allocate more LDS than there is"
        assert self.lds_capacity % self.lds_granule == 0, f"{self.arch}: LDS is not a multiple of its granule"
        assert self.registers // self.register_granule >= self.max_waves, f"{self.arch}: waves without registers"


# LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp: getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU; LDS
# granules (128 dwords on gfx908 to gfx942, 320 on gfx950, 128 on gfx10, 256 on gfx11 and gfx12): AMDGPUAsmPrinter.cpp.
# gfx908 has as many accumulation registers again, in a file of their own. Feature 1.5x-vgprs: gfx1100, gfx1101, gfx1151
# and gfx12.
# Products and units: https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html (two compute units of RDNA are a
# workgroup processor), for gfx1103, gfx1150 and gfx1151 https://www.amd.com/en/products/specifications/processors.html.
_CDNA, _RDNA = 64 * 1024, 128 * 1024  # bytes of LDS
UNITS: dict[str, ComputeUnit] = {
    unit.arch: unit
    for unit in (
        ComputeUnit("gfx908", 4, 64, 256, 4, 10, _CDNA, 512, "MI100", 120),
        ComputeUnit("gfx90a", 4, 64, 512, 8, 8, _CDNA, 512, "MI250X die", 110),
        ComputeUnit("gfx942", 4, 64, 512, 8, 8, _CDNA, 512, "MI300X", 304),
        ComputeUnit("gfx950", 4, 64, 512, 8, 8, 160 * 1024, 1280, "MI355X", 256),
        ComputeUnit("gfx1030", 4, 32, 1024, 16, 16, _RDNA, 512, "RX 6950 XT", 40),
        ComputeUnit("gfx1100", 4, 32, 1536, 24, 16, _RDNA, 1024, "RX 7900 XTX", 48),
        ComputeUnit("gfx1101", 4, 32, 1536, 24, 16, _RDNA, 1024, "RX 7800 XT", 30),
        ComputeUnit("gfx1102", 4, 32, 1024, 16, 16, _RDNA, 1024, "RX 7600", 16),
        ComputeUnit("gfx1103", 4, 32, 1024, 16, 16, _RDNA, 1024, "Radeon 780M", 6),
        ComputeUnit("gfx1150", 4, 32, 1024, 16, 16, _RDNA, 1024, "Radeon 890M", 8),
        ComputeUnit("gfx1151", 4, 32, 1536, 24, 16, _RDNA, 1024, "Radeon 8060S", 20),
        ComputeUnit("gfx1200", 4, 32, 1536, 24, 16, _RDNA, 1024, "RX 9060 XT", 16),
        ComputeUnit("gfx1201", 4, 32, 1536, 24, 16, _RDNA, 1024, "RX 9070 XT", 32),
    )
}
# gfx9 has 800 scalar registers per SIMD, of which a wave can use up to 102. Occupancy drops from eight waves to seven
# only for kernels that use more than 100 (AMDGPUBaseInfo.cpp, getMaxNumSGPRs). gfx10 and later give all scalar
# registers to every wave.
CDNA_FREE_SGPRS = 100
CDNA_WAVES_BEYOND = 7


@dataclass(frozen=True, slots=True)
class Rates:
    """The throughput of a GPU: `units` compute units with `simds` SIMDs each.

    `issue_cycles` is how long an ordinary vector instruction of a wave of `wave` lanes occupies a SIMD; a slow one
    takes four times as long. A wave issues one instruction in that time. `lds_read_bytes` and `lds_write_bytes` are
    bytes per cycle and unit; `load_bytes` is the bytes per cycle that the last shared cache delivers to each unit if
    all units load. `matrix_flops` is FLOP per cycle and SIMD by input type; the keys that begin with `mma` are for the
    instructions that all NVIDIA GPUs have. `start_cycles` is the latency of one access to memory.
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
        assert self.arch not in UNITS or self.units == UNITS[self.arch].count, f"{self.arch}: {self.units} units"

    def flops_of(self, input_type: str) -> float:
        """FLOP per cycle and SIMD for an input type: of matrix instructions, or of multiply-adds if there are none."""
        return dict(self.matrix_flops).get(input_type) or 2.0 * self.wave / self.issue_cycles

    @property
    def load_bytes_per_s(self) -> float:
        """Bytes per second that the shared cache delivers to all units together."""
        return self.load_bytes * self.units * self.clock_hz


# Units, clocks and memory: https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html and the data sheets (MI250X:
# one of its two dies). A 64-wide instruction takes four cycles of a 16-lane SIMD; LDS delivers 128 bytes per cycle:
# "AMD Instinct MI300 CDNA3 ISA", chapters 1 and 11; on CDNA4 it delivers 256: https://chipsandcheese.com/p/
# amds-cdna-4-architecture-announcement. L2: 32 channels (MI250X die) or 16 per chiplet (MI300X: 38 units, MI355X: 32)
# of 128 bytes per cycle, shared by the units: "AMD CDNA 2 / CDNA 3 architecture" white papers. An access to memory
# takes about 800 ns on all of them (chipsandcheese.com, "Testing AMD's giant MI300X").
# sm_90a: H200 data sheet (989 TFLOP/s dense, 495 in tf32, at 1.83 GHz on 132 SMs). 16 integer lanes per SM quarter, 128
# bytes of shared memory and 64 bytes of L2 per cycle: "NVIDIA H100 Tensor Core GPU architecture", CUDA programming
# guide, 16.8 and 5.4.1. mma.sync reaches 62.9 % of wgmma's rate: Luo et al., "Dissecting the NVIDIA Hopper Architecture
# through Microbenchmarking and Multiple Level Analysis", arXiv 2501.12084.
MMA_SYNC_SHARE = 0.629
_WGMMA = (("f16", 1024.0), ("bf16", 1024.0), ("tf32", 512.0))
_MMA_SYNC = tuple((f"mma-{kind}", float(round(rate * MMA_SYNC_SHARE))) for kind, rate in _WGMMA)
_F32 = (("f32", 64.0), ("mma-f32", float(round(512 * MMA_SYNC_SHARE / 3))))  # multiply-adds; three products of tf32
_HOPPER_MATRIX = (*_WGMMA, *_MMA_SYNC, *_F32)
RATES: dict[str, Rates] = {
    rates.arch: rates
    for rates in (
        Rates(
            *("gfx90a", "MI250X die", 110, 1.7e9, 1.6384e12, 4, 64, 4, 128, 128, 4096 / 110, 1400),
            matrix_flops=ARCHES["gfx90a"].peak,
        ),
        Rates(
            *("gfx942", "MI300X", 304, 2.1e9, 5.3e12, 4, 64, 4, 128, 128, 2048 / 38, 1700),
            matrix_flops=ARCHES["gfx942"].peak,
        ),
        Rates(
            *("gfx950", "MI355X", 256, 2.4e9, 8.0e12, 4, 64, 4, 256, 128, 2048 / 32, 1900),
            matrix_flops=ARCHES["gfx950"].peak,
        ),
        Rates(
            *("sm_90a", "H200", 132, 1.83e9, 4.8e12, 4, 32, 2, 128, 128, 64, 1200),
            matrix_flops=_HOPPER_MATRIX,
        ),
    )
}
