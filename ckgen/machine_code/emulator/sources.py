"""C++ for the sources of a vector instruction: registers, and the modifiers of its encoding."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.machine_code.emulator.decode import Raw
from ckgen.machine_code.emulator.instruction import Operand
from ckgen.machine_code.emulator.overrides import MIXED
from ckgen.machine_code.emulator.unsupported import Unsupported

_SIGNS = {"F16": 15, "F32": 31, "F64": 63, "BF16": 15}
DWORD = 6  # a selector of SDWA


@dataclass(frozen=True)
class Source:
    """A source operand: its number in the pseudocode, its index in Ins::s, and the statement that changes it."""

    number: int
    index: int
    operand: Operand
    changes: tuple[str, ...] = ()

    def setup(self) -> list[str]:
        """Statements before the loop over lanes."""
        at = self.index
        lines = [f"u32 t{at}[kLanes]; const u32* a{at} = source(w, i, {at}, t{at});"]
        if self.operand.bits == 64:
            lines.append(f"u32 u{at}[kLanes]; const u32* b{at} = source(w, i, {at}, u{at}, 1);")
        return lines

    def fetch(self) -> list[str]:
        """Statements that define S0, S1 or S2 in one lane."""
        at, name = self.index, f"S{self.number}"
        wide = self.operand.bits == 64
        value = f"u64 {name} = a{at}[lane] | u64(b{at}[lane]) << 32;" if wide else f"u32 {name} = a{at}[lane];"
        return [value, *(change.replace("$", name) for change in self.changes)]


def make_source(raw: Raw, number: int, index: int, operand: Operand) -> Source:
    """The source with the modifiers that the instruction gives it."""
    if MIXED.match(raw.name):
        return Source(number, index, operand, _mixed(raw, number))
    if raw.name.endswith("_IU8"):  # `neg` says which sources are signed
        return Source(number, index, operand)
    changes: list[str] = []
    if "SDWA" in raw.form:
        changes += _selected(raw.get(f"src{number}_sel", DWORD), raw.get(f"src{number}_sext"))
    if raw.form.startswith("VOP3P"):
        if operand.type.startswith("PK"):
            changes += _packed(raw, number, operand)
        elif raw.get("neg") >> number & 1 or raw.get("opsel") >> number & 1:
            raise Unsupported(f"{raw.text}: modifiers of a source that is not packed")
        return Source(number, index, operand, tuple(changes))
    if raw.has("opsel") and operand.bits == 16 and raw.get("opsel") >> number & 1:
        changes.append("$ >>= 16;")
    negate = raw.get("neg") >> number & 1 or raw.get(f"src{number}_neg")
    absolute = raw.get("abs") >> number & 1 or raw.get(f"src{number}_abs")
    if (negate or absolute) and "BITOP3" not in raw.name:
        changes += _signs(raw, operand, bool(negate), bool(absolute))
    return Source(number, index, operand, tuple(changes))


def _signs(raw: Raw, operand: Operand, negate: bool, absolute: bool) -> list[str]:
    bit = 31 if raw.name == "V_CNDMASK_B32" else _SIGNS.get(operand.type)
    if bit is None:
        raise Unsupported(f"{raw.text}: a sign modifier of a source of type {operand.type}")
    mask = f"(decltype($)(1) << {bit})"
    return [*([f"$ &= ~{mask};"] if absolute else []), *([f"$ ^= {mask};"] if negate else [])]


def _selected(selector: int, signed: int) -> list[str]:
    if selector == DWORD:
        return []
    width = 8 if selector < 4 else 16
    low = selector * 8 if selector < 4 else (selector - 4) * 16
    kind = "i" if signed else "u"
    return [f"$ = u32({'i32' if signed else 'u32'}({kind}{width}($ >> {low})));"]


def _packed(raw: Raw, number: int, operand: Operand) -> list[str]:
    """The parts of a packed source: op_sel chooses that of the low result, op_sel_hi that of the high result."""
    half = operand.bits // 2
    if "PK_MOV" in raw.name or half not in (16, 32):
        return []
    high = raw.get("opsel_hi2") if number == 2 else raw.get("opsel_hi") >> number & 1
    low = raw.get("opsel") >> number & 1
    kind, mask = f"u{operand.bits}", (1 << half) - 1

    def part(take_high: int, negate: int) -> str:
        text = f"({kind}($) >> {half if take_high else 0} & {mask}ull)"
        return f"({text} ^ {1 << half - 1}ull)" if negate else text

    low_part = part(low, raw.get("neg") >> number & 1)
    high_part = part(high, raw.get("neg_hi") >> number & 1)
    return [f"$ = {kind}(u64({low_part}) | u64({high_part}) << {half});"]


def _mixed(raw: Raw, number: int) -> tuple[str, ...]:
    """A source of v_fma_mix: an f32, or a half that becomes one. neg_hi is the absolute value."""
    high = raw.get("opsel_hi2") if number == 2 else raw.get("opsel_hi") >> number & 1
    changes = []
    if high:
        shift = 16 * (raw.get("opsel") >> number & 1)
        changes.append(f"$ = bits_as<u32>(f16_value(u16($ >> {shift})));")
    if raw.get("neg_hi") >> number & 1:
        changes.append("$ &= 0x7fffffffu;")
    if raw.get("neg") >> number & 1:
        changes.append("$ ^= 0x80000000u;")
    return tuple(changes)
