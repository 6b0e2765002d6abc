"""Fail if a file or function is longer than its budget.

Usage: python scripts/check_budgets.py [ROOT]    list every file or function over its budget; exit 1 if there is one
       python scripts/check_budgets.py --shrink  lower the numbers of over_budget.txt to the present lengths

scripts/over_budget.txt lists the files and functions that were over their budget when it was introduced, with the
number of lines that each may have. When one becomes shorter, its number must be lowered; nothing is added.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cpp_functions import functions_of


@dataclass(frozen=True)
class Budget:
    """A limit of `lines` lines for each file that matches one of `globs`."""

    what: str
    lines: int
    globs: tuple[str, ...]


FILE_BUDGETS = (
    Budget("module", 300, ("ckgen/**/*.py", "scripts/*.py", "bench/*.py")),
    Budget("template", 60, ("templates/**/*.j2", "ckgen/**/*.j2")),
    Budget("header", 400, ("templates/include/**/*.hpp", "templates/include/**/*.h", "ckgen/**/*.hpp")),
    Budget("C++ source", 400, ("templates/src/**/*.cpp", "ckgen/**/*.cpp")),
    Budget("generated instance", 25, ("generated/src/*/*/grouped_conv*.cpp",)),
)
FUNCTION_LINES = 40
PYTHON_GLOBS = ("ckgen/**/*.py", "scripts/*.py", "bench/*.py")
CPP_GLOBS = ("templates/include/**/*.hpp", "templates/include/**/*.h", "templates/src/**/*.cpp", "ckgen/**/*.[ch]pp")
ALLOWED = "scripts/over_budget.txt"
Finder = Callable[[str], Iterator[tuple[int, str, int]]]  # a source's functions: line, name, lines


@dataclass(frozen=True)
class Excess:
    """A file or function over its budget. `where` is its place for people, `key` its name in over_budget.txt."""

    key: str
    where: str
    lines: int
    limit: str


def excesses(root: Path) -> Iterator[Excess]:
    """Find every file and function under `root` that is too long."""
    for budget in FILE_BUDGETS:
        for path in _files(root, budget.globs):
            name, lines = str(path.relative_to(root)), len(path.read_text(encoding="utf-8").splitlines())
            if lines > budget.lines:
                yield Excess(name, f"{name}:", lines, f"a {budget.what} may have {budget.lines}")
    for find, globs in ((_python_functions, PYTHON_GLOBS), (_cpp_functions, CPP_GLOBS)):
        for path in _files(root, globs):
            name, longest = str(path.relative_to(root)), dict[str, tuple[int, int]]()
            for line, function, lines in _found(find, path):
                longest[function] = max(longest.get(function, (0, 0)), (lines, line))
            for function, (lines, line) in longest.items():
                if lines > FUNCTION_LINES:
                    where = f"{name}:{line}: {function} has"
                    yield Excess(f"{name} {function}", where, lines, f"a function may have {FUNCTION_LINES}")


def _found(find: Finder, path: Path) -> list[tuple[int, str, int]]:
    try:
        return list(find(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise SystemExit(f"{path}: {error}") from error


def over_budget(root: Path) -> Iterator[str]:
    """Yield a sentence per excess that over_budget.txt does not allow, and per number there that is too high."""
    allowed = _allowed(root)
    for excess in excesses(root):
        ceiling = allowed.pop(excess.key, 0)
        if excess.lines > ceiling:
            limit = f"{ALLOWED} allows {ceiling}" if ceiling else excess.limit
            yield f"{excess.where} {excess.lines} lines, {limit}"
        elif excess.lines < ceiling:
            yield f"{excess.where} {excess.lines} lines, {ALLOWED} allows {ceiling}: run check_budgets.py --shrink"
    for key in allowed:
        yield f"{ALLOWED}: {key} keeps its budget or is gone: run check_budgets.py --shrink"


def shrunk(root: Path) -> str:
    """Text of over_budget.txt with the numbers lowered to the present lengths."""
    found = {excess.key: excess.lines for excess in excesses(root)}
    kept = {key: min(lines, found[key]) for key, lines in _allowed(root).items() if key in found}
    return "".join(f"{lines} {key}\n" for key, lines in kept.items())


def _allowed(root: Path) -> dict[str, int]:
    path = root / ALLOWED
    rows = (line.split(" ", 1) for line in path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return {key: int(lines) for lines, key in rows}


def _files(root: Path, globs: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in globs for path in root.glob(pattern)})


def _python_functions(text: str) -> Iterator[tuple[int, str, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def _cpp_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """Find the functions of a C++ source. Raises ValueError if the braces do not match."""
    for function in functions_of(text):
        yield function.line, function.name, function.lines


def main() -> int:
    here = Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--shrink"]:
        (here / ALLOWED).write_text(shrunk(here), encoding="utf-8")
        return 0
    found = list(over_budget(Path(sys.argv[1]) if len(sys.argv) > 1 else here))
    print("\n".join(found) if found else "size budgets: all kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
