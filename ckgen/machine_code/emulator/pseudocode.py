"""AMD's pseudocode of an instruction -> C++ statements on the types and functions of native/numbers.hpp.

The pseudocode is the text of AMD's instruction set documents. Names that it uses: S0 to S2 (sources), D0 and D1
(results), SCC, VCC, EXEC, PC, laneId, and variables of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<cast>\d+'[UIFB](?=\())|(?P<width>\d+'[UIFB])|(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)(?:ULL|LL|U|F)?)"
    r"|(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U|F)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.()\[\]{}])|(?P<space>\s+)"
)
_TYPES = {"f16", "bf16", "f32", "f64", "i8", "i16", "i24", "i32", "i64", "u1", "i1", "u3", "u4", "u8", "u16", "u24"}
_TYPES |= {"u32", "u64", "b8", "b16", "b32", "b64"}
_HALVES = {"f16", "bf16", "u16", "i16", "b16"}
_RENAMED = {name: f"{name}_" for name in ("trunc", "floor", "sqrt", "fma", "abs", "ldexp", "sign", "log2", "fract")}
_FUNCTIONS = {*_RENAMED, "signext", "signext_from_bit", "isNAN", "isINF", "isSignalNAN", "isQuietNAN", "exponent"}
_FUNCTIONS |= {"permuted_byte"}
_CONVERSION = re.compile(r"[fiub]f?\d+_to_[fiub]f?\d+$")
_WIDE = {"U": "u128", "I": "i128", "B": "u128"}
_ORDER = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", "<=", ">", ">="), ("<<", ">>"))
_ORDER += (("+", "-"), ("*", "/", "%"))
_NAMES = {"laneId": "lane", "SCC": "SCC", "EXEC": "EXEC", "VCC": "VCC", "D": "D0"}
_CONSTANTS = {"INF": "std::numeric_limits<f32>::infinity()", "NAN": "std::numeric_limits<f32>::quiet_NaN()"}
_ENDS = {"endif", "else", "elsif", "endfor"}


class Unsupported(Exception):
    """Pseudocode or an instruction that the emulator does not run."""


@dataclass
class Program:
    """C++ statements of one instruction, and which of its names they read and write."""

    lines: list[str] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)


def translate(text: str, *, zero_high: bool, static: dict[str, int] | None = None) -> Program:
    """Translate pseudocode. `zero_high`: results of 16 bits clear the high half of their register. `static` has the
    values of fields of the instruction, such as OPSEL."""
    return _Translator(_tokens(text), zero_high, static or {}).program()


def _tokens(text: str) -> list[tuple[str, str]]:
    text = re.sub(r"//.*", "", text)
    found, at = list[tuple[str, str]](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unsupported(f"pseudocode with {text[at : at + 10]!r}")
        kind = str(match.lastgroup)
        if kind != "space":
            found.append((kind, match[0]))
        at = match.end()
    return [*found, ("end", "")]


class _Translator:
    def __init__(self, tokens: list[tuple[str, str]], zero_high: bool, static: dict[str, int]) -> None:
        self._tokens, self._at, self._zero_high, self._static = tokens, 0, zero_high, static
        self._out = Program()
        self._depth = 0

    def program(self) -> Program:
        self._block()
        if self._peek() != "":
            raise Unsupported(f"pseudocode with {self._peek()!r}")
        return self._out

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)][1]

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        if wanted and token != wanted:
            raise Unsupported(f"pseudocode with {token!r} instead of {wanted!r}")
        self._at += 1
        return token

    def _accept(self, wanted: str) -> bool:
        if self._peek() == wanted and self._tokens[self._at][0] != "end":
            self._at += 1
            return True
        return False

    # Statements.

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
        if types.get(kind) not in _TYPES or self._peek() == "[":
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
        """A name with its selectors: types, and indices as `high,low` or `index`."""
        name, parts = self._take(), list[str]()
        while self._peek() in (".", "["):
            if self._accept("."):
                parts.append(self._take())
            else:
                self._take("[")
                index = self._expression()
                if self._accept(":"):
                    index += f",{self._expression()}"
                self._take("]")
                parts.append(f"[{index}")
        return _NAMES.get(name, name), parts

    def _assign(self, name: str, parts: list[str], value: str) -> None:
        out, kind = self._out, parts[-1] if parts and parts[-1] in _TYPES else None
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
            high, low = fields[0].split(",")
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

    # Expressions.

    def _expression(self) -> str:
        condition = self._level(0)
        if not self._accept("?"):
            return condition
        yes = self._expression()
        self._take(":")
        return f"(({condition}) ? ({yes}) : ({self._expression()}))"

    def _level(self, level: int) -> str:
        if level == len(_ORDER):
            return self._power()
        left = self._level(level + 1)
        while self._peek() in _ORDER[level]:
            operator = self._take()
            left = f"({left} {'!=' if operator == '<>' else operator} {self._level(level + 1)})"
        return left

    def _power(self) -> str:
        base = self._unary()
        return f"power({base}, {self._power()})" if self._accept("**") else base

    def _unary(self) -> str:
        if self._peek() in ("-", "~", "!", "+"):
            return f"({self._take()}{self._unary()})"
        return self._postfix(self._primary())

    def _postfix(self, text: str) -> str:
        while True:
            if self._peek() == "." and self._peek(1) in _TYPES:
                self._take()
                text = f"as<{self._take()}>({text})"
            elif self._accept("["):
                index = self._expression()
                text = f"field({text}, {index}, {self._expression()})" if self._accept(":") else f"bit({text}, {index})"
                self._take("]")
            else:
                return text

    def _primary(self) -> str:
        kind, token = self._tokens[self._at]
        self._at += 1
        if token == "(":
            text = self._expression()
            self._take(")")
            return f"({text})"
        if token == "{":
            return self._joined()
        if kind == "cast":
            return self._cast(*token.split("'"))
        if kind == "sized":
            return _sized(*token.split("'"))
        if kind == "number":
            return token
        if kind != "name":
            raise Unsupported(f"pseudocode with {token!r}")
        return self._call(token) if self._peek() == "(" else self._name(token)

    def _joined(self) -> str:
        parts = [self._expression()]
        while self._accept(","):
            parts.append(self._expression())
        self._take("}")
        if any(part.startswith("field(") for part in parts):
            raise Unsupported("pseudocode that joins ranges of bits without a type")
        text = parts[0]
        for part in parts[1:]:
            text = f"joined({text}, {part})"
        return text

    def _cast(self, width: str, kind: str) -> str:
        self._take("(")
        value = self._expression()
        self._take(")")
        if int(width) > 64:
            return f"{_WIDE[kind]}({value})"
        return f"{'u' if kind == 'B' else kind.lower()}{width}({value})"

    def _call(self, name: str) -> str:
        if name not in _FUNCTIONS and not _CONVERSION.match(name):
            raise Unsupported(f"pseudocode that calls {name}")
        self._take("(")
        arguments = [self._expression()]
        while self._accept(","):
            arguments.append(self._expression())
        self._take(")")
        return f"{_RENAMED.get(name, name)}({', '.join(arguments)})"

    def _name(self, name: str) -> str:
        if name in ("EXECZ", "VCCZ"):
            self._out.reads.add(name[:-1])
            return f"u32({name[:-1]} == 0)"
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        while self._peek() == "." and f"{name}.{self._peek(1)}" in self._static:
            self._take()
            name += f".{self._take()}"
        if name in self._static:
            return f"{self._static[name]}u"
        known = {"S0", "S1", "S2", "D0", "SCC", "EXEC", "VCC", "PC", "SIMM16", "SIMM32", "laneId"}
        name = _NAMES.get(name, name)
        if name not in known | self._out.declared | {"lane"}:
            raise Unsupported(f"pseudocode that reads {name}")
        self._out.reads.add(name)
        return name

    def _read(self, name: str, parts: list[str]) -> str:
        text = name
        self._out.reads.add(name)
        for part in parts:
            index = part[1:]
            if not part.startswith("["):
                text = f"as<{part}>({text})"
            else:
                text = f"field({text}, {index})" if "," in index else f"bit({text}, {index})"
        return text


def _sized(width: str, value: str) -> str:
    if "." in value:
        return f"f{width}({value})"
    return f"u{width}({value})" if width in ("1", "8", "16", "32", "64") else value
