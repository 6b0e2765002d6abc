"""C++ bodies of handlers -> shared libraries, by the system's compiler. What was compiled once stays in a folder."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ckgen.build.cmake import first_errors
from ckgen.build.toolchain import find_toolchain, need
from ckgen.errors import CkgenError

_NATIVE = Path(__file__).with_name("native")
_FLAGS: tuple[str, ...] = (
    "-std=c++17",
    "-O2",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
    "-fwrapv",
)
_FLAGS += ("-fno-trapping-math", "-fno-strict-aliasing", "-w")
_FIXED = {"memory": 0, "scalar_load": 1, "matrix": 2}
_PER_LIBRARY = 400
_PRELUDE = """#include "floats.hpp"
#if defined(__clang__)
#define PARALLEL _Pragma("clang loop vectorize(assume_safety)")
#else
#define PARALLEL _Pragma("GCC ivdep")
#endif
using namespace emu;
"""


class Handlers:
    """The compiled handlers for waves of one size. `folder` keeps the libraries between runs."""

    def __init__(self, folder: Path, wave: int) -> None:
        self._folder, self._wave = folder, wave
        self._known: dict[str, int] = {}
        self._loaded: list[ctypes.CDLL] = []
        self._mark = _fingerprint()
        self.core = ctypes.CDLL(str(self._library("core", [_core_text()])))
        self.core.handler_of.restype = ctypes.c_void_p
        folder.mkdir(parents=True, exist_ok=True)
        for index in sorted(folder.glob(f"{self._mark}-{wave}-*.txt")):
            self._load(index)

    def fixed(self, name: str) -> int:
        """The address of a handler of the core."""
        return int(self.core.handler_of(_FIXED[name]))

    def require(self, bodies: Iterable[str]) -> None:
        """Compile the bodies that are not known yet."""
        missing = sorted({body for body in bodies if body not in self._known})
        for first in range(0, len(missing), _PER_LIBRARY):
            self._compile(missing[first : first + _PER_LIBRARY])

    def address(self, body: str) -> int:
        """The address of a compiled body."""
        return self._known[body]

    def _compile(self, bodies: list[str]) -> None:
        text = [_PRELUDE, f"static constexpr int kWave = {self._wave};"]
        for at, body in enumerate(bodies):
            text.append(f'extern "C" void h{at}(Wave& w, const Ins& i) {{\n{body}\n}}')
        path = self._library(f"{self._mark}-{self._wave}", text)
        index = path.with_suffix(".txt")
        if not index.exists():
            _write(index, "\0".join(bodies).encode())
        self._load(index)

    def _load(self, index: Path) -> None:
        library = ctypes.CDLL(str(index.with_suffix(".so")))
        self._loaded.append(library)
        for at, body in enumerate(index.read_text(encoding="utf-8").split("\0")):
            self._known[body] = ctypes.cast(library[f"h{at}"], ctypes.c_void_p).value or 0

    def _library(self, stem: str, text: list[str]) -> Path:
        """The library of a C++ text, compiled unless it is there already."""
        source = "\n".join(text)
        digest = hashlib.sha256((self._mark + source).encode()).hexdigest()[:16]
        path = self._folder / f"{stem}-{digest}.so"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
                code, made = Path(scratch, "code.cpp"), Path(scratch, "code.so")
                code.write_text(source, encoding="utf-8")
                compile_native(code, made)
                os.replace(made, path)
        return path


def compile_native(source: Path, target: Path) -> None:
    """Compile one C++ file. Raises CkgenError with the compiler's first errors."""
    compiler = need(find_toolchain().host_cxx, "host_cxx", "there is no C++ compiler here")
    command = (*compiler, *_FLAGS, f"-I{_NATIVE}", str(source), "-o", str(target))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise CkgenError(first_errors(done.stderr.splitlines(), command), 1)


def _core_text() -> str:
    return "\n".join(f'#include "{_NATIVE / name}"' for name in ("state.cpp", "memory.cpp", "matrix.cpp", "core.cpp"))


@cache
def _fingerprint() -> str:
    """Names what the libraries depend on: the sources, the compiler, and the processor that they are compiled for."""
    parts = [path.read_bytes() for path in sorted(_NATIVE.iterdir())]
    parts += [repr((find_toolchain().host_cxx, _FLAGS)).encode(), _processor()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _processor() -> bytes:
    information = Path("/proc/cpuinfo")
    lines = information.read_bytes().splitlines() if information.exists() else []
    return next((line for line in lines if line.startswith(b"flags")), b"")


def _write(path: Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
