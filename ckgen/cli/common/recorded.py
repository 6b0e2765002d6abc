"""The selection of instances that a generated tree's manifest records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckgen.cli.common.selection import Selection
from ckgen.generate.manifest import load_command


def recorded(selection: Selection) -> Selection:
    """Return the selection that the manifest of the tree at `selection.out` records; `selection` if it has none.

    The path of the recorded spec is tried first from the folder in which the recorded --out is this tree, then from the
    tree's parent folder, and last from the current folder, where it could be the spec of another project.
    """
    command = load_command(selection.out)
    if command is None:
        return selection
    out, tree = Path(command.out), selection.out.resolve()
    chosen = replace(selection, spec=Path(command.spec), set_name=command.set, filters=command.filters, out=out)
    chosen = replace(chosen, style=command.style)
    base = Path(*tree.parts[: -len(out.parts)]) if tree.parts[-len(out.parts) :] == out.parts else tree.parent
    roots = [folder for folder in (base, tree.parent) if (folder / chosen.spec).is_file()]
    return replace(chosen, root=_nearer(roots[0]) if roots else Path())


def in_recorded_style(selection: Selection) -> Selection:
    """Return the selection with the C++ names that the manifest of the tree at `selection.out` records."""
    command = load_command(selection.out)
    return replace(selection, style=command.style) if command else selection


def _nearer(folder: Path) -> Path:
    """Return the empty path for the current folder, else the folder unchanged."""
    return Path() if folder == Path.cwd() else folder
