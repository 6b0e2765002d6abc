"""The derived values in C++: the structs of the rendered headers ckgen/config/derived.hpp and checked.hpp."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ckgen.families.family import Family
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import find_arch
from ckgen.instance.rules_cpp import rule_sets
from ckgen.operations.operation import OPERATIONS

# The values that are given by the layout and the data type.
_GIVEN = {
    "ndim": "Config::Layout::ndim",
    "any_filter": "Config::conv_spec == ConvSpec::Default",
    "elem_bytes": "sizeof(typename Operation::template Operand<typename Config::DataType>)",
    "as_stored": (
        "IsSame<typename Config::DataType::ComputeA,"
        " typename Operation::template Operand<typename Config::DataType>>::value"
    ),
    "compute_bytes": "sizeof(typename Config::DataType::ComputeA)",
    "c_bytes": "sizeof(typename Operation::template Result<typename Config::DataType>)",
}
_OPERATORS: dict[type, tuple[str, int]] = {  # with their precedence
    ast.Mult: ("*", 2),
    ast.FloorDiv: ("/", 2),
    ast.Mod: ("%", 2),
    ast.Add: ("+", 1),
    ast.Sub: ("-", 1),
    ast.Gt: (">", 0),
    ast.GtE: (">=", 0),
    ast.Lt: ("<", 0),
    ast.LtE: ("<=", 0),
    ast.Eq: ("==", 0),
    ast.NotEq: ("!=", 0),
    ast.And: ("&&", 0),
    ast.Or: ("||", 0),
}


@dataclass(frozen=True, slots=True)
class CppValue:
    """One member: `static constexpr int name = expression;  // meaning`."""

    name: str
    expression: str
    meaning: str


@dataclass(frozen=True, slots=True)
class DerivedStruct:
    """The struct of the families that share their derived values; `fields` are the members of `base` that it reads."""

    name: str
    base: str
    families: tuple[str, ...]
    fields: tuple[str, ...]
    values: tuple[CppValue, ...]


@dataclass(frozen=True, slots=True)
class CheckedStruct:
    """The struct of one operation's families that asserts their rules over `derived`, a type over Config.

    `target` is the text that follows this type in the template arguments of the architecture rules, if the families
    exist on one architecture only; otherwise it is empty.
    """

    prefix: str
    families: tuple[str, ...]
    operation: str
    derived: str
    target: str


def derived_structs() -> tuple[DerivedStruct, ...]:
    """The structs of derived.hpp, in the order of the list of families."""
    families: dict[str, list[Family]] = {}
    for family in FAMILIES.values():
        families.setdefault(family.struct, []).append(family)
    return tuple(_derived_struct(prefix, members) for prefix, members in families.items())


def checked_structs() -> tuple[CheckedStruct, ...]:
    """The structs of checked.hpp, one per struct of rules."""
    found = []
    for rules in rule_sets():
        family, operation = FAMILIES[rules.families[0]], OPERATIONS[rules.operation]
        derived = f"{family.struct}Derived<Config, operations::{operation.cpp}>"
        if operation.own_derived:
            derived = f"{operation.own_derived}<{derived}>"
        homes = {arch for dtype in operation.dtypes for arch in family.home(dtype)}
        target = ", ".join([str(find_arch(arch).lds_limit) for arch in homes] + ["true"]) if len(homes) == 1 else ""
        found.append(CheckedStruct(rules.prefix, rules.families, operation.name, derived, target))
    return tuple(found)


def to_cpp(expression: str) -> str:
    """An expression of a table of derived values, translated to C++."""
    return _text(ast.parse(expression, mode="eval").body)


def _derived_struct(prefix: str, families: list[Family]) -> DerivedStruct:
    formulas = families[0].formulas
    ordered = formulas.ordered(formulas.names)
    expressions = {value.name: to_cpp(value.expression) for value in formulas.table if value.expression}
    values = tuple(
        CppValue(name, expressions.get(name) or _GIVEN[name], formulas.meaning(name))
        for name in ordered
        if name in formulas.names
    )
    fields = tuple(
        sorted(name for name in ordered if name not in (*formulas.names, "a_k_major", "b_k_major", "c_m_major"))
    )
    names = tuple(family.name for family in families)
    return DerivedStruct(f"{prefix}Derived", _base(families[0]), names, fields, values)


def _base(family: Family) -> str:
    """The C++ struct of an instance with the optional keys of its family, which `config` may leave out."""
    if family.lds_keys:
        return "WithOptionalKeys<Config>"
    base = "Config"
    own = {"Exchange": family.exchanges, "GroupsToMerge": family.merges_groups, "Cluster": family.clusters}
    for key in (key for key, operations in own.items() if operations):
        base = f"With{key}<{base}>"
    return base


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.IfExp):
        return f"({_text(node.test)} ? {_text(node.body)} : {_text(node.orelse)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        first, second = node.args
        return f"{node.func.id}_of({_text(first)}, {_text(second)})"
    if isinstance(node, ast.Compare):
        return f"{_text(node.left)} {_OPERATORS[type(node.ops[0])][0]} {_text(node.comparators[0])}"
    if isinstance(node, ast.BoolOp):
        return "(" + f" {_OPERATORS[type(node.op)][0]} ".join(_text(value) for value in node.values) + ")"
    if isinstance(node, ast.BinOp):
        operator, rank = _OPERATORS[type(node.op)]
        return f"{_operand(node.left, rank)} {operator} {_operand(node.right, rank + 1)}"
    raise ValueError(f"no C++ for {ast.unparse(node)}")


def _operand(node: ast.expr, least: int) -> str:
    """An operand, in parentheses if its own operator has a lower precedence than `least`."""
    loose = isinstance(node, ast.BinOp) and _OPERATORS[type(node.op)][1] < least
    return f"({_text(node)})" if loose else _text(node)
