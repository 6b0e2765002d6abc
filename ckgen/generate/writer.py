"""{path: text} -> disk: the only module that writes generated trees.

`plan` inspects the folder and decides, `apply` makes the changes, `check` reports the changes that `apply` would make
and why. ckgen owns a file if the manifest in the folder lists it and its first lines say that ckgen made it. Every
other file is foreign and is never touched. If a foreign file has the path of a file to be written, nothing is written
and an error names it.

A file is written under another name and then renamed, so that a reader always sees a complete file. Before the first
change the manifest is marked as unfinished and lists the files of both trees; the new manifest is written last. CMake
and `ckgen check` therefore notice an interrupted run, and the next run knows its files and completes the tree.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.disk import Contents, contents_of, holds, read
from ckgen.generate.drift import Drift, describe_drift
from ckgen.generate.manifest import (
    MANIFEST_NAME,
    Manifest,
    is_marked,
    load_manifest,
    parse_manifest,
    unfinished_text,
)

_SHOWN_CONFLICTS = 8
# The name, below the tree, of a file while it is written; the next run removes a file that a killed run left there.
_TEMPORARY = ".ckgen-new"


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of a run to a folder; all paths are relative to it, with `/`.

    `write` lists new or changed files, `keep` files that are already right, `prune` files of ckgen that are not
    generated any longer.
    """

    write: tuple[str, ...]
    keep: tuple[str, ...]
    prune: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """True if the plan changes anything."""
        return bool(self.write or self.prune)


def plan(tree: Mapping[str, str], out: Path) -> Plan:
    """Plan the changes that `apply` would make now; writes nothing. CkgenError if a foreign file is in the way."""
    out = resolved(out)
    with _os_errors(out):
        return _plan(tree, out)


def apply(tree: Mapping[str, str], out: Path) -> Plan:
    """Make `out` contain exactly `tree` beside foreign files, and return the changes.

    If nothing changed, no file is touched. For a read-only folder or a foreign file in the way it raises CkgenError and
    leaves everything as it was; for a full disk it raises CkgenError and leaves an unfinished tree of complete files.
    It waits for other runs that write the same folder, if the file system supports locks.
    """
    out = resolved(out)
    with _os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        folder = os.open(out, os.O_RDONLY)
        try:
            with suppress(OSError):  # NFS cannot lock folders
                fcntl.flock(folder, fcntl.LOCK_EX)
            todo = _plan(tree, out)
            if todo.changes:
                _refuse_read_only(out, todo)
                _change(tree, out, todo)
        finally:
            os.close(folder)
    return todo


def check(tree: Mapping[str, str], out: Path) -> tuple[Drift, ...]:
    """Every file that `apply` would write or remove, in path order, with the reason."""
    out = Path(os.path.realpath(out))
    with _os_errors(out):
        found = contents_of(out)
        differing, same = _compare(tree, out, found)
        if MANIFEST_NAME in same and not differing:
            return ()
        current = parse_manifest(tree[MANIFEST_NAME])
        previous = load_manifest(out)
        orphans = [path for path in found.files - tree.keys() if _is_ours(path, out, previous)]
        drifts = []
        for path in sorted((*differing, *orphans)):
            actual = read(out, path) if path in found.files else None
            drifts.append(describe_drift(path, tree.get(path), actual, previous, current))
    return tuple(drifts)


def strays(tree: Collection[str], out: Path) -> tuple[str, ...]:
    """Foreign files in the folders of the tree, in path order; a source among them is not part of any library. Other
    contents of the folder (a build, hidden files) are ignored. Of `tree` only the paths are used."""
    out = Path(os.path.realpath(out))
    tops = {path.partition("/")[0] for path in tree if "/" in path}
    with _os_errors(out):
        extra = contents_of(out).files.difference(tree)
        found = [path for path in extra if path.partition("/")[0] in tops or not ("/" in path or path.startswith("."))]
        previous = load_manifest(out) if found else None
        return tuple(sorted(path for path in found if not _is_ours(path, out, previous)))


def _plan(tree: Mapping[str, str], out: Path) -> Plan:
    found = contents_of(out)
    differing, same = _compare(tree, out, found)
    extra = found.files - tree.keys()
    # A manifest that is already right lists exactly this tree, so no other file is owned.
    previous = None if MANIFEST_NAME in same or not (extra or differing) else load_manifest(out)
    prune = {path for path in extra if _is_ours(path, out, previous)}
    conflicts = _blocked(differing, found, prune)
    if MANIFEST_NAME not in same:
        there = [path for path in differing if path in found.files]
        conflicts += [path for path in there if not (_is_ours(path, out, previous) or _is_lost(path, out, previous))]
    if conflicts:
        raise _in_the_way(out, sorted(set(conflicts)))
    return Plan(tuple(sorted(differing)), tuple(sorted(same)), tuple(sorted(prune)))


def _compare(tree: Mapping[str, str], out: Path, found: Contents) -> tuple[list[str], set[str]]:
    """The paths of the tree whose files on disk differ or are missing, and those that are identical byte for byte."""
    differing: list[str] = []
    same: set[str] = set()
    for path, text in tree.items():
        if path in found.files and holds(out, path, text.encode()):
            same.add(path)
        else:
            differing.append(path)
    return differing, same


def _is_ours(path: str, out: Path, previous: Manifest | None) -> bool:
    if previous is None:
        return False
    return path == MANIFEST_NAME or path in previous.files and previous.owns(path, read(out, path))


def _is_lost(path: str, out: Path, previous: Manifest | None) -> bool:
    """True if there is no manifest but the file says that ckgen made it: such a file may be overwritten."""
    return previous is None and is_marked(read(out, path))


def _blocked(differing: Sequence[str], found: Contents, prune: set[str]) -> list[str]:
    """Paths that have the wrong kind: a folder or link in place of a file, a file or link in place of a folder."""
    solid = (found.files - prune) | found.others
    emptied = {folder for path in prune for folder in _parents(path)}
    kept = (found.folders - emptied) | {folder for path in solid for folder in _parents(path)}
    kept |= {folder for path in kept for folder in _parents(path)}
    blocked = [path for path in differing if path in kept or path in found.others]
    blocked += [folder for path in differing for folder in _parents(path) if folder in solid]
    return blocked


def _change(tree: Mapping[str, str], out: Path, todo: Plan) -> None:
    """Remove and write files as planned. A manifest that is already right lists this tree and is kept."""
    files = [path for path in todo.write if path != MANIFEST_NAME]
    manifest = tree[MANIFEST_NAME] if MANIFEST_NAME in todo.write else None
    try:
        if manifest is not None and (files or todo.prune):
            _write(out, MANIFEST_NAME, unfinished_text(manifest, todo.prune))
        for path in todo.prune:
            os.unlink(out / path)
        for emptied in sorted({folder for path in todo.prune for folder in _parents(path)}, reverse=True):
            with suppress(OSError):  # foreign files are in it
                os.rmdir(out / emptied)
        for needed in sorted({path.rpartition("/")[0] for path in files}):
            os.makedirs(out / needed, exist_ok=True)
        for path in files:
            _write(out, path, tree[path])
        if manifest is not None:
            _write(out, MANIFEST_NAME, manifest)
    finally:
        (out / _TEMPORARY).unlink(missing_ok=True)


def _write(out: Path, path: str, text: str) -> None:
    """Replace the text of a file in one step, so that a reader never sees a part of it."""
    temporary = f"{out}/{_TEMPORARY}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        _write_all(descriptor, text.encode())
    finally:
        os.close(descriptor)
    os.replace(temporary, f"{out}/{path}")


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def resolved(out: Path) -> Path:
    """The real path of `out`, links resolved. Refuses the current directory and its parents, and paths of files, with
    CkgenError."""
    out = Path(os.path.realpath(out))
    here = Path(os.path.realpath("."))
    if out == here or out in here.parents:
        raise _error(f"{out} is or holds the current directory", "generate into a folder of its own, below this one")
    if os.path.lexists(out) and not out.is_dir():
        raise _error(f"{out} is not a folder", "choose another --out")
    return out


def _refuse_read_only(out: Path, todo: Plan) -> None:
    """Refuse a folder that is read-only, by mode (for root too, since somebody set it) or for this user."""
    parents = {folder for path in (*todo.write, *todo.prune) for folder in _parents(path)}
    for folder in (out, *(out / parent for parent in sorted(parents))):
        if folder.is_dir() and not (folder.stat().st_mode & 0o222 and os.access(folder, os.W_OK | os.X_OK)):
            raise _error(f"{folder} is read-only", f"chmod u+w {folder}, or choose another --out")


def _in_the_way(out: Path, paths: Sequence[str]) -> CkgenError:
    shown = list(paths[:_SHOWN_CONFLICTS])
    if len(paths) > len(shown):
        shown.append(f"and {len(paths) - len(shown)} more")
    message = f"{out} holds what ckgen did not write where it has to write: {', '.join(shown)}"
    return _error(message, "move it away, or choose another --out; nothing was written")


@contextmanager
def _os_errors(out: Path) -> Iterator[None]:
    """Turn an error of the operating system into one diagnostic."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"cannot write {out}: {error.strerror or error}{where}"
        raise _error(message, "every file is whole; `ckgen generate` finishes the tree when that is mended") from error


def _error(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "output", message, help),))
