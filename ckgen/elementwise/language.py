"""The language of element-wise functions: its text and its syntax tree.

    alpha * e + beta * d0        max(e, 0) if d0 > 0 else slope * e        clamp(e, -1, 1)

An expression consists of numbers, names of inputs, + - * /, unary minus, `x if a < b else y` and calls of FUNCTIONS,
with Python's precedence. Anything else is refused with its position. Python's parser reads the text, but nothing is
ever evaluated by Python: the tree has only the node types below, and the C++ (cpp.py), the values and the error bounds
(error_bounds.py) are computed from the tree.

All arithmetic is in f32, so each number is rounded to the nearest f32.
"""

from __future__ import annotations

import ast
import re
import struct
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import isinf

from ckgen.errors import did_you_mean

MAX_CHARACTERS = 1000
MAX_DEPTH = 100  # of nested operations: limits the recursion of everything that walks the tree
FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "sqrt": 1, "exp": 1, "clamp": 3, "relu": 1, "sigmoid": 1, "tanh": 1}
LANGUAGE = "write numbers, inputs, + - * /, `x if a < b else y` and calls of " + ", ".join(FUNCTIONS)


class ExpressionError(Exception):
    """The reason why a text is not an expression. ``offset`` (from 0) and ``length`` name the wrong characters."""

    def __init__(self, message: str, help: str, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.message, self.help, self.offset, self.length = message, help, offset, max(1, length)


@dataclass(frozen=True, slots=True)
class Number:
    """A non-negative number that f32 represents exactly."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """An input."""

    name: str


@dataclass(frozen=True, slots=True)
class Negate:
    """-operand."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """left operator right; the operator is one of + - * /."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right; the operator is one of < <= > >= == !=. A condition, not a value."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Choose:
    """then where the condition holds, else otherwise."""

    condition: Compare
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of FUNCTIONS with the right number of arguments."""

    function: str
    arguments: tuple[Expr, ...]


Expr = Number | Name | Negate | Binary | Choose | Call

OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_FOREIGN = re.compile(r"[^A-Za-z0-9_ \t\r\n.+\-*/(),<>=!]")
_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def parse_expression(text: str, inputs: Collection[str]) -> Expr:
    """Parse ``text``, whose names must be among ``inputs``. Raises ExpressionError at the first error."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"an expression has at most {MAX_CHARACTERS} characters", "", MAX_CHARACTERS)
    foreign = _FOREIGN.search(text)
    if foreign:
        raise ExpressionError(f"`{foreign.group()}` has no meaning in an expression", LANGUAGE, foreign.start())
    _check_parentheses(text)
    line = re.sub(r"\s", " ", text)
    shift = len(line) - len(line.lstrip())  # Python's parser rejects an indented line
    if not line.strip():
        raise ExpressionError("an expression is missing", LANGUAGE, 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # refuse what Python only warns about, such as `1if`
            body = ast.parse(line[shift:].rstrip(), mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(line.rstrip(), shift, error.offset or 0) from error
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise _too_deep(0, len(text)) from error
    return _Reader(line, shift, tuple(inputs)).value(body, 0)


def names_in(tree: Expr | Compare) -> Iterator[str]:
    """Yield the inputs that a tree uses, one for each use."""
    match tree:
        case Name(name):
            yield name
        case Negate(operand):
            yield from names_in(operand)
        case Binary(_, left, right) | Compare(_, left, right):
            yield from names_in(left)
            yield from names_in(right)
        case Choose(condition, then, otherwise):
            for part in (condition, then, otherwise):
                yield from names_in(part)
        case Call(_, arguments):
            for argument in arguments:
                yield from names_in(argument)


def nearest_f32(value: float) -> float | None:
    """Return the f32 nearest to ``value``, or None if it overflows to infinity or underflows to 0."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return None
    return None if isinf(rounded) or rounded != rounded or (rounded == 0) != (value == 0) else rounded


def _syntax_error(line: str, shift: int, column: int) -> ExpressionError:
    """Turn a SyntaxError into our own: Python's message differs between versions. Its columns count from 1, and 0 means
    the end of the text."""
    last = len(line) - 1
    if column == 0 or shift + column - 1 > last:
        return ExpressionError("something is missing after this", LANGUAGE, last)
    return ExpressionError("the expression is wrong from here on", LANGUAGE, shift + column - 1)


def _check_parentheses(text: str) -> None:
    """Refuse unbalanced and too deeply nested parentheses."""
    opened: list[int] = []
    for offset, char in enumerate(text):
        if char == "(":
            opened.append(offset)
            if len(opened) > MAX_DEPTH:
                raise _too_deep(offset, 1)
        elif char == ")":
            if not opened:
                raise ExpressionError("`)` closes nothing", "remove it or add a `(`", offset)
            opened.pop()
    if opened:
        raise ExpressionError("this `(` is never closed", "add a `)`", opened[-1])


def _too_deep(offset: int, length: int) -> ExpressionError:
    return ExpressionError(f"operations are nested more than {MAX_DEPTH} deep", "write it flatter", offset, length)


class _Reader:
    """Converts Python's syntax tree to ours and refuses everything outside the language."""

    def __init__(self, text: str, shift: int, inputs: tuple[str, ...]) -> None:
        self._text, self._shift, self._inputs = text, shift, inputs

    def value(self, node: ast.expr, depth: int) -> Expr:
        if depth > MAX_DEPTH:
            raise _too_deep(*self._span(node))
        below = depth + 1
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._number(node, number)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negate(self.value(operand, below))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                read = Binary(OPERATORS[type(operator)], self.value(left, below), self.value(right, below))
                if read.operator == "/" and _is_zero(read.right):
                    raise self._error("this divides by 0", "divide by another number, or by an input", right)
                return read
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return Choose(self._condition(test, below), self.value(then, below), self.value(otherwise, below))
            case ast.Call():
                return self._call(node, below)
        raise self._refused(node)

    def _condition(self, node: ast.expr, depth: int) -> Compare:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            left, right = self.value(node.left, depth), self.value(node.comparators[0], depth)
            return Compare(COMPARISONS[type(node.ops[0])], left, right)
        help_text = "compare two values with < <= > >= == or !=, nest conditionals for more"
        raise self._error("the condition between `if` and `else` must be one comparison", help_text, node)

    def _call(self, node: ast.Call, depth: int) -> Expr:
        if not isinstance(node.func, ast.Name):
            raise self._error("only the language's functions can be called", LANGUAGE, node.func)
        name = node.func.id
        if name not in FUNCTIONS:
            hint = did_you_mean(name, tuple(FUNCTIONS))
            raise self._error(f"there is no function `{name}`", hint, node.func)
        for keyword in node.keywords:
            raise self._error("arguments have no names here", f"write {_signature(name)}", keyword.value)
        if len(node.args) != FUNCTIONS[name]:
            message = f"`{name}` takes {FUNCTIONS[name]} arguments, this gives {len(node.args)}"
            raise self._error(message.replace("1 arguments", "1 argument"), f"write {_signature(name)}", node)
        return Call(name, tuple(self.value(argument, depth) for argument in node.args))

    def _number(self, node: ast.Constant, value: int | float) -> Number:
        offset, length = self._span(node)
        if not _DECIMAL.fullmatch(self._text, offset, offset + length):
            raise self._error("numbers are decimal, without underscores", "write for example 16 or 1e-3", node)
        try:
            rounded = nearest_f32(float(value))
        except OverflowError:
            rounded = None
        if rounded is None:
            raise self._error("f32 has no number like this", "f32 numbers lie between 1e-45 and 3.4e38", node)
        return Number(rounded)

    def _name(self, node: ast.Name, name: str) -> Name:
        if name in self._inputs:
            return Name(name)
        if name in FUNCTIONS:
            raise self._error(f"`{name}` is a function", f"write {_signature(name)}", node)
        hint = did_you_mean(name, self._inputs)
        message = f"`{name}` is not an input of this function"
        raise self._error(message, hint or f"inputs: {', '.join(self._inputs)}", node)

    def _refused(self, node: ast.expr) -> ExpressionError:
        match node:
            case ast.Compare():
                help_text = "write x if a < b else y"
                return self._error("a comparison is possible between `if` and `else` only", help_text, node)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._error("there is no `and`, `or` or `not`", "nest conditionals", node)
            case ast.BinOp(op=ast.Pow()):
                return self._error("there are no powers", "write x * x", node)
            case _:
                return self._error("this is not part of the language", LANGUAGE, node)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset + 1
        return node.col_offset + self._shift, end - node.col_offset

    def _error(self, message: str, help_text: str, node: ast.expr) -> ExpressionError:
        return ExpressionError(message, help_text, *self._span(node))


def _is_zero(tree: Expr) -> bool:
    """True for 0 and -0, however often negated."""
    while isinstance(tree, Negate):
        tree = tree.operand
    return isinstance(tree, Number) and tree.value == 0


def _signature(name: str) -> str:
    return f"{name}({', '.join(('x', 'lo', 'hi') if name == 'clamp' else ('a', 'b')[: FUNCTIONS[name]])})"
