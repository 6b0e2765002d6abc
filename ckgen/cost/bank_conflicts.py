"""LDS bank conflicts of an instance, counted from its layout: how much longer its accesses take than their bytes must.

LDS has banks of 4 bytes. A wave's access is worked off in phases, each with some of its lanes; in a phase a bank
delivers one word, and lanes that want the same word share it. An access is free of conflicts when no phase needs a
bank twice. Those of the main loop all are, for every instance (a test counts them). The epilogue's reads, once a tile
of the output, are not: they undo the deal of columns over slots one word at a time.

The accesses are those of templates/include/ckgen/block/ (tile_copy.hpp, row_copy.hpp and direct_copy.hpp write,
wave_mma.hpp and atom/mfma.hpp read) and epilogue/cshuffle.hpp; the layouts are in block/lds_layout.hpp.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckgen.hardware.archs import WAVE_SIZE
from ckgen.instance.instance import Instance

LDS_SLOT = 16  # bytes

BANK_BYTES = 4
Phases = tuple[tuple[int, ...], ...]


def _runs(*starts: tuple[int, ...], length: int) -> Phases:
    return tuple(tuple(start + i for start in group for i in range(length)) for group in starts)


@dataclass(frozen=True, slots=True)
class Lds:
    """The banks of an architecture's LDS for reads and for writes, and the lanes of each phase by bytes per lane."""

    arch: str
    read_banks: int
    write_banks: int
    read_phases: dict[int, Phases]
    write_phases: dict[int, Phases]

    def __post_init__(self) -> None:
        for phases in (*self.read_phases.values(), *self.write_phases.values()):
            lanes = sorted(lane for phase in phases for lane in phase)
            assert lanes == list(range(WAVE_SIZE)), f"{self.arch}: every lane is in one phase"


# In order: 32 banks take 32 lanes of 4 bytes, 16 of 8, 8 of 16 at a time. ds_read_b128 pairs lanes otherwise: AMD,
# "Avoiding LDS bank conflicts on AMD GPUs using CK-Tile" (rocm.blogs.amd.com), ROCm's CK-Tile documentation, "LDS bank
# conflicts". gfx950 reads 16 bytes per lane from 64 banks in four phases: Hu et al., "HipKittens: Fast and Furious AMD
# Kernels", arXiv 2511.08083, measured on MI355X.
IN_ORDER = {size: _runs(*((n,) for n in range(0, 64, 128 // size)), length=128 // size) for size in (4, 8, 16)}
_CDNA3_B128 = _runs(*((h, h + 20) for h in (0, 32)), *((h + 4, h + 16) for h in (0, 32)), length=4)
_CDNA3_B128 += _runs(*((h + 8, h + 28) for h in (0, 32)), *((h + 12, h + 24) for h in (0, 32)), length=4)
_CDNA4_B128 = _runs(*((h, h + 12, h + 20, h + 24) for h in (0, 32)), length=4)
_CDNA4_B128 += _runs(*((h + 4, h + 8, h + 16, h + 28) for h in (0, 32)), length=4)
LDS: dict[str, Lds] = {
    lds.arch: lds
    for lds in (
        Lds("gfx90a", 32, 32, {**IN_ORDER, 16: _CDNA3_B128}, IN_ORDER),
        Lds("gfx942", 32, 32, {**IN_ORDER, 16: _CDNA3_B128}, IN_ORDER),
        Lds("gfx950", 64, 32, {**IN_ORDER, 16: _CDNA4_B128}, IN_ORDER),
    )
}


@dataclass(frozen=True, slots=True)
class Access:
    """One LDS instruction of a wave: what it does, whether it writes, bytes per lane and each lane's first byte."""

    what: str
    writes: bool
    size: int
    bytes_of_lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Cycles of all accesses of one kind, and those beyond what they take without conflicts."""

    what: str
    cycles: int
    extra: int


def slot_of_column(column: int, columns: int, vector: int) -> int:
    """The slot in which a column of a tile lies: `LdsLayout::slot_of_column`."""
    group = columns if columns <= 8 * vector else min(8 * vector, columns & -columns)
    return column // group * group + column % vector * (group // vector) + column % group // vector


def in_rows(instance: Instance, name: str, arch: str) -> bool:
    """Whether an operand's tile lies in LDS by rows, to be read transposed: `OperandInLds`."""
    transposed = name == "B" or not instance.a_rows
    columns, vector = _operand(instance, name)[:2]
    return arch == "gfx950" and instance.elem_bytes == 2 and transposed and vector >= 2 and columns % 32 == 0


def byte_in_rows(row: int, column: int, columns: int, pad: int) -> int:
    """Where an element of 16 bits lies in a tile by rows: `LdsRows::byte_of`, planes of 8 rows."""
    moved = row % 8 // max(1, 128 // columns) % min(4, (columns & -columns) // 32) * 64
    return row // 8 * (columns + pad) * LDS_SLOT + row % 8 * columns * 2 + (column * 2 ^ moved)


def conflicts_of(instance: Instance, arch: str) -> tuple[Conflicts, ...]:
    """The conflicts of an instance of family xdl or wavelet on an architecture, by kind of access."""
    return counted(accesses_of(instance, arch), LDS[arch])


def counted(accesses: Iterable[Access], lds: Lds) -> tuple[Conflicts, ...]:
    """The conflicts of accesses, by kind."""
    cycles: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    for access in accesses:
        used, least = _cycles(access, lds)
        cycles[access.what] += used
        extra[access.what] += used - least
    return tuple(Conflicts(what, count, extra[what]) for what, count in cycles.items())


def _cycles(access: Access, lds: Lds) -> tuple[int, int]:
    """Cycles of an access, and how few they can be."""
    banks = lds.write_banks if access.writes else lds.read_banks
    phases = (lds.write_phases if access.writes else lds.read_phases)[access.size]
    used = 0
    for phase in phases:
        firsts = [access.bytes_of_lanes[lane] // BANK_BYTES for lane in phase]
        words = {first + i for first in firsts for i in range(access.size // BANK_BYTES)}
        used += max(Counter(word % banks for word in words).values(), default=1)
    return used, len(phases)


def accesses_of(instance: Instance, arch: str) -> Iterator[Access]:
    """The LDS accesses of every wave for one tile, and of the epilogue."""
    for name in ("A", "B"):
        if name == "A" and instance.a_rows:
            yield from _slot_writes(instance)
        else:
            yield from (_row_writes if in_rows(instance, name, arch) else _tile_writes)(instance, name)
    for name in ("A", "B"):
        yield from (_row_reads if in_rows(instance, name, arch) else _fragment_reads)(instance, name)
    yield from _epilogue(instance, arch)


def _operand(instance: Instance, name: str) -> tuple[int, int, int, int, int]:
    """Columns, vector, dst_vector, slices and pad of an operand."""
    if name == "A":
        sizes = (instance.m_per_block, instance.a_vector, instance.a_dst_vector, instance.a_slices, instance.a_pad)
    else:
        sizes = (instance.n_per_block, instance.b_vector, instance.b_dst_vector, instance.b_slices, instance.b_pad)
    return sizes


def _tile_writes(instance: Instance, name: str) -> Iterator[Access]:
    """`TileCopy::store`: for each slice and column of a thread's piece one write of dst_vector elements."""
    columns, vector, dst_vector, slices, pad = _operand(instance, name)
    parts, across = instance.k1 // dst_vector, columns // vector
    plane_bytes = (columns + pad) * LDS_SLOT

    def byte_of(thread: int, piece: int, column: int) -> int:
        block = piece * instance.copy_threads + thread
        row = block // (parts * across) * instance.k1 + block % parts * dst_vector
        slot = slot_of_column(block // parts % across * vector + column, columns, vector)
        return row // instance.k1 * plane_bytes + slot * LDS_SLOT + row % instance.k1 * instance.elem_bytes

    for wave in range(instance.copy_waves):
        for piece in range(slices):
            for column in range(vector):
                lanes = (byte_of(wave * WAVE_SIZE + lane, piece, column) for lane in range(WAVE_SIZE))
                yield Access(f"write {name}", True, dst_vector * instance.elem_bytes, tuple(lanes))


def _slot_writes(instance: Instance) -> Iterator[Access]:
    """`SlotCopy::store` of A: threads side by side have the planes of one row, then rows; a slot each and slice."""
    plane, across = instance.m_per_block + instance.a_pad, instance.copy_threads // instance.planes
    for wave in range(instance.copy_waves):
        for piece in range(instance.a_slices):
            threads = range(wave * WAVE_SIZE, (wave + 1) * WAVE_SIZE)
            slots = (t % instance.planes * plane + t // instance.planes + piece * across for t in threads)
            yield Access("write A", True, LDS_SLOT, tuple(slot * LDS_SLOT for slot in slots))


def _row_writes(instance: Instance, name: str) -> Iterator[Access]:
    """`RowCopy::store`, and the loads of `DirectCopy`: for each slice one write of a row's columns."""
    columns, vector, dst_vector, slices, pad = _operand(instance, name)
    across = columns // vector
    for wave in range(instance.copy_waves):
        for piece in range(slices * dst_vector):
            first = piece * (instance.copy_threads // across)
            threads = range(wave * WAVE_SIZE, (wave + 1) * WAVE_SIZE)
            lanes = (byte_in_rows(first + t // across, t % across * vector, columns, pad) for t in threads)
            yield Access(f"write {name}", True, vector * 2, tuple(lanes))


def _atoms(instance: Instance, name: str) -> Iterator[tuple[int, int]]:
    """First plane and first slot of every atom that some wave reads: each wave of an operand's own once."""
    size = instance.m_per_xdl
    repeats = instance.m_xdl_per_wave if name == "A" else instance.n_xdl_per_wave
    for first in range(0, _operand(instance, name)[0], size * repeats):
        for step in range(instance.k_per_block // instance.k_step):
            for atom in range(repeats):
                yield step * (WAVE_SIZE // size), first + atom * size


def _fragment_reads(instance: Instance, name: str) -> Iterator[Access]:
    """`OperandLane::load`: a lane reads the 16-byte slot of its row in the plane of its lane group."""
    size = instance.m_per_xdl
    columns, _, _, _, pad = _operand(instance, name)
    for plane, slot in _atoms(instance, name):
        lanes = ((plane + n // size) * (columns + pad) + slot + n % size for n in range(WAVE_SIZE))
        yield Access(f"read {name}", False, LDS_SLOT, tuple(lane * LDS_SLOT for lane in lanes))


def _row_reads(instance: Instance, name: str) -> Iterator[Access]:
    """`OperandLane::load` by rows: four lanes give the address of four columns each of a row, twice four rows."""
    size = instance.m_per_xdl
    columns, _, _, _, pad = _operand(instance, name)
    for plane, slot in _atoms(instance, name):
        for half in (0, 4):
            places = (
                ((plane + n // size) * 8 + half + n % 16 // 4, slot + n % size // 16 * 16 + n % 4 * 4)
                for n in range(WAVE_SIZE)
            )
            lanes = (byte_in_rows(row, column, columns, pad) for row, column in places)
            yield Access(f"read {name}", False, 8, tuple(lanes))


def _epilogue(instance: Instance, arch: str) -> Iterator[Access]:
    """`CShuffle`: every register of an atom's chunk as one word, then words in the order of the output's columns."""
    size, n = instance.m_per_xdl, instance.n_per_block
    n_waves = instance.n_waves
    rows_per_chunk = 256 // size
    for wave in range(instance.math_waves):
        for atom in range(instance.n_xdl_per_wave):
            for register in range(4):
                first_line = wave // n_waves * rows_per_chunk + register
                first_slot = (wave % n_waves * instance.n_xdl_per_wave + atom) * size
                lanes = (
                    ((first_line + 4 * (lane // size)) * n + first_slot + lane % size) * BANK_BYTES
                    for lane in range(WAVE_SIZE)
                )
                yield Access("epilogue write", True, BANK_BYTES, tuple(lanes))
    yield from _epilogue_reads(instance, in_rows(instance, "B", arch))


def _epilogue_reads(instance: Instance, by_rows: bool) -> Iterator[Access]:
    n, vector = instance.n_per_block, instance.c_vector
    total = instance.epilogue_rows * n // vector
    for first in range(0, total, WAVE_SIZE):
        for element in range(vector):
            lanes = []
            for lane in range(WAVE_SIZE):
                index = min(first + lane, total - 1)  # lanes past the end read nothing; a repeated word is free
                column = index % (n // vector) * vector + element
                slot = column if by_rows else slot_of_column(column, n, instance.b_vector)
                lanes.append((index // (n // vector) * n + slot) * 4)
            yield Access("epilogue read", False, 4, tuple(lanes))
