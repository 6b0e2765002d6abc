"""Fail when a file outgrows its budget: small pieces are what keeps the house readable.

Usage: python scripts/check_budgets.py [ROOT]    exit 1 lists every file or function over its budget.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Budget:
    """At most `lines` lines for each file that one of `globs` finds."""

    what: str
    lines: int
    globs: tuple[str, ...]


FILE_BUDGETS = (
    Budget("module", 300, ("ckgen/**/*.py", "scripts/*.py", "bench/*.py")),
    Budget("template", 60, ("templates/**/*.j2", "ckgen/**/*.j2")),
    Budget("header", 400, ("templates/include/**/*.hpp", "templates/include/**/*.h")),
    Budget("generated instance", 25, ("generated/src/*/*/grouped_conv*.cpp",)),
)
FUNCTION_LINES = 40
FUNCTION_GLOBS = ("ckgen/**/*.py", "scripts/*.py", "bench/*.py")


def over_budget(root: Path) -> Iterator[str]:
    """One sentence for each file and each Python function under `root` that is too long."""
    for budget in FILE_BUDGETS:
        for path in _files(root, budget.globs):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > budget.lines:
                yield f"{path.relative_to(root)}: {lines} lines, a {budget.what} may have {budget.lines}"
    for path in _files(root, FUNCTION_GLOBS):
        yield from _long_functions(path, str(path.relative_to(root)))


def _files(root: Path, globs: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in globs for path in root.glob(pattern)})


def _long_functions(path: Path, name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                where = f"{name}:{node.lineno}: {node.name}"
                yield f"{where} has {lines} lines, a function may have {FUNCTION_LINES}"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(over_budget(root))
    print("\n".join(found) if found else "size budgets: all kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
