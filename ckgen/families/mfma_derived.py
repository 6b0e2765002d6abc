"""Derived values of the families that multiply matrices from LDS, as expressions."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.families.formulas import Value
from ckgen.hardware.archs import SIMDS_PER_CU, VGPR_FILE, WAVE_SIZE

LDS_SLOT = 16  # bytes: the widest LDS access, and the unit in which tiles are laid out and padded
LDS_PLANES = 8  # LDS has 32 banks of 4 bytes: 8 slots side by side touch each bank once

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
    # CK's rows with the widest reads and LDS writes of small tiles have fewer pieces than threads, and its rows that
    # multiply 8-bit elements fewer slots.
    Value(
        "a_copy_threads",
        "Copy threads that move A: all, or as many as there are slots of a K-major A, or pieces of the LDS writes that"
        " the spec gives.",
        "max(1, min(copy_threads, m_per_block * planes)) if a_k_major else copy_threads if a_write == 0"
        " else max(1, min(copy_threads, m_per_block * k_per_block // (a_vector * a_write)))",
    ),
    Value(
        "b_copy_threads",
        "Copy threads that move B.",
        "max(1, min(copy_threads, n_per_block * planes)) if b_k_major else copy_threads if b_write == 0"
        " else max(1, min(copy_threads, n_per_block * k_per_block // (b_vector * b_write)))",
    ),
    Value("a_elems", "Elements of A's tile that a copy thread moves.", "m_per_block * k_per_block // a_copy_threads"),
    Value("b_elems", "Elements of B's tile that a copy thread moves.", "n_per_block * k_per_block // b_copy_threads"),
    Value("ak1", "CK's AK1: elements of GEMM-K of A that its copy to LDS treats as one.", "a_k1 if a_k1 > 0 else k1"),
    Value("bk1", "CK's BK1: elements of GEMM-K of B that its copy to LDS treats as one.", "b_k1 if b_k1 > 0 else k1"),
    Value(
        "a_dst_vector",
        "Elements along GEMM-K that one LDS write of A stores, transposed in registers unless A is K-major.",
        "k1 if a_k_major else a_write if a_write > 0 else max(1, min(min(k1, ak1), a_elems // a_vector))",
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
