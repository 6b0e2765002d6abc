"""Expressions of AMD's pseudocode -> C++ expressions on the types and functions of native/numbers.hpp."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ckgen.machine_code.emulator.unsupported import Unsupported

_TOKEN = re.compile(
    r"(?P<cast>\d+'[UIFB](?=\())|(?P<width>\d+'[UIFB])|(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)(?:ULL|LL|U|F)?)"
    r"|(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U|F)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.()\[\]{}])|(?P<space>\s+)"
)
TYPES = {"f16", "bf16", "f32", "f64", "i8", "i16", "i24", "i32", "i64", "u1", "i1", "u3", "u4", "u8", "u16", "u24"}
TYPES |= {"u32", "u64", "b8", "b16", "b32", "b64"}
_RENAMED = {
    name: f"{name}_" for name in ("trunc", "floor", "sqrt", "fma", "abs", "ldexp", "sign", "log2", "fract", "ceil")
}
_FUNCTIONS = {*_RENAMED, "signext", "signext_from_bit", "isNAN", "isINF", "isSignalNAN", "isQuietNAN", "exponent"}
_FUNCTIONS |= {"permuted_byte", "least", "most", "least_num", "most_num", "middle", "middle_num", "rndne", "ceil"}
_FUNCTIONS |= {"f32_cut_to_f16", "byte_to_f32", "f32_to_byte", "fraction_of", "exponent_of"}
_CONVERSION = re.compile(r"[fiub]f?\d+_to_[fiub]f?\d+$")
_WIDE = {"U": "u128", "I": "i128", "B": "u128"}
_ORDER: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
)
_ORDER += (("+", "-"), ("*", "/", "%"))
NAMES = {"laneId": "lane", "SCC": "SCC", "EXEC": "EXEC", "VCC": "VCC", "D": "D0"}
_CONSTANTS = {"INF": "std::numeric_limits<f32>::infinity()", "NAN": "std::numeric_limits<f32>::quiet_NaN()"}


@dataclass
class Program:
    """C++ statements of one instruction, and which of its names they read and write."""

    lines: list[str] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)


def tokens_of(text: str) -> list[tuple[str, str]]:
    """The kinds and texts of the tokens of pseudocode, and one that ends it."""
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


class Expressions:
    """A reader of expressions; `program` collects the names that they read."""

    def __init__(self, tokens: list[tuple[str, str]], static: dict[str, int]) -> None:
        self._tokens, self._at, self._static = tokens, 0, static
        self._out = Program()

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
            right = self._level(level + 1)
            left = f"unlike({left}, {right})" if operator == "<>" else f"({left} {operator} {right})"
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
            if self._peek() == "." and self._peek(1) in TYPES:
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
        name = NAMES.get(name, name)
        if name not in known | self._out.declared | {"lane"}:
            raise Unsupported(f"pseudocode that reads {name}")
        self._out.reads.add(name)
        return name


def _sized(width: str, value: str) -> str:
    if "." in value:
        return f"f{width}({value})"
    return f"u{width}({value})" if width in ("1", "8", "16", "32", "64") else value
