"""Each room documents its purpose and its public modules; pyproject.toml has their order (import-linter)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = sorted(path.parent for path in (ROOT / "ckgen").glob("*/__init__.py"))
LIBRARIES = ("torch", "cli")  # their `__all__` lists names, not modules


def faces() -> dict[str, tuple[str, ...]]:
    found = {}
    for room in ROOMS:
        tree = ast.parse((room / "__init__.py").read_text(encoding="utf-8"))
        named = [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_all(node)]
        assert len(named) == 1, f"{room.name} does not say what is public"
        found[room.name] = tuple(ast.literal_eval(named[0]))
    return found


def _is_all(node: ast.Assign) -> bool:
    return [target.id for target in node.targets if isinstance(target, ast.Name)] == ["__all__"]


def reached(file: Path) -> Iterator[tuple[str, str]]:
    """(room, module or name of it) of each import of a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ckgen."):
            room, *inner = str(node.module).split(".")[1:]
            for name in [inner[0]] if inner else [alias.name for alias in node.names]:
                yield room, name


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_opens_with_a_paragraph(room: Path) -> None:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
    assert said is not None and len(said.split()) >= 10


@pytest.mark.parametrize("room", [room for room in ROOMS if room.name not in LIBRARIES], ids=lambda room: room.name)
def test_a_public_module_exists_and_others_use_it(room: Path) -> None:
    face = faces()[room.name]
    files = [(name, room / f"{name}.py", room / name / "__init__.py") for name in face]
    assert [name for name, module, package in files if not (module.is_file() or package.is_file())] == []
    others = [file for file in _files() if room not in file.parents]
    used = {name for file in others for where, name in reached(file) if where == room.name}
    assert sorted(set(face) - used) == []


def test_no_room_reaches_past_another_rooms_face() -> None:
    face = faces()
    wrong = [
        f"{file.relative_to(ROOT)}: {room}.{name}"
        for file in _files()
        for room, name in reached(file)
        if room in face and ROOT / "ckgen" / room not in file.parents and name not in face[room]
    ]
    assert wrong == []


def _files() -> list[Path]:
    return [file for folder in ("ckgen", "scripts", "bench") for file in sorted((ROOT / folder).rglob("*.py"))]
