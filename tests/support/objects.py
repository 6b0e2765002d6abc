"""Compiled objects that tests share, across processes and runs.

The libraries that tests link differ in an instance, or in a header with a planted bug, and seldom in the runtime. An
object is reused if the compiler, its options, the source and every header it read are equal to the byte and the include
folders have headers of the same names: a new header might shadow one that was read. Macros of ckgen that neither source
nor headers name may differ.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_MACRO = re.compile(r"-D(CKGEN_\w+)(?:=.*)?")
FOLDER = Path(__file__).resolve().parents[2] / "build" / "test-objects"
_KEPT_SECONDS = 7 * 24 * 3600


class Failed(Exception):
    """A compilation that ended with a status other than 0, and its output."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


@dataclass(frozen=True)
class Object:
    """A compiled object and the headers that it was made from, without the system's."""

    path: Path
    headers: tuple[Path, ...]


def compiled(
    compiler: str, source: Path, options: Sequence[str], include: Sequence[Path], folder: Path | None = None
) -> Object:
    """The object of a source, compiled if ``folder`` (default: FOLDER) does not have it. ``options`` must not name
    inputs, outputs or include folders. Raise Failed."""
    folder = folder or FOLDER
    roots = (source.parent, *include)
    macros = {match[1]: match[0] for match in map(_MACRO.fullmatch, options) if match}
    place = folder / _key(compiler, source, [option for option in options if not _MACRO.fullmatch(option)], include)
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        records = sorted(place.glob("*.json"))
        for record in records:
            defined, rows = json.loads(record.read_text())
            headers = [(roots[root] / name, digest) for root, name, digest in rows]
            differ = {name for name in {*macros, *defined} if macros.get(name) != defined.get(name)}
            if all(_digest(path) == digest for path, digest in headers) and not _named(
                differ, [source, *(path for path, _ in headers)]
            ):
                os.utime(place)
                return Object(record.with_suffix(".o"), tuple(path for path, _ in headers))
        made = _compile(compiler, source, options, include, place / f"{len(records)}.o")
        rows = [(*_below(path, roots), _digest(path)) for path in made.headers]
        made.path.with_suffix(".json").write_text(json.dumps([macros, rows]))
    _forget_old(folder)
    return made


def _key(compiler: str, source: Path, options: Sequence[str], include: Sequence[Path]) -> str:
    program = Path(shutil.which(compiler) or compiler).resolve()
    about = program.stat()
    names = [sorted(path.relative_to(root).as_posix() for path in root.rglob("*.h*")) for root in include]
    said = (str(program), about.st_size, about.st_mtime_ns, list(options), source.name, _digest(source), names)
    native = _native(compiler) if "-march=native" in options else ""
    return hashlib.sha256(json.dumps((*said, native)).encode()).hexdigest()[:32]


@lru_cache
def _native(compiler: str) -> str:
    """The processor for which ``compiler`` compiles with -march=native, in its own options."""
    command = (compiler, "-march=native", "-###", "-x", "c++", "-fsyntax-only", os.devnull)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return " ".join(word for word in said.split() if word.startswith(("-m", "l1", "l2", "--param")))


def _named(macros: set[str], files: Sequence[Path]) -> bool:
    """True if one of the files names one of the macros."""
    return bool(macros) and any(name.encode() in text for text in map(Path.read_bytes, files) for name in macros)


def _digest(path: Path) -> str:
    """The digest of a file; empty if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _below(path: Path, roots: Sequence[Path]) -> tuple[int, str]:
    """Number of the innermost root that contains a header, and the header's path below it."""
    inside = [number for number, root in enumerate(roots) if path.is_relative_to(root)]
    number = max(inside, key=lambda at: len(roots[at].parts), default=0)
    return number, str(path.relative_to(roots[number]) if inside else path)  # an absolute path is kept


def _compile(compiler: str, source: Path, options: Sequence[str], include: Sequence[Path], target: Path) -> Object:
    rules = target.with_suffix(".d")
    command = [compiler, *options, *(f"-I{path}" for path in include), "-MMD", "-MF", str(rules)]
    command += ["-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(done.returncode, done.stdout + done.stderr)
    words = shlex.split(rules.read_text().replace("\\\n", " "))  # target: source header ...
    return Object(target, tuple(Path(word) for word in words[2:]))


def _forget_old(folder: Path) -> None:
    for place in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process may remove it at the same time
            if time.time() - place.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(place)
