"""An operation is one record: no other room, and no C++ file that all operations share, names one or asks for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen.generate.inputs import load_templates
from ckgen.operations.operation import OPERATIONS
from ckgen.paths import PACKAGE, templates_dir

RECORDS = OPERATIONS.values()
NAMES = re.compile("|".join(f"{record.short}|{record.cpp}|{record.c_reference}" for record in RECORDS))
CONSTANTS = {record.short.upper() for record in RECORDS}
# Rooms of C++ that work for every operation; a file of one operation has its name, or the one that CK gives it.
SHARED = re.compile(r"(src/(library|op|plan)|include/ckgen/(library|op|plan|config))/|include/ckgen/c_api|[^/]*$")
OWN = re.compile(
    "|".join([*(record.short for record in RECORDS), *(record.words.replace(" ", "_") for record in RECORDS)])
)


def python_rooms() -> Iterator[tuple[Path, ast.Module]]:
    for path in PACKAGE.rglob("*.py"):
        if path.parent != PACKAGE / "operations":
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each string that is not a docstring."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def branches(tree: ast.Module) -> Iterator[int]:
    """Each comparison of the tensor that an operation writes, or of its name, with a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = any(isinstance(side, ast.Attribute) and side.attr in ("written", "operation") for side in sides)
            if asked and any(isinstance(side, ast.Constant) or _is_name(side) for side in sides):
                yield node.lineno


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in CONSTANTS


def named_in_cpp(file: str, text: str) -> list[str]:
    """The lines of a shared C++ file that name an operation."""
    if not SHARED.match(file) or OWN.search(file):
        return []
    return [f"{file}: {line.strip()}" for line in text.splitlines() if NAMES.search(line)]


def test_no_room_spells_an_operations_name() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path, tree in python_rooms()
        for line, text in literals(tree)
        if NAMES.search(text)
    ]
    assert found == []


def test_only_families_name_an_operation() -> None:
    """A family has rules of its own for an operation; everywhere else the record answers."""
    found = [
        f"{path.relative_to(PACKAGE)}: {alias.name}"
        for path, tree in python_rooms()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "families" not in path.relative_to(PACKAGE).parts
        for alias in node.names
        if alias.name in CONSTANTS
    ]
    assert found == []


def test_no_room_asks_which_operation_it_has() -> None:
    assert [f"{path.relative_to(PACKAGE)}:{line}" for path, tree in python_rooms() for line in branches(tree)] == []


def test_shared_cpp_names_no_operation() -> None:
    texts = load_templates(templates_dir()).texts
    assert [hit for file, text in texts.items() for hit in named_in_cpp(file, text)] == []
    assert sum(bool(SHARED.match(file)) and not OWN.search(file) for file in texts) > 30


@pytest.mark.parametrize(
    "text",
    [
        'kind = "grouped_conv_bwd_data"',
        'if OPERATIONS[name].written == "in":\n    pass',
        "if instance.operation == BWD_DATA:\n    pass",
    ],
)
def test_a_branch_or_a_name_is_found(text: str) -> None:
    tree = ast.parse(f'"""Of bwd_data."""\n{text}\n')
    assert [*branches(tree), *(line for line, literal in literals(tree) if NAMES.search(literal))] != []


@pytest.mark.parametrize(
    ("file", "text", "hits"),
    [
        ("src/library/selector.cpp", "if(operation == BwdData::name)", 1),
        ("include/ckgen/plan/plan.hpp", "bool bwd_data;", 1),
        ("include/ckgen/plan/bwd_data_plan.hpp", "struct BwdDataPlan;", 0),
        ("include/ckgen/load/im2col_source.hpp", "BwdWeightArgs", 0),
    ],
)
def test_a_name_in_shared_cpp_is_found(file: str, text: str, hits: int) -> None:
    assert len(named_in_cpp(file, text)) == hits
