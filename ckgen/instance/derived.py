"""What follows from an instance's fields: integers with the same names and formulas as in C++.

AMD's families: templates/include/ckgen/config/derived.hpp. Hopper's: derived_tma.hpp and derived_halo.hpp beside it.
"""

from __future__ import annotations

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS
from ckgen.hardware.archs import SIMDS_PER_CU, VGPR_FILE, WAVE_SIZE
from ckgen.instance.derived_halo import HALO_ATOM, HALO_CHANNELS, HALO_LDS_BYTES, WGMMA_ROWS, HaloDerived
from ckgen.operations.operation import COPY_FAMILIES, HALO_FAMILIES, OPERATIONS, STATIONARY_FAMILIES, TMA_FAMILIES

LDS_SLOT = 16  # bytes: the widest LDS access, and the unit in which tiles are laid out and padded
LDS_PLANES = 8  # LDS has 32 banks of 4 bytes: 8 slots side by side touch each bank once
SWIZZLE_BYTES = 1024  # a swizzled tile of a bulk copy begins at a multiple of 8 rows of 128 bytes
STAGE_BARRIER_BYTES = 16  # two mbarriers of 8 bytes: a stage is full, a stage is empty
WEIGHT_ELEMENTS = 64 * 1024  # of a B that stays: 128 KiB


def wave_grid(math_waves: int, m_per_block: int, n_per_block: int) -> tuple[int, int]:
    """How the math waves tile M and N: as square as they can, the longer side of the tile gets more waves."""
    tall = m_per_block > n_per_block
    if math_waves == 2:
        return (2, 1) if tall else (1, 2)
    if math_waves == 4:
        return (2, 2)
    if math_waves == 8:
        return (4, 2) if tall else (2, 4)
    return (1, 1)  # one wave; other counts break the rule wave-count


def lds_pad(elements: int, vector: int) -> int:
    """Empty slots after a plane of `elements` slots, so that the threads of one write hit different banks."""
    columns = elements // vector
    return columns if columns < LDS_PLANES else 0


class Derived(HaloDerived):
    """The derived values, as properties over the fields of ckgen.instance.instance.Instance, its only subclass."""

    __slots__ = ()
    family: str
    layout: str
    dtype: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_xdl: int
    load_waves: int
    math_waves: int
    a_vector: int
    b_vector: int
    c_vector: int
    stages: int
    operation: str

    @property
    def uses_tma(self) -> bool:
        """True where bulk tensor copies fill shared memory: families of Hopper alone."""
        return self.family in COPY_FAMILIES

    @property
    def a_rows(self) -> bool:
        """True where A lies along GEMM-K in memory: a slot of LDS is filled without transposing."""
        return OPERATIONS[self.operation].a_k_major(self.layout)

    @property
    def groups_outermost(self) -> bool:
        """True where each group's tensor lies by itself, as in GNHWC."""
        return LAYOUTS[self.layout].groups_outermost

    @property
    def channels_last(self) -> bool:
        """True where neighbouring channels lie side by side, as in NHWGC; the weight's always do."""
        return LAYOUTS[self.layout].channels_last

    @property
    def ndim(self) -> int:
        """Spatial dimensions, 1 to 3: the first tensor has them beside G, N and C."""
        return self.layout.index("/") - 3

    @property
    def elem_bytes(self) -> int:
        """Bytes of an element of A and B."""
        return DTYPES[self.dtype].elem_bytes

    @property
    def c_bytes(self) -> int:
        """Bytes of an element of C, the tensor that is written."""
        return DTYPES[self.dtype].bytes_of(OPERATIONS[self.operation].written)

    @property
    def k1(self) -> int:
        """Elements of GEMM-K in one 16-byte LDS slot."""
        return LDS_SLOT // self.elem_bytes

    @property
    def planes(self) -> int:
        """Planes of slots in a tile of A or B: those of one plane are side by side along M or N."""
        return self.k_per_block // self.k1

    @property
    def copy_waves(self) -> int:
        """Waves that copy from global memory to LDS: the load waves, or all where there are none."""
        return self.load_waves or self.math_waves

    @property
    def copy_threads(self) -> int:
        """Threads that copy from global memory to LDS."""
        return WAVE_SIZE * self.copy_waves

    @property
    def block_size(self) -> int:
        """Threads that do the matrix work: CK's BlockSize."""
        return WAVE_SIZE * self.math_waves

    @property
    def launch_threads(self) -> int:
        """Threads of a workgroup as launched."""
        return WAVE_SIZE * (self.load_waves + self.math_waves)

    @property
    def m_waves(self) -> int:
        """Math waves along M."""
        return wave_grid(self.math_waves, self.m_per_block, self.n_per_block)[0]

    @property
    def n_waves(self) -> int:
        """Math waves along N."""
        return wave_grid(self.math_waves, self.m_per_block, self.n_per_block)[1]

    @property
    def m_xdl_per_wave(self) -> int:
        """Atoms of one wave along M."""
        return self.m_per_block // (self.m_waves * self.m_per_xdl)

    @property
    def n_xdl_per_wave(self) -> int:
        """Atoms of one wave along N."""
        return self.n_per_block // (self.n_waves * self.m_per_xdl)

    @property
    def k_step(self) -> int:
        """GEMM-K that one step of a wave covers when every lane reads one 16-byte slot."""
        return self.k1 * (WAVE_SIZE // self.m_per_xdl)

    @property
    def acc_registers(self) -> int:
        """Accumulator registers per lane; a warpgroup of 128 threads holds m_per_xdl rows of the tile."""
        if self.by_filter_rows:
            return 3 * self.m_per_block // 2
        if self.is_halo and self.a_rows:
            return self.k_per_block * HALO_CHANNELS // self.block_size
        if self.is_halo:
            return (5 if self.n_per_block < HALO_ATOM[0] else 9) * (self.m_per_block // HALO_ATOM[1]) * 4
        if self.uses_tma:
            return self.n_per_block // 2 * (self.m_per_xdl // WGMMA_ROWS)
        return self.m_xdl_per_wave * self.n_xdl_per_wave * self.m_per_xdl * self.m_per_xdl // WAVE_SIZE

    @property
    def a_elems(self) -> int:
        """Elements of A's tile a copy thread moves."""
        return self.m_per_block * self.k_per_block // self.copy_threads

    @property
    def b_elems(self) -> int:
        """Elements of B's tile a copy thread moves."""
        return self.n_per_block * self.k_per_block // self.copy_threads

    @property
    def a_dst_vector(self) -> int:
        """Elements along GEMM-K that one LDS write of A stores, transposed in registers where A is not a_rows."""
        return self.k1 if self.a_rows else max(1, min(self.k1, self.a_elems // self.a_vector))

    @property
    def b_dst_vector(self) -> int:
        """Elements along GEMM-K that one LDS write of B stores."""
        return max(1, min(self.k1, self.b_elems // self.b_vector))

    @property
    def a_slices(self) -> int:
        """How many pieces of A a copy thread moves: a_vector x a_dst_vector, or slots of one row."""
        return self.a_elems // (self.a_dst_vector * (1 if self.a_rows else self.a_vector))

    @property
    def b_slices(self) -> int:
        """How many b_vector x b_dst_vector pieces of B a copy thread moves."""
        return self.b_elems // (self.b_vector * self.b_dst_vector)

    @property
    def a_pad(self) -> int:
        """Empty slots after each plane of A."""
        if self.a_rows:  # threads side by side write one row's slots, one in each plane
            return max(1, LDS_PLANES // self.planes) if self.planes > 1 else 0
        return lds_pad(self.m_per_block, self.a_vector)

    @property
    def b_pad(self) -> int:
        """Empty slots after each plane of B."""
        return lds_pad(self.n_per_block, self.b_vector)

    @property
    def lds_stage_bytes(self) -> int:
        """Bytes of one LDS buffer: a tile of A and one of B, where that does not stay."""
        if self.uses_tma:
            return (self.m_per_block + (0 if self.weight_rows else self.n_per_block)) * self.k_per_block * 2
        slots = self.m_per_block + self.a_pad + self.n_per_block + self.b_pad
        return self.planes * slots * LDS_SLOT

    @property
    def epilogue_rows(self) -> int:
        """Rows of the C tile that pass through LDS at once."""
        return self.m_waves * (256 // self.m_per_xdl)

    @property
    def lds_epilogue_bytes(self) -> int:
        """Bytes of the two f32 row buffers of the epilogue."""
        return 2 * self.epilogue_rows * self.n_per_block * 4

    @property
    def lds_bytes(self) -> int:
        """Bytes of LDS a workgroup allocates; the epilogue reuses the stages' memory."""
        if self.is_halo:
            return HALO_LDS_BYTES
        if self.uses_tma:
            used = self.stages * (self.lds_stage_bytes + STAGE_BARRIER_BYTES) + self.lds_beside_stages
            return (used + 15) // 16 * 16
        return max(self.stages * self.lds_stage_bytes, self.lds_epilogue_bytes)

    @property
    def lds_store_bytes(self) -> int:
        """Bytes of LDS in which a warp of 32 threads puts its results in order: 16 rows of at most 128 channels."""
        return 16 * 2 * min(self.n_per_block, 128) if self.a_rows else 0

    @property
    def lds_beside_stages(self) -> int:
        """Bytes of LDS that stages of bulk copies leave to others: what rounding up may take, and the warps' own."""
        return SWIZZLE_BYTES + self.lds_weight_bytes + 2 * self.math_waves * self.lds_store_bytes

    @property
    def weight_rows(self) -> int:
        """Rows of GEMM-K of B that stay in LDS from tile to tile, 0 where B comes with each stage."""
        return WEIGHT_ELEMENTS // self.n_per_block if self.family in STATIONARY_FAMILIES else 0

    @property
    def lds_weight_bytes(self) -> int:
        """Bytes of LDS of a B that stays, and of mbarriers: one for each 16 rows of it and two others."""
        rows = self.weight_rows
        return rows * self.n_per_block * 2 + (rows // 2 + 16 if rows else 0)

    @property
    def vgpr_estimate(self) -> int:
        """32-bit registers that a lane needs, roughly: accumulators, operands, the copy's staging, 48 others.

        Where load and math are different waves a wave holds one or the other, so the larger counts.
        """
        math = self.acc_registers + 8 * (self.m_xdl_per_wave + self.n_xdl_per_wave)
        copy = (self.a_elems + self.b_elems) * self.elem_bytes // 4
        return (max(math, copy) if self.load_waves else math + copy) + 48

    @property
    def vgpr_budget(self) -> int:
        """32-bit registers that a lane may use so that the whole workgroup is resident on one compute unit."""
        waves_per_simd = (self.load_waves + self.math_waves + SIMDS_PER_CU - 1) // SIMDS_PER_CU
        return VGPR_FILE // waves_per_simd

    @property
    def wave_size(self) -> int:
        """Threads of a wave, on every architecture: two warps where those are 32 wide."""
        return WAVE_SIZE

    @property
    def warpgroups(self) -> int:
        """Warpgroups of 128 threads that do the matrix work."""
        return self.math_waves // 2


DERIVED_NAMES = tuple(
    name
    for name, member in (vars(Derived) | vars(HaloDerived)).items()
    if isinstance(member, property) and member.fget and member.fget.__annotations__["return"] == "int"
)
_HALO_ONLY = ("groups_per_block", "unit_channels", "units", "shares", "out_pitch", "lds_products_bytes")
_TMA_ONLY = ("wave_size", "warpgroups", "lds_store_bytes", "lds_beside_stages", "weight_rows", "lds_weight_bytes")
_COMMON = ("ndim", "elem_bytes", "c_bytes", "block_size", "launch_threads", "acc_registers", "lds_bytes")
MFMA_NAMES = tuple(name for name in DERIVED_NAMES if name not in (*_TMA_ONLY, *_HALO_ONLY))
TMA_NAMES = (*_COMMON, "lds_stage_bytes", *_TMA_ONLY)
HALO_NAMES = (*_COMMON, *_HALO_ONLY, "wave_size")


def derived_names(family: str) -> tuple[str, ...]:
    """The derived values that instances of a family have."""
    if family in HALO_FAMILIES:
        return HALO_NAMES
    return TMA_NAMES if family in TMA_FAMILIES else MFMA_NAMES
