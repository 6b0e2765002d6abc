"""VOPD: two vector instructions in one, which both read before either writes."""

from __future__ import annotations

from ckgen.machine_code.emulator.decode import Raw, literal_of, operand, pseudocode_of
from ckgen.machine_code.emulator.float_texts import float_texts
from ckgen.machine_code.emulator.instruction import EXEC, SCALAR, VCC, Decoded
from ckgen.machine_code.emulator.pseudocode import translate
from ckgen.machine_code.emulator.unsupported import Unsupported

_ALIASES = {"V_DOT2ACC_F32_F16": "V_DOT2C_F32_F16"}


def dual(raw: Raw, offset: int) -> Decoded:
    """A VOPD instruction."""
    out = Decoded(raw.name, raw.text, offset, raw.size)
    setup, reads, steps, writes = list[str](), list[str](), list[str](), list[str]()
    for at, part in enumerate("xy"):
        name = getattr(raw.fields, f"op{part}").name.replace("V_DUAL_", "V_")
        texts = pseudocode_of(raw.family).get(_ALIASES.get(name, name))
        if not texts:
            raise Unsupported(f"{name} in {raw.text}")
        text = float_texts(raw.family).get(name) or texts.get("VOP2Op", next(iter(texts.values())))
        program = translate(text, zero_high=False)
        if program.writes != {"D0"}:
            raise Unsupported(f"{name} in {raw.text}")
        row = getattr(raw.fields, f"vdst{part}").offset - 256
        sources = (raw.at(f"src{part}0"), raw.at(f"vsrc{part}1") + 256)
        inside = []
        for number, code in enumerate(sources):
            index = 2 * at + number
            found = operand(raw, code, 32, "F32" if "F32" in name else "B32")
            out.sources.append(found)
            if f"S{number}" in program.reads:
                setup.append(f"u32 t{index}[kLanes]; const u32* a{index} = source(w, i, {index}, t{index});")
                inside.append(f"const u32 S{number} = a{index}[lane];")
                out.touch(found.code, found.registers, 0)
        if "SIMM32" in program.reads:
            inside.append(f"const u32 SIMM32 = {literal_of(raw)}u;")
        if "VCC" in program.reads:
            inside.append("const u64 VCC = read_mask(w, kScalar + kVcc);")
            out.touch(SCALAR + VCC, 1, 0)
        setup.append(f"u32* d{at} = w.v[i.d{at}];")
        reads.append(f"u32 r{at};")
        steps += ["{", *inside, f"u32 D0 = d{at}[lane];", *program.lines, f"r{at} = D0;", "}"]
        writes.append(f"d{at}[lane] = (r{at} & m) | (d{at}[lane] & ~m);")
        setattr(out, f"d{at}", row)
        out.touch(row, 1, 2 if "D0" in program.reads else 1)
    out.touch(SCALAR + EXEC, 2, 0)
    lines = [*setup, "PARALLEL", "for(int lane = 0; lane < kWave; ++lane) {", "const u32 m = w.lane_mask[lane];"]
    out.body = "\n".join([*lines, *reads, *steps, *writes, "}"])
    return out
