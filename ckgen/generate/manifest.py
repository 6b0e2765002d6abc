"""manifest.json: the contents of a generated tree and their origin.

It is the only catalogue of the tree, for the build, the smoke test and the docs. It is also the generator's record of
which files it wrote, of their bytes, and of the digests of spec and templates that explain why a file differs. It has
one line per file, function or instance, so that its diffs are readable.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.elementwise.function import Function
from ckgen.elementwise.function_cpp import FUNCTION_SHAPE, function_of, function_text
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.command import GenerateCommand
from ckgen.generate.style import DEFAULT_STYLE, style_of
from ckgen.text.reading import Unreadable, read_bounded
from ckgen.text.shape import misfit

SCHEMA_VERSION = 2  # version 1 has the command as one text, which nothing reads
MANIFEST_NAME = "manifest.json"
# The template name of manifest.json itself; every other file names a file of templates/.
MANIFEST_TEMPLATE = "ckgen/generate/manifest.py"
# A text in the first or second line of every generated file, in the comment syntax of that file.
_MARK, _HEAD = b" by ckgen from ", 16_384
MAX_BYTES = 256 * 1024 * 1024
_HEAD_SHAPE: dict[str, Any] = {
    "schema_version": int,
    "tool_version": str,
    "spec": str,
    "command": ({"set": str, "filters": [str], "out": str, "namespace?": str, "compat?": str}, str),
    "spec_sha256": str,
}
_SHAPE: dict[str, Any] = {
    **_HEAD_SHAPE,
    "unfinished?": bool,
    "templates": {str: str},
    "files": {str: {"sha256": str, "template": str}},
    "functions?": [FUNCTION_SHAPE],
    "instances": [
        {
            "name": str,
            "fields": {str: (str, int, bool)},
            "derived": {str: int},
            "archs": [str],
            "sets": [str],
            "source": str,
            "add_function": str,
        }
    ],
}
_SEAL = ',\n"sha256": "'
_TEMPLATES, _FILES, _UNFINISHED = ',\n"templates": ', '"files": ', '"unfinished"'


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One generated file: the SHA-256 of its bytes and its template, as in `templates/instance.cpp.j2`."""

    sha256: str
    template: str


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """One instance: identity, derived values, architectures, the sets that contain it, and its source file."""

    name: str
    fields: Mapping[str, Any]
    derived: Mapping[str, int]
    archs: tuple[str, ...]
    sets: tuple[str, ...]
    source: str
    add_function: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a tree. Digests are SHA-256 in hex; `templates` has one per template."""

    tool_version: str
    command: GenerateCommand
    spec_sha256: str
    templates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest. `functions` are those of the spec; None if the tree is older than this entry. `intact` is
    false if the manifest's own digest does not match, so that somebody edited it. `unfinished` is true while the tree
    is written, and stays true if the run was interrupted."""

    origin: Origin
    files: Mapping[str, FileRecord]
    functions: tuple[Function, ...] | None
    instances: tuple[InstanceRecord, ...]
    intact: bool
    unfinished: bool

    def owns(self, path: str, data: bytes) -> bool:
        """True if ckgen owns a file on disk: the manifest lists it, the file has the line that marks generated files,
        and, if the manifest was edited, its bytes are as listed. (An edited manifest could list any file.)"""
        record = self.files.get(path)
        return record is not None and is_marked(data) and (self.intact or record.sha256 == digest(data))


def is_marked(data: bytes) -> bool:
    """True if the first two lines of a file say that ckgen made it. Empty files count too, since replacing them loses
    nothing."""
    return not data or any(_MARK in line for line in data[:_HEAD].split(b"\n", 2)[:2])


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def manifest_text(
    origin: Origin,
    files: Mapping[str, FileRecord],
    functions: Iterable[Function],
    instances: Iterable[InstanceRecord],
) -> str:
    """The text of manifest.json; it ends with a digest of everything before it."""
    encode = json.JSONEncoder().encode
    command = origin.command
    note = f"ckgen from {command.spec} with {MANIFEST_TEMPLATE}. Do not edit; run: {command.text}"
    chosen: dict[str, Any] = {"set": command.set, "filters": command.filters, "out": command.out}
    if command.style != DEFAULT_STYLE:
        chosen |= {"namespace": command.style.namespace, "compat": command.style.compat}
    head = {"generated_by": note, "schema_version": SCHEMA_VERSION, "tool_version": origin.tool_version}
    head |= {"spec": command.spec, "command": chosen, "spec_sha256": origin.spec_sha256}
    lines = [f"{encode(key)}: {encode(value)}" for key, value in head.items()]
    digests = (f"{encode(name)}: {encode(sha256)}" for name, sha256 in origin.templates.items())
    lines[-1] += _TEMPLATES + _block("{", digests, "}")
    records = (
        f'{encode(path)}: {{"sha256": "{record.sha256}", "template": {encode(record.template)}}}'
        for path, record in files.items()
    )
    lines.append(_FILES + _block("{", records, "}"))
    lines.append('"functions": ' + _block("[", map(function_text, functions), "]"))
    lines.append('"instances": ' + _block("[", _instance_rows(tuple(instances)), "]"))
    return _sealed("{\n" + ",\n".join(lines))


def unfinished_text(text: str, more: Iterable[str]) -> str:
    """The text of a manifest while its tree is written: marked as unfinished, and with the paths in ``more`` listed
    too.

    CMake looks for the mark in one of the first lines (templates/CMakeLists.txt.j2).
    """
    body = text.rpartition(_SEAL)[0].replace(",\n", f",\n{_UNFINISHED}: true,\n", 1)
    rows = "".join(f'{json.dumps(path)}: {{"sha256": "", "template": ""}},\n' for path in more)
    return _sealed(body.replace(f"{_FILES}{{\n", f"{_FILES}{{\n{rows}", 1))


def _sealed(body: str) -> str:
    return f'{body}{_SEAL}{digest(body.encode())}"\n}}\n'


def parse_manifest(text: str, file: str = MANIFEST_NAME) -> Manifest:
    """The manifest in a text. Raises CkgenError if it is not a manifest (a merge conflict, another program's file)."""
    try:
        data = _checked(json.loads(text), _SHAPE, file)
        functions = _functions(data.get("functions"))
        command = _command(data) or GenerateCommand(data["spec"])
    except (ValueError, RecursionError) as error:
        raise unusable(file, f"is not a manifest that ckgen wrote: {_why(error)}") from error
    origin = Origin(data["tool_version"], command, data["spec_sha256"], data["templates"])
    files = {path: FileRecord(row["sha256"], row["template"]) for path, row in data["files"].items()}
    instances = tuple(_instance_record(row) for row in data["instances"])
    intact = text == _sealed(text.rpartition(_SEAL)[0])
    return Manifest(origin, files, functions, instances, intact, data.get("unfinished", False))


def _checked(data: Any, shape: dict[str, Any], file: str) -> dict[str, Any]:
    """The data of a manifest if it has a version that ckgen knows and the shape; otherwise raises CkgenError or
    ValueError."""
    version = data.get("schema_version", SCHEMA_VERSION) if isinstance(data, dict) else SCHEMA_VERSION
    if version not in (1, SCHEMA_VERSION):
        raise unusable(file, f"has schema version {version}, this ckgen knows {SCHEMA_VERSION}")
    if wrong := misfit(data, shape):
        raise ValueError(wrong)
    return dict(data)


def _command(data: Mapping[str, Any]) -> GenerateCommand | None:
    """The recorded command; None in a manifest of version 1. ValueError for an impossible namespace."""
    told = data["command"]
    if isinstance(told, str):
        return None
    style = style_of(told.get("namespace"), told.get("compat"))
    return GenerateCommand(data["spec"], told["set"], tuple(told["filters"]), told["out"], style)


def load_manifest(tree: Path) -> Manifest | None:
    """The manifest of a generated tree; None if there is none. Raises CkgenError if it is not a valid manifest. Line
    ends that git changed do not count as an edit."""
    text = _text(tree)
    return None if text is None else parse_manifest(text, str(tree / MANIFEST_NAME))


def load_command(tree: Path) -> GenerateCommand | None:
    """The command that a tree's manifest records; None if there is no manifest. Raises CkgenError if it is damaged or
    records none. Reads the first lines only, since checking all of a large manifest takes long."""
    text, file = _text(tree), str(tree / MANIFEST_NAME)
    if text is None:
        return None
    try:
        command = _command(_checked(json.loads(text.partition(_TEMPLATES)[0] + "}"), _HEAD_SHAPE, file))
    except (ValueError, RecursionError):  # the lines are in another order, or the error concerns the whole file
        parse_manifest(text, file)
        command = _command(json.loads(text))
    if command is None:
        raise unusable(file, "is of an older ckgen, which recorded its command in another form")
    return command


def listed_digests(text: str) -> dict[str, str]:
    """The SHA-256 of each file that a manifest lists, by path. `text` must be whole, as `manifest_text` made it."""
    rows = text.partition(_FILES)[2].partition("\n}")[0] + "}"
    return {path: row["sha256"] for path, row in json.loads(rows).items()}


def _text(tree: Path) -> str | None:
    path = tree / MANIFEST_NAME
    try:
        return read_bounded(path, MAX_BYTES).replace(b"\r\n", b"\n").decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise unusable(str(path), "is not UTF-8 text") from error
    except OSError as error:
        raise unusable(str(path), f"cannot be read: {error.strerror}") from error
    except Unreadable as error:
        raise unusable(str(path), f"cannot be read: it {error}") from error


def _block(opening: str, rows: Iterable[str], closing: str) -> str:
    return f"{opening}\n" + ",\n".join(rows) + f"\n{closing}"


def _functions(rows: Iterable[Any] | None) -> tuple[Function, ...] | None:
    try:
        return None if rows is None else tuple(map(function_of, rows))
    except CkgenError as error:
        raise ValueError(error.diagnostics[0].message) from error


def _instance_rows(items: Sequence[InstanceRecord]) -> Iterator[str]:
    """The rows of the instances. Derived values, which many instances share, are encoded once."""
    encode = json.JSONEncoder().encode
    known: dict[int, str] = {}  # by identity: `items` keeps the objects alive
    for item in items:
        row = {"name": item.name, "fields": item.fields, "archs": item.archs, "sets": item.sets, "source": item.source}
        row["add_function"] = item.add_function
        derived = known.get(id(item.derived))
        if derived is None:
            derived = known[id(item.derived)] = encode(item.derived)
        yield f'{encode(row)[:-1]}, "derived": {derived}}}'


def _instance_record(row: Mapping[str, Any]) -> InstanceRecord:
    return InstanceRecord(
        row["name"],
        row["fields"],
        row["derived"],
        tuple(row["archs"]),
        tuple(row["sets"]),
        row["source"],
        row["add_function"],
    )


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)


def unusable(file: str, why: str) -> CkgenError:
    """The error for an unusable manifest, with advice on how to continue."""
    folder = shlex.quote(os.path.dirname(file) or ".")
    help = f"restore it from version control; or delete it and run `ckgen generate --out {folder}`"
    return CkgenError((Diagnostic(None, "manifest", f"{file} {why}", help),))
