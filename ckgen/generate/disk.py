"""Reading of a tree on disk: what a folder holds, and whether its files have the expected bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ckgen.generate.manifest import MANIFEST_NAME, digest, listed_digests


@dataclass(frozen=True, slots=True)
class Contents:
    """All contents of a folder, as relative paths with `/`; `others` are links (not followed) and sockets."""

    files: frozenset[str]
    others: frozenset[str]
    folders: frozenset[str]


def contents_of(folder: Path) -> Contents:
    """All contents of `folder`; empty if it does not exist."""
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
    return Contents(frozenset(files), frozenset(others), frozenset(folders))


def intact(out: Path, manifest_sha256: str) -> frozenset[str] | None:
    """The paths of the tree in `out` if its manifest has this SHA-256 and every file has the bytes that the manifest
    lists; else None. Reads every file. The folder may hold other files too."""
    try:
        found = contents_of(out).files
        manifest = read(out, MANIFEST_NAME) if MANIFEST_NAME in found else b""
        if digest(manifest) != manifest_sha256:
            return None
        listed = listed_digests(manifest.decode())
        if not found.issuperset(listed) or any(digest(read(out, path)) != own for path, own in listed.items()):
            return None
    except OSError:  # a file that was just removed, or that this user may not read
        return None
    return frozenset((*listed, MANIFEST_NAME))


def holds(out: Path, path: str, data: bytes) -> bool:
    """True if a file has exactly these bytes; nearly always found by one read."""
    descriptor = os.open(f"{out}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        start = os.read(descriptor, len(data) + 1)
    finally:
        os.close(descriptor)
    return start == data or len(start) < len(data) and read(out, path) == data


def read(out: Path, path: str) -> bytes:
    """The bytes of a file."""
    descriptor = os.open(f"{out}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while chunk := os.read(descriptor, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)
