"""A kernel's code as instructions ready to run: every instruction that can be reached from its entry."""

from __future__ import annotations

from dataclasses import replace

from ckgen.machine_code.emulator.accesses import access
from ckgen.machine_code.emulator.control import control
from ckgen.machine_code.emulator.decode import FAMILIES, decode
from ckgen.machine_code.emulator.dual import dual
from ckgen.machine_code.emulator.instruction import BRANCH, END, Decoded
from ckgen.machine_code.emulator.matrix import multiply
from ckgen.machine_code.emulator.overrides import GFX90A_NAMES, GFX90A_NUMBERS
from ckgen.machine_code.emulator.scalar import scalar
from ckgen.machine_code.emulator.unsupported import Unsupported
from ckgen.machine_code.emulator.vector import vector


def instruction(data: bytes, arch: str, offset: int) -> Decoded:
    """The instruction at the start of `data`; `offset` is its place in the code."""
    number, name = GFX90A_NUMBERS.get(int.from_bytes(data[2:4], "little"), (0, "")) if arch == "gfx90a" else (0, "")
    raw = decode(data[:2] + number.to_bytes(2, "little") + data[4:] if name else data, FAMILIES[arch])
    name = name or (GFX90A_NAMES.get(raw.name, "") if arch == "gfx90a" else "")
    raw = replace(raw, name=name, text=f"{name.lower()}: {raw.text}") if name else raw
    found = control(raw, offset) or access(raw, offset) or multiply(raw, arch, offset)
    if found is not None:
        return found
    if raw.form.startswith("VOPD"):
        return dual(raw, offset)
    return scalar(raw, offset) if raw.form.startswith("SOP") else vector(raw, arch, offset)


class Decoder:
    """Decodes kernels of one architecture. It keeps each different instruction, because kernels repeat most of them."""

    def __init__(self, arch: str) -> None:
        self._arch = arch
        self._known: dict[bytes, Decoded] = {}

    def instructions(self, code: bytes, entry: int) -> list[Decoded]:
        """The instructions that can be reached from `entry`, in the order of their addresses.

        Raises Unsupported with the place of an instruction that the emulator does not run.
        """
        found: dict[int, Decoded] = {}
        todo = [entry]
        while todo:
            at = todo.pop()
            while at not in found:
                try:
                    found[at] = made = self._at(code, at)
                except Unsupported as error:
                    raise Unsupported(f"byte {at - entry}: {error}") from error
                if made.kind == END:
                    break
                if made.kind == BRANCH and made.target is not None:
                    todo.append(made.target)
                    if made.name == "S_BRANCH":
                        break
                at += made.size
        return [found[at] for at in sorted(found)]

    def _at(self, code: bytes, at: int) -> Decoded:
        made = next((self._known[key] for size in (4, 8, 12) if (key := code[at : at + size]) in self._known), None)
        if made is None:
            made = instruction(code[at : at + 16], self._arch, 0)
            self._known[code[at : at + made.size]] = made
        return replace(made, offset=at, target=None if made.target is None else made.target + at)
