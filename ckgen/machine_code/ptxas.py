"""Resources of instances compiled by nvcc: ptxas's report of registers, spills and stack, and the blocks that fit."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.cmake import first_errors
from ckgen.build.toolchain import Command
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.view_models import path_of
from ckgen.instance.instance import Instance

_FLAGS = ("-x", "cu", "-std=c++17", "-O3", "-cubin", "--resource-usage")
_DEFINES = ("-DCKGEN_DEVICE_ONLY=1", "-DCKGEN_PLATFORM_NVIDIA=1")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_RELEASE = re.compile(r"release [\d.]+, V([\d.]+)")
REGISTERS, REGISTER_GRANULE, THREADS, BLOCKS = 65536, 256, 2048, 32  # per multiprocessor; a warp has whole granules
RESERVED_BYTES = 1024  # of shared memory per block: CUDA programming guide, compute capabilities 8.x and 9.0


@dataclass(frozen=True, slots=True)
class NvidiaReport:
    """One instance compiled for one NVIDIA architecture; bytes are per thread, shared memory per block."""

    name: str
    arch: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    shared_bytes: int
    blocks: int  # resident per multiprocessor


def release_of(nvcc: Command) -> str:
    """Return the compiler's name and version. Raises CkgenError if the answer is not that of nvcc."""
    said = subprocess.run((*nvcc, "--version"), capture_output=True, text=True, check=False).stdout
    found = _RELEASE.search(said)
    if found is None:
        raise CkgenError((Diagnostic(None, "toolchain", f"{' '.join(nvcc)} is not nvcc"),))
    return f"nvcc {found[1]}"


def compile_and_report(
    tree: Path,
    instances: Sequence[Instance],
    arch: str,
    out: Path,
    nvcc: Command,
    *,
    shared_limit: int,
    jobs: int = 1,
    on_done: Callable[[str], None] | None = None,
) -> list[NvidiaReport]:
    """Compile instances of a generated tree, `jobs` at a time. `shared_limit` is the largest allocation per block.

    Raises CkgenError with the errors of the first failure.
    """
    out.mkdir(parents=True, exist_ok=True)

    def one(instance: Instance) -> NvidiaReport:
        source = tree / path_of(instance)
        command = (*nvcc, *_FLAGS, *_DEFINES, f"-arch={arch}", f"-I{tree / 'include'}", str(source))
        command = (*command, "-o", str(out / f"{instance.name}.cubin"))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        said = done.stdout + done.stderr
        if done.returncode:
            raise CkgenError(first_errors(said.splitlines(), command), 1)
        if on_done is not None:
            on_done(instance.name)
        return read_report(said, instance, arch, shared_limit)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(one, instances))


def read_report(said: str, instance: Instance, arch: str, shared_limit: int) -> NvidiaReport:
    """Read ptxas's report on an instance's main kernel; with a function there may be another, which adds partial
    sums."""
    own = said[max(0, said.find(f"'{instance.name}_kernel'")) :]
    spills, used = _SPILLS.search(own), _USED.search(own)
    if spills is None or used is None:
        message = f"nvcc reported nothing about the kernel of {instance.name}"
        raise CkgenError((Diagnostic(None, "isa", message),), 1)
    registers = int(used[1])
    per_warp = -(-registers * 32 // REGISTER_GRANULE) * REGISTER_GRANULE
    by_registers = REGISTERS // (per_warp * instance.launch_threads // 32)
    by_shared = (shared_limit + RESERVED_BYTES) // (instance.lds_bytes + RESERVED_BYTES)
    blocks = min(BLOCKS, THREADS // instance.launch_threads, by_registers, by_shared)
    spilled = int(spills[2]) + int(spills[3])
    return NvidiaReport(instance.name, arch, registers, int(spills[1]), spilled, instance.lds_bytes, blocks)
