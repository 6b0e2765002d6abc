"""Scalar instructions: pseudocode -> the C++ body of a handler; branches among them."""

from __future__ import annotations

from ckgen.machine_code.emulator.decode import Raw, is_exec, literal_of, operand, pseudocode_of, scalar_number
from ckgen.machine_code.emulator.expressions import Program
from ckgen.machine_code.emulator.float_texts import float_texts
from ckgen.machine_code.emulator.instruction import (
    ALU,
    BRANCH,
    EXEC,
    NONE,
    SCALAR,
    SCC,
    VCC,
    Decoded,
    Operand,
    constants,
)
from ckgen.machine_code.emulator.pseudocode import translate
from ckgen.machine_code.emulator.unsupported import Unsupported

_BITS = {"B32": 32, "I32": 32, "U32": 32, "F32": 32, "B64": 64, "I64": 64, "U64": 64, "F64": 64}


def scalar(raw: Raw, offset: int) -> Decoded:
    """A scalar ALU instruction or a branch."""
    program = translate(_text(raw), zero_high=False)
    out = Decoded(raw.name, raw.text, offset, raw.size, BRANCH if "PC" in program.writes else ALU)
    if out.kind == BRANCH:
        simm = raw.get("simm16")
        out.target = offset + 4 + 4 * (simm - 65536 if simm >> 15 else simm)
        if program.writes - {"PC"}:
            raise Unsupported(f"{raw.name}, which changes more than the program counter")
    result = _sources(raw, out)
    lines = _start(raw, out, program, result)
    lines += program.lines + _end(program, result)
    out.body = "\n".join(lines)
    _touch(raw, out, program, result)
    return out


def _text(raw: Raw) -> str:
    floats = float_texts(raw.family)  # a scalar instruction of floats means what the vector instruction does
    if (name := f"V{raw.name[1:]}") in floats:
        return floats[name]
    texts = pseudocode_of(raw.family).get(raw.name)
    if not texts:
        raise Unsupported(f"{raw.name}, which has no pseudocode")
    return next(iter(texts.values()))


def _sources(raw: Raw, out: Decoded) -> int:
    """Set the sources and the result; return the result's bits, 0 if there is none."""
    fields, bits = raw.fields, raw.fields.op_bits
    result = 0
    if raw.has("sdst"):
        out.d0 = SCALAR + scalar_number(raw.at("sdst"), raw.family)
        result = max(32, bits.get("sdst", 32))  # a half keeps the other half of its register
    if raw.form.startswith("SOPK"):
        immediate = constants([raw.get("simm16")])
        own = [Operand(out.d0)] if "CMPK" in raw.name else []
        out.sources = [*own, *immediate]
    else:
        for field in ("ssrc0", "ssrc1"):
            if raw.has(field):
                known = fields.operands.get(field)
                kind = known[0].name.removeprefix("FMT_NUM_") if known else "B32"
                out.sources.append(operand(raw, raw.at(field), bits.get(field, 32), kind))
    return result


def _start(raw: Raw, out: Decoded, program: Program, result: int) -> list[str]:
    lines = []
    for number, source in enumerate(out.sources):
        if f"S{number}" in program.reads:
            wide = source.bits == 64
            lines.append(f"const {'u64' if wide else 'u32'} S{number} = scalar{64 if wide else 32}(w, i, {number});")
    if "D0" in program.reads | program.writes:
        lines.append(f"u{result} D0 = {'w.pair(i.d0 - kScalar)' if result == 64 else 'w.s[i.d0 - kScalar]'};")
    if "SIMM16" in program.reads and "PC" not in program.writes:
        lines.append(f"const u32 SIMM16 = {raw.get('simm16')}u;")
    if "SIMM32" in program.reads:
        lines.append(f"const u32 SIMM32 = {literal_of(raw)}u;")
    if "SCC" in program.reads | program.writes:
        lines.append("u32 SCC = w.s[kScc];")
    if "EXEC" in program.reads | program.writes:
        lines.append("u64 EXEC = w.exec();")
    if "VCC" in program.reads:
        lines.append("const u64 VCC = read_mask(w, kScalar + kVcc);")
    return lines


def _end(program: Program, result: int) -> list[str]:
    lines = []
    if "D0" in program.writes:
        lines.append(f"write{result}(w, i.d0, D0);")
    if "SCC" in program.writes:
        lines.append("w.s[kScc] = SCC;")
    if "EXEC" in program.writes:
        lines.append("w.set_pair(kExec, kWave == 64 ? EXEC : u32(EXEC));")
    if program.writes & {"VCC", "MASK", "ACTIVE"}:
        raise Unsupported("a scalar instruction that writes a mask")
    return lines


def _touch(raw: Raw, out: Decoded, program: Program, result: int) -> None:
    for number, source in enumerate(out.sources):
        if f"S{number}" in program.reads:
            out.touch(source.code, source.registers, 0)
    masks = 2 if raw.family == "cdna" else 1
    for name, code, count in (("SCC", SCC, 1), ("VCC", VCC, masks), ("EXEC", EXEC, masks)):
        if name in program.reads:
            out.touch(SCALAR + code, count, 0)
        if name in program.writes:
            out.touch(SCALAR + code, count, 1)
    count = result // 32
    if "D0" in program.writes:
        keeps = raw.form.startswith("SOPK") or any(line.startswith("set_field(D0") for line in program.lines)
        out.touch(out.d0, count, 2 if "D0" in program.reads and keeps else 1)
    else:
        out.d0 = NONE
    writes_exec = "EXEC" in program.writes or (out.d0 != NONE and is_exec(out.d0, count))
    out.parameters = [int(writes_exec)]
