"""manifest.json: what a generated tree holds and what it was made from.

It is the tree's only catalogue (build, smoke test and docs read it) and the generator's memory: which files
are its own, what their bytes were, and the digests of spec, templates and tool that tell why a file differs.
One file, function or instance a line, so that a diff of it can be read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.errors import CkgenError, Diagnostic
from ckgen.function import Function
from ckgen.function_cpp import function_text, parse_function

SCHEMA_VERSION = 1
MANIFEST_NAME = "manifest.json"
# What manifest.json itself is made with; every other file names a template.
MANIFEST_TEMPLATE = "ckgen/manifest.py"
_SEAL = ',\n"sha256": "'


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One generated file: the SHA-256 of its bytes and its template, as in `templates/instance.cpp.j2`."""

    sha256: str
    template: str


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """One instance: identity, what follows from it, its architectures, the sets it is in, its source file."""

    name: str
    fields: Mapping[str, Any]
    derived: Mapping[str, int]
    archs: tuple[str, ...]
    sets: tuple[str, ...]
    source: str
    add_function: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What a tree was made from. Digests are SHA-256 in hex; `templates` has one for each template, `tables` one for
    each table of measurements."""

    tool_version: str
    spec: str
    command: str
    spec_sha256: str
    tool_sha256: str
    templates: Mapping[str, str]
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as read: `functions` are those of the spec, None in trees of before they were told. `intact` is false
    when its own digest does not hold, so somebody edited it."""

    origin: Origin
    files: Mapping[str, FileRecord]
    functions: tuple[Function, ...] | None
    instances: tuple[InstanceRecord, ...]
    intact: bool

    def owns(self, path: str, sha256: str) -> bool:
        """Whether a file on disk is ours: listed and, if the list was edited, byte for byte as listed."""
        record = self.files.get(path)
        return record is not None and (self.intact or record.sha256 == sha256)


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
    note = f"ckgen from {origin.spec} with {MANIFEST_TEMPLATE}. Do not edit; run: {origin.command}"
    head = {"generated_by": note, "schema_version": SCHEMA_VERSION, "tool_version": origin.tool_version}
    head |= {"spec": origin.spec, "command": origin.command}
    head |= {"spec_sha256": origin.spec_sha256, "tool_sha256": origin.tool_sha256}
    lines = [f"{encode(key)}: {encode(value)}" for key, value in head.items()]
    for key, digests in (("templates", origin.templates), ("tables", origin.tables)):
        lines.append(f'"{key}": ' + _block("{", (f"{encode(k)}: {encode(v)}" for k, v in digests.items()), "}"))
    records = (
        f'{encode(path)}: {{"sha256": "{record.sha256}", "template": {encode(record.template)}}}'
        for path, record in files.items()
    )
    lines.append('"files": ' + _block("{", records, "}"))
    lines.append('"functions": ' + _block("[", map(function_text, functions), "]"))
    lines.append('"instances": ' + _block("[", (encode(_instance_row(item)) for item in instances), "]"))
    body = "{\n" + ",\n".join(lines)
    return f'{body}{_SEAL}{digest(body.encode())}"\n}}\n'


def parse_manifest(text: str, file: str = MANIFEST_NAME) -> Manifest:
    """The manifest a text holds; CkgenError when it holds none (a merge conflict, another program's file)."""
    try:
        data = json.loads(text)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise _unusable(file, f"has schema version {version}, this ckgen knows {SCHEMA_VERSION}")
        origin = Origin(
            data["tool_version"],
            data["spec"],
            data["command"],
            data["spec_sha256"],
            data["tool_sha256"],
            data["templates"],
            data.get("tables", {}),  # trees of before there were tables
        )
        files = {path: FileRecord(row["sha256"], row["template"]) for path, row in data["files"].items()}
        functions = _functions(data.get("functions"))
        instances = tuple(_instance_record(row) for row in data["instances"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unusable(file, "is not a manifest that ckgen wrote") from error
    body, _, seal = text.rpartition(_SEAL)
    return Manifest(origin, files, functions, instances, seal == f'{digest(body.encode())}"\n}}\n')


def load_manifest(tree: Path) -> Manifest | None:
    """The manifest of a generated tree, None when it has none; CkgenError when it cannot be understood."""
    path = tree / MANIFEST_NAME
    try:
        return parse_manifest(path.read_text(encoding="utf-8"), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise _unusable(str(path), "is not UTF-8 text") from error
    except OSError as error:
        raise _unusable(str(path), f"cannot be read: {error.strerror}") from error


def _block(opening: str, rows: Iterable[str], closing: str) -> str:
    return f"{opening}\n" + ",\n".join(rows) + f"\n{closing}"


def _functions(rows: Iterable[Any] | None) -> tuple[Function, ...] | None:
    try:
        return None if rows is None else tuple(parse_function(json.dumps(row)) for row in rows)
    except CkgenError as error:
        raise ValueError(str(error)) from error


def _instance_row(item: InstanceRecord) -> dict[str, Any]:
    return {
        "name": item.name,
        "fields": item.fields,
        "derived": item.derived,
        "archs": item.archs,
        "sets": item.sets,
        "source": item.source,
        "add_function": item.add_function,
    }


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


def _unusable(file: str, why: str) -> CkgenError:
    help = "without it ckgen cannot tell its own files: restore it from version control or use another folder"
    return CkgenError((Diagnostic(None, "manifest", f"{file} {why}", help),))
