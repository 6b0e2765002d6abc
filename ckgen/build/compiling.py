"""Compiler runs on a cluster: ninja asks this process for each, which has a worker run it.

The workers see the tree and the build folder under the same paths, as on a shared file system.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from tempfile import TemporaryDirectory

from ckgen.build import remote_compiler
from ckgen.errors import CkgenError, Diagnostic

LAUNCHER = (sys.executable, "-S", "-E", str(Path(remote_compiler.__file__).resolve()))
_LANGUAGE = re.compile(r"^CMAKE_(?:CXX|CUDA)_COMPILER:\w+=(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A compiler run: its folder, its words, and variables to set."""

    folder: str
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The exit status of a compiler and what it printed."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Compiling:
    """Run compilers, which every worker has under the same path in the same version."""

    build_dir: Path
    compilers: Mapping[str, str]
    alone: bool = False

    def check(self) -> None:
        """Raise CkgenError if the build folder is not here, or a compiler is missing or another version."""
        if not (self.build_dir / "CMakeCache.txt").is_file():
            raise _refused(f"{self.build_dir} is not on {platform.node()}: the workers need a shared folder")
        for compiler, version in self.compilers.items():
            if version_of(compiler) != version:
                raise _refused(f"{compiler} on {platform.node()} is missing or another version")

    def open(self) -> CompileSession:
        """A session without state."""
        return CompileSession()


class CompileSession:
    """Runs compilers."""

    def __call__(self, request: Command) -> Finished:
        """Run one compiler."""
        environment = {**os.environ, **dict(request.environment)}
        try:
            done = subprocess.run(
                request.words, cwd=request.folder, env=environment, capture_output=True, text=True, errors="replace"
            )
        except OSError as error:
            return Finished(127, "", f"error: {error}\n")
        return Finished(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        """Nothing is open."""


def version_of(compiler: str) -> str:
    """The version text that a compiler prints; "" if it is not here."""
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def compilers_of(build_dir: Path) -> dict[str, str]:
    """The compilers of a configured build with their versions."""
    cache = (build_dir / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
    return {path: version_of(path) for path in dict.fromkeys(_LANGUAGE.findall(cache))}


@contextmanager
def serving(run: Callable[[Command], Finished]) -> Iterator[dict[str, str]]:
    """Serve the commands of ``remote_compiler`` with ``run``, which is called from several threads. Yields the
    variables that a build needs for it."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            folder, words, environment = json.loads(self.rfile.readline())
            try:
                done = run(Command(folder, tuple(words), tuple(environment.items())))
            except CkgenError as error:
                done = Finished(1, "", f"ckgen: error: {error.diagnostics[0].message}\n")
            self.wfile.write(json.dumps([done.status, done.out, done.err]).encode())

    with TemporaryDirectory(prefix="ckgen-compilers-") as folder:
        place = str(Path(folder, "socket"))
        with _Server(place, Handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield {remote_compiler.SOCKET: place}
            finally:
                server.shutdown()
                thread.join()


class _Server(ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024


def launched_by(words: Sequence[str]) -> tuple[str, ...]:
    """CMake's variables for a compiler launcher, as NAME=VALUE."""
    return tuple(f"CMAKE_{language}_COMPILER_LAUNCHER={';'.join(words)}" for language in ("CXX", "CUDA"))


def _refused(message: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "cluster", message)])
