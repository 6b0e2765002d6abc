"""The base of families streaming and warp_split, whose warps load operands to the registers of mma.sync."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.families.family import Family
from ckgen.families.fields import Fields
from ckgen.families.rule import Rule
from ckgen.hardware.archs import NVIDIA_ARCHES, WAVE_SIZE

ATOM = 16  # rows of mma.sync m16n8k16, and its terms
REGISTERS = 65536  # per multiprocessor: CUDA programming guide, compute capabilities
REASONS = {
    "m_per_xdl": "by rule: the rows of mma.sync m16n8k16",
    "load_waves": "by rule: every wave loads and multiplies",
    "math_waves": "by rule: the threads of block_size",
}


def atom_rule(prefix: str) -> Rule:
    """The rule for architectures, whose id begins with ``prefix``."""
    return Rule(
        id=f"{prefix}-atom",
        scope="arch",
        condition="has_atom",
        sentence="the architecture is NVIDIA's, sm_80 or later",
        message="{family} has no kernel for {arch}",
        help="leave `archs` out, or use sm_80 to sm_120: {family} is for platform nvidia",
        reason="The order of operands in registers is that of mma.sync.",
        blame=("archs", "dtype"),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class WarpMma(Family):
    """A family for NVIDIA whose warps load and multiply on their own; the selector tries no splits of GEMM-K."""

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

    def splits(self, instance: Fields) -> bool:
        return False
