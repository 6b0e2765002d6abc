"""What a tree is rendered with: templates, the generator's own digest, what every file says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import resolve_name
from pathlib import Path

from ckgen.elementwise.function import Function
from ckgen.generate.manifest import digest
from ckgen.paths import PACKAGE, templates_dir
from ckgen.selection.measured import TABLES, load_texts

# The command that makes a tree; all that it imports, at once or later, is "the tool".
_COMMAND = "ckgen.cli.generate"
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|.*)|import[ \t]+(?P<modules>.*))",
    re.MULTILINE,
)
_FOR_TYPES = re.compile(r"^([ \t]*)if TYPE_CHECKING:.*\n(?:\1[ \t]+.*\n|[ \t]*\n)*", re.MULTILINE)


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
    named = (f"{path.relative_to(PACKAGE).as_posix()}\0{text}" for path, text in modules.items())
    tool = digest("\0".join(named).encode())
    templates, spec_sha256 = load_templates(templates_dir()), digest(spec_text.encode())
    return RenderContext(templates, spec, spec_sha256, tool, command, sets, load_texts(), functions)


def generator_modules(package: Path = PACKAGE, command: str = _COMMAND) -> dict[Path, str]:
    """File and text of each module of a package that the module ``command`` of it imports, at once or later, and of the
    packages that they are in: together they are the tool."""
    found: dict[Path, str] = {}
    seen: set[str] = set()
    pending = [command]
    while pending:
        name = pending.pop()
        if name in seen or name.partition(".")[0] != package.name:
            continue
        seen.add(name)
        pending.append(name.rpartition(".")[0])
        path = _file_of(package, name)
        if path is not None:
            found[path] = path.read_text(encoding="utf-8")
            own = name if path.name == "__init__.py" else name.rpartition(".")[0]
            pending += _imported(found[path], own)
    if _file_of(package, command) is None:
        raise FileNotFoundError(f"{package} has no module {command}; reinstall ckgen")
    return dict(sorted(found.items()))


def _file_of(package: Path, name: str) -> Path | None:
    """The file of a module or package; None for another name, as that of a function is."""
    stem = package.parent.joinpath(*name.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _imported(text: str, package: str) -> Iterator[str]:
    """What the import statements of a module in ``package`` may name; `from a import b` names a and a.b."""
    for statement in _IMPORT.finditer(_FOR_TYPES.sub("", text)):
        if statement["base"] is None:
            yield from re.findall(r"(?:^|,)\s*([\w.]+)", statement["modules"])
            continue
        base = statement["base"]
        if base.startswith("."):
            base = resolve_name(base, package)
        names = re.sub(r"#.*|\bas\s+\w+", "", statement["names"])
        yield from (base, *(f"{base}.{name}" for name in re.findall(r"\w+", names)))


def input_files() -> tuple[Path, ...]:
    """Every file of this installation that a tree depends on beside its spec, and the template folders.

    A folder's time moves when a file is added to it, so a build that watches these paths sees new templates.
    """
    folder = templates_dir()
    templates = (path for path in folder.rglob("*") if path.is_file() or path.is_dir())
    return (*generator_modules(), folder, *sorted(templates), TABLES, *sorted(TABLES.glob("*.json")))
