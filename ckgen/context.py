"""What a tree is rendered with: templates, the generator's own digest, what every file says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.manifest import digest
from ckgen.paths import PACKAGE, templates_dir

# The modules that decide what a tree holds; their digest is "the tool" in the manifest. A test keeps it so.
GENERATOR_MODULES = (
    "context",
    "errors",
    "expand",
    "hardware",
    "instance",
    "manifest",
    "paths",
    "render",
    "rule_table",
    "rules",
    "select",
    "source",
    "spec",
    "tree",
)


@dataclass(frozen=True, slots=True)
class Templates:
    """The files of templates/ by path, with `/` and without a leading folder; line ends are LF."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What a tree says about itself, and what it is rendered with.

    `spec` and `command` stand in every file: the spec's name and the command line that makes the tree again.
    `sets` maps each set of the spec to the names of its instances.
    """

    templates: Templates
    spec: str
    spec_sha256: str
    tool_sha256: str
    command: str
    sets: Mapping[str, Sequence[str]]


def load_templates(folder: Path) -> Templates:
    """Read every file below a templates folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Templates(
        {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    )


def load_context(spec: str, spec_text: str, command: str, sets: Mapping[str, Sequence[str]]) -> RenderContext:
    """The context of this installation: its templates and the digest of its generator modules."""
    sources = (PACKAGE / f"{module}.py" for module in GENERATOR_MODULES)
    tool = digest(b"\0".join(path.read_bytes() for path in sources))
    return RenderContext(
        load_templates(templates_dir()), spec, digest(spec_text.encode()), tool, command, sets
    )


def input_files() -> tuple[Path, ...]:
    """Every file of this installation that a generated tree depends on, beside its spec."""
    modules = tuple(PACKAGE / f"{module}.py" for module in GENERATOR_MODULES)
    return modules + tuple(sorted(path for path in templates_dir().rglob("*") if path.is_file()))
