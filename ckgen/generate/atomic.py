"""Replacing a folder as a whole: whoever looks (or kills us) finds the old tree or the new one, never a mix.

A new tree is built beside the old one: what stays is hard-linked (same inode, same mtime), what changes is
written. Then the two names change places in one system call (Linux renameat2 with RENAME_EXCHANGE; elsewhere
two renames, and `recover` finishes what a kill between them left), and the old tree is deleted. Generators
that write below the same parent folder wait for each other. Power loss is out of scope: nothing is synced.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ckgen.generate.held_signals import signals_held

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_NO_DIRECTORY_LOCK = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
# File systems and kernels that refuse a hard link; the file is copied with its times instead.
_NO_LINK = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP)


@dataclass(frozen=True, slots=True)
class Scan:
    """What lies below a folder, as relative paths with `/`; `others` are links (not followed) and sockets."""

    files: frozenset[str]
    others: frozenset[str]
    folders: frozenset[str]


def scan(folder: Path) -> Scan:
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
    return Scan(frozenset(files), frozenset(others), frozenset(folders))


@contextmanager
def locked(parent: Path) -> Iterator[None]:
    """Hold the generators' lock on a folder, waiting as long as it takes; the kernel frees it if we die."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_DIRECTORY_LOCK:
                raise
            # NFS locks only what is open for writing, which a folder cannot be.
            writable = os.open(parent / ".ckgen-lock", os.O_RDWR | os.O_CREAT, 0o666)
            os.dup2(writable, descriptor)
            os.close(writable)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def recover(out: Path) -> None:
    """Clear away what a killed run left beside `out`. The caller holds the lock, so no stage is in use."""
    new, old = _stage_paths(out)
    if not os.path.lexists(out) and os.path.lexists(old):
        os.rename(old, out)
    remove_tree(new)
    remove_tree(old)


def replace_tree(
    out: Path,
    write: Mapping[str, str],
    carry: Collection[str],
    drop: Collection[str],
    folders: Collection[str],
) -> None:
    """Make `out` hold the texts of `write`, the files of `carry` as they are, and at least `folders`.

    `drop` are the paths that go. A file that others put below `out` meanwhile is moved over, not lost.
    OSError leaves the old tree in place. The caller holds the lock.
    """
    new, _ = _stage_paths(out)
    try:
        _build(new, out, write, carry, folders)
        with signals_held():
            _put_in_place(new, out, frozenset(write) | frozenset(carry) | frozenset(drop), carry)
    except BaseException:
        with signals_held():
            recover(out)
        raise


def _put_in_place(new: Path, out: Path, known: Collection[str], carry: Collection[str]) -> None:
    had_tree = os.path.lexists(out)
    _swap(new, out)
    if had_tree:
        _keep_late_files(new, out, known, carry)
        # The new tree stands. What cannot be deleted now, the next run deletes, or says why it cannot.
        with suppress(OSError):
            remove_tree(new)


def remove_tree(folder: Path) -> None:
    """Delete a folder with everything in it, read-only folders too; symlinks are not followed."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink()
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        folder.chmod(0o700)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                remove_tree(Path(entry.path))
            else:
                os.unlink(entry.path)
    os.rmdir(folder)


def _stage_paths(out: Path) -> tuple[Path, Path]:
    return out.parent / f".{out.name}.ckgen-new", out.parent / f".{out.name}.ckgen-old"


def _build(new: Path, out: Path, write: Mapping[str, str], carry: Collection[str], folders: Collection[str]) -> None:
    needed = {parent for path in (*write, *carry) for parent in _parents(path)}
    needed |= {parent for path in folders for parent in (path, *_parents(path))}
    os.mkdir(new)
    for path in sorted(needed):
        os.mkdir(new / path)
    root = os.fspath(new) + "/"
    source = os.fspath(out) + "/"
    for path in carry:
        _link(source + path, root + path)
    for path, text in write.items():
        descriptor = os.open(root + path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            _write_all(descriptor, text.encode())
        finally:
            os.close(descriptor)
    for path in sorted(needed, reverse=True) + [""]:
        if os.path.isdir(source + path):
            shutil.copymode(source + path, root + path)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def _parents(path: str) -> Iterator[str]:
    cut = path.rfind("/")
    while cut > 0:
        path = path[:cut]
        yield path
        cut = path.rfind("/")


def _swap(new: Path, out: Path) -> None:
    """`new` takes the place of `out`, and the old tree that of `new`."""
    if not os.path.lexists(out):
        os.rename(new, out)
        return
    if not exchange(new, out):
        old = _stage_paths(out)[1]
        os.rename(out, old)
        os.rename(new, out)
        os.rename(old, new)


def exchange(one: Path, other: Path) -> bool:
    """Let two names of one file system change places in one step; False where the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), os.fspath(other))


def _keep_late_files(old: Path, out: Path, known: Collection[str], carry: Collection[str]) -> None:
    """Move to `out` what others wrote into the old tree between our look at it and the exchange."""
    found = scan(old)
    for path in sorted(found.files | found.others):
        target = out / path
        if path not in known:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(old / path, target)
        elif path in carry and target.exists() and os.lstat(old / path).st_ino != os.lstat(target).st_ino:
            os.rename(old / path, target)
