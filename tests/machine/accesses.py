"""Memory instructions: the lanes and bytes that they move. Fields: AMD's "CDNA3 ISA" and "RDNA3 ISA", chapter 15."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.machine.memory import Bytes, Fault
from tests.machine.wave import M0, Wave

Action = Callable[[Wave, bool], None]  # the second argument: delay loads until a wait requires them
_SIZES = {"DWORDX4": 16, "B128": 16, "DWORDX3": 12, "B96": 12, "DWORDX2": 8, "B64": 8, "DWORD": 4, "B32": 4}
_SIZES |= {"USHORT": 2, "SSHORT": 2, "SHORT": 2, "U16": 2, "I16": 2, "B16": 2, "UBYTE": 1, "SBYTE": 1, "BYTE": 1}
_SIZES |= {"U8": 1, "I8": 1, "B8": 1}
_SIGNED = {"SSHORT", "I16", "SBYTE", "I8"}
_MASK = 0xFFFFFFFF  # LDS addresses wrap: compilers put a negative base before a positive offset
_NO_SADDR = 124  # this value and larger ones: no scalar base


@dataclass(frozen=True)
class Width:
    """Bytes per lane, and the treatment of less than a register: `half` is 0 or 1 if only that half changes."""

    size: int
    signed: bool
    half: int | None


def width_of(name: str) -> Width:
    """The access width that an instruction's name contains."""
    words = name.split("_")
    known = [word for word in words if word in _SIZES]
    if not known or not {"LOAD", "STORE", "READ", "WRITE", "READ2", "WRITE2", "READ2ST64", "WRITE2ST64"} & set(words):
        raise NotImplementedError(name)
    half = None if "D16" not in words else int("HI" in words)
    known = known[:1] if "TR" in words else known  # ds_read_b64_tr_b16 moves 64 bits
    return Width(_SIZES[known[-1]], known[-1] in _SIGNED, half)


def bits(raw: int, low: int, high: int) -> int:
    """A field of an instruction."""
    return raw >> low & (1 << high - low + 1) - 1


def signed(value: int, width: int) -> int:
    """A field as a signed number."""
    return value - (1 << width) if value >> width - 1 else value


def buffer_access(name: str, raw: int, is_cdna: bool) -> Action:
    """MUBUF without a stride. A dword at or past num_records - soffset loads zero and is not stored."""
    width, store = width_of(name), "STORE" in name
    address, data = bits(raw, 32, 39), bits(raw, 40, 47)
    resource, scalar, offset = bits(raw, 48, 52) * 4, bits(raw, 56, 63), bits(raw, 0, 11)
    offen, idxen = (bits(raw, 12, 12), bits(raw, 13, 13)) if is_cdna else (bits(raw, 54, 54), bits(raw, 55, 55))
    accumulators, to_lds = (bits(raw, 55, 55), bits(raw, 16, 16)) if is_cdna else (0, 0)
    if idxen:
        raise NotImplementedError(f"{name} with idxen")

    def action(wave: Wave, lazy: bool) -> None:
        lanes = wave.active()
        base = wave.pair(resource) & (1 << 48) - 1
        records, word3 = int(wave.scalar[resource + 2]), wave.pair(resource) >> 48 & 0x3FFF
        if word3:
            raise Fault("a buffer with a stride is not emulated")
        soffset = int(wave.scalar[scalar]) if scalar != _NO_SADDR or is_cdna else 0
        offsets = np.full(lanes.size, offset, np.int64)
        if offen:
            offsets += wave.vector[address, lanes]
        step = min(width.size, 4)
        values = np.zeros((lanes.size, width.size), np.uint8)
        for at in range(0, width.size, step):
            inside = np.flatnonzero(offsets + at + step <= records - soffset)
            places = base + soffset + offsets[inside] + at
            if store and inside.size:
                part = _from_registers(wave.file(accumulators), data, lanes[inside], width)
                wave.memory.store(places, part[:, at : at + step])
            elif inside.size:
                values[inside, at : at + step] = wave.memory.load(places, step)
        if not store:
            _deliver_load(wave, lazy, lanes, values, width, data, accumulators, offset if to_lds else None)

    return action


def global_access(name: str, raw: int, is_cdna: bool) -> Action:
    """GLOBAL instructions, and FLAT ones whose address is in memory."""
    width, store = width_of(name), "STORE" in name
    address, source, target = bits(raw, 32, 39), bits(raw, 40, 47), bits(raw, 56, 63)
    scalar, offset = bits(raw, 48, 54), signed(bits(raw, 0, 12), 13)
    accumulators, to_lds = bits(raw, 55, 55) if is_cdna else 0, "_LDS_" in name
    flat = name.startswith("FLAT")

    def action(wave: Wave, lazy: bool) -> None:
        lanes = wave.active()
        if not lanes.size:
            return
        places = wave.vector[address, lanes].astype(np.int64) + offset
        if flat or scalar >= _NO_SADDR:
            places += wave.vector[address + 1, lanes].astype(np.int64) << 32
        else:
            places += wave.pair(scalar)
        if store:
            wave.memory.store(places, _from_registers(wave.file(accumulators), source, lanes, width))
        else:
            values = wave.memory.load(places, width.size)
            _deliver_load(wave, lazy, lanes, values, width, target, accumulators, offset if to_lds else None)

    return action


def lds_access(name: str, raw: int, is_cdna: bool) -> Action:
    """DS reads and writes, with one address or two."""
    width, store = width_of(name), "WRITE" in name or "STORE" in name
    two = bool(re.search(r"(READ2|WRITE2|_2ADDR)", name))
    address, first, second, target = (bits(raw, low, low + 7) for low in (32, 40, 48, 56))
    accumulators = bits(raw, 25, 25) if is_cdna else 0
    if two:
        scale = width.size * (64 if "ST64" in name or "STRIDE64" in name else 1)
        parts = [(first, bits(raw, 0, 7) * scale), (second, bits(raw, 8, 15) * scale)]
    else:
        parts = [(first, bits(raw, 0, 15))]
    transposed = "_TR_" in name
    if transposed and not name.endswith("_TR_B16"):
        raise NotImplementedError(name)

    def action(wave: Wave, lazy: bool) -> None:
        lanes = wave.active()
        places = wave.vector[address, lanes].astype(np.int64)
        if store:
            for register, offset in parts:
                wave.lds.store(
                    places + offset & _MASK, _from_registers(wave.file(accumulators), register, lanes, width)
                )
            wave.lds_loads.append(_nothing) if lazy else None
            return
        values = np.concatenate([wave.lds.load(places + offset & _MASK, width.size) for _, offset in parts], axis=1)
        if transposed:
            values = _transposed(values, lanes)

        def deliver() -> None:
            _to_registers(wave.file(accumulators), target, lanes, values, width)

        wave.lds_loads.append(deliver) if lazy else deliver()

    return action


def scalar_load(name: str, raw: int, is_cdna: bool) -> Action:
    """SMEM loads, which arrive at once. The hardware may reorder them, so code waits for all of them."""
    match = re.fullmatch(r"S_LOAD_(?:DWORD(?:X(\d+))?|B(\d+))", name)
    if match is None:
        raise NotImplementedError(name)
    count = int(match[2]) // 32 if match[2] else int(match[1] or 1)
    base, target, offset = bits(raw, 0, 5) * 2, bits(raw, 6, 12), signed(bits(raw, 32, 52), 21)
    has_register = bits(raw, 14, 14) if is_cdna else bits(raw, 57, 63) != _NO_SADDR
    register = bits(raw, 57, 63)

    def action(wave: Wave, lazy: bool) -> None:
        place = wave.pair(base) + offset + (int(wave.scalar[register]) if has_register else 0)
        loaded = wave.memory.load(np.array([place & ~3]), 4 * count)
        wave.scalar[target : target + count] = loaded.reshape(-1).view(np.uint32)

    return action


def _nothing() -> None:
    """Do nothing, on behalf of a store: waits count it, but no data arrives."""


def _deliver_load(
    wave: Wave,
    lazy: bool,
    lanes: NDArray[np.intp],
    values: Bytes,
    width: Width,
    register: int,
    accumulators: int,
    lds_offset: int | None,
) -> None:
    """Deliver a load into registers, or into LDS at M0 + offset + lane * size."""
    lds_base = int(wave.scalar[M0]) + (lds_offset or 0)

    def deliver() -> None:
        if lds_offset is None:
            _to_registers(wave.file(accumulators), register, lanes, values, width)
        else:
            wave.lds.store(lds_base + lanes * max(width.size, 4), _widened(values, width))

    wave.loads.append(deliver) if lazy else deliver()


def _from_registers(file: NDArray[np.uint32], register: int, lanes: NDArray[np.intp], width: Width) -> Bytes:
    """The bytes that lanes store, one row per lane."""
    count = -(-width.size // 4)
    rows = np.ascontiguousarray(file[register : register + count, lanes].T).view(np.uint8)
    start = 2 if width.half == 1 else 0
    return rows[:, start : start + width.size]


def _to_registers(
    file: NDArray[np.uint32], register: int, lanes: NDArray[np.intp], values: Bytes, width: Width
) -> None:
    if width.half is not None:
        rows = file[register, lanes].copy().view(np.uint16).reshape(-1, 2)
        rows[:, width.half] = _widened(values, width).view(np.uint16)[:, 0]
        file[register, lanes] = rows.reshape(-1).view(np.uint32)
        return
    rows32 = np.ascontiguousarray(_widened(values, width)).view(np.uint32)
    for i in range(rows32.shape[1]):
        file[register + i, lanes] = rows32[:, i]


def _widened(values: Bytes, width: Width) -> Bytes:
    """Rows of whole registers: values of less than four bytes are extended with their sign or zeros."""
    if width.size >= 4:
        return values
    out = np.zeros((len(values), 4), np.uint8)
    out[:, : width.size] = values
    if width.signed:
        out[:, width.size :] = np.where(values[:, -1:] >> 7, 255, 0)
    return out


def _transposed(values: Bytes, lanes: NDArray[np.intp]) -> Bytes:
    """ds_read_b64_tr_b16: the data that 16 lanes read, in lane order, is a matrix of 4 x 16 halves; each lane gets a
    column.

    "AMD Instinct CDNA4 ISA", DS_READ_B64_TR_B16.
    """
    if not np.array_equal(lanes, np.arange(64)):
        raise Fault("a transposing read with inactive lanes")
    halves = np.ascontiguousarray(values).view(np.uint16).reshape(4, 4, 16)
    return np.ascontiguousarray(halves.transpose(0, 2, 1)).reshape(64, 4).view(np.uint8)
