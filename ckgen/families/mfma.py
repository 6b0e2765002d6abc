"""Families xdl and wavelet: matrix products by MFMA; xdl is the fallback on every architecture.

In xdl every wave loads and multiplies. In wavelet some waves load and the others multiply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.families.family import Coverage, Family
from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.mfma_rules import RULES
from ckgen.families.rule import Rule
from ckgen.families.tile_cost import TileBytes
from ckgen.families.vectors import ACCESS_BYTES, Shape, Width, full_read, full_write, k_major, single, small
from ckgen.hardware.archs import (
    ARCHES,
    MATRIX_ARCHES,
    NVIDIA_ARCHES,
    SIMDS_PER_CU,
    VGPR_FILE,
    WAVE_SIZE,
    Atom,
    find_atom,
)
from ckgen.operations.operation import BWD_WEIGHT, OPERATIONS

DOUBLE_LDS = 4  # the pipeline with two LDS buffers
LDS_SLOT = 16  # bytes: the widest LDS access, and the unit in which tiles are laid out and padded
LDS_PLANES = 8  # LDS has 32 banks of 4 bytes: 8 slots side by side touch each bank once
SHARED_LDS_BYTES = 32 * 1024  # so that two workgroups fit into the LDS that every architecture has
WAVELET_ROW = 32  # load threads side by side along M or N, as in CK's transfer clusters

DERIVED = (
    Value("wave_size", "Threads of a wave; those of 64 run as two halves where waves are 32 wide.", f"{WAVE_SIZE}"),
    Value("ndim", "Spatial dimensions, 1 to 3: the first tensor has them beside G, N and C."),
    Value("elem_bytes", "Bytes of an element of A and B."),
    Value("compute_bytes", "Bytes of an element of A and B in LDS, where it has the type that is multiplied."),
    Value("c_bytes", "Bytes of an element of C, the tensor that is written."),
    Value("k1", "Elements of GEMM-K in one 16-byte LDS slot.", f"{LDS_SLOT} // compute_bytes"),
    Value(
        "global_bytes",
        "Bytes of a tile of A and one of B in global memory.",
        "(m_per_block + n_per_block) * k_per_block * elem_bytes",
    ),
    # PrefetchStages of CK's pipelines (blockwise_gemm_pipeline_xdlops_v1.hpp to _v5.hpp) without those in LDS; for v2
    # CK's number keeps 32 KiB of a compute unit's loads in flight.
    Value(
        "prefetch_tiles",
        "Tiles of A and B in registers on their way from global memory to LDS.",
        "min(8, max(2, (32768 // max(1, 4 // max(1, math_waves)) + global_bytes - 1) // global_bytes))"
        " if pipeline_version == 2 else 2 if pipeline_version == 5 else 1",
    ),
    Value(
        "fragment_registers",
        "32-bit registers for operands from LDS: those of a whole tile in pipelines v3 to v5, else of two steps.",
        "4 * (m_xdl_per_wave + n_xdl_per_wave) * (k_per_block // max(1, k_step) if pipeline_version >= 3 else 2)",
    ),
    Value(
        "planes",
        "Planes of slots in a tile of A or B: those of one plane are side by side along M or N.",
        "k_per_block // k1",
    ),
    Value("ck_pipeline", "CK's BlkGemmPipelineVersion: 2 with one LDS buffer, 5 with two.", "2 if stages == 1 else 5"),
    Value(
        "copy_waves",
        "Waves that copy from global memory to LDS: the load waves, or all where there are none.",
        "load_waves if load_waves > 0 else math_waves",
    ),
    Value("copy_threads", "Threads that copy from global memory to LDS.", "wave_size * copy_waves"),
    Value("block_size", "Threads that do the matrix work: CK's BlockSize.", "wave_size * math_waves"),
    Value("launch_threads", "Threads of a workgroup as launched.", "wave_size * (load_waves + math_waves)"),
    # The math waves divide M x N as evenly as possible: the longer side of the tile gets more waves.
    Value(
        "m_waves",
        "Math waves along M.",
        "(4 if m_per_block > n_per_block else 2) if math_waves == 8 else 2 if math_waves == 4"
        " else 2 if math_waves == 2 and m_per_block > n_per_block else 1",
    ),
    Value(
        "n_waves",
        "Math waves along N.",
        "(2 if m_per_block > n_per_block else 4) if math_waves == 8 else 2 if math_waves == 4"
        " else 2 if math_waves == 2 and m_per_block <= n_per_block else 1",
    ),
    Value("m_xdl_per_wave", "Atoms of one wave along M.", "m_per_block // (m_waves * m_per_xdl)"),
    Value("n_xdl_per_wave", "Atoms of one wave along N.", "n_per_block // (n_waves * m_per_xdl)"),
    Value(
        "k_step",
        "GEMM-K that one step of a wave covers when every lane reads one 16-byte slot.",
        "k1 * (wave_size // m_per_xdl)",
    ),
    Value(
        "acc_registers",
        "Accumulator registers per lane; a warpgroup of 128 threads holds m_per_xdl rows of the tile.",
        "m_xdl_per_wave * n_xdl_per_wave * m_per_xdl * m_per_xdl // wave_size",
    ),
    # CK's rows with the widest reads and LDS writes of small tiles have fewer pieces than threads.
    Value(
        "a_copy_threads",
        "Copy threads that move A: all, or as many as there are pieces of the LDS writes that the spec gives.",
        "copy_threads if a_write == 0 or a_k_major"
        " else max(1, min(copy_threads, m_per_block * k_per_block // (a_vector * a_write)))",
    ),
    Value(
        "b_copy_threads",
        "Copy threads that move B.",
        "copy_threads if b_write == 0 or b_k_major"
        " else max(1, min(copy_threads, n_per_block * k_per_block // (b_vector * b_write)))",
    ),
    Value("a_elems", "Elements of A's tile that a copy thread moves.", "m_per_block * k_per_block // a_copy_threads"),
    Value("b_elems", "Elements of B's tile that a copy thread moves.", "n_per_block * k_per_block // b_copy_threads"),
    Value("ak1", "CK's AK1: elements of GEMM-K of A that its copy to LDS treats as one.", "a_k1 if a_k1 > 0 else k1"),
    Value("bk1", "CK's BK1: elements of GEMM-K of B that its copy to LDS treats as one.", "b_k1 if b_k1 > 0 else k1"),
    Value(
        "a_dst_vector",
        "Elements along GEMM-K that one LDS write of A stores, transposed in registers unless A is K-major.",
        "k1 if a_k_major else a_write if a_write > 0 else max(1, min(k1, a_elems // a_vector))",
    ),
    Value(
        "b_dst_vector",
        "Elements along GEMM-K that one LDS write of B stores.",
        "k1 if b_k_major else b_write if b_write > 0 else max(1, min(min(k1, bk1), b_elems // b_vector))",
    ),
    Value(
        "a_slices",
        "Pieces of A that a copy thread moves: a_vector x a_dst_vector, or slots of one row.",
        "a_elems // (a_dst_vector if a_k_major else a_vector * a_dst_vector)",
    ),
    Value(
        "b_slices",
        "Pieces of B that a copy thread moves: b_vector x b_dst_vector, or slots of one row.",
        "b_elems // (b_dst_vector if b_k_major else b_vector * b_dst_vector)",
    ),
    # Padding makes the threads of one write access different banks. If an operand is K-major, neighbouring threads
    # write the slots of one row, one slot per plane.
    Value(
        "a_pad",
        "Empty slots after each plane of A.",
        f"(max(1, {LDS_PLANES} // planes) if planes > 1 else 0) if a_k_major"
        f" else m_per_block // a_vector if m_per_block // a_vector < {LDS_PLANES} else 0",
    ),
    Value(
        "b_pad",
        "Empty slots after each plane of B.",
        f"(max(1, {LDS_PLANES} // planes) if planes > 1 else 0) if b_k_major"
        f" else n_per_block // b_vector if n_per_block // b_vector < {LDS_PLANES} else 0",
    ),
    Value(
        "lds_stage_bytes",
        "Bytes of one LDS buffer: a tile of A and, unless B stays in LDS, one of B.",
        f"planes * (m_per_block + a_pad + n_per_block + b_pad) * {LDS_SLOT}",
    ),
    Value(
        "epilogue_rows", "Rows of the C tile that pass through LDS at once.", "m_waves * (4 * wave_size // m_per_xdl)"
    ),
    Value(
        "lds_epilogue_bytes",
        "Bytes of the two f32 row buffers of the epilogue.",
        "2 * epilogue_rows * n_per_block * 4",
    ),
    Value(
        "lds_bytes",
        "Bytes of LDS a workgroup allocates; the epilogue reuses the stages' memory.",
        "max(stages * lds_stage_bytes, lds_epilogue_bytes)",
    ),
    # If load and math waves are separate, a wave holds the registers of one role only, so the larger number counts.
    Value(
        "vgpr_estimate",
        "32-bit registers that a lane needs, roughly: accumulators, operands, the copy's staging, 48 others.",
        "48 + (max(acc_registers + 8 * (m_xdl_per_wave + n_xdl_per_wave), (a_elems + b_elems) * elem_bytes // 4)"
        " if load_waves > 0 else"
        " acc_registers + fragment_registers + prefetch_tiles * ((a_elems + b_elems) * elem_bytes // 4))",
    ),
    Value(
        "vgpr_budget",
        "32-bit registers that a lane may use so that the whole workgroup is resident on one compute unit.",
        f"{VGPR_FILE} // ((load_waves + math_waves + {SIMDS_PER_CU - 1}) // {SIMDS_PER_CU})",
    ),
)


def replaced(table: Sequence[Value], *rows: Value) -> tuple[Value, ...]:
    """A table of derived values with other rows for some names, and further rows at its end."""
    own = {row.name: row for row in rows}
    return (*(own.pop(row.name, row) for row in table), *own.values())


REASONS = {
    "k_per_block": "by rule: 64 bytes, four LDS slots, as in CK's rows",
    "m_per_xdl": "by rule: 32x32 atoms need half the LDS reads of 16x16 ones",
    "generic": "by rule: single elements fit every C and K",
    "slot": "by rule: 16 bytes, a slot of LDS",
    "single": "by rule: single elements where channels are not last, because taps shift positions",
    "wavelet": "by rule: 32 load threads read a row of the tile",
    "wavelet-c": "by rule: two weights, as in CK's rows",
    "a_write": "by rule: the widest LDS write for which a thread has elements, a_dst_vector",
    "b_write": "by rule: the widest LDS write for which a thread has elements, b_dst_vector",
    "a_k1": "by rule: 16 bytes, ak1",
    "b_k1": "by rule: 16 bytes, bk1",
    "stages": "by rule: 1 for xdl, 2 for pipeline v4; 4 for wavelet where that takes at most 32 KiB of LDS, else 2",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Mfma(Family):
    """A family whose kernels are written for MFMA, with a portable atom elsewhere."""

    operations: tuple[str, ...] = tuple(OPERATIONS)
    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)
    struct: str = ""
    lds_keys: bool = True
    header: str = "mfma"

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return 64 // DTYPES[dtype].compute_bytes

    def m_per_xdl(self, n_per_block: int) -> int:
        return 32

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return 0, block_size // self.wave_size

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        a, b, c = wanted
        return (
            a if isinstance(a, int) else self._read_width(a, shape, "a", shape.m_per_block),
            b if isinstance(b, int) else self._read_width(b, shape, "b", shape.n_per_block),
            c if isinstance(c, int) else self._write_width(c, shape),
        )

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        if isinstance(word, str):
            return self.reason(word)
        if instance.generic:
            return self.reason("generic")
        if which != "c" and single(instance, which):
            return self.reason("single")
        if which != "c" and k_major(instance, which):
            return self.reason("slot")
        if self.wavelet and not (instance.a_k_major and which == "c"):
            return self.reason("wavelet-c" if which == "c" else "wavelet")
        return "by rule, " + self.reason("full")

    def stages(self, instance: Fields) -> int:
        if not instance.load_waves:
            return 2 if instance.pipeline_version == DOUBLE_LDS else 1
        return 4 if 4 * instance.lds_stage_bytes <= SHARED_LDS_BYTES else 2

    def archs(self, instance: Fields) -> Sequence[str]:
        return tuple(ARCHES) if instance.generic else MATRIX_ARCHES

    def home(self, dtype: str) -> Sequence[str]:
        return MATRIX_ARCHES

    def has_atom(self, instance: Fields, arch: str) -> bool:
        """True if the architecture has an atom. NVIDIA uses the portable atom where mma.sync lacks the data type."""
        return arch in NVIDIA_ARCHES or self.atom(instance, arch) is not None

    def atom(self, instance: Fields, arch: str) -> Atom | None:
        return find_atom(arch, instance.dtype, instance.m_per_xdl) if arch in MATRIX_ARCHES else None

    def coverage(self, instance: Fields) -> Coverage:
        return super().coverage(instance)._replace(groups=instance.groups_to_merge)

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """LDS and memory traffic of one tile; every wave reads its own rows of A and columns of B once."""
        elements = (instance.m_per_block + instance.n_per_block) * instance.k_per_block
        per_wave = (instance.m_xdl_per_wave + instance.n_xdl_per_wave) * instance.m_per_xdl
        read = instance.math_waves * per_wave * instance.k_per_block * instance.compute_bytes
        return TileBytes(read, elements * instance.compute_bytes, elements * instance.elem_bytes)

    def _read_width(self, word: Width, shape: Shape, which: str, extent: int) -> int:
        if word == "small":
            return small(shape)
        if word is None and (shape.generic or single(shape, which)):
            return 1
        if k_major(shape, which):
            return ACCESS_BYTES // DTYPES[shape.dtype].elem_bytes
        if word is None and self.wavelet:
            return max(1, extent // WAVELET_ROW)
        return full_read(shape, extent)

    def _write_width(self, word: Width, shape: Shape) -> int:
        if word == "small":
            return small(shape)
        if word is None and shape.generic:
            return 1
        if word is None and self.wavelet and not OPERATIONS[shape.operation].a_k_major:
            return 2
        return full_write(shape)


XDL = Mfma(
    name="xdl",
    summary="all waves load and multiply",
    wave_key="block_size",
    loops=("main",),
    ck_unit="Xdl",
    has_ck_rows=True,
    pipelines=True,
)
# CK's operator for few channels per group. It is xdl's kernel; where groups are side by side, a tile has several.
TWO_STAGE = Mfma(
    name="two_stage",
    summary="xdl for few channels per group, of which a tile computes several",
    operations=(BWD_WEIGHT,),
    wave_key="block_size",
    loops=("main",),
    merges_groups=True,
    ck_unit="TwoStage",
    has_ck_rows=True,
    ck_flag="two_stage",
)
WAVELET = Mfma(
    name="wavelet",
    summary="load and math waves",
    wave_key="wave_ratio",
    usual_waves=(4, 4),
    loops=("math", "load"),
    wavelet=True,
)
