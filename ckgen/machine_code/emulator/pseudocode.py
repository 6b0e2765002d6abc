"""AMD's pseudocode of an instruction -> C++ statements.

The pseudocode is the text of AMD's instruction set documents. Names that it uses: S0 to S2 (sources), D0 and D1
(results), SCC, VCC, EXEC, PC, laneId, and variables of its own.
"""

from __future__ import annotations

import re

from ckgen.machine_code.emulator.expressions import NAMES, TYPES, Expressions, Program, tokens_of
from ckgen.machine_code.emulator.unsupported import Unsupported

_HALVES = {"f16", "bf16", "u16", "i16", "b16"}
_TO = "\0"
_ENDS = {"endif", "else", "elsif", "endfor"}


def translate(text: str, *, zero_high: bool, static: dict[str, int] | None = None) -> Program:
    """Translate pseudocode. `zero_high`: results of 16 bits clear the high half of their register. `static` has the
    values of fields of the instruction, such as OPSEL."""
    return _Statements(tokens_of(text), zero_high, static or {}).program()


class _Statements(Expressions):
    def __init__(self, tokens: list[tuple[str, str]], zero_high: bool, static: dict[str, int]) -> None:
        super().__init__(tokens, static)
        self._zero_high, self._depth = zero_high, 0

    def program(self) -> Program:
        self._block()
        if self._peek() != "":
            raise Unsupported(f"pseudocode with {self._peek()!r}")
        return self._out

    def _block(self) -> None:
        while self._peek() not in _ENDS and self._peek() != "":
            if not self._accept(";"):
                self._statement()

    def _statement(self) -> None:
        token = self._peek()
        if token == "if":
            self._condition()
        elif token == "for":
            self._loop()
        elif token == "declare":
            self._declaration()
        elif token == "break":
            self._take()
            self._out.lines.append("break;")
        else:
            self._assignment()

    def _nested(self) -> None:
        self._depth += 1
        self._block()
        self._depth -= 1

    def _condition(self) -> None:
        opening = "if"
        while self._peek() in ("if", "elsif"):
            self._take()
            self._out.lines.append(f"{opening}({self._expression()}) {{")
            self._take("then")
            self._nested()
            opening = "} else if"
        if self._accept("else"):
            self._out.lines.append("} else {")
            self._nested()
        self._take("endif")
        self._out.lines.append("}")

    def _loop(self) -> None:
        self._take("for")
        name = self._take()
        self._take("in")
        low = self._expression()
        self._take(":")
        high = self._expression()
        self._take("do")
        self._out.declared.add(name)
        self._out.lines.append(f"for(i32 {name} = {low}; {name} <= i32({high}); ++{name}) {{")
        self._nested()
        self._take("endfor")
        self._out.lines.append("}")

    def _declaration(self) -> None:
        self._take("declare")
        name = self._take()
        self._take(":")
        width, _, kind = self._take().partition("'")
        types = {"F": f"f{width}", "I": f"i{width}", "U": f"u{width}", "B": f"u{width}"}
        if types.get(kind) not in TYPES or self._peek() == "[":
            raise Unsupported(f"pseudocode that declares {width}'{kind}")
        self._out.declared.add(name)
        self._out.lines.append(f"{types[kind].replace('u1', 'u32') if width == '1' else types[kind]} {name} = {{}};")

    def _assignment(self) -> None:
        if self._accept("{"):
            self._pair()
            return
        targets = [self._target()]
        mark = self._at
        operator = self._take()
        while operator == "=":  # EXEC.u64[laneId] = D0.u64[laneId] = ...
            mark = self._at
            if self._tokens[self._at][0] != "name" or self._peek() not in ("D0", "EXEC"):
                break
            more = self._target()
            if self._peek() != "=" or self._peek(1) == "=":
                self._at = mark
                break
            targets.append(more)
            self._take()
        value = self._expression()
        if operator in ("+=", "-="):
            name, parts = targets[0]
            value = f"{self._read(name, parts)} {operator[0]} ({value})"
        elif operator != "=":
            raise Unsupported(f"pseudocode with {operator!r}")
        for name, parts in targets:
            self._assign(name, parts, value)

    def _pair(self) -> None:
        """{ D1.u1, D0.u64 } = a value of 65 bits."""
        inside = ""
        while self._peek() != "}":
            inside += self._take()
        self._take("}")
        self._take("=")
        if not re.fullmatch(r"D1\.[ui]1,D0\.[ui]64", inside):
            raise Unsupported(f"pseudocode that assigns {inside}")
        self._out.writes |= {"D0", "MASK"}
        self._out.lines += [f"const u128 wide = u128({self._expression()});", "D0 = u64(wide);"]
        self._out.lines.append("MASK |= u64(wide >> 64 & 1) << lane;")

    def _target(self) -> tuple[str, list[str]]:
        """A name with its selectors: types, and indices after a bracket, the bounds of a range with _TO between."""
        name, parts = self._take(), list[str]()
        while self._peek() in (".", "["):
            if self._accept("."):
                parts.append(self._take())
            else:
                self._take("[")
                index = self._expression()
                if self._accept(":"):
                    index += f"{_TO}{self._expression()}"
                self._take("]")
                parts.append(f"[{index}")
        return NAMES.get(name, name), parts

    def _assign(self, name: str, parts: list[str], value: str) -> None:
        out, kind = self._out, parts[-1] if parts and parts[-1] in TYPES else None
        fields = [part[1:] for part in parts if part.startswith("[")]
        if name == "PC":
            if "SIMM16" in value:
                out.lines.append("w.index = i.p[1], w.jumped = true;")
            out.writes.add("PC")
            return
        if fields == ["lane"]:
            mask = {"D0": "MASK", "VCC": "MASK", "EXEC": "ACTIVE"}[name]
            out.writes.add(mask)
            out.lines.append(f"{mask} |= u64(bool({value})) << lane;")
            return
        text = f"stored<{kind}>({value})" if kind else f"raw({value})"
        if name == "SCC":
            text = f"bool({value})"
        first = name not in out.declared and name not in ("D0", "SCC", "EXEC", "VCC")
        if first and self._depth:
            raise Unsupported(f"pseudocode whose {name} first has a value in a branch")
        if fields:
            high, _, low = fields[0].partition(_TO)
            low = low or high
            if first:
                out.lines.append(f"u64 {name} = 0;")
            out.lines.append(f"set_field({name}, {high}, {low}, {text});")
            out.reads.add(name)
        elif first:
            out.lines.append(f"auto {name} = {f'as<{kind}>({text})' if kind else value};")
        elif name == "D0" and kind in _HALVES and not self._zero_high:
            out.lines.append(f"set_field(D0, 15, 0, {text});")
            out.reads.add("D0")
        elif name in ("D0", "EXEC", "SCC", "VCC"):
            out.lines.append(f"{name} = {text};")
        else:
            out.lines.append(f"{name} = decltype({name})({f'as<{kind}>({text})' if kind else value});")
        out.declared.add(name)
        out.writes.add(name)

    def _read(self, name: str, parts: list[str]) -> str:
        text = name
        self._out.reads.add(name)
        for part in parts:
            high, _, low = part[1:].partition(_TO)
            if not part.startswith("["):
                text = f"as<{part}>({text})"
            else:
                text = f"field({text}, {high}, {low})" if low else f"bit({text}, {high})"
        return text
