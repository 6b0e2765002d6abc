"""Matrix instructions: shapes and register maps as parameters of native/matrix.cpp."""

from __future__ import annotations

import re

from ckgen.machine_code.emulator.decode import Raw, operand
from ckgen.machine_code.emulator.float_texts import byte_format
from ckgen.machine_code.emulator.instruction import ACCUMULATORS, ALU, EXEC, SCALAR, Decoded, Operand
from ckgen.machine_code.emulator.unsupported import Unsupported

# Numbers of native/matrix.cpp, and bits; 8-bit floats follow from _BYTES on in the order of native/floats.hpp.
_TYPES = {"F16": (0, 16), "BF16": (1, 16), "F32": (2, 32), "I8": (3, 8), "XF32": (5, 32)}
_BYTES = 6
_IU8 = "IU8"
# MFMA's map of inputs and result, gfx11's and gfx12's: see native/matrix.cpp.
_MAPS = {"cdna": (0, 0), "rdna3": (1, 1), "rdna4": (2, 2)}
_MFMA = re.compile(r"V_MFMA_(F32|I32)_(\d+)X(\d+)X(\d+)_?(F16|BF16|F32|I8|XF32|(?:FP8|BF8)_(?:FP8|BF8))(_1K)?$")
_WMMA = re.compile(r"V_WMMA_(F32|I32)_(\d+)X(\d+)X(\d+)_(F16|BF16|IU8|(?:FP8|BF8)_(?:FP8|BF8))$")
# The shortest depths compute several products (blocks) at once; they are not emulated.
_SHORTEST = {("32", "F32"): 2, ("16", "F32"): 4, ("32", "F16"): 8, ("16", "F16"): 16, ("32", "BF16"): 8}
_SHORTEST |= {("16", "BF16"): 16, ("32", "I8"): 8, ("16", "I8"): 16}


def shape_of(name: str) -> tuple[int, int, int, str, str] | None:
    """Rows, columns, depth, result type and input type of an emulated instruction, None for others."""
    match = _MFMA.match(name) or _WMMA.match(name)
    if match is None:
        return None
    if int(match[4]) < _SHORTEST.get((match[2], match[5]), 0):
        return None
    return int(match[2]), int(match[3]), int(match[4]), match[1], match[5]


def multiply(raw: Raw, arch: str, offset: int) -> Decoded | None:
    """The instruction if it multiplies matrices, else None."""
    if not raw.name.startswith(("V_MFMA", "V_SMFMAC", "V_WMMA", "V_SWMMAC")):
        return None
    shape = shape_of(raw.name)
    accumulators, other = _accumulators(raw)
    if shape is None or other:
        raise Unsupported(f"{raw.text}: a shape or a broadcast that is not emulated")
    wave = 64 if raw.family == "cdna" else 32
    rows, columns, depth, result, kind = shape
    type_a, type_b, width = _input_types(raw, kind, arch)
    map_input, map_result = _MAPS[raw.family]
    copies = 2 if raw.family == "rdna3" else 1
    registers = rows * depth * width * copies // (32 * wave)
    out = Decoded(raw.name, raw.text, offset, raw.size, ALU, handler="matrix")
    results = rows * columns // wave
    out.d0 = raw.at("vdst") + accumulators[2] * ACCUMULATORS
    out.sources = [
        _operand(raw, "src0", registers, accumulators[0]),
        _operand(raw, "src1", registers, accumulators[1]),
        _operand(raw, "src2", results, accumulators[2]),
    ]
    for source in out.sources:
        out.touch(source.code, source.registers, 0)
    out.touch(SCALAR + EXEC, 2, 0)
    out.touch(out.d0, results, 1)
    out.parameters = [2, rows, columns, depth, type_a, type_b, map_input, map_result, int(result == "I32"), 0]
    return out


def _accumulators(raw: Raw) -> tuple[tuple[int, int, int], int]:
    """1 for A, B, and C with D, if they are in accumulation registers, and the bits of broadcasts. They are bits of the
    encoding VOP3P-MAI ("CDNA3 ISA", microcode formats), which the decoder has as VOP3P for some instructions."""
    if raw.family != "cdna":
        return (0, 0, 0), 0
    bits = raw.bits
    return (bits >> 59 & 1, bits >> 60 & 1, bits >> 15 & 1), bits >> 8 & 0x7F | bits >> 61 & 7


def _input_types(raw: Raw, kind: str, arch: str) -> tuple[int, int, int]:
    """The types of A and B and their bits. For 8-bit integers of WMMA, `neg` says which are signed."""
    if kind != _IU8:
        if raw.get("neg") or raw.get("neg_hi"):
            raise Unsupported(f"{raw.text}: negated matrices")
        if "_" in kind:
            type_a, type_b = (_BYTES + byte_format(own, arch) for own in kind.split("_"))
            return type_a, type_b, 8
        code, width = _TYPES[kind]
        return code, code, width
    signs = raw.get("neg")
    return 3 if signs & 1 else 4, 3 if signs >> 1 & 1 else 4, 8


def _operand(raw: Raw, field: str, registers: int, accumulators: int) -> Operand:
    found = operand(raw, raw.at(field), 32 * registers, "F32")
    vector = found.code < ACCUMULATORS
    return Operand(found.code + (ACCUMULATORS if vector and accumulators else 0), found.bits, found.value)
