"""Bank conflicts of family halo in NVIDIA's shared memory: what lanes do in templates/include/ckgen/pipeline/halo.hpp.

Its copies are the copy engine's, with the 128-byte swizzle that reads undo; so are those of family wavelet_tma, where
wgmma reads too: none of them is an access of lanes, and there is nothing to count. A position of the input takes 128
bytes, all banks once, so what a lane reads depends on its position modulo 8 alone, and not on the image or the tap. In
backward data (bwd_data_halo_math.hpp) it is the output's positions that are read so, and weights once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ckgen.cost.bank_conflicts import IN_ORDER, Access, Conflicts, Lds, counted
from ckgen.hardware.archs import WAVE_SIZE
from ckgen.instance.instance import Instance

# CUDA C++ programming guide, "Shared Memory" of compute capability 9.0: 32 banks of 4 bytes. Of 16 bytes per lane it
# takes eight lanes at a time, which are the rows of one matrix of ldmatrix. A wave of 64 lanes is two warps.
SHARED = Lds("sm_90a", 32, 32, IN_ORDER, IN_ORDER)
WARP = 32
TAPS = 9
IN_PITCH = 128
SWIZZLE_ROWS = 8  # a row's 16-byte pieces change places with its number modulo this


def halo_conflicts(instance: Instance) -> tuple[Conflicts, ...]:
    """The conflicts of an instance of family halo, by kind of access."""
    return counted(halo_accesses(instance), SHARED)


def halo_accesses(instance: Instance) -> Iterator[Access]:
    """What all math warps read for 16 positions, wherever those begin, and how products pass through shared memory."""
    if instance.a_rows:
        yield from _data_accesses(instance)
        return
    for start in range(SWIZZLE_ROWS):
        yield from _by_warps(instance, "read A", False, 16, partial(in_byte, instance, start))
    for pair in range((instance.m_per_block // 8 + 1) // 2):
        yield from _by_warps(instance, "read B", False, 16, partial(out_byte, instance, pair))
    yield from _by_warps(instance, "epilogue write", True, 4, partial(product_byte, instance))
    yield from _product_reads(instance)


def _data_accesses(instance: Instance) -> Iterator[Access]:
    for start in range(SWIZZLE_ROWS):
        for half in range(2):
            yield from _by_warps(instance, "read A", False, 16, partial(cell_byte, instance, start, half))
    yield from _by_warps(instance, "read B", False, 16, partial(weight_byte, instance))


def cell_byte(instance: Instance, start: int, half: int, warp: int, lane: int) -> int:
    """`HaloBwdDataMath::place`: positions 0-7 and 8-15 of eight channels, then of the next eight; `half` the 16 of 32."""
    line = start + lane % 16
    chunk = warp % instance.units * (instance.unit_channels // 8) + half * 2 + lane // 16
    return line * IN_PITCH + swizzled(chunk, line) * 16


def weight_byte(instance: Instance, warp: int, lane: int) -> int:
    """Four matrices of 8x8 weights, one after the other, and further ones a constant further."""
    return warp % instance.units * TAPS * instance.unit_channels * instance.n_per_block * 2 + lane * 16


def in_byte(instance: Instance, start: int, warp: int, lane: int) -> int:
    """`MathRole::tap_`: eight positions of eight channels a matrix; where two taps share an atom, those of both."""
    unit, share, matrix = warp % instance.units, warp // instance.units, lane // 8
    line = start + share * 16 + matrix // 2 * 8 + lane % 8
    channel = unit * instance.unit_channels + (0 if instance.unit_channels == 8 else matrix % 2 * 8)
    return line * IN_PITCH + swizzled(channel // 8, line) * 16


def out_byte(instance: Instance, pair: int, warp: int, lane: int) -> int:
    """`MathRole::out_line_`: positions 0-7 and 8-15 of eight columns, then of the next eight where there are."""
    unit, share, matrix = warp % instance.units, warp // instance.units, lane // 8
    line = share * 16 + matrix % 2 * 8 + lane % 8
    block = 2 * pair + (matrix // 2 if 2 * pair + 1 < instance.m_per_block // 8 else 0)
    slot = unit * instance.unit_channels // instance.n_per_block * instance.m_per_block // 8 + block
    slot = swizzled(slot, line) if instance.out_pitch == IN_PITCH else slot
    return line * instance.out_pitch + slot * 16


def swizzled(slot: int, line: int) -> int:
    """Where the copy engine puts a 16-byte piece of a row of 128 bytes."""
    return slot ^ line % SWIZZLE_ROWS


def product_byte(instance: Instance, warp: int, lane: int) -> int:
    """`MathRole::spread`: the first of a lane's products; the others are a constant further for all lanes."""
    unit, share = warp % instance.units, warp // instance.units
    channel = unit * instance.unit_channels
    lines = instance.groups_per_block * instance.m_per_block
    line = share * lines + channel // instance.n_per_block * instance.m_per_block + lane % 4 * 2
    return (line * _line_pitch(instance) + channel % instance.n_per_block + lane // 4) * 4


def _product_reads(instance: Instance) -> Iterator[Access]:
    """`MathRole::write`: four products a lane, line after line; a line's end leaves four words out."""
    length = TAPS * instance.n_per_block
    total = instance.groups_per_block * instance.m_per_block * length
    for first in range(0, total, WAVE_SIZE * 4):
        places = (min(first + lane * 4, total - 4) for lane in range(WAVE_SIZE))
        lanes = tuple((i // length * _line_pitch(instance) + i % length) * 4 for i in places)
        yield Access("epilogue read", False, 16, lanes)


def _line_pitch(instance: Instance) -> int:
    return TAPS * instance.n_per_block + 4


def _by_warps(
    instance: Instance, what: str, writes: bool, size: int, byte_of: Callable[[int, int], int]
) -> Iterator[Access]:
    """An access of every math warp, two to a wave."""
    for wave in range(instance.math_waves):
        lanes = tuple(byte_of(2 * wave + n // WARP, n % WARP) for n in range(WAVE_SIZE))
        yield Access(what, writes, size, lanes)
