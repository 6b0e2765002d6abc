"""What a tree is rendered with: templates, the generator's own digest, what every file says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.function import Function
from ckgen.manifest import digest
from ckgen.measured import TABLES, load_texts
from ckgen.paths import PACKAGE, templates_dir

# Where the way from a spec's text to a tree begins; what these import belongs to "the tool" too.
_ENTRY_MODULES = ("source", "spec", "expand", "filters", "render")
_IMPORT = re.compile(r"^\s*from ckgen\.(\w+) import ", re.MULTILINE)


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
    tool_sha256: str
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
    """The context of this installation: its templates and the digest of its generator modules."""
    modules = generator_modules()
    tool = digest("\0".join(f"{name}\0{modules[name]}" for name in sorted(modules)).encode())
    templates, spec_sha256 = load_templates(templates_dir()), digest(spec_text.encode())
    return RenderContext(templates, spec, spec_sha256, tool, command, sets, load_texts(), functions)


def generator_modules() -> dict[str, str]:
    """Name and text of each module of ckgen that decides what a tree holds: together they are the tool."""
    found: dict[str, str] = {}
    pending = list(_ENTRY_MODULES)
    while pending:
        name = pending.pop()
        path = PACKAGE / f"{name}.py"
        if name not in found and path.exists():
            found[name] = path.read_text(encoding="utf-8")
            pending += _IMPORT.findall(found[name])
    return found


def input_files() -> tuple[Path, ...]:
    """Every file of this installation that a tree depends on beside its spec, and the template folders.

    A folder's time moves when a file is added to it, so a build that watches these paths sees new templates.
    """
    folder = templates_dir()
    templates = (path for path in folder.rglob("*") if path.is_file() or path.is_dir())
    modules = (PACKAGE / f"{name}.py" for name in sorted(generator_modules()))
    return (*modules, folder, *sorted(templates), TABLES, *sorted(TABLES.glob("*.json")))
