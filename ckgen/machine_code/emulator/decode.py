"""Machine code -> instructions, with the decoders of the `tinygrad` package, which come from AMD's XML descriptions."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from ckgen.machine_code.emulator.instruction import CONSTANT, EXEC, M0, NULL, SCALAR, SCC, Operand
from ckgen.machine_code.emulator.unsupported import Unsupported

FAMILIES = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
_SUFFIX = re.compile(r"_(E32|E64|SDWA|DPP16|DPP8|DPP)$")
_INLINE_FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532)
_FORMATS = {"F16": ("<e", 16), "F32": ("<f", 32), "F64": ("<d", 64)}


@dataclass(frozen=True)
class Raw:
    """A decoded instruction: its name without the encoding's suffix, tinygrad's object, and its bits."""

    name: str
    form: str
    fields: Any
    bits: int
    size: int
    family: str
    text: str

    def get(self, field: str, default: int = 0) -> int:
        """The value of a numeric field; `default` if the form has no such field."""
        value = getattr(self.fields, field, default)
        return default if not isinstance(value, int) else value

    def at(self, field: str) -> int:
        """The raw bits of a field."""
        place = getattr(type(self.fields), field)
        return int(self.bits >> place.lo & place.mask)

    def has(self, field: str) -> bool:
        """True if the form has the field."""
        return hasattr(type(self.fields), field)


@cache
def pseudocode_of(family: str) -> dict[str, dict[str, str]]:
    """The pseudocode of a family by name, and of that by encoding."""
    found: dict[str, dict[str, str]] = {}
    for op, text in import_module(f"tinygrad.runtime.autogen.amd.{family}.str_pcode").PCODE.items():
        found.setdefault(_SUFFIX.sub("", op.name), {})[type(op).__name__] = text
    return found


@cache
def _more_formats(family: str) -> tuple[Any, ...]:
    """Formats that tinygrad's own table of formats lacks."""
    ins = import_module(f"tinygrad.runtime.autogen.amd.{family}.ins")
    return {"cdna": (), "rdna3": (ins.MUBUF,) if family == "rdna3" else (), "rdna4": ()}[family] or (
        (ins.VBUFFER,) if family == "rdna4" else ()
    )


def decode(data: bytes, family: str) -> Raw:
    """Decode the instruction at the start of `data`."""
    found = _decoded(data[:16].ljust(16, b"\0"), family)
    form = type(found).__name__
    name = _SUFFIX.sub("", found.op.name) if hasattr(found, "op") else form.partition("_")[0]
    size = found.size()
    return Raw(name, form, found, int.from_bytes(data[:size], "little"), size, family, repr(found))


@cache
def _decoded(data: bytes, family: str) -> Any:
    amd = import_module("tinygrad.renderer.amd")
    for form in _more_formats(family):
        if amd._matches(data, form):
            return form.from_bytes(data)
    try:
        return amd.decode_inst(data, family)
    except ValueError as error:
        raise Unsupported(f"the code {data[:8].hex()} of {family}") from error


def literal_of(raw: Raw) -> int:
    """The 32-bit literal after the instruction."""
    return raw.bits >> (raw.size - 4) * 8 & 0xFFFFFFFF


def operand(raw: Raw, code: int, bits: int, kind: str) -> Operand:
    """A source operand from its 9-bit code. `kind` is its type, such as F16; inline floats depend on it."""
    if code >= 256:
        return Operand(code - 256, bits, type=kind)
    if code == 255:
        return Operand(CONSTANT, bits, _literal(literal_of(raw), bits, kind), kind)
    if 128 <= code <= 208:
        value = code - 128 if code <= 192 else 192 - code
        return Operand(CONSTANT, bits, value, kind)
    if 240 <= code <= 248:
        return Operand(CONSTANT, bits, _inline_float(_INLINE_FLOATS[code - 240], bits, kind), kind)
    return Operand(SCALAR + scalar_number(code, raw.family), bits, type=kind)


def _literal(value: int, bits: int, kind: str) -> int:
    """A literal has 32 bits: the high ones of a 64-bit float, else the low ones, sign-extended for signed types."""
    if bits != 64:
        return value
    if kind == "F64":
        return value << 32
    return value - (1 << 32) if kind.startswith("I") and value >> 31 else value


def _inline_float(value: float, bits: int, kind: str) -> int:
    form, width = _FORMATS.get(kind, {16: _FORMATS["F16"], 64: _FORMATS["F64"]}.get(bits, _FORMATS["F32"]))
    if kind == "BF16":
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    return int.from_bytes(struct.pack(form, value), "little") & (1 << width) - 1


def scalar_number(code: int, family: str) -> int:
    """The scalar register of a 7- or 8-bit code."""
    if code in (124, 125):
        return M0 if (code == 124) == (family == "cdna") else NULL
    if code <= 123 or code in (126, 127):
        return code
    if code == 253:
        return SCC
    raise Unsupported(f"scalar operand {code}")


def is_exec(code: int, count: int) -> bool:
    """True if registers from an operand code on include EXEC."""
    return code - SCALAR < EXEC + 2 and code - SCALAR + count > EXEC
