"""What follows by rule where the spec says nothing: GEMM-K of a tile, widths of accesses, LDS buffers."""

from __future__ import annotations

from typing import NamedTuple

from ckgen.conv.dtypes import DTYPES
from ckgen.hardware.archs import NVIDIA_ARCHES, WAVE_SIZE
from ckgen.instance.derived import STAGE_BARRIER_BYTES
from ckgen.instance.derived_halo import HALO_ATOM, HALO_CHANNELS, WGMMA_ROWS, halo_unit
from ckgen.instance.instance import Instance
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, COPY_FAMILIES, HALO_FAMILIES, OPERATIONS, TMA_FAMILIES
from ckgen.spec.types import Vector

ACCESS_BYTES = 16  # the widest global or LDS access of a lane
BANK_BYTES = 4
SHARED_LDS_BYTES = 32 * 1024  # so that two workgroups fit the LDS that every architecture has
WAVELET_ROW = 32  # load threads side by side along M or N, as in CK's transfer clusters
CONV_SPEC = "Default"
# wavelet_tma of backward weight: A's copies need 16 bytes, a box of B is 64 channels, an accumulator pair two weights;
# of backward data: B's rows and what is written are 16 bytes too, as in halo's. halo: four weights are 16 bytes of f32.
COPY_VECTORS = {
    (BWD_WEIGHT, "wavelet_tma"): (8, 64, 2),
    (BWD_WEIGHT, "halo"): (8, 8, 4),
    (BWD_DATA, "wavelet_tma"): (8, 8, 8),
    (BWD_DATA, "stationary"): (8, 8, 8),
    (BWD_DATA, "halo"): (8, 8, 8),
}
COPY_LOAD_WAVES = 2  # one warpgroup; one of its threads issues all copies
COPY_MAX_STAGES = 6  # more hide no more latency where a stage is multiplied in 400 clocks
HALO_WARPGROUPS = 3  # with wgmma, one for each row of the filter
HALO_MATH_WARPS = 8  # as many as leave each other the registers of 180 accumulators

# Why a value that the file does not give is what it is, for `ckgen explain`.
REASONS = {
    "k_per_block": "by rule: 64 bytes, four LDS slots, as in CK's rows",
    "m_per_xdl": "by rule: 32x32 atoms need half the LDS reads of 16x16 ones",
    "function": "by rule: PassThrough stores what was summed",
    "conv_spec": "by rule: Default takes every filter, stride, dilation and padding",
    "full": "full: 16 bytes, less where a thread would keep under 4 bytes of GEMM-K for an LDS write",
    "small": "small: the fewest elements that CK's rows access at once",
    "generic": "by rule: single elements fit every C and K",
    "slot": "by rule: 16 bytes, a slot of LDS",
    "wavelet": "by rule: 32 load threads read a row of the tile",
    "wavelet-c": "by rule: two weights, as in CK's rows",
    "stages": "by rule: 1 for xdl; 4 for wavelet where that takes at most 32 KiB of LDS, else 2",
    "archs": "by rule: every architecture whose rules the instance keeps",
}
_TMA_REASONS = {
    "k_per_block": "by rule: 64 positions, four wgmma steps and one box of a copy",
    "m_per_xdl": "by rule: wgmma computes 64 rows a warpgroup",
    "load_waves": "by rule: one warpgroup of two waves",
    "math_waves": "by rule: a warpgroup of two waves for every 64 rows of the tile",
    "stages": "by rule: as many as fit 227 KiB of shared memory, at most 6",
    "vector": "by rule: 16 bytes of A; of B a box of 64 channels and two weights, in backward data 16 bytes of both",
}
_HALO_REASONS = {
    "k_per_block": "by rule: 16 positions for each share of eight warps, with wgmma 16",
    "m_per_xdl": "by rule: mma.sync's atom has 16 rows; wgmma's has 64, the channels of a group's tile",
    "load_waves": "by rule: one warpgroup of two waves",
    "math_waves": "by rule: a warp for each unit of channels and share of positions, with wgmma a warpgroup"
    " of two waves for each row of the filter",
    "stages": "by rule: at most 6; how many fit follows from the problem",
    "vector": "by rule: 16 bytes of A and of B, four weights, in backward data 16 bytes",
}
_FAMILY_REASONS = {"wavelet_tma": _TMA_REASONS, "stationary": _TMA_REASONS, "halo": _HALO_REASONS}


class Shape(NamedTuple):
    """What the vectors depend on."""

    operation: str
    family: str
    generic: bool
    dtype: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    copy_threads: int


def reason(field: str, family: str) -> str:
    """Why a field that the file does not give is what it is."""
    return _FAMILY_REASONS.get(family, {}).get(field) or REASONS[field]


def k_per_block(operation: str, family: str, dtype: str, n_per_block: int) -> int:
    """GEMM-K of a tile by rule."""
    if family in HALO_FAMILIES and n_per_block == HALO_CHANNELS:
        return HALO_ATOM[2]
    if family in HALO_FAMILIES:
        units = HALO_CHANNELS // halo_unit(operation, n_per_block)
        return HALO_ATOM[2] * max(1, HALO_MATH_WARPS // units)
    if family in TMA_FAMILIES:
        return 64
    return 64 // DTYPES[dtype].elem_bytes


def m_per_xdl(family: str, n_per_block: int) -> int:
    """Rows of the matrix atom by rule."""
    if family in HALO_FAMILIES and n_per_block != HALO_CHANNELS:
        return HALO_ATOM[0]
    return WGMMA_ROWS if family in COPY_FAMILIES else 32


def waves(operation: str, family: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
    """Load and math waves where the file gives no wave ratio; `extents` are M, N and K of the tile, the block size
    is of family xdl."""
    m, n, k = extents
    if family in HALO_FAMILIES and n == HALO_CHANNELS:
        return COPY_LOAD_WAVES, 2 * HALO_WARPGROUPS
    if family in HALO_FAMILIES:
        units = HALO_CHANNELS // halo_unit(operation, n)
        return COPY_LOAD_WAVES, max(1, units * (k // HALO_ATOM[2]) // 2)
    if family in TMA_FAMILIES:
        return COPY_LOAD_WAVES, max(1, 2 * m // WGMMA_ROWS)
    return 0, block_size // WAVE_SIZE


def vectors(wanted: Vector | None, shape: Shape) -> tuple[int, int, int]:
    """The a, b and c vectors: what the file wants, a number or a word each, else the rule of the family."""
    a, b, c = (wanted.a, wanted.b, wanted.c) if wanted else (None, None, None)
    if shape.family in COPY_FAMILIES:
        given = zip((a, b, c), COPY_VECTORS[shape.operation, shape.family], strict=True)
        a, b, c = (rule if width in (None, "full") else width for width, rule in given)
    return (
        a if isinstance(a, int) else _a_width(a, shape),
        b if isinstance(b, int) else _read_width(b, shape, shape.n_per_block),
        c if isinstance(c, int) else _write_width(c, shape),
    )


def vector_reason(wanted: Vector | None, which: str, instance: Instance) -> str:
    """Why a vector (`which` is a, b or c) that the file does not give as a number is what it is."""
    word = getattr(wanted, which) if wanted else None
    if instance.uses_tma and word != "small":
        return reason("vector", instance.family)
    if isinstance(word, str):
        return REASONS[word]
    if instance.generic:
        return REASONS["generic"]
    if instance.a_rows and which == "a":
        return REASONS["slot"]
    if instance.family == "wavelet" and not (instance.a_rows and which == "c"):
        return REASONS["wavelet-c" if which == "c" else "wavelet"]
    return "by rule, " + REASONS["full"]


def stages(instance: Instance) -> int:
    """LDS buffers by rule for an instance; the number it has does not matter."""
    if instance.is_halo:
        return COPY_MAX_STAGES
    if instance.uses_tma:
        most = max(arch.lds_bytes for arch in NVIDIA_ARCHES.values())
        stage = instance.lds_stage_bytes + STAGE_BARRIER_BYTES
        return max(2, min(COPY_MAX_STAGES, (most - instance.lds_beside_stages) // stage))
    if not instance.load_waves:
        return 1
    return 4 if 4 * instance.lds_stage_bytes <= SHARED_LDS_BYTES else 2


def _a_width(word: str | None, shape: Shape) -> int:
    if not OPERATIONS[shape.operation].a_rows:
        return _read_width(word, shape, shape.m_per_block)
    if word == "small" or (word is None and shape.generic):
        return _small(shape)
    return ACCESS_BYTES // DTYPES[shape.dtype].elem_bytes


def _read_width(word: str | None, shape: Shape, extent: int) -> int:
    dtype = DTYPES[shape.dtype]
    if word == "small":
        return _small(shape)
    if word is None and shape.generic:
        return 1
    if word is None and shape.family == "wavelet":
        return max(1, extent // WAVELET_ROW)
    width = ACCESS_BYTES // dtype.elem_bytes
    elements = extent * shape.k_per_block // shape.copy_threads
    while width > 1 and (extent % width or elements // width * dtype.elem_bytes < BANK_BYTES):
        width //= 2
    return width


def _write_width(word: str | None, shape: Shape) -> int:
    operation = OPERATIONS[shape.operation]
    if word == "small":
        return _small(shape)
    if word is None and shape.generic:
        return 1
    if word is None and shape.family == "wavelet" and not operation.a_rows:
        return 2
    width = ACCESS_BYTES // DTYPES[shape.dtype].bytes_of(operation.written)
    while shape.n_per_block % width:
        width //= 2
    return width


def _small(shape: Shape) -> int:
    return OPERATIONS[shape.operation].small_vector or DTYPES[shape.dtype].small_vector
