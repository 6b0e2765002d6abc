"""Families wavelet_tma and stationary: matrix products by wgmma on Hopper. stationary keeps B, the weight, in LDS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.conv.sub_gemms import split_axis, tilde
from ckgen.families.bulk_copy import (
    BLOCK_SIZE,
    C_BYTES,
    ELEM_BYTES,
    LAUNCH_THREADS,
    LOAD_WAVES,
    MAX_STAGES,
    NDIM,
    WAVE,
    WGMMA_ROWS,
    BulkCopy,
    in_units,
    reads_units,
)
from ckgen.families.counts import ceil_div
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.rule import Rule
from ckgen.families.rules.hopper import RULES
from ckgen.families.vectors import Shape
from ckgen.hardware.archs import NVIDIA_ARCHES, find_warpgroup_atom
from ckgen.hardware.compute_units import MMA_SYNC_SHARE, Rates
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

# Time of a product of f32 in multiples of one of tf32: three of these, and work of the threads, which one warpgroup
# hides in another's products (bench/results/2026-11-29-h200-f32-and-stems).
F32_PACE = 4.1
F32_NARROW = 1.25  # times that with 64 columns: as much work beside half the products
F32_SPLITS = 1.15  # where threads also write the parts of B
F32_ALONE = 1.3  # by a single warpgroup
SWIZZLE_BYTES = 1024  # a swizzled TMA tile begins at a multiple of 8 rows of 128 bytes
STAGE_BARRIER_BYTES = 16  # two mbarriers of 8 bytes per stage: full and empty
WEIGHT_ELEMENTS = 64 * 1024  # of a stationary B: 128 KiB
COPY_BYTES = 16  # the unit in which TMA addresses memory
MOST_COPY_STRIDE = 8
MOST_SUB_GEMMS = 8  # tensor maps of the output among a kernel's arguments
BLOCK_COLUMNS = 8  # neighbouring columns that a warpgroup stores together
COPY_STEP_BYTES = 32  # of output channels, which backward data multiplies per step
ROW_BYTES = 128  # of a swizzled row
BOX_COLUMNS = 64  # of B, or a fraction of these
# Limits by ndim of a box's corner outside the image and of a tap's offset: CUDA driver API, cuTensorMapEncodeIm2col.
CORNERS, FARTHEST_TAPS = (32767, 127, 15), (65535, 255, 31)

REASONS = {
    "k_per_block": "by rule: 128 bytes, four wgmma steps and one box of a copy",
    "m_per_xdl": "by rule: wgmma computes 64 rows per warpgroup",
    "load_waves": "by rule: one warpgroup of two waves",
    "math_waves": "by rule: a warpgroup of two waves for every 64 rows of the tile",
    "stages": "by rule: as many as fit 227 KiB of shared memory, at most 6",
    "vector": "by rule: 16 bytes of A and B, and two weights; in backward data 16 bytes",
}


_VALUES = (
    NDIM,
    ELEM_BYTES,
    AS_STORED,
    C_BYTES,
    BLOCK_SIZE,
    LAUNCH_THREADS,
    Value(
        "acc_registers",
        "Accumulator registers per lane; a warpgroup of 128 threads holds m_per_xdl rows of the tile.",
        f"n_per_block // 2 * (m_per_xdl // {WGMMA_ROWS})",
    ),
    Value(
        "lds_bytes",
        "Bytes of LDS a workgroup allocates; the epilogue reuses the stages' memory.",
        f"(stages * (lds_stage_bytes + {STAGE_BARRIER_BYTES}) + lds_beside_stages + 15) // 16 * 16",
    ),
    Value(
        "box_columns",
        f"Columns of B in LDS, whose copies have {BOX_COLUMNS} each.",
        f"(n_per_block + {BOX_COLUMNS - 1}) // {BOX_COLUMNS} * {BOX_COLUMNS}",
    ),
    Value(
        "lds_stage_bytes",
        "Bytes of one LDS buffer: a tile of A and, unless B stays in LDS, one of each part of B.",
        "(m_per_block + (0 if weight_rows > 0 else box_columns * weight_parts)) * k_per_block * elem_bytes"
        # A row of 64 positions that begins anywhere in its first 16 bytes has 16 bytes more.
        f" + (m_per_block * {COPY_BYTES} if shift_buffers > 0 else 0)",
    ),
    WAVE,
    Value("warpgroups", "Warpgroups of 128 threads that do the matrix work.", "math_waves // 2"),
    Value(
        "lds_store_bytes",
        "Bytes of LDS in which a warp of 32 threads puts its results in order: 16 rows of at most 128 channels.",
        "0 if a_k_major == b_k_major and c_m_major == 0 else 16 * 2 * min(n_per_block, 128)",
    ),
    Value(
        "lds_beside_stages",
        "Bytes of LDS that stages of bulk copies leave to others: what rounding up may take, and the warps' own.",
        f"{SWIZZLE_BYTES} + lds_weight_bytes + 2 * math_waves * lds_store_bytes",
    ),
)
_LAST_VALUES = (
    Value(
        "part_buffers",
        f"Buffers of LDS of {ROW_BYTES} bytes of GEMM-K per column and part of B, which threads fill: 3 or 0.",
        "3 if elem_bytes == 4 and as_stored and weight_parts == 1 else 0",
    ),
    Value(
        "shift_buffers",
        f"Buffers of LDS of {ROW_BYTES} bytes per row of A, into which threads shift rows of 16 bits: 3 or 0.",
        "3 if a_vector == 1 and elem_bytes == 2 and c_m_major == 1 else 0",
    ),
    Value(
        "row_buffers",
        "Buffers of LDS of rows of A and B that begin anywhere, which threads shift into the stages: 4 or 0.",
        "4 if a_vector == 1 and elem_bytes == 2 and c_m_major == 0 else 0",
    ),
    Value(
        "lds_weight_bytes",
        "Bytes of LDS of a B that stays, with an mbarrier for each 16 rows of it and two others; or of part_buffers,"
        " shift_buffers or row_buffers.",
        "weight_rows * n_per_block * 2 + (weight_rows // 2 + 16 if weight_rows > 0 else 0)"
        f" + part_buffers * 2 * n_per_block * {ROW_BYTES} + shift_buffers * m_per_block * {ROW_BYTES}"
        f" + row_buffers * k_per_block * (2 * m_per_block + 2 * n_per_block + 2 * {COPY_BYTES})",
    ),
)


def derived(weight_rows: str, exchange: str = "0") -> tuple[Value, ...]:
    """The derived values, from the expressions for the rows of B that stay in shared memory, and for true if the
    operands may be exchanged."""
    meaning = "Rows of GEMM-K of B that stay in LDS from tile to tile, 0 where B comes with each stage."
    reads_weight = f"{exchange} == 0 and a_k_major != c_m_major and b_k_major == 0"  # as B
    parts = f"2 if elem_bytes == 4 and as_stored and {reads_weight} else 1"
    return (
        *_VALUES,
        Value("weight_rows", meaning, weight_rows),
        Value(
            "weight_parts", "Numbers of tf32 whose sum is an element of the weight in LDS: 2 for f32, else 1.", parts
        ),
        *_LAST_VALUES,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Hopper(BulkCopy):
    """A family that reads tensors through tensor maps in im2col order."""

    uses_wgmma: bool = True
    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return ROW_BYTES // DTYPES[dtype].elem_bytes

    def m_per_xdl(self, n_per_block: int) -> int:
        return WGMMA_ROWS

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return LOAD_WAVES, max(1, 2 * extents[0] // WGMMA_ROWS)

    def stages(self, instance: Fields) -> int:
        most = max(arch.lds_limit for arch in NVIDIA_ARCHES.values())
        stage = instance.lds_stage_bytes + STAGE_BARRIER_BYTES
        return max(2, min(MAX_STAGES, (most - instance.lds_beside_stages) // stage))

    def copied_units(self, instance: Fields) -> tuple[int, int]:
        """TMA addresses rows of 16 bytes; an input is copied where weights are stored one by one. wgmma takes tf32 only
        with GEMM-K innermost, which a weight does not have."""
        unit = COPY_BYTES // instance.elem_bytes
        reads_weight = instance.b_tensor == "wei"
        if not instance.channels_last:
            return 0, unit if reads_weight and instance.elem_bytes == 2 else 0
        if not reads_weight:
            unit *= instance.a_vector > 1  # without it threads copy rows of any number of channels
            return unit, unit if instance.b_tensor == "in" and instance.c_vector == 1 else 0
        return unit, -1 if instance.elem_bytes == 4 and not instance.exchange else unit

    def aligns_weight(self, instance: Fields, problem: ConvProblem) -> bool:
        """The rule of gains_by_aligned_weight() in ckgen/conv/weight_copy_args.hpp, which has the reasons."""
        copies = instance.b_tensor == "wei" and instance.elem_bytes == 2
        if not copies or self.kept_rows(instance) > 0 or self.sums_columns:
            return False
        row = problem.c * instance.elem_bytes
        elements = problem.groups * problem.k * prod(problem.filter)
        tiles = ceil_div(problem.batch * prod(problem.output), instance.m_per_block)
        loads = elements * tiles * ceil_div(row, ROW_BYTES)
        moved = 2 * elements * row
        saved = 0 if row % ROW_BYTES == 0 else 4.5 * loads if row % 32 == 0 else 16 * loads  # picoseconds
        return saved > 2.5e6 + 0.4 * moved and moved < 2e9

    def matrix_rate(self, dtype: str, rates: Rates) -> float:
        atom = find_warpgroup_atom(rates.arch, dtype)
        return super().matrix_rate(dtype, rates) if atom is None else rates.flops_of(atom.input_type)

    def pace(self, instance: Fields) -> float:
        """1, or more in f32, and where warps multiply by mma.sync: tf32 with the channels last and GEMM-K outermost."""
        if instance.elem_bytes != 4:
            return 1.0
        if instance.as_stored:
            narrow = F32_NARROW if instance.n_per_block == 64 else 1.0
            splits = F32_SPLITS if instance.part_buffers > 0 else 1.0
            return F32_PACE * narrow * splits * (F32_ALONE if instance.warpgroups == 1 else 1.0)
        by_warps = instance.channels_last and not instance.a_k_major
        return 1 / MMA_SYNC_SHARE if by_warps else 1.0

    def overlaps(self, instance: Fields) -> bool:
        """True for ping-pong consumers: warpgroups with a tile each."""
        return instance.warpgroups * instance.m_per_xdl > instance.m_per_block

    def tap_step(self, instance: Fields) -> int:
        return instance.k_per_block  # as many channels are 128 bytes, the box of a copy

    def kept_rows(self, instance: Fields) -> int:
        return instance.weight_rows

    def fills(self, instance: Fields, problem: ConvProblem, tensor: TensorName, vector: int) -> bool:
        """As for every family; with single elements of the input, or its positions side by side, the weight is copied
        where its vectors do not fit. An output that is operand B is also filled with zeros by TMA, or copied."""
        always = self.copied_units(instance)[1] < 0 or instance.c_vector == 1 or not instance.channels_last
        copied = tensor == instance.b_tensor and always and (tensor == "wei" or instance.channels_last)
        return copied or (instance.exchange and tensor == "out") or super().fills(instance, problem, tensor, vector)

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True if tensor maps in im2col order can describe the problem; backward data has one for each sub-GEMM."""
        step = COPY_BYTES // instance.elem_bytes
        if not instance.channels_last:
            return instance.a_vector == 1 or prod(problem.output) % step == 0
        if instance.a_k_major:
            steps = problem.groups == 1 or problem.k % (COPY_STEP_BYTES // instance.elem_bytes) == 0
            return steps and _walks_output(problem)
        rows = instance.c_vector == 1 or problem.c * problem.groups % step == 0
        return rows and max(problem.strides) <= MOST_COPY_STRIDE and _walks_input(problem)


def _is_walk(ndim: int, lowest: int, highest: int, reach: int) -> bool:
    """True if a tensor map can describe corners so far from those of the image, and a tap so far from the first."""
    return max(abs(lowest), abs(highest)) <= CORNERS[ndim - 1] and reach <= FARTHEST_TAPS[ndim - 1]


def _walks_output(problem: ConvProblem) -> bool:
    """True if there are maps of the output for the sub-GEMMs of backward data."""
    apart = (tilde(*steps) for steps in zip(problem.strides, problem.dilations, strict=True))
    if prod(min(one, edge) for one, edge in zip(apart, problem.filter, strict=True)) > MOST_SUB_GEMMS:
        return False
    sizes = (problem.input, problem.filter, problem.strides, problem.dilations, problem.left_pads)
    for length, *axis in zip(problem.output, *sizes, strict=True):
        for seen in split_axis(*axis).classes:
            reach = seen.shift * (seen.taps.count - 1)
            lowest = seen.origin - reach
            if not _is_walk(problem.ndim, lowest, lowest + seen.positions.count - length, reach):
                return False
    return True


def _walks_input(problem: ConvProblem) -> bool:
    """True if there is a map of the input for all taps of backward weight."""
    for d, (taps, dilation, pad) in enumerate(zip(problem.filter, problem.dilations, problem.left_pads, strict=True)):
        highest = (problem.output[d] - 1) * problem.strides[d] - pad - problem.input[d] + 1
        if not _is_walk(problem.ndim, -pad, highest, (taps - 1) * dilation):
            return False
    return True


def _weight_units(shape: Shape) -> tuple[int, int, int]:
    return reads_units(2 if LAYOUTS[shape.layout].channels_last else BLOCK_COLUMNS)(shape)


# Backward weight: TMA copies of A and B need 16 bytes. A pair of accumulators is two weights; channels-last inputs have
# whole blocks of them.
# Backward data: rows of B and writes of C are 16 bytes too.
WAVELET_TMA = Hopper(
    name="wavelet_tma",
    summary="Hopper's own",
    operations=(BWD_WEIGHT, BWD_DATA),
    own_sums=(BWD_WEIGHT, BWD_DATA),
    wavelet=True,
    widths={BWD_WEIGHT: _weight_units, BWD_DATA: in_units},
    derived=derived("0", "exchange"),
    struct="Tma",
    header="tma",
    exchanges=(BWD_DATA,),
    clusters=(BWD_WEIGHT,),
)
STATIONARY = Hopper(
    name="stationary",
    summary="its weight stays in shared memory",
    operations=(BWD_DATA,),
    own_sums=(BWD_DATA,),
    widths={BWD_DATA: in_units},
    derived=derived(f"{WEIGHT_ELEMENTS} // n_per_block"),
    struct="Stationary",
    header="tma",
)
