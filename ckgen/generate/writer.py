"""{path: text} -> disk: the only writer of generated trees.

`plan` looks and decides, `apply` does it in one step (see `atomic`), `check` says what `apply` would do and
why. A file is ours when the manifest in the folder lists it and its own first lines say that ckgen made it.
Every other file is foreign: it is carried over untouched, and where it stands in the way of a file we want to
write, nothing is written and an error names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.atomic import Scan, locked, recover, replace_tree, scan
from ckgen.generate.drift import Drift, describe_drift
from ckgen.generate.manifest import MANIFEST_NAME, Manifest, is_marked, load_manifest, parse_manifest

_SHOWN_CONFLICTS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does to a folder; all paths are relative to it, with `/`.

    `write` are new or changed files, `keep` those that are right already, `prune` ours that nothing makes any
    more, `foreign` everybody else's, `folders` the folders that hold none of our files.
    """

    write: tuple[str, ...]
    keep: tuple[str, ...]
    prune: tuple[str, ...]
    foreign: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.write or self.prune)


def plan(tree: Mapping[str, str], out: Path) -> Plan:
    """What `apply` would do now; CkgenError when a foreign file is in the way. Nothing is written."""
    out = _resolved(out)
    with _os_errors(out):
        return _plan(tree, out)


def apply(tree: Mapping[str, str], out: Path) -> Plan:
    """Make `out` hold exactly `tree` beside what is foreign, in one step, and say what was done.

    Touches no file when nothing changed. CkgenError (read-only folder, full disk, a foreign file in the way)
    leaves everything as it was. Waits for other generators that write below the same parent folder.
    """
    out = _resolved(out)
    with _os_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with locked(out.parent):
            recover(out)
            todo = _plan(tree, out)
            if todo.changes:
                _refuse_read_only(out)
                texts = {path: tree[path] for path in todo.write}
                replace_tree(out, texts, (*todo.keep, *todo.foreign), todo.prune, todo.folders)
    return todo


def check(tree: Mapping[str, str], out: Path) -> tuple[Drift, ...]:
    """Every file that `apply` would write or remove, in path order, with the reason."""
    out = Path(os.path.realpath(out))
    with _os_errors(out):
        found = scan(out)
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
        extra, previous = scan(out).files - tree.keys(), load_manifest(out)
        found = [path for path in extra if path.partition("/")[0] in tops or not ("/" in path or path.startswith("."))]
        return tuple(sorted(path for path in found if not _is_ours(path, out, previous)))


def _plan(tree: Mapping[str, str], out: Path) -> Plan:
    found = scan(out)
    differing, same = _compare(tree, out, found)
    extra = found.files - tree.keys()
    # A manifest that is right already lists exactly this tree: nothing else is ours.
    previous = None if MANIFEST_NAME in same or not (extra or differing) else load_manifest(out)
    prune = {path for path in extra if _is_ours(path, out, previous)}
    emptied = {folder for path in prune for folder in _parents(path)}
    folders = set(found.folders - emptied)
    conflicts = _blocked(differing, found, prune, folders)
    if MANIFEST_NAME not in same:
        there = [path for path in differing if path in found.files]
        conflicts += [path for path in there if not (_is_ours(path, out, previous) or _is_lost(path, out, previous))]
    if conflicts:
        raise _in_the_way(out, sorted(set(conflicts)))
    foreign = (extra - prune) | found.others
    return Plan(
        tuple(sorted(differing)),
        tuple(sorted(same)),
        tuple(sorted(prune)),
        tuple(sorted(foreign)),
        tuple(sorted(folders)),
    )


def _compare(tree: Mapping[str, str], out: Path, found: Scan) -> tuple[list[str], set[str]]:
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
    """Whether a file is ours though no manifest is there to say so: what says that ckgen made it may be made again."""
    return previous is None and is_marked(_read(out, path))


def _blocked(differing: Sequence[str], found: Scan, gone: set[str], folders: set[str]) -> list[str]:
    """What stands where we need another kind of thing: a folder or link as a file, a file or link as a
    folder.

    `gone` are our files and `folders` the folders that will still be there.
    """
    solid = (found.files - gone) | found.others
    kept = folders | {folder for path in (*solid, *folders) for folder in _parents(path)}
    blocked = [path for path in differing if path in kept or path in found.others]
    blocked += [folder for path in differing for folder in _parents(path) if folder in solid]
    return blocked


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
    """The folder itself when `out` is a link to it; refuses what must not change places with a new folder."""
    out = Path(os.path.realpath(out))
    here = Path(os.path.realpath("."))
    if out == here or out in here.parents:
        raise _error(f"{out} is or holds the current directory", "generate into a folder of its own, below this one")
    if os.path.lexists(out) and not out.is_dir():
        raise _error(f"{out} is not a folder", "choose another --out")
    return out


def _refuse_read_only(out: Path) -> None:
    """Replacing a folder takes no permission on the folder itself, so a write-protected one is asked."""
    if out.exists() and _is_read_only(out):
        raise _error(f"{out} is read-only", f"chmod u+w {out}, or choose another --out")
    if _is_read_only(out.parent):
        why = f"{out.parent} is read-only, so a new tree cannot be built beside {out.name}"
        raise _error(why, f"chmod u+w {out.parent}, or choose another --out")


def _is_read_only(folder: Path) -> bool:
    """By mode (which binds root too: somebody meant it) or for this user."""
    return not folder.stat().st_mode & 0o222 or not os.access(folder, os.W_OK | os.X_OK)


def _in_the_way(out: Path, paths: Sequence[str]) -> CkgenError:
    shown = list(paths[:_SHOWN_CONFLICTS])
    if len(paths) > len(shown):
        shown.append(f"and {len(paths) - len(shown)} more")
    message = f"{out} holds what ckgen did not write where it has to write: {', '.join(shown)}"
    return _error(message, "move it away, or choose another --out; nothing was written")


@contextmanager
def _os_errors(out: Path) -> Iterator[None]:
    """What the system refuses, as one diagnostic. Anything half done is gone by then."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"cannot write {out}: {error.strerror or error}{where}"
        raise _error(message, "the tree that was there is still there") from error


def _error(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "output", message, help),))
