"""Vector instructions: pseudocode, sources and results -> the C++ body of a handler."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ckgen.machine_code.emulator import overrides
from ckgen.machine_code.emulator.decode import Raw, literal_of, operand, pseudocode_of, scalar_number
from ckgen.machine_code.emulator.expressions import Program
from ckgen.machine_code.emulator.float_texts import float_texts
from ckgen.machine_code.emulator.instruction import (
    ACCUMULATORS,
    CONSTANT,
    EXEC,
    NONE,
    SCALAR,
    VCC,
    Decoded,
    Operand,
)
from ckgen.machine_code.emulator.pseudocode import translate
from ckgen.machine_code.emulator.sources import DWORD, Source, make_source
from ckgen.machine_code.emulator.unsupported import Unsupported

MASK_INDEX = 3  # of Ins::s
_FIELDS = (("src0", "vsrc0"), ("vsrc1", "src1"), ("src2",))
ALL_LANES = 2


def text_of(raw: Raw, arch: str) -> str:
    """The pseudocode of an instruction."""
    if arch == "gfx90a" and raw.name in overrides.GFX90A_TEXTS:
        return overrides.GFX90A_TEXTS[raw.name]
    if raw.get("clmp") and raw.name in overrides.SATURATED:
        return overrides.SATURATED[raw.name]
    if raw.name in overrides.TEXTS:
        return overrides.TEXTS[raw.name]
    if raw.name in (known := float_texts(arch)):
        return known[raw.name]
    texts = pseudocode_of(raw.family).get(raw.name, {})
    if not texts:
        raise Unsupported(f"{raw.name}, which has no pseudocode")
    text = texts.get(type(raw.fields.op).__name__, next(iter(texts.values())))
    return re.sub(r"^TTBL = .*;$", "", text, flags=re.MULTILINE)


def vector(raw: Raw, arch: str, offset: int) -> Decoded:
    """A vector ALU instruction."""
    out = Decoded(raw.name, raw.text, offset, raw.size)
    if raw.name in overrides.BODIES:
        return _across_lanes(raw, out)
    if raw.name == "V_SWAP_B32":
        return _swap(raw, out)
    if "DPP" in raw.form:
        raise Unsupported(f"{raw.text}: DPP")
    table = raw.get("omod") << 6 | raw.get("abs") << 3 | raw.get("neg")  # of v_bitop3
    static = {"OPSEL": raw.get("opsel"), "NEG": raw.get("neg"), "TTBL.b32": table}
    program = translate(text_of(raw, arch), zero_high=raw.family == "cdna", static=static)
    sources = _sources(raw, program)
    out.sources = [source.operand for source in sources]
    if raw.name.startswith("V_S_"):
        return _of_scalars(raw, out, program, sources)
    bits = raw.fields.op_bits.get("vdst", 32)
    mask_in, out.d1 = _masks(raw, program)
    if "D0" in program.writes:
        out.d0 = vector_row(raw, "vdst")
    literal = f"const u32 SIMM32 = {literal_of(raw)}u;" if "SIMM32" in program.reads else ""
    lines = [line for source in sources for line in source.setup()]
    inner = [literal, *(line for source in sources for line in source.fetch()), *_result_start(program, bits)]
    inner += [*program.lines, *_result_end(raw, program, bits)]
    out.body = _loop(program, lines, inner)
    out.sources += [Operand(NONE)] * (MASK_INDEX - len(out.sources)) + [Operand(mask_in, 64)]
    _touch(raw, out, program, sources, bits, mask_in)
    return out


def _swap(raw: Raw, out: Decoded) -> Decoded:
    out.d0, out.d1 = raw.at("vdst"), raw.at("src0") - 256
    out.body = overrides.SWAP
    for row in (out.d0, out.d1):
        out.touch(row, 1, 2)
    out.touch(SCALAR + EXEC, 2, 0)
    return out


def _of_scalars(raw: Raw, out: Decoded, program: Program, sources: Sequence[Source]) -> Decoded:
    """gfx12's v_s_rcp_f32 and its relatives: one scalar source and a scalar result, in the encoding of vectors."""
    (given,) = sources
    out.d0 = SCALAR + scalar_number(raw.at("vdst"), raw.family)
    inner = ["u32 S0 = scalar32(w, i, 0);", *(change.replace("$", "S0") for change in given.changes), "u32 D0 = 0;"]
    changed = _modified_result(raw, given.operand.bits)
    out.body = "\n".join([*inner, *program.lines, *changed, "write32(w, i.d0, D0);"])
    out.touch(given.operand.code, given.operand.registers, 0)
    out.touch(out.d0, 1, 1)
    return out


def _sources(raw: Raw, program: Program) -> list[Source]:
    found: list[Source] = []
    for number, names in enumerate(_FIELDS):
        if f"S{number}" in program.reads:
            name = next(name for name in names if raw.has(name) and not (name == "src0" and "SDWA" in raw.form))
            found.append(make_source(raw, number, len(found), source_operand(raw, number, name)))
    return found


def source_operand(raw: Raw, number: int, field: str) -> Operand:
    """The operand in a field, with its width and type."""
    known = raw.fields.operands
    key = next((name for name in (field, f"src{number}", f"vsrc{number}") if name in known), None)
    kind = known[key][0].name.removeprefix("FMT_NUM_") if key else "B32"
    bits = raw.fields.op_bits[key] if key else 32
    kind = kind.replace("PK2_", "PK") if bits in (32, 64) else kind
    code = raw.at(field)
    place = getattr(type(raw.fields), field)
    if place.hi - place.lo == 7:  # a VGPR, or with SDWA a scalar register if the flag says so
        code += 0 if "SDWA" in raw.form and raw.get(f"s{number}") else 256
    if raw.form.startswith("VOP3P") and raw.name.startswith("V_PK_") and not kind.startswith("PK"):
        kind = f"PK{kind}"
    found = operand(raw, code, bits, kind.removeprefix("PK"))
    if found.code == CONSTANT and kind == "PKF32":  # both parts of a packed f32 have the constant
        found = Operand(CONSTANT, bits, found.value & 0xFFFFFFFF | (found.value & 0xFFFFFFFF) << 32)
    if raw.name.startswith("V_ACCVGPR_READ") or raw.name.startswith("V_ACCVGPR_MOV"):
        found = Operand(found.code + ACCUMULATORS, bits)
    return Operand(found.code, found.bits, found.value, kind)


def vector_row(raw: Raw, field: str) -> int:
    """The row of a vector result."""
    in_accumulators = raw.name.startswith(("V_ACCVGPR_WRITE", "V_ACCVGPR_MOV"))
    return raw.at(field) + (ACCUMULATORS if in_accumulators else 0)


def _masks(raw: Raw, program: Program) -> tuple[int, int]:
    """The operand codes of the mask that is read and of the one that is written."""
    mask_in = mask_out = NONE
    if "VCC" in program.reads:
        has_third = raw.form.startswith("VOP3") and "src2" in raw.fields.operands
        mask_in = SCALAR + (scalar_number(raw.at("src2"), raw.family) if has_third else VCC)
    if "MASK" in program.writes:
        field = next((name for name in ("sdst", "vdst") if raw.has(name)), None)
        if raw.form.startswith(("VOP3SD", "VOP3_SDST")) or (raw.form == "VOPC_SDWA_SDST" and raw.get("sd")):
            mask_out = SCALAR + scalar_number(raw.at(str(field)), raw.family)
        else:
            mask_out = SCALAR + VCC
    return mask_in, mask_out


def _result_start(program: Program, bits: int) -> list[str]:
    if "D0" not in program.writes:
        return []
    return ["u64 D0 = d[lane] | u64(e[lane]) << 32;" if bits == 64 else "u32 D0 = d[lane];"]


def _result_end(raw: Raw, program: Program, bits: int) -> list[str]:
    if "D0" not in program.writes:
        return []
    lines = _modified_result(raw, bits)
    lines.append("const u32 m = w.lane_mask[lane]; d[lane] = (u32(D0) & m) | (d[lane] & ~m);")
    if bits == 64:
        lines.append("e[lane] = (u32(D0 >> 32) & m) | (e[lane] & ~m);")
    return lines


def _modified_result(raw: Raw, bits: int) -> list[str]:
    """omod, clamp, the half that op_sel chooses, and the part that SDWA writes."""
    lines: list[str] = []
    kind = raw.fields.operands["vdst"][0].name.removeprefix("FMT_NUM_") if "vdst" in raw.fields.operands else ""
    omod, clamp = raw.get("omod"), raw.get("clmp")
    if (omod or clamp) and "BITOP3" not in raw.name and raw.name not in overrides.SATURATED:
        if kind not in ("F32", "F16", "F64"):
            raise Unsupported(f"{raw.text}: clamp or omod of a result of type {kind}")
        kind = kind.lower()
        factor = {0: "1.0f", 1: "2.0f", 2: "4.0f", 3: "0.5f"}[omod]
        lines.append(f"{kind} changed = as<{kind}>(D0) * {kind}({factor});")
        if clamp:  # NaN becomes 0
            lines.append(
                f"changed = {kind}(changed > {kind}(0) ? (changed < {kind}(1) ? changed : {kind}(1)) : {kind}(0));"
            )
        lines.append("D0 = decltype(D0)(raw(changed));")
    if raw.form == "VOP3" and bits == 16 and raw.get("opsel") >> 3 & 1:
        lines.append("D0 = (d[lane] & 0xffff) | D0 << 16;")
    if raw.form in ("VOP1_SDWA", "VOP2_SDWA"):
        lines += _sdwa_result(raw)
    return lines


def _sdwa_result(raw: Raw) -> list[str]:
    selector, unused = raw.get("dst_sel"), raw.get("dst_unused")
    if selector == DWORD:
        return []
    width = 8 if selector < 4 else 16
    low = selector * 8 if selector < 4 else (selector - 4) * 16
    mask = ((1 << width) - 1) << low
    if unused == 1:
        return [f"D0 = u32(i32(D0 << {32 - width}) >> {32 - width - low}) & ~{(1 << low) - 1}u;"]
    rest = f"(d[lane] & ~{mask}u)" if unused == 2 else "0u"
    return [f"D0 = {rest} | (D0 << {low} & {mask}u);"]


def _loop(program: Program, setup: Sequence[str], inner: Sequence[str]) -> str:
    lines = list(setup)
    if "D0" in program.writes:
        lines.append("u32* d = w.v[i.d0]; u32* e = w.v[i.d0 + 1]; static_cast<void>(e);")
    if "VCC" in program.reads:
        lines.append(f"const u64 VCC = read_mask(w, i.s[{MASK_INDEX}]);")
    masks = [name for name in ("MASK", "ACTIVE") if name in program.writes]
    lines += [f"u64 {name} = 0;" for name in masks]
    lines += ["PARALLEL", "for(int lane = 0; lane < kWave; ++lane) {", *inner, "}"]
    if "MASK" in program.writes:
        lines.append("write_mask(w, i.d1, MASK & w.exec());")
    if "ACTIVE" in program.writes:
        lines.append("w.set_pair(kExec, ACTIVE & w.exec());")
    return "\n".join(lines)


def _touch(raw: Raw, out: Decoded, program: Program, sources: Sequence[Source], bits: int, mask_in: int) -> None:
    masks = 2 if raw.family == "cdna" else 1
    for source in sources:
        out.touch(source.operand.code, source.operand.registers, 0)
    out.touch(mask_in, masks, 0)
    out.touch(SCALAR + EXEC, 2, 0)
    if out.d0 != NONE:
        whole = "D0" not in program.reads and not _keeps_part(raw, bits)
        out.touch(out.d0, -(-bits // 32), 1 if whole else 2)
    if out.d1 != NONE:
        out.touch(out.d1, masks, 1)
    if "ACTIVE" in program.writes:
        out.touch(SCALAR + EXEC, 2, 1)
        out.parameters = [1]


def _keeps_part(raw: Raw, bits: int) -> bool:
    return "SDWA" in raw.form or (bits == 16 and (raw.family != "cdna" or bool(raw.get("opsel") >> 3 & 1)))


def _across_lanes(raw: Raw, out: Decoded) -> Decoded:
    """v_readlane and its relatives."""
    fields = [next(name for name in names if raw.has(name)) for names in _FIELDS if any(raw.has(n) for n in names)]
    count = 1 if "FIRST" in raw.name else 2
    out.sources = [operand(raw, _code(raw, field), 32, "B32") for field in fields[:count]]
    out.body = overrides.BODIES[raw.name]
    for source in out.sources:
        out.touch(source.code, source.registers, 0)
    out.touch(SCALAR + EXEC, 2, 0)
    if "WRITE" in raw.name:
        out.d0 = raw.at("vdst")
        out.touch(out.d0, 1, 2)
    else:
        out.d0 = SCALAR + scalar_number(raw.at("vdst"), raw.family)
        out.touch(out.d0, 1, 1)
    out.parameters = [ALL_LANES]
    return out


def _code(raw: Raw, field: str) -> int:
    place = getattr(type(raw.fields), field)
    return raw.at(field) + (256 if place.hi - place.lo == 7 else 0)
