"""Instances -> assembly of their device code, for `ckgen isa`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.cmake import DEVICE_FLAGS, first_errors
from ckgen.build.toolchain import Command
from ckgen.errors import CkgenError, Diagnostic
from ckgen.generate.view_models import path_of
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport, analyse

_VERSION = re.compile(r"(?:(\w+) )?clang version (\d\S*)")
_ROCM = re.compile(r"roc-\d[\w.]*")


@dataclass(frozen=True, slots=True)
class DeviceCompiler:
    """A compiler for AMD device code, and the name of its release, which determines the code that it writes."""

    command: Command
    release: str


def identify(command: Command) -> DeviceCompiler:
    """Ask a compiler for its release: `clang 19.1.7`, for AMD's own `AMD clang 19.0.0git roc-6.4.0`.

    Clangs of one release write the same code in every distribution, so the distribution's name is left out. Raises
    CkgenError if the answer is not that of a clang.
    """
    try:
        done = subprocess.run((*command, "--version"), capture_output=True, text=True, errors="replace", check=False)
        said = done.stdout
    except OSError as error:
        said = error.strerror or str(error)
    found = _VERSION.search(said)
    if found is None:
        message = f"{' '.join(command)} is not a clang: {said.strip() or 'it printed nothing'}"
        raise CkgenError((Diagnostic(None, "toolchain", message),))
    words = ["AMD"] if found[1] == "AMD" else []
    words += ["clang", found[2]]
    rocm = _ROCM.search(said)
    return DeviceCompiler(command, " ".join([*words, rocm[0]] if rocm else words))


def compile_and_read(
    tree: Path,
    instances: Sequence[Instance],
    arch: str,
    out: Path,
    compiler: DeviceCompiler,
    *,
    jobs: int = 1,
    on_done: Callable[[str], None] | None = None,
) -> list[CodeReport]:
    """Compile instances of a generated tree for one architecture, `jobs` at a time, and analyse the code.

    The assembly stays in `out`, one file per instance. Raises CkgenError with the errors of the first failure.
    """
    out.mkdir(parents=True, exist_ok=True)

    def one(instance: Instance) -> CodeReport:
        target = out / f"{instance.name}.s"
        assemble(compiler.command, tree, tree / path_of(instance), arch, target)
        if on_done is not None:
            on_done(instance.name)
        return analyse(target.read_text(encoding="utf-8"), instance, arch)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(one, instances))


def assemble(command: Command, tree: Path, source: Path, arch: str, target: Path) -> None:
    """Write the assembly of one source of a generated tree. Raises CkgenError with the compiler's first errors."""
    arguments = (f"--offload-arch={arch}", *DEVICE_FLAGS, f"-I{tree / 'include'}", "-S", str(source), "-o", str(target))
    done = subprocess.run((*command, *arguments), capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise CkgenError(first_errors(done.stderr.splitlines(), command), 1)
