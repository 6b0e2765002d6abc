"""Entries of the user's cache: folders of built files, found by spec, compiler and device.

    cache = Cache(cache_dir() / BUILT)
    path = cache.get(Key(spec_digest, compiler, device), fill)     # calls fill(folder) if there is no such entry

An entry is whole or absent: it is filled under another name and then renamed. Two processes that ask for the same entry
fill it once, because the second waits for the first. A new version of ckgen has new entries.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ckgen import __version__
from ckgen.errors import CkgenError, Diagnostic

BUILT = "built"  # the folder of the entries, below ckgen.paths.cache_dir()
_RECORD, _LOCKS, _PART = "entry.json", "locks", ".part-"
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Key:
    """The origin of an entry: the SHA-256 of the spec's text (or of whatever describes the contents), the compiler
    with its version, and the device's architecture (`host`, `gfx942`, `sm_90a`). ``contents`` tells apart the entries
    that share all of these."""

    spec_digest: str
    compiler: str
    device: str
    tool_version: str = __version__
    contents: str = ""

    @property
    def name(self) -> str:
        """The name of the entry's folder."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its folder, its size in bytes, and when it was last used (seconds since 1970)."""

    key: Key
    path: Path
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Room:
    """Another folder of the user's cache, as the choices that `ckgen.torch` measured: its files and their bytes."""

    path: Path
    files: int
    size: int


def rooms(folder: Path) -> list[Room]:
    """The folders of the user's cache beside the built files, by name."""
    others = [path for path in sorted(folder.glob("*")) if path.is_dir() and path.name != BUILT]
    return [Room(path, len(sizes), sum(sizes)) for path in others for sizes in [_sizes(path)]]


class Cache:
    """The entries below one folder, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: Key) -> Path | None:
        """The folder of an entry, None if there is none. Marks the entry as used."""
        path = self.folder / key.name
        if not (path / _RECORD).is_file():
            return None
        with suppress(OSError):  # a cache that this user may only read
            os.utime(path / _RECORD)
        return path

    def get(self, key: Key, fill: Callable[[Path], None]) -> Path:
        """The folder of an entry; if there is none, `fill` gets an empty folder to fill. If it raises, nothing is
        kept. CkgenError if the cache cannot be written or `fill` raises OSError."""
        found = self.find(key)
        if found is not None:
            return found
        with self.locked(key):
            return self.find(key) or self._fill(key, fill)

    def entries(self) -> list[Entry]:
        """All entries, the last used one first. Other folders are left out."""
        found = []
        for record in sorted(self.folder.glob(f"*/{_RECORD}")):
            with suppress(OSError, ValueError, TypeError):
                key = Key(**json.loads(record.read_text(encoding="utf-8")))
                found.append(Entry(key, record.parent, sum(_sizes(record.parent)), record.stat().st_mtime))
        return sorted(found, key=lambda entry: -entry.used)

    def broken(self) -> list[Path]:
        """The folders that are not entries: their record is missing or unreadable. No process uses them."""
        whole = {entry.path for entry in self.entries()}
        others = (path for path in sorted(self.folder.glob("*")) if path.is_dir() and path not in whole)
        return [path for path in others if path.name != _LOCKS and not path.name.startswith(_PART)]

    def remove_broken(self, path: Path) -> None:
        """Remove a folder that is not an entry, unless a process has made one of it by now."""
        with self._locked(path.name):
            if path in self.broken():
                shutil.rmtree(path, ignore_errors=True)

    def remove(self, entry: Entry) -> None:
        """Remove an entry, and what a killed run left of it."""
        with self.locked(entry.key):
            (entry.path / _RECORD).unlink(missing_ok=True)  # first: without it the folder is not an entry
            shutil.rmtree(entry.path, ignore_errors=True)

    def remove_room(self, room: Room) -> None:
        """Remove a folder beside the built files. Its folders have the names of the keys whose processes write them."""
        for path in sorted(room.path.iterdir()):
            with self._locked(path.name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(room.path, ignore_errors=True)

    def _fill(self, key: Key, fill: Callable[[Path], None]) -> Path:
        part, path = self.folder / (_PART + key.name), self.folder / key.name
        for remains in (part, path):  # of a killed run; the lock is ours
            shutil.rmtree(remains, ignore_errors=True)
        part.mkdir()
        try:
            fill(part)
            (part / _RECORD).write_text(json.dumps(asdict(key), indent=2) + "\n", encoding="utf-8")
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return path

    def locked(self, key: Key) -> AbstractContextManager[int]:
        """Hold the lock of a key; yield its file descriptor. The system frees the lock when the last process that has
        the descriptor ends, however it ends: a process that gets it (``pass_fds``) holds the lock too. CkgenError if
        the cache cannot be written."""
        return self._locked(key.name)

    @contextmanager
    def _locked(self, name: str) -> Iterator[int]:
        locks = self.folder / _LOCKS
        with _os_errors(self.folder):
            locks.mkdir(parents=True, exist_ok=True)
            with (locks / name).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield lock.fileno()


def _sizes(folder: Path) -> list[int]:
    """The sizes of the files in a folder, without those that vanish meanwhile: other processes may build."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found.append(os.stat(os.path.join(place, name)).st_size)
    return found


@contextmanager
def _os_errors(folder: Path) -> Iterator[None]:
    """Say of an error whether it is of the cache or of another file, which filling an entry needs."""
    try:
        yield
    except OSError as error:
        files = [Path(str(name)) for name in (error.filename, error.filename2) if name is not None]
        said, help = f"cannot write the cache {folder}", "name another folder in XDG_CACHE_HOME"
        if files and not any(file.is_relative_to(folder) or folder.is_relative_to(file) for file in files):
            said = f"cannot make an entry of the cache: {files[0]}"
            help = "see to it that this file can be used, and run this again"
        raise CkgenError([Diagnostic(None, "cache", f"{said}: {error.strerror or error}", help)]) from error
