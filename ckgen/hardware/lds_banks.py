"""LDS banks: the phases in which an access of a wave is executed, and the cycles that it takes with its conflicts.

In a phase a bank delivers one word of 4 bytes; lanes that need the same word share it. With 32 banks a phase has 32
lanes of 4 bytes, 16 of 8 or 8 of 16, in order, except for reads of 16 bytes per lane. The rows of gfx90a, gfx942 and
gfx950 are those of templates/include/ckgen/platform/host_bank_conflicts.hpp, which cites their sources; a test compares
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WORD, _WIDEST, _PHASE_BYTES, _WRITE_BANKS = 4, 16, 128, 32
_HALF, _GROUP = 32, 4  # lanes of half a wave of 64, and of a group that is always in one phase


@dataclass(frozen=True, slots=True)
class Banks:
    """`wide_read_phase`: the phase of each four lanes of half a wave of 64, for reads of 16 bytes per lane."""

    arch: str
    read_banks: int
    wide_read_phase: tuple[int, ...]


BANKS: dict[str, Banks] = {
    banks.arch: banks
    for banks in (
        Banks("gfx90a", 32, (0, 1, 2, 3, 1, 0, 3, 2)),
        Banks("gfx942", 32, (0, 1, 2, 3, 1, 0, 3, 2)),
        Banks("gfx950", 64, (0, 1, 1, 0, 1, 0, 0, 1)),
        Banks("gfx1100", 32, (0, 0, 1, 1, 2, 2, 3, 3)),  # assumed: in order; no document gives the phases
        Banks("gfx1201", 32, (0, 0, 1, 1, 2, 2, 3, 3)),  # assumed: in order; no document gives the phases
    )
}


def bank_cycles(arch: str, offsets: Sequence[int], lane_bytes: int, *, write: bool) -> tuple[int, int]:
    """The cycles of an access, and how few they can be. `offsets` are the lanes' first bytes, negative if inactive."""
    banks = BANKS[arch]
    phases: dict[int, set[int]] = {}
    for lane, offset in enumerate(offsets):
        if offset >= 0:
            words = range(offset // _WORD, (offset + lane_bytes - 1) // _WORD + 1)
            phases.setdefault(_phase(banks, lane, lane_bytes, write=write), set()).update(words)
    count = _WRITE_BANKS if write else banks.read_banks
    return sum(_busiest(words, count) for words in phases.values()), len(phases)


def _phase(banks: Banks, lane: int, lane_bytes: int, *, write: bool) -> int:
    if write or lane_bytes != _WIDEST:
        return lane * max(lane_bytes, _WORD) // _PHASE_BYTES
    return lane // _HALF * 2 * _HALF + banks.wide_read_phase[lane % _HALF // _GROUP]


def _busiest(words: set[int], banks: int) -> int:
    wanted = [0] * banks
    for word in words:
        wanted[word % banks] += 1
    return max(wanted)
