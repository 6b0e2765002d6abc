"""Generated tree -> library: configure and build with CMake; also compile single instances to AMD device code.

Compiler errors become diagnostics with their place in the source. Only the first few are reported, because most others
follow from these.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from textwrap import shorten
from typing import Literal

from ckgen.build.toolchain import Command, Toolchain, find_toolchain, missing, require
from ckgen.errors import CkgenError, Diagnostic, Place
from ckgen.generate.view_models import guard_of

Platform = Literal["host", "amd", "nvidia"]

NVIDIA_DEFAULT = ("sm_90a",)  # the default targets of templates/cmake/CkgenNvidia.cmake
_CACHE = "CMakeCache.txt"
_SHOWN_ERRORS = 5
_SHOWN_WIDTH = 160  # characters per line that is not an error, such as a compiler's whole command
_TAIL_LINES = 40
_SECONDS_TO_END = 10.0
_COMPILER_ERROR = re.compile(
    r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<what>.*)"
)
# Without a place: `clang: error: invalid target ID`, `nvcc fatal   : Unsupported gpu architecture`.
_TOOL_ERROR = re.compile(r"(?P<tool>[\w.+/-]+)(?:: (?:fatal )?error| (?:fatal|error) *): (?P<what>.*)")
_LINKER_ERROR = re.compile(r".*(undefined reference|undefined symbol|cannot find -l|multiple definition).*")
# With these flags the kernel headers compile without the C++ standard library and without HIP's headers.
DEVICE_FLAGS = (
    *("-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"),
    *("-std=c++17", "-O3", "-DCKGEN_DEVICE_ONLY=1", "-DCKGEN_PLATFORM_AMD=1"),
)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A built library (shared, or static if CKGEN_BUILD_SHARED is off), and the last lines that the build printed."""

    library: Path
    seconds: float
    log: str


@dataclass(frozen=True, slots=True)
class DeviceObject:
    """AMD machine code of one source: an ELF code object, and the compiler's remarks and warnings."""

    path: Path
    arch: str
    seconds: float
    log: str


def build(
    tree: Path,
    platform: Platform,
    build_dir: Path,
    *,
    jobs: int = 1,
    archs: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    toolchain: Toolchain | None = None,
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    held: Sequence[int] = (),
) -> BuildResult:
    """Build a generated tree in `build_dir` (created if missing, else reused) and return the library.

    `archs` are architectures of platform amd or nvidia; if empty, CMake's default is used. `options` become
    `-DNAME=VALUE`. `on_line` is called with each line of output as it comes; the build, not its configuration, gets the
    variables of `environment` too. `held` are file descriptors, of locks, that the build tools keep open. Raises
    CkgenError (exit code 1) with the compiler's first errors.
    """
    begin = time.perf_counter()
    cmake = configure(
        *(tree, platform, build_dir), archs=archs, options=options, toolchain=toolchain, on_line=on_line, held=held
    )
    compiled = _run((*cmake, "--build", str(build_dir), "--parallel", str(jobs)), on_line, environment, held, build_dir)
    return BuildResult(_library(build_dir), time.perf_counter() - begin, compiled)


def configure(
    tree: Path,
    platform: Platform,
    build_dir: Path,
    *,
    archs: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    toolchain: Toolchain | None = None,
    on_line: Callable[[str], None] | None = None,
    held: Sequence[int] = (),
) -> Command:
    """Configure a build as ``build`` does, and return the words that start CMake."""
    tools = toolchain or find_toolchain()
    require(platform, tools)
    cmake = tools.cmake or ()
    if not (tree / "CMakeLists.txt").exists():
        help = "run `ckgen generate` first, or name another tree"
        raise CkgenError((Diagnostic(None, "build", f"{tree} holds no generated library", help),))
    words = _configure_command(tree, platform, build_dir, archs, options or {}, tools)
    _forget_other_configuration(build_dir, words)
    plain = (*_plain_words(cmake), *cmake)
    _run((*plain, *words), on_line, held=held)
    return plain


def compile_objects(
    cmake: Command, build_dir: Path, objects: Sequence[str], jobs: int, on_line: Callable[[str], None] | None
) -> None:
    """Compile some objects of a configured build. Raises CkgenError as ``build`` does; its generator must be Ninja."""
    if not (build_dir / "build.ninja").is_file():
        raise missing("generator", "a shard is built by ninja, which is not here")
    if objects:
        _run((*cmake, "--build", str(build_dir), "--parallel", str(jobs), "--target", *objects), on_line)


def is_built(archs: Sequence[str], platform: Platform, targets: Sequence[str] = (), amd_only: bool = False) -> bool:
    """True if a library for a platform and its target architectures contains an instance for `archs`.

    A host library contains every instance. An instance for NVIDIA architectures only is in an NVIDIA library if one of
    `targets` (if empty, CMake's default) is among them, one of a family for AMD alone in none. Any other instance is
    always in the library, even if it only reports that it does not support the device.
    """
    if amd_only:
        return platform != "nvidia"
    if platform == "host" or not guard_of(archs):
        return True
    return platform == "nvidia" and any(arch in (targets or NVIDIA_DEFAULT) for arch in archs)


def compile_device_only(
    source: Path,
    arch: str,
    output: Path,
    *,
    include: Sequence[Path],
    toolchain: Toolchain | None = None,
    extra: Sequence[str] = (),
) -> DeviceObject:
    """Compile one instance source to an AMD code object, without a ROCm installation and without host code.

    `include` are the folders of headers (the tree's `include`), `extra` further compiler flags such as
    `-Rpass-analysis=kernel-resource-usage`. Raises CkgenError if no compiler supports `arch` or the compilation fails.
    """
    compiler = (toolchain or find_toolchain()).device_compiler(arch)
    folders = [f"-I{folder}" for folder in include]
    begin = time.perf_counter()
    output.parent.mkdir(parents=True, exist_ok=True)
    arguments = (f"--offload-arch={arch}", *DEVICE_FLAGS, *folders, *extra, "-c", str(source), "-o", str(output))
    log = _run((*compiler, *arguments), None)
    return DeviceObject(output, arch, time.perf_counter() - begin, log)


def _configure_command(
    tree: Path,
    platform: Platform,
    build_dir: Path,
    archs: Sequence[str],
    options: Mapping[str, str],
    tools: Toolchain,
) -> Command:
    generator = "Ninja" if tools.ninja else "Unix Makefiles"
    given = {"CMAKE_BUILD_TYPE": "Release", "CKGEN_PLATFORM": platform, **_compilers(platform, tools)}
    if tools.ninja:
        given["CMAKE_MAKE_PROGRAM"] = tools.ninja[0]
    if archs:
        given["GPU_TARGETS"] = ";".join(archs)
    definitions = [f"-D{name}={value}" for name, value in (given | dict(options)).items()]
    # Options of an earlier run are removed from CMake's cache, so that only the options given now apply.
    launchers = ("-UCMAKE_CXX_COMPILER_LAUNCHER", "-UCMAKE_CUDA_COMPILER_LAUNCHER")
    forget = ("-UCKGEN_*", "-UGPU_TARGETS", "-UBUILD_SHARED_LIBS", *launchers)
    return ("-S", str(tree), "-B", str(build_dir), "-G", generator, *forget, *definitions)


def _compilers(platform: Platform, tools: Toolchain) -> dict[str, str]:
    """Return CMake's variables for the compilers of a platform, which are there."""
    compiler = (tools.hipcc if platform == "amd" else tools.host_cxx) or ()
    found = {"CMAKE_CXX_COMPILER": ";".join(compiler)}
    if platform == "nvidia" and tools.nvcc:
        found |= {"CMAKE_CUDA_COMPILER": tools.nvcc[0], "CMAKE_CUDA_HOST_COMPILER": compiler[0]}
    return found


def _forget_other_configuration(build_dir: Path, configure: Command) -> None:
    """Delete CMake's cache if it is for another tree, generator or compiler: CMake would refuse the folder."""
    entries = _cached(build_dir)
    source, generator = configure[1], configure[5]
    compiler = next(word.partition("=")[2] for word in configure if word.startswith("-DCMAKE_CXX_COMPILER="))
    same_tree = entries.get("CMAKE_HOME_DIRECTORY") == str(Path(source).resolve())
    same_compiler = entries.get("CMAKE_CXX_COMPILER") == compiler.split(";")[0]
    if entries and not (same_tree and same_compiler and entries.get("CMAKE_GENERATOR") == generator):
        (build_dir / _CACHE).unlink()


def _cached(build_dir: Path) -> dict[str, str]:
    """Return the entries of CMake's cache; none if there is no cache."""
    cache = build_dir / _CACHE
    text = cache.read_text(encoding="utf-8", errors="replace") if cache.exists() else ""
    return dict(re.findall(r"^(\w+):\w+=(.*)$", text, re.MULTILINE))


def _plain_words(cmake: Command) -> Command:
    """Prefix for a command that makes compilers print English messages, which this module searches for errors."""
    return (*cmake, "-E", "env", "LC_ALL=C")


def _library(build_dir: Path) -> Path:
    """Return the library that the options of the build ask for: one of an earlier build may lie beside it."""
    static = _cached(build_dir).get("CKGEN_BUILD_SHARED", "ON").upper() in ("OFF", "0", "NO", "N", "FALSE")
    library = build_dir / f"libckgen_conv.{'a' if static else 'so'}"
    if not library.exists():
        raise CkgenError((Diagnostic(None, "build", f"the build left no {library.name} in {build_dir}", ""),), 1)
    return library


def _run(
    command: Command,
    on_line: Callable[[str], None] | None,
    environment: Mapping[str, str] | None = None,
    held: Sequence[int] = (),
    build_dir: Path | None = None,
) -> str:
    """Run a command, whose compilers start in ``build_dir``. Return its last lines. Raise CkgenError if it fails."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=None if environment is None else {**os.environ, **environment},
        start_new_session=True,  # so that one signal ends CMake, make and the compilers
        pass_fds=held,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if on_line is not None:
                    on_line(lines[-1])
        except BaseException:
            _end(process)
            raise
    if process.returncode != 0:
        raise CkgenError(first_errors(lines, command, build_dir), 1)
    return "\n".join(deque(lines, _TAIL_LINES))


def _end(process: subprocess.Popen[str]) -> None:
    """End a command and all its children. SIGTERM comes first: on it, make removes incomplete files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(_SECONDS_TO_END)


def first_errors(lines: Sequence[str], command: Sequence[str], build_dir: Path | None = None) -> tuple[Diagnostic, ...]:
    """Find the first errors in the output of a compiler, linker or CMake; its last lines if there are none. Relative
    places, as ccache may give them, are below ``build_dir``."""
    found: dict[str, Diagnostic] = {}
    for index, line in enumerate(lines):
        diagnostic = _error_in(lines, index, build_dir or Path())
        if diagnostic is not None:
            found.setdefault(line, diagnostic)
        if len(found) == _SHOWN_ERRORS:
            break
    if not found:
        said = "; ".join(shorten(line, _SHOWN_WIDTH, placeholder=" ...") for line in lines[-3:] if line.strip())
        return (Diagnostic(None, "build", f"{command[0]} failed: {said or 'it said nothing'}", ""),)
    return tuple(found.values())


def _error_in(lines: Sequence[str], index: int, build_dir: Path) -> Diagnostic | None:
    line = lines[index]
    if match := _COMPILER_ERROR.match(line):
        place = Place(os.path.normpath(build_dir / match["file"]), int(match["line"]), int(match["column"] or 1))
        return Diagnostic(place, "compile", match["what"])
    if line.startswith("CMake Error"):
        paragraph = takewhile(lambda text: not text.startswith(("Call Stack", "-- ")), lines[index + 1 :])
        said = " ".join(text.strip() for text in islice(paragraph, 12) if text.strip())
        return Diagnostic(None, "cmake", said or line)
    if _LINKER_ERROR.match(line):
        return Diagnostic(None, "link", line.strip())
    if (match := _TOOL_ERROR.match(line)) and match["tool"] not in ("ninja", "make"):
        return Diagnostic(None, "compile", f"{match['tool']}: {match['what']}")
    return None
