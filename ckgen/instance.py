"""One kernel instance: its fields, its name (the identity, which round-trips) and what follows from them.

The derived values are integers and have the same names and formulas in
templates/include/ckgen/instance/derived.hpp. GEMM terms: M = K channels, N = C x filter, K = N x output
positions; A = dOut, B = In, C = dWei. A wave is 64 threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

from ckgen.hardware import DTYPES, SIMDS_PER_CU, VGPR_FILE, WAVE_SIZE

OPERATIONS = ("grouped_conv_bwd_weight",)
FAMILIES = ("xdl", "wavelet")
# In the YAML and in Python as CK writes them; in names as the short form.
CONV_SPECS = {"Default": "default", "Filter1x1Stride1Pad0": "1x1s1p0"}
LDS_SLOT = 16  # bytes: the widest LDS access, and the unit in which tiles are laid out and padded
LDS_PLANES = 8  # LDS has 32 banks of 4 bytes: 8 slots side by side touch each bank once


# Where In, dWei and dOut lie, slowest axis first.
LAYOUTS = (
    "NWGC/GKXC/NWGK",
    "NHWGC/GKYXC/NHWGK",
    "NDHWGC/GKZYXC/NDHWGK",
    "GNWC/GKXC/GNWK",
    "GNHWC/GKYXC/GNHWK",
    "GNDHWC/GKZYXC/GNDHWK",
)

_NAME = re.compile(
    r"grouped_conv[123]d_bwd_weight_(?P<family>xdl|wavelet)_(?P<layout>[a-z]+_[a-z]+_[a-z]+)"
    r"_(?P<dtype>bf16_f32_bf16|bf16|f16|f32)_(?P<conv_spec>default|1x1s1p0)"
    r"_(?P<m_per_block>\d+)x(?P<n_per_block>\d+)x(?P<k_per_block>\d+)_w(?P<load_waves>\d+)x(?P<math_waves>\d+)"
    r"_xdl(?P<m_per_xdl>\d+)_v(?P<a_vector>\d+)x(?P<b_vector>\d+)x(?P<c_vector>\d+)_s(?P<stages>\d+)"
    r"(?P<generic>_generic)?",
    re.ASCII,
)


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


@dataclass(frozen=True, slots=True)
class Instance:
    """A kernel as data. All fields but `archs` are the identity and stand in the name."""

    family: str
    layout: str
    dtype: str
    conv_spec: str
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
    generic: bool = False
    operation: str = "grouped_conv_bwd_weight"
    archs: tuple[str, ...] = field(default=(), compare=False)
    name: str = field(init=False, compare=False, repr=False)  # in sources, symbols, CMake, Python and reports

    def __post_init__(self) -> None:
        # Made once, because every dictionary of instances is keyed by it.
        object.__setattr__(self, "name", self._make_name())

    def _make_name(self) -> str:
        return (
            f"{self._prefix}_{CONV_SPECS[self.conv_spec]}"
            f"_{self.m_per_block}x{self.n_per_block}x{self.k_per_block}_w{self.load_waves}x{self.math_waves}"
            f"_xdl{self.m_per_xdl}_v{self.a_vector}x{self.b_vector}x{self.c_vector}_s{self.stages}"
            + ("_generic" if self.generic else "")
        )

    @property
    def add_function(self) -> str:
        """The C++ function that adds this instance and its siblings to a list, in CK's way of naming."""
        suffix = "_1x1s1p0" if self.pointwise else ""
        return f"add_device_{self._prefix}{suffix}_instances"

    @property
    def _prefix(self) -> str:
        return f"grouped_conv{self.ndim}d_bwd_weight_{self.family}_{self.layout_tag.lower()}_{self.dtype}"

    @property
    def ndim(self) -> int:
        """Spatial dimensions, 1 to 3: the first tensor has them beside G, N and C."""
        return self.layout.index("/") - 3

    @property
    def layout_tag(self) -> str:
        """The layout's C++ type in namespace ckgen::layout: `NHWGC_GKYXC_NHWGK`."""
        return self.layout.replace("/", "_")

    @property
    def pointwise(self) -> bool:
        """True where the kernel takes 1x1 filters with stride 1 and no padding only."""
        return self.conv_spec == "Filter1x1Stride1Pad0"

    @property
    def elem_bytes(self) -> int:
        """Bytes of an element of A and B."""
        return DTYPES[self.dtype].elem_bytes

    @property
    def wei_bytes(self) -> int:
        """Bytes of an element of the weight gradient."""
        return DTYPES[self.dtype].wei_bytes

    @property
    def k1(self) -> int:
        """Elements of GEMM-K in one 16-byte LDS slot."""
        return LDS_SLOT // self.elem_bytes

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
        """Accumulator registers a lane."""
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
        """Elements along GEMM-K that one LDS write of A stores, after the transposition in registers."""
        return max(1, min(self.k1, self.a_elems // self.a_vector))

    @property
    def b_dst_vector(self) -> int:
        """Elements along GEMM-K that one LDS write of B stores."""
        return max(1, min(self.k1, self.b_elems // self.b_vector))

    @property
    def a_slices(self) -> int:
        """How many a_vector x a_dst_vector pieces of A a copy thread moves."""
        return self.a_elems // (self.a_vector * self.a_dst_vector)

    @property
    def b_slices(self) -> int:
        """How many b_vector x b_dst_vector pieces of B a copy thread moves."""
        return self.b_elems // (self.b_vector * self.b_dst_vector)

    @property
    def a_pad(self) -> int:
        """Empty slots after each plane of A."""
        return lds_pad(self.m_per_block, self.a_vector)

    @property
    def b_pad(self) -> int:
        """Empty slots after each plane of B."""
        return lds_pad(self.n_per_block, self.b_vector)

    @property
    def lds_stage_bytes(self) -> int:
        """Bytes of one LDS buffer: a tile of A and one of B."""
        slots = self.m_per_block + self.a_pad + self.n_per_block + self.b_pad
        return (self.k_per_block // self.k1) * slots * LDS_SLOT

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
        return max(self.stages * self.lds_stage_bytes, self.lds_epilogue_bytes)

    @property
    def vgpr_estimate(self) -> int:
        """32-bit registers a lane needs, roughly: accumulators, operands, the copy's staging, 48 others.

        Where load and math are different waves a wave holds one or the other, so the larger counts.
        """
        math = self.acc_registers + 8 * (self.m_xdl_per_wave + self.n_xdl_per_wave)
        copy = (self.a_elems + self.b_elems) * self.elem_bytes // 4
        return (max(math, copy) if self.load_waves else math + copy) + 48

    @property
    def vgpr_budget(self) -> int:
        """32-bit registers a lane may use so that the whole workgroup is resident on one compute unit."""
        waves_per_simd = (self.load_waves + self.math_waves + SIMDS_PER_CU - 1) // SIMDS_PER_CU
        return VGPR_FILE // waves_per_simd


FIELD_NAMES = tuple(f.name for f in fields(Instance) if f.compare)
DERIVED_NAMES = tuple(
    name
    for name, member in vars(Instance).items()
    if isinstance(member, property) and member.fget and member.fget.__annotations__["return"] == "int"
)


def primary(instance: Instance) -> dict[str, Any]:
    """The fields that are the identity, in declaration order."""
    return {name: getattr(instance, name) for name in FIELD_NAMES}


def derived(instance: Instance) -> dict[str, int]:
    """Every derived integer by name."""
    return {name: getattr(instance, name) for name in DERIVED_NAMES}


def parse(name: str) -> Instance:
    """The instance a name stands for (`archs`, no part of it, stays empty); ValueError if it is no name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not the name of an instance")
    words: dict[str, Any] = match.groupdict()
    words.update((key, int(text)) for key, text in words.items() if text and text.isdigit())
    words["layout"] = words["layout"].upper().replace("_", "/")
    words["conv_spec"] = next(spec for spec, short in CONV_SPECS.items() if short == words["conv_spec"])
    words["generic"] = words["generic"] is not None
    instance = Instance(**words)
    if instance.layout not in LAYOUTS or instance.name != name:  # `convNd` against the layout, leading zeros
        raise ValueError(f"{name!r} is not the name of an instance; its fields make {instance.name!r}")
    return instance
