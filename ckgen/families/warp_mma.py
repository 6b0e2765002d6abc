"""The base of families streaming and warp_split, whose warps load operands to the registers of mma.sync."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.families.family import Family
from ckgen.families.fields import Fields
from ckgen.hardware.archs import NVIDIA_ARCHES, WAVE_SIZE

ATOM = 16  # rows of mma.sync m16n8k16, and its terms
REGISTERS = 65536  # per multiprocessor: CUDA programming guide, compute capabilities


@dataclass(frozen=True, kw_only=True, eq=False)
class WarpMma(Family):
    """A family for NVIDIA whose warps load and multiply on their own, without splits of GEMM-K among workgroups."""

    wave_key: str = "block_size"

    def m_per_xdl(self, n_per_block: int) -> int:
        return ATOM

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return 0, block_size // WAVE_SIZE

    def archs(self, instance: Fields) -> Sequence[str]:
        return tuple(NVIDIA_ARCHES)

    def home(self, dtype: str) -> Sequence[str]:
        return tuple(NVIDIA_ARCHES)

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return arch in NVIDIA_ARCHES

    def splits(self, operation: str) -> bool:
        return False
