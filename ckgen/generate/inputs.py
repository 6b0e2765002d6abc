"""Inputs of a tree: templates, tables of measurements, the text that every file says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.elementwise.function import Function
from ckgen.generate.manifest import digest
from ckgen.paths import PACKAGE, templates_dir
from ckgen.selection.measured import TABLES, load_texts


@dataclass(frozen=True, slots=True)
class Templates:
    """The files of templates/ by path, with `/` and without a leading folder; line ends are LF."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What a tree says about itself, and what it is rendered with.

    `spec`, the spec's name, stands in every file that is made from it; `command`, the command line that makes the
    tree again, in the manifest alone, so that another selection leaves the files of both as they are. `sets` maps each
    set of the spec to the names of its instances, `tables` the file name of each table of measurements to its text,
    `functions` are those of the spec.
    """

    templates: Templates
    spec: str
    spec_sha256: str
    command: str
    sets: Mapping[str, Sequence[str]]
    tables: Mapping[str, str] = field(default_factory=dict)
    functions: Sequence[Function] = ()


def load_templates(folder: Path) -> Templates:
    """Read every file below a templates folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Templates({path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths})


def load_context(
    spec: str,
    spec_text: str,
    command: str,
    sets: Mapping[str, Sequence[str]],
    functions: Sequence[Function] = (),
) -> RenderContext:
    """The context of this installation: its templates and tables."""
    spec_sha256 = digest(spec_text.encode())
    return RenderContext(load_templates(templates_dir()), spec, spec_sha256, command, sets, load_texts(), functions)


def input_files() -> tuple[Path, ...]:
    """Every file of this installation that a tree may depend on beside its spec (all of its Python among them), and the
    folders of templates.

    A folder's time moves when a file is added to it, so a build that watches these paths sees new templates.
    """
    folder = templates_dir()
    templates = (path for path in folder.rglob("*") if path.is_file() or path.is_dir())
    return (*sorted(PACKAGE.rglob("*.py")), folder, *sorted(templates), TABLES, *sorted(TABLES.glob("*.json")))
