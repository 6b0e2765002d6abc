"""The base of the Hopper families, which fill shared memory by TMA."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.family import Family
from ckgen.families.fields import Fields
from ckgen.families.formulas import Value
from ckgen.families.tile_cost import TileBytes
from ckgen.families.vectors import Shape, Width, small
from ckgen.hardware.archs import NVIDIA_ARCHES, WAVE_SIZE, find_warpgroup_atom

LOAD_WAVES = 2  # one warpgroup; one of its threads issues all copies
SHARED_BYTES = 227 * 1024  # all shared memory of sm_90a, for rings whose shape the problem determines
MAX_STAGES = 6  # more stages hide no more latency if a stage is multiplied in 400 clocks
WGMMA_ROWS = 64  # rows of a warpgroup's atom
OTHER_REGISTERS = 64  # beside accumulators, estimated

NDIM = Value("ndim", "Spatial dimensions, 1 to 3: the first tensor has them beside G, N and C.")
ELEM_BYTES = Value("elem_bytes", "Bytes of an element of A and B.")
C_BYTES = Value("c_bytes", "Bytes of an element of C, the tensor that is written.")
BLOCK_SIZE = Value("block_size", "Threads that do the matrix work: CK's BlockSize.", f"{WAVE_SIZE} * math_waves")
LAUNCH_THREADS = Value(
    "launch_threads", "Threads of a workgroup as launched.", f"{WAVE_SIZE} * (load_waves + math_waves)"
)
WAVE = Value(
    "wave_size", "Threads of a wave, on every architecture: two warps where those are 32 wide.", f"{WAVE_SIZE}"
)


def in_units(shape: Shape) -> tuple[int, int, int]:
    """Vectors of 16 bytes of A, B and C."""
    return (16 // DTYPES[shape.dtype].elem_bytes,) * 3


def reads_units(written: int) -> Callable[[Shape], tuple[int, int, int]]:
    """Vectors of 16 bytes of A and B, and ``written`` elements of C."""
    return lambda shape: (*in_units(shape)[:2], written)


@dataclass(frozen=True, kw_only=True, eq=False)
class BulkCopy(Family):
    """A family for Hopper only; `widths` gives the vectors of each operation."""

    wave_key: str = "wave_ratio"
    uses_tma: bool = True
    widths: Mapping[str, Callable[[Shape], tuple[int, int, int]]] = field(repr=False)

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        a, b, c = (
            width if isinstance(width, int) else small(shape) if width == "small" else rule
            for width, rule in zip(wanted, self.widths[shape.operation](shape), strict=True)
        )
        return a, b, c

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        return self.reason("small" if word == "small" else "vector")

    def archs(self, instance: Fields) -> Sequence[str]:
        return tuple(NVIDIA_ARCHES)

    def home(self, dtype: str) -> Sequence[str]:
        return tuple(arch for arch in NVIDIA_ARCHES if find_warpgroup_atom(arch, dtype) is not None)

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return find_warpgroup_atom(arch, instance.dtype) is not None

    @abstractmethod
    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True if TMA and the kernel can read the problem's tensors."""

    def registers(self, instance: Fields) -> int:
        return instance.acc_registers + OTHER_REGISTERS

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """LDS and memory traffic of one tile; a warpgroup reads 64 rows of A and all of B for its wgmma."""
        tile = (instance.m_per_block + instance.n_per_block) * instance.k_per_block * instance.elem_bytes
        rows = instance.m_per_block + instance.n_per_block * (instance.math_waves // 2)
        return TileBytes(rows * instance.k_per_block * instance.elem_bytes, tile, tile)
