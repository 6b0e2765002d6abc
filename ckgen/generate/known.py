"""Trees that were rendered before: a file of the user's cache, so that a run with nothing to do renders nothing.

An entry is the SHA-256 of a rendered tree's manifest.json, which in turn lists the SHA-256 of every other file. Its key
is a digest of everything that determines the tree: the spec's bytes, the command, every file of this installation
(Python sources, templates, tables), and the versions of Python and of the libraries that read the spec and render.
Nothing is assumed of the tree on disk: `ckgen.generate.disk.intact` reads all of it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import input_files
from ckgen.generate.manifest import digest
from ckgen.text.reading import Unreadable, read_bounded

ROOM = "trees"  # the folder of the file, below ckgen.paths.cache_dir()
SWITCH = "CKGEN_NO_TREE_CACHE"  # a variable; if it is set, commands neither read nor write the cache
MAX_TREES = 256
LIBRARIES = ("jinja2", "markupsafe", "pydantic", "pydantic-core", "pyyaml")
_FILE, _MAX_BYTES = "known.json", 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnownTree:
    """The SHA-256 of a tree's manifest.json, and the number of the tree's instances."""

    manifest_sha256: str
    instances: int


def key_of(spec: Path, command: GenerateCommand) -> str | None:
    """The digest of all that determines the tree of a command. None if some of it cannot be read, or if the spec is
    not a plain file: a pipe cannot be read twice."""
    try:
        if not spec.is_file():
            return None
        parts = (json.dumps(asdict(command)).encode(), read_bounded(spec, _MAX_BYTES), _installation())
    except (OSError, Unreadable, metadata.PackageNotFoundError):
        return None
    return digest(" ".join(map(digest, parts)).encode())


def _installation() -> bytes:
    """The versions of Python and of the libraries, and the path and SHA-256 of every file of ckgen."""
    lines = [sys.version, *(f"{name} {metadata.version(name)}" for name in LIBRARIES)]
    lines += [f"{path} {digest(path.read_bytes())}" for path in input_files() if path.is_file()]
    return "\n".join(lines).encode()


class KnownTrees:
    """The entries below one folder, which need not exist. No failure of the disk is an error: the tree is rendered."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def find(self, key: str) -> KnownTree | None:
        """The entry of a key; None if there is none."""
        row = self._rows().get(key)
        return None if row is None else KnownTree(*row)

    def keep(self, key: str, tree: KnownTree) -> None:
        """Add an entry and drop the oldest ones above MAX_TREES. Of two processes that write at the same time, one may
        drop the other's entry."""
        rows = {other: row for other, row in self._rows().items() if other != key}
        rows[key] = (tree.manifest_sha256, tree.instances)
        kept = dict(list(rows.items())[-MAX_TREES:])
        temporary = self._path.with_name(f"{_FILE}.{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps(kept), encoding="utf-8")
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)

    def _rows(self) -> dict[str, tuple[str, int]]:
        """The entries that can be read; anything else in the file is ignored."""
        try:
            rows = json.loads(read_bounded(self._path, _MAX_BYTES))
        except (OSError, Unreadable, ValueError, RecursionError):
            return {}
        pairs = rows.items() if isinstance(rows, dict) else ()
        return {key: (row[0], row[1]) for key, row in pairs if _is_entry(row)}


def _is_entry(row: object) -> bool:
    return isinstance(row, list) and [type(value) for value in row] == [str, int]
