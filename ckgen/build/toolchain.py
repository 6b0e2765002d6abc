"""The compilers and build tools that are at hand. Looking is a search of PATH; nothing is started."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic

# g++ 12 is the first with _Float16 in C++; clang has had it longer.
_HOST_COMPILERS = (
    "g++",
    "c++",
    "clang++",
    "g++-14",
    "g++-13",
    "g++-12",
    "clang++-19",
    "clang++-18",
    "clang++-17",
)
_CLANGS = ("clang++-19", "clang++-20", "clang++-21", "clang++-22")
# What Debian's LLVM 19 has no target for; ziglang's clang 22 has.
_NEEDS_ZIG = ("gfx950", "gfx1250")
# zig's clang carries no linker under a name that clang looks for.
_LLD_FOLDERS = ("/usr/lib/llvm-19/bin", "/usr/lib/llvm-20/bin", "/usr/lib/llvm-18/bin")

Command = tuple[str, ...]

HELP = {
    "host_cxx": "Debian: apt-get install g++; without root: pip install ziglang",
    "hipcc": "Debian: apt-get install hipcc libamdhip64-dev",
    "cmake": "Debian: apt-get install cmake; without root: pip install cmake",
    "generator": "Debian: apt-get install make or ninja-build; without root: pip install ninja",
    "nvcc": "install NVIDIA's CUDA toolkit, 12.4 or newer, and put nvcc on PATH",
    "device": "Debian: apt-get install clang-19 lld-19; for gfx950 also: pip install ziglang",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The command of each tool, None where it is not installed."""

    host_cxx: Command | None
    hipcc: Command | None
    clang: Command | None
    zig_clang: Command | None
    nvcc: Command | None
    cmake: Command | None
    ninja: Command | None
    make: Command | None
    lld_folder: str | None

    def device_compiler(self, arch: str) -> Command:
        """The clang that makes device code for an AMD architecture, with the flags it needs to do so alone.

        CkgenError when there is none.
        """
        zig = None
        if self.zig_clang is not None and self.lld_folder is not None:
            zig = (*self.zig_clang, "-nostdinc", f"-B{self.lld_folder}")
        chosen = zig if arch in _NEEDS_ZIG else self.clang or zig
        if chosen is None:
            raise missing("device", f"no compiler here makes device code for {arch}")
        return chosen

    def assembly_compiler(self, arch: str) -> Command:
        """The compiler that writes assembly for an AMD architecture; unlike `device_compiler` it needs no linker.

        A clang, else ziglang's, else hipcc, which may know the older architectures only. CkgenError when there is
        none.
        """
        zig = None if self.zig_clang is None else (*self.zig_clang, "-nostdinc")
        chosen = zig if arch in _NEEDS_ZIG else self.clang or zig
        if chosen is None and self.hipcc is not None:
            chosen = ("env", "HIP_PLATFORM=amd", *self.hipcc)  # where nvcc is on PATH hipcc would take that
        if chosen is None:
            raise missing("device", f"no compiler here makes device code for {arch}")
        return chosen


def find_toolchain(search_path: str | None = None) -> Toolchain:
    """What is on PATH (or `search_path`), beside this Python, and in its packages."""

    def find(*names: str) -> Command | None:
        beside = str(Path(sys.executable).parent)  # where pip puts cmake and ninja, on PATH or not
        for name in names:
            path = shutil.which(name, path=search_path) or shutil.which(name, path=beside)
            if path is not None:
                return (path,)
        return None

    zig = _zig()
    return Toolchain(
        host_cxx=find(*_HOST_COMPILERS) or (None if zig is None else (zig, "c++")),
        hipcc=find("hipcc", "/opt/rocm/bin/hipcc"),
        clang=find(*_CLANGS),
        zig_clang=None if zig is None else (zig, "clang"),
        nvcc=find("nvcc", "/usr/local/cuda/bin/nvcc"),
        cmake=find("cmake"),
        ninja=find("ninja"),
        make=find("make", "gmake"),
        lld_folder=next((folder for folder in _LLD_FOLDERS if Path(folder, "ld.lld").exists()), None),
    )


def need(command: Command | None, kind: str, message: str) -> Command:
    """The command, or a CkgenError that says what is missing and how to get it; `kind` is a key of HELP."""
    if command is None:
        raise missing(kind, message)
    return command


def missing(kind: str, message: str) -> CkgenError:
    """The error for a tool that is not here."""
    return CkgenError((Diagnostic(None, "toolchain", message, HELP[kind]),))


def _zig() -> str | None:
    """The zig program of the ziglang package, a C and C++ compiler that needs no root."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "zig"
    return str(program) if program.exists() else None
