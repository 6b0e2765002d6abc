"""Compile random instances that validate, for the host and as AMD device code, many in each translation unit.

    python -m tests.support.sweep.compile --seed 3 --count 600 [--codegen] [--hipcc] [--arch host --arch gfx90a ...]

prints each instance that a compiler refuses, with its first error, and exits with 1 if there is one. A syntax check
instantiates every template, which reveals missing rules; `--codegen` also produces machine code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.build.cmake import DEVICE_FLAGS, Platform, is_built
from ckgen.build.toolchain import Command, find_toolchain, need
from ckgen.families.registry import FAMILIES
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS
from ckgen.spec.expand import Expansion
from tests.support.sweep.random_instances import random_instances

HOST = "host"
_SHARD = 24  # instances per translation unit
_HOST_FLAGS = (
    *("-std=c++17", "-DCKGEN_PLATFORM_HOST=1", "-DCKGEN_HAS_SM_90A=1", "-DCKGEN_HAS_AMD_ONLY=1"),
    *("-x", "c++"),
)


@dataclass(frozen=True)
class Refused:
    """An instance that validates but does not compile."""

    name: str
    arch: str
    said: str


@dataclass(frozen=True)
class Way:
    """Options for compiling device code: to machine code or only a syntax check, by hipcc or by the newest clang."""

    codegen: bool
    hipcc: bool


def write_tree(expansion: Expansion, folder: Path) -> Path:
    """The rendered tree of an expansion, with a config.h and a contents.h that leave all settings to macros."""
    tree = folder / "tree"
    context = load_context(GenerateCommand("random.yaml"), "", {}, expansion.spec.own_functions)
    for path, text in render_tree(expansion.instances, context).items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("config", "contents"):
        (tree / f"include/ckgen/{name}.h").write_text("#pragma once\n", encoding="utf-8")
    return tree


def refused(expansion: Expansion, archs: Sequence[str], *, codegen: bool = False, hipcc: bool = False) -> list[Refused]:
    """The instances that fail to compile for one of ``archs`` (which may include HOST) that they are valid for."""
    way = Way(codegen, hipcc)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        tree = write_tree(expansion, Path(folder))
        found = pool.map(lambda shard: _refused(tree, *shard, way), list(_shards(expansion, tree, archs)))
        return [one for shard in found for one in shard]


def _shards(expansion: Expansion, tree: Path, archs: Sequence[str]) -> Iterator[tuple[str, list[Path]]]:
    sources = {path.stem: path for path in (tree / "src").glob("*/*/grouped_conv*.cpp")}
    for arch in archs:
        everywhere = arch == HOST or arch in NVIDIA_ARCHES  # except instances for sm_90a only
        built = [i for i in expansion.instances if arch in i.archs or (everywhere and _is_built(i, arch))]
        for operation in OPERATIONS:  # headers of two operations have helpers of the same names
            own = [sources[i.name] for i in built if i.operation == operation]
            for first in range(0, len(own), _SHARD):
                yield arch, own[first : first + _SHARD]


def _is_built(instance: Instance, arch: str) -> bool:
    """True if a library for the host or for an NVIDIA architecture has the instance."""
    platform: Platform = "host" if arch == HOST else "nvidia"
    return is_built(instance.archs, platform, (arch,), FAMILIES[instance.family].amd_only)


def _refused(tree: Path, arch: str, sources: list[Path], way: Way) -> list[Refused]:
    """Compile all sources in one run; after an error, compile each by itself to find out which one it is in."""
    if complaint(tree, arch, sources, way) == "":
        return []
    said = {source: complaint(tree, arch, [source], way) for source in sources}
    return [Refused(source.stem, arch, text) for source, text in said.items() if text]


def complaint(tree: Path, arch: str, sources: Sequence[Path], way: Way) -> str:
    """The compiler's errors for a translation unit of these sources; empty if it compiles."""
    action = ("-S", "-o", os.devnull) if way.codegen else ("-fsyntax-only",)
    if arch in NVIDIA_ARCHES:
        action = ("-ptx", "-o", os.devnull)
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "unit.hip"  # hipcc applies --offload-arch to named files only
        unit.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
        command = (*_compiler(arch, way), *action, f"-I{tree / 'include'}", str(unit))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return "\n".join(lines[:3]) or done.stderr[-500:] or f"it ended with status {done.returncode}"


def _compiler(arch: str, way: Way) -> Command:
    tools = find_toolchain()
    if arch == HOST:
        return (*need(tools.host_cxx, "host_cxx", "there is no C++ compiler here"), "-O0", *_HOST_FLAGS)
    if arch in NVIDIA_ARCHES:
        nvcc = need(tools.nvcc, "nvcc", "nvcc is not here")
        macro = f"-DCKGEN_HAS_{arch.upper()}=1"
        return (*nvcc, "-std=c++17", f"-arch={arch}", "-Xcicc", "-O0", "-DCKGEN_PLATFORM_NVIDIA=1", macro, "-x", "cu")
    if way.hipcc:
        tools = replace(tools, clang=None, zig_clang=None)
    return (*tools.assembly_compiler(arch), f"--offload-arch={arch}", *DEVICE_FLAGS)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--arch", action="append", help="host, or an architecture; by default host and AMD's")
    parser.add_argument(
        "--hipcc", action="store_true", help="compile device code with hipcc, not with the newest clang"
    )
    parser.add_argument("--codegen", action="store_true", help="also generate machine code, which takes minutes")
    arguments = parser.parse_args()
    expansion = random_instances(arguments.seed, arguments.count)
    archs = arguments.arch or (HOST, *ARCHES)
    bad = refused(expansion, archs, codegen=arguments.codegen, hipcc=arguments.hipcc)
    for one in bad:
        print(f"{one.arch}: {one.name}\n{one.said}")
    print(f"seed {arguments.seed}: {len(expansion.instances)} instances on {', '.join(archs)}: {len(bad)} refused")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
