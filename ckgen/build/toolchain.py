"""Installed compilers and build tools, found by searching PATH; no program is started."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.cuda_wheels import nvcc_of_wheels
from ckgen.errors import CkgenError, Diagnostic

# _Float16 in C++ needs g++ 12; all these clang versions have it.
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
# Debian's LLVM 19 does not support these architectures; clang 22 of the ziglang package does.
_NEEDS_ZIG = ("gfx950", "gfx1250")
# clang starts a linker called ld.lld, which the ziglang package does not have, so LLVM's is used.
_LLD_FOLDERS = ("/usr/lib/llvm-19/bin", "/usr/lib/llvm-20/bin", "/usr/lib/llvm-18/bin")

Command = tuple[str, ...]

HELP = {
    "host_cxx": "Debian: apt-get install g++; without root: pip install ziglang",
    "hipcc": "Debian: apt-get install hipcc libamdhip64-dev",
    "cmake": "Debian: apt-get install cmake; without root: pip install cmake",
    "generator": "Debian: apt-get install make or ninja-build; without root: pip install ninja",
    "nvcc": "install NVIDIA's CUDA toolkit, 12.4 or newer; without root: pip install 'ckgen[nvcc]'",
    "device": "Debian: apt-get install clang-19 lld-19; for gfx950 also: pip install ziglang",
}
ABSENT = {
    "host_cxx": "there is no C++ compiler here",
    "hipcc": "hipcc is not here, so nothing can be built for AMD GPUs",
    "nvcc": "nvcc is not here, so nothing can be built for NVIDIA GPUs",
    "cmake": "cmake is not here",
    "generator": "neither ninja nor make is here",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The command of each tool, None if it is not installed."""

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
        """Return a clang that compiles device code for an AMD architecture, with the flags that it needs to link it.

        Raises CkgenError if there is none.
        """
        zig = None
        if self.zig_clang is not None and self.lld_folder is not None:
            zig = (*self.zig_clang, "-nostdinc", f"-B{self.lld_folder}")
        chosen = zig if arch in _NEEDS_ZIG else self.clang or zig
        if chosen is None:
            raise missing("device", f"no compiler here makes device code for {arch}")
        return chosen

    def assembly_compiler(self, arch: str) -> Command:
        """Return a compiler that writes assembly for an AMD architecture; unlike `device_compiler` it needs no linker.

        Prefers clang, then ziglang's clang, then hipcc, which may support only the older architectures. Raises
        CkgenError if there is none.
        """
        zig = None if self.zig_clang is None else (*self.zig_clang, "-nostdinc")
        chosen = zig if arch in _NEEDS_ZIG else self.clang or zig
        if chosen is None and self.hipcc is not None:
            chosen = ("env", "HIP_PLATFORM=amd", *self.hipcc)  # else hipcc compiles for NVIDIA if nvcc is on PATH
        if chosen is None:
            raise missing("device", f"no compiler here makes device code for {arch}")
        return chosen


def find_toolchain(search_path: str | None = None) -> Toolchain:
    """Find the tools on PATH (or `search_path`), beside the Python interpreter, and in its packages."""

    def find(*names: str) -> Command | None:
        beside = str(Path(sys.executable).parent)  # pip installs cmake and ninja here, even if it is not on PATH
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
        nvcc=find("nvcc", "/usr/local/cuda/bin/nvcc") or find(nvcc_of_wheels() or ""),
        cmake=find("cmake"),
        ninja=find("ninja"),
        make=find("make", "gmake"),
        lld_folder=next((folder for folder in _LLD_FOLDERS if Path(folder, "ld.lld").exists()), None),
    )


def require(platform: str, tools: Toolchain) -> None:
    """Raise CkgenError for the first tool that a library for a platform needs and that is not installed."""
    own = {"amd": ("hipcc",), "nvidia": ("host_cxx", "nvcc")}.get(platform, ("host_cxx",))
    commands = {"host_cxx": tools.host_cxx, "hipcc": tools.hipcc, "nvcc": tools.nvcc, "cmake": tools.cmake}
    commands["generator"] = tools.ninja or tools.make
    for kind in (*own, "cmake", "generator"):
        if commands[kind] is None:
            raise missing(kind, ABSENT[kind])


def need(command: Command | None, kind: str, message: str) -> Command:
    """Return the command, or raise CkgenError that says how to install it; `kind` is a key of HELP."""
    if command is None:
        raise missing(kind, message)
    return command


def missing(kind: str, message: str) -> CkgenError:
    """Make the error for a tool that is not installed."""
    return CkgenError((Diagnostic(None, "toolchain", message, HELP[kind]),))


def _zig() -> str | None:
    """Find the zig program of the ziglang package: a C and C++ compiler that can be installed without root."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "zig"
    return str(program) if program.exists() else None
