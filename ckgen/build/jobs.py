"""The compiler runs of a configured build: what CMake wrote into compile_commands.json, with sources and forecasts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.compile_cost import forecast, read_table
from ckgen.errors import CkgenError, Diagnostic

COMMANDS = "compile_commands.json"
WANTED = "CMAKE_EXPORT_COMPILE_COMMANDS=ON"  # CMake writes the file then
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_OUTPUT = re.compile(r" -o (\S+)")
_TARGET = re.compile(r"--offload-arch=|--generate-code=|-gencode[ =]")


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One compiler run. ``output`` is the object, a target of the build; ``sources`` are the files of the tree that it
    compiles, below `src/`; ``targets`` is the number of architectures. Seconds and MiB are forecasts."""

    output: str
    sources: tuple[str, ...]
    targets: int
    seconds: float
    mebibytes: float


def read_jobs(tree: Path, build_dir: Path, platform: str) -> list[CompileJob]:
    """The compiler runs of a configured build folder, in CMake's order. Raise CkgenError if it is not configured."""
    file = build_dir / COMMANDS
    if not file.is_file():
        raise CkgenError([Diagnostic(None, "build", f"{file} is not there: the build is not configured")])
    costs = read_table()[platform]
    found = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        sources = _sources(Path(entry["directory"], entry["file"]), tree.resolve() / "src", build_dir.resolve())
        output = _OUTPUT.search(entry["command"])
        if not sources or output is None:  # an example or another project of the same build
            continue
        targets = 0 if "--cuda-host-only" in entry["command"] else len(_TARGET.findall(entry["command"]))
        cost = forecast(costs, sources, targets)
        found.append(CompileJob(output[1], sources, targets, cost.seconds, cost.mebibytes))
    return found


def _sources(file: Path, root: Path, build_dir: Path) -> tuple[str, ...]:
    """The sources of a file that CMake compiles: itself, or what a file of the build folder includes."""
    included = [file]
    if file.resolve().is_relative_to(build_dir):
        included = [Path(path) for path in _INCLUDE.findall(file.read_text(encoding="utf-8"))]
    return tuple(path.relative_to(root).as_posix() for path in included if path.is_relative_to(root))


def wall_seconds(jobs: Sequence[CompileJob], cores: int) -> float:
    """Forecast of the time that ``cores`` compilers at a time need, the longest run first."""
    busy = [0.0] * cores
    for job in sorted(jobs, key=lambda job: -job.seconds):
        busy[busy.index(min(busy))] += job.seconds
    return max(busy)


def peak_mebibytes(jobs: Sequence[CompileJob], cores: int) -> float:
    """Forecast of the most memory that ``cores`` compilers at a time need."""
    return sum(sorted((job.mebibytes for job in jobs), reverse=True)[:cores])
