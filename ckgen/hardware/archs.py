"""Architectures and matrix instructions, as tables of frozen records that check themselves.

New hardware needs one row here and an atom header. This module computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.conv.dtypes import DTYPES

# A wave of the matrix-core architectures (CDNA) has 64 work-items, and most kernels are written for that width on every
# architecture. On wave32 hardware a 64-wide wave runs as two halves. WMMA's kernels have waves of 32.
WAVE_SIZE = 64
SMALLEST_WAVE = 32
MAX_LAUNCH_THREADS = 1024  # HIP's limit for one workgroup on every architecture below.
VGPR_FILE = 512  # 32-bit vector registers per lane on one SIMD of gfx90a and later (VGPR + AGPR, unified).
SIMDS_PER_CU = 4


def operand_bytes(input_type: str) -> int:
    """Bytes per element of an operand of matrix instructions; both operands have the same size."""
    return next(dtype.compute_bytes for dtype in DTYPES.values() if dtype.matrix_type == input_type)


@dataclass(frozen=True, slots=True)
class Arch:
    """One architecture.

    `lds_limit` is the most bytes of LDS that one workgroup may allocate, `peak` the FLOP per cycle and SIMD by atom
    input type. The others are AMD's alone. `mfma` is 0 without MFMA, 1 where it multiplies two bf16 per lane (gfx908),
    2 where it multiplies four ("_1k"), 3 with twice the GEMM-K (gfx950). `wmma` is 0 without WMMA, 11 where both halves
    of a wave repeat the operands, 12 where they have different GEMM-K. `buffer_word3` is word 3 of a raw buffer's
    resource, `dots` the element types with dot-product instructions that have 32-bit sums.
    """

    name: str
    family: str  # "cdna" has MFMA and wave64, "rdna" WMMA or dot products and wave32, "nvidia" mma.sync and warps of 32
    native_wave: int
    lds_limit: int
    peak: tuple[tuple[str, int], ...]
    mfma: int = 0
    wmma: int = 0
    buffer_word3: int = 0
    dots: tuple[str, ...] = ()
    f8_codes: str = "ocp"  # encoding of 8-bit floating point: "ocp" or "fnuz"
    # LLVM waits for all loads before a barrier where the hardware may not (AMDGPU.td, FeatureBackOffBarrier).
    barriers_wait: bool = False

    def __post_init__(self) -> None:
        assert self.mfma in (0, 1, 2, 3) and self.wmma in (0, 11, 12), f"{self.name}: unknown matrix unit"
        assert bool(self.mfma or self.wmma) == bool(self.peak), f"{self.name}: a peak without a unit"
        assert self.family in ("cdna", "rdna", "nvidia"), f"{self.name}: unknown family {self.family}"
        wave = 64 if self.family == "cdna" else 32
        assert self.native_wave == wave, f"{self.name}: wave {self.native_wave}, {self.family} has {wave}"
        assert self.lds_limit % 1024 == 0, f"{self.name}: LDS {self.lds_limit} is not a multiple of 1 KiB"


@dataclass(frozen=True, slots=True)
class Atom:
    """One matrix instruction D[m][m] += A[m][k] B[k][m] of a wave; it occupies a SIMD for `cycles`."""

    arch: str
    input_type: str
    m_per_xdl: int
    k: int
    cycles: int
    instruction: str

    def __post_init__(self) -> None:
        arch = ARCHES[self.arch]
        flops = 2 * self.m_per_xdl * self.m_per_xdl * self.k
        peak = dict(arch.peak)[self.input_type]
        assert flops == peak * self.cycles, f"{self.instruction}: {flops} FLOP in {self.cycles} cycles"
        assert f"{self.m_per_xdl}x{self.m_per_xdl}x{self.k}" in self.instruction, f"{self.instruction}: size"
        step = 16 // operand_bytes(self.input_type) * (arch.native_wave // self.m_per_xdl)
        assert step % self.k == 0, f"{self.instruction}: 16 bytes per lane cover {step} of K, not n x {self.k}"


# Wave size and LDS per compute unit: https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html (RDNA: 128 KiB per
# workgroup processor, of which one workgroup may allocate 64 KiB). Peaks: the matrix TFLOP/s of the data sheets divided
# by compute units x SIMDs x clock (MI100 184.6 f16, 92.3 bf16, 46.1 f32 / 120 CU / 1.502 GHz; MI250X 383 f16, 95.7 f32
# / 220 / 1.7; MI300X 1307, 163.4 / 304 / 2.1; MI355X 2516, 157.3 / 256 / 2.4; all with 4 SIMDs per unit. RX 7900 XTX
# 122.8 f16 / 96 / 2.5, RX 9070 XT 194.6 f16 / 64 / 2.97 with 2), rounded to the nearest power of two.
# Dot products, and the generations of matrix instructions: LLVM, llvm/lib/Target/AMDGPU/AMDGPU.td (features dot1, dot8,
# dot10, dot12, fp8-insts); "RDNA3 ISA" and "RDNA4 ISA", chapter 7. Word 3 of a raw buffer: data format on gfx9;
# from gfx10 on format, resource level and out-of-bounds select 3 ("RDNA2 ISA", table 38; "RDNA3 ISA", table 42).
_GFX9, _GFX10, _GFX11 = 0x00020000, 0x31014000, 0x31004000
_HALF, _DOTS = ("f16", "i8"), ("f16", "bf16", "i8")
_F32 = (("f32", 64), ("tf32", 64))
_CDNA1 = (("f16", 256), ("bf16", 128), ("i8", 256), ("bf8_f8", 128), *_F32)
_CDNA2 = (("f16", 256), ("bf16", 256), ("i8", 256), ("bf8_f8", 256), *_F32)
_CDNA3 = (("f16", 512), ("bf16", 512), ("i8", 1024), ("bf8_f8", 1024), ("tf32", 256), ("f32", 64))
_CDNA4 = (("f16", 1024), ("bf16", 1024), ("i8", 2048), ("bf8_f8", 1024), *_F32)
_RDNA3 = (("f16", 256), ("bf16", 256), ("i8", 256))
_RDNA4 = (("f16", 512), ("bf16", 512), ("i8", 1024))
_KIB = 1024
ARCHES: dict[str, Arch] = {
    arch.name: arch
    for arch in (
        Arch("gfx908", "cdna", 64, 64 * _KIB, _CDNA1, 1, 0, _GFX9, _HALF, barriers_wait=True),
        Arch("gfx90a", "cdna", 64, 64 * _KIB, _CDNA2, 2, 0, _GFX9, _HALF, "fnuz"),
        Arch("gfx942", "cdna", 64, 64 * _KIB, _CDNA3, 2, 0, _GFX9, _HALF, "fnuz"),
        Arch("gfx950", "cdna", 64, 160 * _KIB, _CDNA4, 3, 0, _GFX9, _DOTS),
        Arch("gfx1030", "rdna", 32, 64 * _KIB, (), 0, 0, _GFX10, _HALF),
        *(
            Arch(name, "rdna", 32, 64 * _KIB, _RDNA3, 0, 11, _GFX11, _DOTS)
            for name in ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151")
        ),
        *(Arch(name, "rdna", 32, 64 * _KIB, _RDNA4, 0, 12, _GFX11, _DOTS) for name in ("gfx1200", "gfx1201")),
    )
}
# The LDS of an NVIDIA architecture is the opt-in maximum of shared memory per block, in KiB by compute capability:
# https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html
# Specs never list NVIDIA architectures, except for NVIDIA-only families: every instance is built for all of them
# whose rules it satisfies, and `archs` lists AMD's.
NVIDIA_ARCHES: dict[str, Arch] = {
    arch.name: arch
    for arch in (
        Arch("sm_80", "nvidia", 32, 163 * 1024, ()),
        Arch("sm_86", "nvidia", 32, 99 * 1024, ()),
        Arch("sm_89", "nvidia", 32, 99 * 1024, ()),
        Arch("sm_90a", "nvidia", 32, 227 * 1024, ()),
        Arch("sm_100a", "nvidia", 32, 227 * 1024, ()),
        Arch("sm_120", "nvidia", 32, 99 * 1024, ()),
    )
}
MATRIX_ARCHES = tuple(name for name, arch in ARCHES.items() if arch.mfma)
WMMA_ARCHES = tuple(name for name, arch in ARCHES.items() if arch.wmma)

# Instructions and passes (one pass = 4 cycles): the MFMA tables of
# https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/instruction-set-architectures/instinct-mi200-cdna2-instruction-set-architecture.pdf
# https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/instruction-set-architectures/amd-instinct-mi300-cdna3-instruction-set-architecture.pdf
# https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/instruction-set-architectures/amd-instinct-cdna4-instruction-set-architecture.pdf
# https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/instruction-set-architectures/instinct-mi100-cdna1-shader-instruction-set-architecture.pdf
# gfx908 has bf16 at half the f16 rate; gfx90a at the f16 rate as the _1k forms; gfx950 doubles K for 16-bit inputs and
# int8. gfx942 alone has tf32 (xf32); elsewhere its values are multiplied as f32. gfx908 and gfx90a multiply 8-bit
# floating point as bf16 (atom/mfma_compute.hpp). WMMA: "RDNA3 ISA" and "RDNA4 ISA", 7.9.
_WMMA_TYPES = {"f16": ("f32", "f16"), "bf16": ("f32", "bf16"), "i8": ("i32", "iu8")}  # of sums and operands
ATOMS: dict[tuple[str, str, int], Atom] = {
    (atom.arch, atom.input_type, atom.m_per_xdl): atom
    for atom in (
        Atom("gfx908", "f16", 32, 8, 64, "v_mfma_f32_32x32x8f16"),
        Atom("gfx908", "f16", 16, 16, 32, "v_mfma_f32_16x16x16f16"),
        Atom("gfx908", "bf16", 32, 4, 64, "v_mfma_f32_32x32x4bf16"),
        Atom("gfx908", "bf16", 16, 8, 32, "v_mfma_f32_16x16x8bf16"),
        Atom("gfx908", "f32", 32, 2, 64, "v_mfma_f32_32x32x2f32"),
        Atom("gfx908", "f32", 16, 4, 32, "v_mfma_f32_16x16x4f32"),
        Atom("gfx908", "i8", 32, 8, 64, "v_mfma_i32_32x32x8i8"),
        Atom("gfx908", "i8", 16, 16, 32, "v_mfma_i32_16x16x16i8"),
        Atom("gfx908", "tf32", 32, 2, 64, "v_mfma_f32_32x32x2f32"),
        Atom("gfx908", "tf32", 16, 4, 32, "v_mfma_f32_16x16x4f32"),
        Atom("gfx908", "bf8_f8", 32, 4, 64, "v_mfma_f32_32x32x4bf16"),
        Atom("gfx908", "bf8_f8", 16, 8, 32, "v_mfma_f32_16x16x8bf16"),
        Atom("gfx90a", "f16", 32, 8, 64, "v_mfma_f32_32x32x8f16"),
        Atom("gfx90a", "f16", 16, 16, 32, "v_mfma_f32_16x16x16f16"),
        Atom("gfx90a", "bf16", 32, 8, 64, "v_mfma_f32_32x32x8bf16_1k"),
        Atom("gfx90a", "bf16", 16, 16, 32, "v_mfma_f32_16x16x16bf16_1k"),
        Atom("gfx90a", "f32", 32, 2, 64, "v_mfma_f32_32x32x2f32"),
        Atom("gfx90a", "f32", 16, 4, 32, "v_mfma_f32_16x16x4f32"),
        Atom("gfx90a", "i8", 32, 8, 64, "v_mfma_i32_32x32x8i8"),
        Atom("gfx90a", "i8", 16, 16, 32, "v_mfma_i32_16x16x16i8"),
        Atom("gfx90a", "tf32", 32, 2, 64, "v_mfma_f32_32x32x2f32"),
        Atom("gfx90a", "tf32", 16, 4, 32, "v_mfma_f32_16x16x4f32"),
        Atom("gfx90a", "bf8_f8", 32, 8, 64, "v_mfma_f32_32x32x8bf16_1k"),
        Atom("gfx90a", "bf8_f8", 16, 16, 32, "v_mfma_f32_16x16x16bf16_1k"),
        Atom("gfx942", "f16", 32, 8, 32, "v_mfma_f32_32x32x8_f16"),
        Atom("gfx942", "f16", 16, 16, 16, "v_mfma_f32_16x16x16_f16"),
        Atom("gfx942", "bf16", 32, 8, 32, "v_mfma_f32_32x32x8_bf16"),
        Atom("gfx942", "bf16", 16, 16, 16, "v_mfma_f32_16x16x16_bf16"),
        Atom("gfx942", "f32", 32, 2, 64, "v_mfma_f32_32x32x2_f32"),
        Atom("gfx942", "f32", 16, 4, 32, "v_mfma_f32_16x16x4_f32"),
        Atom("gfx942", "i8", 32, 16, 32, "v_mfma_i32_32x32x16_i8"),
        Atom("gfx942", "i8", 16, 32, 16, "v_mfma_i32_16x16x32_i8"),
        Atom("gfx942", "tf32", 32, 4, 32, "v_mfma_f32_32x32x4_xf32"),
        Atom("gfx942", "tf32", 16, 8, 16, "v_mfma_f32_16x16x8_xf32"),
        Atom("gfx942", "bf8_f8", 32, 16, 32, "v_mfma_f32_32x32x16_bf8_fp8"),
        Atom("gfx942", "bf8_f8", 16, 32, 16, "v_mfma_f32_16x16x32_bf8_fp8"),
        Atom("gfx950", "f16", 32, 16, 32, "v_mfma_f32_32x32x16_f16"),
        Atom("gfx950", "f16", 16, 32, 16, "v_mfma_f32_16x16x32_f16"),
        Atom("gfx950", "bf16", 32, 16, 32, "v_mfma_f32_32x32x16_bf16"),
        Atom("gfx950", "bf16", 16, 32, 16, "v_mfma_f32_16x16x32_bf16"),
        Atom("gfx950", "f32", 32, 2, 64, "v_mfma_f32_32x32x2_f32"),
        Atom("gfx950", "f32", 16, 4, 32, "v_mfma_f32_16x16x4_f32"),
        Atom("gfx950", "i8", 32, 32, 32, "v_mfma_i32_32x32x32_i8"),
        Atom("gfx950", "i8", 16, 64, 16, "v_mfma_i32_16x16x64_i8"),
        Atom("gfx950", "tf32", 32, 2, 64, "v_mfma_f32_32x32x2_f32"),
        Atom("gfx950", "tf32", 16, 4, 32, "v_mfma_f32_16x16x4_f32"),
        Atom("gfx950", "bf8_f8", 32, 16, 32, "v_mfma_f32_32x32x16_bf8_fp8"),
        Atom("gfx950", "bf8_f8", 16, 32, 16, "v_mfma_f32_16x16x32_bf8_fp8"),
        *(
            Atom(name, kind, 16, 16, 8192 // peak, f"v_wmma_{_WMMA_TYPES[kind][0]}_16x16x16_{_WMMA_TYPES[kind][1]}")
            for name in WMMA_ARCHES
            for kind, peak in ARCHES[name].peak
        ),
    )
}


@dataclass(frozen=True, slots=True)
class WarpAtom:
    """One matrix instruction D[m][n] += A[m][k] B[k][n] of an NVIDIA warp. A 64-wide wave is two warps; each computes
    half of an atom's columns with several of these instructions."""

    input_type: str
    m: int
    n: int
    k: int
    instruction: str

    def __post_init__(self) -> None:
        assert f".m{self.m}n{self.n}k{self.k}." in self.instruction, f"{self.instruction}: size"
        for size in (16, 32):
            whole = size % self.m == 0 and size // 2 % self.n == 0
            assert whole, f"{self.instruction}: half of a {size}x{size} atom is not a whole number of them"


# All of NVIDIA_ARCHES have these: https://docs.nvidia.com/cuda/parallel-thread-execution/ (mma.sync; sm_80 and up).
# There is none for f32 at full precision (tf32 keeps 10 bits): f32 is three products of tf32 on TF32_PARTS and uses the
# portable multiply-add atom on the others, and so do 8-bit floating-point types, which sm_80 lacks.
TF32_PARTS = ("sm_80", "sm_90a", "sm_100a")  # as templates/include/ckgen/atom/mma_sync.hpp has it
WARP_ATOMS: dict[str, WarpAtom] = {
    atom.input_type: atom
    for atom in (
        WarpAtom("f16", 16, 8, 16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        WarpAtom("bf16", 16, 8, 16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        WarpAtom("tf32", 16, 8, 8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
        WarpAtom("i8", 16, 8, 32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    )
}


@dataclass(frozen=True, slots=True)
class WarpgroupAtom:
    """One matrix instruction D[64][n] += A[64][k] B[k][n] of a warpgroup (128 NVIDIA threads) with n up to 256 and both
    operands in shared memory."""

    arch: str
    input_type: str
    k: int
    instruction: str

    def __post_init__(self) -> None:
        assert self.arch in NVIDIA_ARCHES, f"{self.instruction}: unknown architecture {self.arch}"
        assert f".m64nNk{self.k}." in self.instruction, f"{self.instruction}: size"


# https://docs.nvidia.com/cuda/parallel-thread-execution/ (wgmma.mma_async): sm_90a only. There is none for f32 in full,
# which is multiplied as sums of two numbers of tf32.
WARPGROUP_ATOMS: dict[tuple[str, str], WarpgroupAtom] = {
    (atom.arch, atom.input_type): atom
    for atom in (
        WarpgroupAtom("sm_90a", "f16", 16, "wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16"),
        WarpgroupAtom("sm_90a", "bf16", 16, "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16"),
        WarpgroupAtom("sm_90a", "tf32", 8, "wgmma.mma_async.sync.aligned.m64nNk8.f32.tf32.tf32"),
    )
}


def find_arch(name: str) -> Arch:
    """The AMD or NVIDIA architecture called `name`. Raises KeyError."""
    return ARCHES[name] if name in ARCHES else NVIDIA_ARCHES[name]


def find_atom(arch: str, dtype: str, m_per_xdl: int) -> Atom | None:
    """The matrix instruction of an architecture for a data type (a key of `DTYPES`) and atom size; None if there is
    none."""
    return ATOMS.get((arch, DTYPES[dtype].matrix_type, m_per_xdl))


def find_warpgroup_atom(arch: str, dtype: str) -> WarpgroupAtom | None:
    """The warpgroup matrix instruction of an architecture for a data type (a key of `DTYPES`), or None. That of f32 is
    for tf32: an operand is the sum of two numbers of tf32."""
    kind = DTYPES[dtype].matrix_type
    return WARPGROUP_ATOMS.get((arch, "tf32" if kind == "f32" else kind))
