"""The built libraries of one spec, compiler and architecture: entries of the user's cache with a few instances each.

The name of every instance on the shelf leads to its library. Several small libraries are simpler than one that grows: a
library that is in use cannot be replaced, and an entry of the cache never changes. What they share is compiled once,
because those of a kind are built in one folder of the workshop, one after the other.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ckgen.build import cmake
from ckgen.build.survey import version
from ckgen.build.toolchain import Toolchain, require
from ckgen.cache.entries import BUILT, Cache, Key
from ckgen.generate import writer
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.instance.filters import filtered
from ckgen.jit.instances import Target, kind_of
from ckgen.paths import spec_file, templates_dir
from ckgen.spec.expand import expand_document
from ckgen.text import source

LIBRARY, NAMES = "libckgen_conv.so", "instances.txt"
WORKSHOP, LOGS = "workshop", "logs"  # folders of the user's cache


class Shelf:
    """The built libraries for a target, below the folder of the user's cache. CkgenError if a tool is missing that
    building one needs."""

    def __init__(self, folder: Path, target: Target, tools: Toolchain) -> None:
        require(target.platform, tools)
        self.folder, self.target, self.tools = folder, target, tools
        self._cache = Cache(folder / BUILT)
        self.key = Key(_digest(), _compiler(target, tools), target.arch)
        self.workshop = folder / WORKSHOP / self.key.name

    def held(self) -> dict[str, Path]:
        """The instances of all entries with the paths of their libraries."""
        found: dict[str, Path] = {}
        for entry in self._cache.entries():
            if replace(entry.key, contents="") == self.key:
                found |= dict.fromkeys(_names_in(entry.path), entry.path / LIBRARY)
        return found

    def log_of(self, names: Sequence[str]) -> Path:
        """The log of building a library with these instances; it stays if that fails."""
        return self.folder / LOGS / f"{self.key.name}-{_sha256(names)[:12]}.log"

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the lock that a process needs to build; yield its file descriptor."""
        with self._cache.locked(self.key) as lock:
            yield lock

    def build(self, names: Sequence[str], jobs: int, lock: int, on_line: Callable[[str], None]) -> None:
        """Build a library with these instances; the build tools hold the lock too, so that those of a killed process
        end before another one begins. CkgenError with the first errors of the compiler."""

        def fill(folder: Path) -> None:
            library = self._make(names, jobs, lock, on_line)
            shutil.copyfile(library, folder / LIBRARY)
            (folder / NAMES).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

        key = replace(self.key, contents=_sha256(names))
        for entry in self._cache.entries():
            if entry.key == key and set(_names_in(entry.path)) != set(names):
                self._cache.remove(entry)  # damaged
        self._cache.get(key, fill)

    def _make(self, names: Sequence[str], jobs: int, lock: int, on_line: Callable[[str], None]) -> Path:
        """Generate and compile in the workshop."""
        document = source.load(spec_file())
        expansion = expand_document(document)
        instances = filtered(expansion.instances, names, sets=expansion.sets)
        context = load_context(GenerateCommand(spec_file().name, "full"), document.text, expansion.sets)
        place = self.workshop / "+".join(sorted({kind_of(instance) for instance in instances}))
        tree = place / "tree"
        writer.apply(render_tree(instances, context), tree)
        made = cmake.build(
            tree,
            self.target.platform,
            place / "build",
            jobs=jobs,
            archs=() if self.target.platform == "host" else (self.target.arch,),
            options=_options(len(names), jobs),
            toolchain=self.tools,
            on_line=on_line,
            held=(lock,),
        )
        return made.library


def _names_in(entry: Path) -> list[str]:
    """The instances in an entry's library; none if a file is missing."""
    try:
        return (entry / NAMES).read_text(encoding="utf-8").split() if (entry / LIBRARY).is_file() else []
    except (OSError, UnicodeDecodeError):
        return []


def _options(count: int, jobs: int) -> dict[str, str]:
    """CMake's options: as many files as there are processors, and code for every processor that may read the cache."""
    return {"CKGEN_INSTANCES_PER_FILE": str(max(1, count // jobs)), "CKGEN_HOST_NATIVE": "OFF", "CKGEN_INSTALL": "OFF"}


def _digest() -> str:
    """The digest of the spec, and of the templates, which change without a new version in a checkout."""
    files = [spec_file(), *sorted(path for path in templates_dir().rglob("*") if path.is_file())]
    digests = (hashlib.sha256(path.read_bytes()).digest() for path in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _compiler(target: Target, tools: Toolchain) -> str:
    """The compiler of a platform with its version."""
    commands = {"amd": (tools.hipcc,), "nvidia": (tools.nvcc, tools.host_cxx)}.get(target.platform, (tools.host_cxx,))
    return "; ".join(version((*command, "--version")) for command in commands if command)


def _sha256(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()
