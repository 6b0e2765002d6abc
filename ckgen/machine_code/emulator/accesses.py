"""Memory instructions: their fields as parameters of native/memory.cpp."""

from __future__ import annotations

import re

from ckgen.machine_code.emulator.decode import Raw, operand, scalar_number
from ckgen.machine_code.emulator.instruction import (
    ACCUMULATORS,
    EXEC,
    M0,
    MEMORY,
    NONE,
    NULL,
    SCALAR,
    Decoded,
    Operand,
    constants,
)
from ckgen.machine_code.emulator.unsupported import Unsupported

_BUFFER, _GLOBAL, _SCRATCH, _LDS = range(4)
_STORE, _SIGNED, _LOW, _HIGH, _TWO, _FLAT, _TRANSPOSED, _PERMUTE = (1 << at for at in range(8))
_SIZES = {"DWORDX4": 16, "B128": 16, "DWORDX3": 12, "B96": 12, "DWORDX2": 8, "B64": 8, "DWORD": 4, "B32": 4}
_SIZES |= {"USHORT": 2, "SSHORT": 2, "SHORT": 2, "U16": 2, "I16": 2, "B16": 2, "UBYTE": 1, "SBYTE": 1, "BYTE": 1}
_SIZES |= {"U8": 1, "I8": 1, "B8": 1}
_VERBS = {"LOAD", "STORE", "READ", "WRITE", "READ2", "WRITE2", "READ2ST64", "WRITE2ST64"}
# Atomic operations without a result, as in native/machine.hpp. All change 4 bytes per lane.
_ATOMICS = {"ADD_F32": 1, "PK_ADD_F16": 2}
_OFF = 124  # this code and larger ones: no scalar address


def _atomic(raw: Raw) -> int:
    """The atomic operation of an instruction, 0 if it is none."""
    name = raw.name.partition("_ATOMIC_")[2]
    if name and (name not in _ATOMICS or raw.family != "cdna" or raw.get("sc0") or raw.get("glc")):
        raise Unsupported(f"{raw.text}: an atomic operation other than {', '.join(_ATOMICS)} without a result")
    return _ATOMICS.get(name, 0)


def width_of(name: str) -> tuple[int, int]:
    """Bytes per lane and the flags that a name contains."""
    if name.partition("_ATOMIC_")[2] in _ATOMICS:
        return 4, _STORE
    words = name.split("_")
    known = [word for word in words if word in _SIZES]
    if not known or not _VERBS & set(words) or "ATOMIC" in words or "ADDTID" in words:
        raise Unsupported(name)
    chosen = known[0] if "TR" in words else known[-1]
    flags = _STORE if {"STORE", "WRITE", "WRITE2", "WRITE2ST64"} & set(words) else 0
    flags |= _SIGNED if chosen in ("SSHORT", "I16", "SBYTE", "I8") else 0
    if "D16" in words:
        flags |= _HIGH if "HI" in words else _LOW
    return _SIZES[chosen], flags


def signed(value: int, width: int) -> int:
    """A field as a signed number."""
    return value - (1 << width) if value >> width - 1 else value


def access(raw: Raw, offset: int) -> Decoded | None:
    """The instruction if it accesses memory, else None."""
    form = raw.form.removeprefix("V") if raw.form not in ("VOPC",) else raw.form
    makers = {"MUBUF": _buffer, "BUFFER": _buffer, "DS": _lds, "SMEM": _scalar}
    makers |= dict.fromkeys(("GLOBAL", "FLAT", "SCRATCH"), _address)
    maker = makers.get(form)
    if maker is None:
        return None
    out = Decoded(raw.name, raw.text, offset, raw.size, MEMORY, handler="memory")
    out.touch(SCALAR + EXEC, 2, 0)
    maker(raw, out)
    return out


def _row(raw: Raw, field: str) -> int:
    return raw.at(field) + (ACCUMULATORS if raw.get("acc") else 0)


def _vector(code: int, count: int, out: Decoded, write: int = 0) -> Operand:
    out.touch(code, count, write)
    return Operand(code, 32 * count)


def _data(raw: Raw, out: Decoded, field: str, size: int, flags: int) -> Operand:
    """The data of a store, or note the result of a load."""
    count = -(-size // 4)
    if flags & _STORE:
        return _vector(_row(raw, field), count, out)
    out.d0 = _row(raw, field)
    out.touch(out.d0, count, 2 if flags & (_LOW | _HIGH) else 1)
    return Operand(NONE)


def _buffer(raw: Raw, out: Decoded) -> None:
    size, flags = width_of(raw.name)
    if raw.get("idxen") or raw.get("tfe"):
        raise Unsupported(f"{raw.text}: idxen or tfe")
    to_lds = raw.get("lds")
    address = _vector(raw.at("vaddr"), 1, out) if raw.get("offen") else Operand(NONE)
    data = Operand(NONE) if to_lds else _data(raw, out, "vdata", size, flags)
    resource = raw.at("srsrc") * 4 if raw.has("srsrc") else raw.at("rsrc")
    out.touch(SCALAR + resource, 4, 0)
    offset = raw.get("offset") if raw.has("offset") else signed(raw.at("ioffset"), 24)
    scalar = operand(raw, raw.at("soffset"), 32, "B32")
    if scalar.code == SCALAR + NULL:
        scalar = constants([0])[0]
    out.touch(scalar.code, scalar.registers, 0)
    if to_lds:
        out.touch(SCALAR + M0, 1, 0)
    out.sources = [address, data, Operand(SCALAR + resource), scalar]
    out.parameters = [_BUFFER, size, flags, offset, 0, to_lds, 0, _atomic(raw)]


def _address(raw: Raw, out: Decoded) -> None:
    size, flags = width_of(raw.name)
    to_lds = int("_LDS_" in raw.name)
    field = "addr" if raw.has("addr") else "vaddr"
    scratch, flat = "SCRATCH" in raw.form, raw.form.endswith("FLAT")
    has_scalar = not flat and raw.at("saddr") < _OFF
    used = raw.get("sve") if scratch and raw.family != "cdna" else _scratch_has_vector(raw) if scratch else 1
    wide = int(not has_scalar and not scratch)
    address = _vector(raw.at(field), 2 if wide else 1, out) if used else Operand(NONE)
    source = next(name for name in ("data", "vsrc") if raw.has(name))
    data = Operand(NONE) if to_lds else _data(raw, out, source if flags & _STORE else "vdst", size, flags)
    base = Operand(NONE)
    if has_scalar:
        base = Operand(SCALAR + scalar_number(raw.at("saddr"), raw.family))
        out.touch(base.code, 1 if scratch else 2, 0)
    bits = 24 if raw.has("ioffset") else 12 if flat and raw.family == "cdna" else 13
    value = raw.at("ioffset") if raw.has("ioffset") else raw.get("offset")
    offset = value if bits == 12 else signed(value, bits)
    if to_lds:
        out.touch(SCALAR + M0, 1, 0)
    out.sources = [address, data, base, Operand(NONE)]
    space, flags = _SCRATCH if scratch else _GLOBAL, flags | (_FLAT if flat else 0)
    out.parameters = [space, size, flags, offset, 0, to_lds, wide, _atomic(raw)]


def _scratch_has_vector(raw: Raw) -> int:
    """gfx940 has a bit for it; gfx90a uses the vector address when there is no scalar one."""
    return raw.get("sve")


def _lds(raw: Raw, out: Decoded) -> None:
    address = _vector(raw.at("addr"), 1, out)
    first, second = raw.get("offset0"), raw.get("offset1")
    if raw.name == "DS_BPERMUTE_B32":
        data = _vector(_row(raw, "data0"), 1, out)
        out.d0 = _row(raw, "vdst")
        out.touch(out.d0, 1, 1)
        out.sources = [address, data]
        out.parameters = [_LDS, 4, _PERMUTE, first | second << 8, 0, 0, 0]
        return
    size, flags = width_of(raw.name)
    if raw.get("gds"):
        raise Unsupported(f"{raw.text}: GDS")
    two = bool(re.search(r"(READ2|WRITE2|_2ADDR)", raw.name))
    if "_TR_" in raw.name:
        if not raw.name.endswith("_TR_B16"):
            raise Unsupported(raw.name)
        flags |= _TRANSPOSED
    scale = size * (64 if "ST64" in raw.name or "STRIDE64" in raw.name else 1)
    offsets = (first * scale, second * scale) if two else (first | second << 8, 0)
    count, more = -(-size // 4), Operand(NONE)
    if flags & _STORE:
        data = _vector(_row(raw, "data0"), count, out)
        more = _vector(_row(raw, "data1"), count, out) if two else more
    else:
        data, out.d0 = Operand(NONE), _row(raw, "vdst")
        out.touch(out.d0, count * (2 if two else 1), 2 if flags & (_LOW | _HIGH) else 1)
    out.sources = [address, data, more, Operand(NONE)]
    out.parameters = [_LDS, size, flags | (_TWO if two else 0), *offsets, 0, 0]


def _scalar(raw: Raw, out: Decoded) -> None:
    match = re.fullmatch(r"S_LOAD_(?:DWORD(?:X(\d+))?|B(\d+)|([UI])(8|16))", raw.name)
    if match is None or match[4]:
        raise Unsupported(raw.name)
    count = int(match[2]) // 32 if match[2] else int(match[1] or 1)
    base = raw.at("sbase") * 2
    width = 24 if raw.has("ioffset") else 21
    offset = signed(raw.at("ioffset" if width == 24 else "offset"), width)
    has_register = raw.get("soffset_en") if raw.family == "cdna" else raw.at("soffset") != _OFF
    register = Operand(SCALAR + scalar_number(raw.at("soffset"), raw.family)) if has_register else Operand(NONE)
    out.handler = "scalar_load"
    out.d0 = SCALAR + raw.at("sdata")
    out.sources = [Operand(NONE), Operand(NONE), Operand(SCALAR + base, 64), register]
    out.touch(SCALAR + base, 2, 0)
    out.touch(register.code, 1, 0)
    out.touch(out.d0, count, 1)
    out.parameters = [0, 4 * count, 0, offset, 0, 0, 0]
