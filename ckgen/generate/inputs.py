"""Inputs of a tree: templates, tables of measured rows, and the origin that generated files state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.elementwise.function import Function
from ckgen.generate.command import GenerateCommand
from ckgen.generate.manifest import digest
from ckgen.paths import PACKAGE, templates_dir
from ckgen.selection.measured import TABLES, load_texts
from ckgen.selection.time_model import COEFFICIENTS


@dataclass(frozen=True, slots=True)
class Templates:
    """The files of templates/ by path, with `/` and without a leading folder; line endings are LF."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The inputs of a tree other than its instances, and its description of its origin.

    The name of the spec is in every file that is made from it. The rest of `command`, which makes the tree again, is
    only in the manifest, so that trees of different selections have the same files for the same instances. `sets` maps
    each set of the spec to the names of its instances. `tables` maps the file name of each table of measured rows to
    its text, `times` is the text of the time model's coefficients, empty for none. `functions` are the functions of the
    spec.
    """

    templates: Templates
    command: GenerateCommand
    spec_sha256: str
    sets: Mapping[str, Sequence[str]]
    tables: Mapping[str, str] = field(default_factory=dict)
    functions: Sequence[Function] = ()
    times: str = ""


def load_templates(folder: Path) -> Templates:
    """Read every file below a templates folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Templates({path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths})


def load_context(
    command: GenerateCommand,
    spec_text: str,
    sets: Mapping[str, Sequence[str]],
    functions: Sequence[Function] = (),
) -> RenderContext:
    """The context of this installation: its templates and tables."""
    spec_sha256 = digest(spec_text.replace("\r\n", "\n").encode())  # the same for every checkout by git
    times = COEFFICIENTS.read_text(encoding="utf-8")
    return RenderContext(load_templates(templates_dir()), command, spec_sha256, sets, load_texts(), functions, times)


def input_files() -> tuple[Path, ...]:
    """Every file of this installation, except the spec, on which a tree may depend (including all Python sources), and
    the folders of templates.

    The modification time of a folder changes when a file is added, so a build that watches these paths sees new
    templates.
    """
    folder = templates_dir()
    templates = (path for path in folder.rglob("*") if path.is_file() or path.is_dir())
    tables = (TABLES, *sorted(TABLES.glob("*.json")), COEFFICIENTS)
    return (*sorted(PACKAGE.rglob("*.py")), folder, *sorted(templates), *tables)
