"""{path: text} -> disk: the only writer of generated trees.

`plan` looks and decides, `apply` does it, `check` says what `apply` would do and why. A file is ours when the manifest
in the folder lists it and its own first lines say that ckgen made it. Every other file is foreign: it is never touched,
and where it is in the way of a file that we want to write, nothing is written and an error names it.

A file is written under another name and then renamed, so that it is whole at every moment. Before the first change the
manifest is marked as unfinished and lists the files of both trees; the new one is written last. So CMake and
`ckgen check` notice a run that was interrupted, and the next run knows its files and finishes the tree.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic
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
# The name below the tree that a file has while it is written; the next run takes what a killed one left there.
_TEMPORARY = ".ckgen-new"


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of a run to a folder; all paths are relative to it, with `/`.

    `write` are new or changed files, `keep` those that are right already, `prune` ours that nothing makes any more.
    """

    write: tuple[str, ...]
    keep: tuple[str, ...]
    prune: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """True if there is anything to do."""
        return bool(self.write or self.prune)


@dataclass(frozen=True, slots=True)
class _Scan:
    """All that lies below a folder, as relative paths with `/`; `others` are links (not followed) and sockets."""

    files: frozenset[str]
    others: frozenset[str]
    folders: frozenset[str]


def plan(tree: Mapping[str, str], out: Path) -> Plan:
    """Plan `apply` as it would run now; CkgenError when a foreign file is in the way. Nothing is written."""
    out = _resolved(out)
    with _os_errors(out):
        return _plan(tree, out)


def apply(tree: Mapping[str, str], out: Path) -> Plan:
    """Make `out` hold exactly `tree` beside what is foreign, and say what was done.

    Touches no file when nothing changed. CkgenError for a read-only folder or a foreign file in the way leaves
    everything as it was, for a full disk an unfinished tree of whole files. Waits for another run that writes the same
    folder, where the file system can lock one.
    """
    out = _resolved(out)
    with _os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        folder = os.open(out, os.O_RDONLY)
        try:
            with suppress(OSError):  # NFS locks no folders
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
        found = _scan(out)
        differing, same = _compare(tree, out, found)
        if MANIFEST_NAME in same and not differing:
            return ()
        current = parse_manifest(tree[MANIFEST_NAME])
        previous = load_manifest(out)
        orphans = [path for path in found.files - tree.keys() if _is_ours(path, out, previous)]
        drifts = []
        for path in sorted((*differing, *orphans)):
            actual = _read(out, path) if path in found.files else None
            drifts.append(describe_drift(path, tree.get(path), actual, previous, current))
    return tuple(drifts)


def strays(tree: Mapping[str, str], out: Path) -> tuple[str, ...]:
    """Files that ckgen did not write, in path order, beside those of the tree and in its folders: a source there is
    part of no library. What else a folder holds (a build, hidden files) is not looked at."""
    out = Path(os.path.realpath(out))
    tops = {path.partition("/")[0] for path in tree if "/" in path}
    with _os_errors(out):
        extra = _scan(out).files - tree.keys()
        found = [path for path in extra if path.partition("/")[0] in tops or not ("/" in path or path.startswith("."))]
        previous = load_manifest(out) if found else None
        return tuple(sorted(path for path in found if not _is_ours(path, out, previous)))


def _plan(tree: Mapping[str, str], out: Path) -> Plan:
    found = _scan(out)
    differing, same = _compare(tree, out, found)
    extra = found.files - tree.keys()
    # A manifest that is right already lists exactly this tree: nothing else is ours.
    previous = None if MANIFEST_NAME in same or not (extra or differing) else load_manifest(out)
    prune = {path for path in extra if _is_ours(path, out, previous)}
    conflicts = _blocked(differing, found, prune)
    if MANIFEST_NAME not in same:
        there = [path for path in differing if path in found.files]
        conflicts += [path for path in there if not (_is_ours(path, out, previous) or _is_lost(path, out, previous))]
    if conflicts:
        raise _in_the_way(out, sorted(set(conflicts)))
    return Plan(tuple(sorted(differing)), tuple(sorted(same)), tuple(sorted(prune)))


def _scan(folder: Path) -> _Scan:
    """Everything below `folder`; nothing when it does not exist."""
    files: list[str] = []
    others: list[str] = []
    folders: list[str] = []
    pending = [""] if folder.is_dir() else []
    while pending:
        prefix = pending.pop()
        with os.scandir(os.path.join(folder, prefix)) as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.is_file(follow_symlinks=False):
                    files.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                    pending.append(path + "/")
                else:
                    others.append(path)
    return _Scan(frozenset(files), frozenset(others), frozenset(folders))


def _compare(tree: Mapping[str, str], out: Path, found: _Scan) -> tuple[list[str], set[str]]:
    """The paths of the tree that are not, and those that are, on disk byte for byte."""
    differing: list[str] = []
    same: set[str] = set()
    for path, text in tree.items():
        if path in found.files and _read(out, path) == text.encode():
            same.add(path)
        else:
            differing.append(path)
    return differing, same


def _is_ours(path: str, out: Path, previous: Manifest | None) -> bool:
    if previous is None:
        return False
    return path == MANIFEST_NAME or path in previous.files and previous.owns(path, _read(out, path))


def _is_lost(path: str, out: Path, previous: Manifest | None) -> bool:
    """True if a file is ours though no manifest is there to say so: what says that ckgen made it may be made again."""
    return previous is None and is_marked(_read(out, path))


def _blocked(differing: Sequence[str], found: _Scan, prune: set[str]) -> list[str]:
    """Things that are where we need another kind of thing: a folder or link as a file, a file or link as a folder."""
    solid = (found.files - prune) | found.others
    emptied = {folder for path in prune for folder in _parents(path)}
    kept = (found.folders - emptied) | {folder for path in solid for folder in _parents(path)}
    kept |= {folder for path in kept for folder in _parents(path)}
    blocked = [path for path in differing if path in kept or path in found.others]
    blocked += [folder for path in differing for folder in _parents(path) if folder in solid]
    return blocked


def _change(tree: Mapping[str, str], out: Path, todo: Plan) -> None:
    """Remove and write what the plan says. A manifest that is right already lists this tree, so it stays."""
    files = [path for path in todo.write if path != MANIFEST_NAME]
    manifest = tree[MANIFEST_NAME] if MANIFEST_NAME in todo.write else None
    try:
        if manifest is not None and (files or todo.prune):
            _write(out, MANIFEST_NAME, unfinished_text(manifest, todo.prune))
        for path in todo.prune:
            os.unlink(out / path)
        for emptied in sorted({folder for path in todo.prune for folder in _parents(path)}, reverse=True):
            with suppress(OSError):  # others have files there
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
    """Give a file a text, in one step for whoever reads it."""
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


def _read(out: Path, path: str) -> bytes:
    descriptor = os.open(f"{out}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while chunk := os.read(descriptor, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def _resolved(out: Path) -> Path:
    """The folder itself when `out` is a link to it; refuses one that was hardly meant to hold a tree."""
    out = Path(os.path.realpath(out))
    here = Path(os.path.realpath("."))
    if out == here or out in here.parents:
        raise _error(f"{out} is or holds the current directory", "generate into a folder of its own, below this one")
    if os.path.lexists(out) and not out.is_dir():
        raise _error(f"{out} is not a folder", "choose another --out")
    return out


def _refuse_read_only(out: Path, todo: Plan) -> None:
    """By mode (which binds root too: somebody meant it) or for this user."""
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
    """Turn a refusal of the system into one diagnostic."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"cannot write {out}: {error.strerror or error}{where}"
        raise _error(message, "every file is whole; `ckgen generate` finishes the tree when that is mended") from error


def _error(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "output", message, help),))
