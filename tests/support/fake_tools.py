"""Build tools that compile nothing, for tests of builds on first use: they note how they were called.

The program `cmake` makes a file in place of the library. If a pipe is there it says so on it and waits, so that a test
can do something in the middle of a build.
"""

from __future__ import annotations

import os
from pathlib import Path

_COMPILER = """#!/bin/sh
echo "{name} 1.2.3"
"""
_CMAKE = """#!/bin/sh
[ "$1" = -E ] && shift 3 && exec "$@"
echo "$@" >> "{folder}/calls"
[ "$1" = --build ] || exit 0
if [ -p "{folder}/begun" ]; then
  echo "$PPID" > "{folder}/begun"
  read -r word < "{folder}/go"
fi
if [ -f "{folder}/broken" ]; then
  echo "instance.cpp:7:3: error: no such type"
  exit 1
fi
echo "[1/1] Linking"
mkdir -p "$2"
cp "$2/../tree/manifest.json" "$2/libckgen_conv.so"
"""


class FakeTools:
    """Compilers, ninja and cmake in a folder, which must be the first of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        for name in ("g++", "c++", "hipcc", "nvcc", "ninja"):
            self._write(name, _COMPILER.format(name=name))
        self._write("cmake", _CMAKE.format(folder=folder))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    @property
    def configured(self) -> list[str]:
        """The command lines that configured a build."""
        return [call for call in self._calls() if call.startswith("-S ")]

    @property
    def built(self) -> list[str]:
        """The command lines that built."""
        return [call for call in self._calls() if call.startswith("--build ")]

    def _calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def hold(self) -> None:
        """Let builds wait for `go`."""
        os.mkfifo(self.folder / "begun")
        os.mkfifo(self.folder / "go")

    def begun(self) -> int:
        """Wait for a build to begin; the process that asked for it."""
        with (self.folder / "begun").open() as pipe:
            return int(pipe.readline())

    def go(self) -> None:
        """Let the waiting build go on, and later ones not wait."""
        (self.folder / "begun").unlink()
        with (self.folder / "go").open("w") as pipe:
            pipe.write("go\n")

    def break_compilers(self, broken: bool = True) -> None:
        """Let all builds fail, or succeed again."""
        (self.folder / "broken").write_text("") if broken else (self.folder / "broken").unlink()
