"""Compile the CK-facing code of MIOpen's grouped solvers against a compat library, and run its kernels on the host.

MIOPEN_SRC=/path/to/MIOpen python scripts/miopen_solvers.py [FILTER]... [--amd gfx90a]

The code of four solvers (October 2024) is cut out of the checkout into the folder --work: the aliases of operators and
factories, the arguments, and the functions that list, find and check kernels. scripts/miopen_solvers/ has what that
code uses of MIOpen, and a program that calls it as MIOpen does, for half, float, bhalf and int8.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ck_programs import ROOT, Work, command, library

PARTS = Path(__file__).with_suffix("")
UTILITY = "src/include/miopen/solver/implicitgemm_ck_util.hpp"
_CK_INCLUDES = re.compile(r"^#include <ck/.*$", re.MULTILINE)


@dataclass(frozen=True)
class Solver:
    """One solver: its file, the name in its classes, and the types that list operators and make arguments."""

    file: str
    name: str
    weight: bool
    ndim: int
    lists: str
    template_args: bool

    def defines(self) -> str:
        """The macros of use.hpp."""
        args = "CKArgs<T>" if self.template_args else "CKArgs"
        lines = [
            f"#define CONFIG PerformanceConfigHipImplicitGemm{self.name}Xdlops",
            f"#define SOLVER ConvHipImplicitGemm{self.name}Xdlops",
            f"#define SOLVER_WEIGHT {int(self.weight)}",
            f"#define SOLVER_NDIM {self.ndim}",
        ]
        for case in ("DEFAULT", "SCALE", "BILINEAR"):
            lists = self.lists.format(case.title() if self.template_args else "")
            lines.append(f"#define RUN_{case}(P) (run_kernels<T, {lists}<T>, {args}>(P))")
        return "\n".join(lines) + "\n"


SOLVERS = (
    Solver("conv_hip_implicit_gemm_grouped_wrw_xdlops.cpp", "GroupWrw", True, 2, "DeviceOpGWrw{}Ptrs", False),
    Solver("conv_hip_implicit_gemm_3d_grouped_wrw_xdlops.cpp", "3DGroupWrw", True, 3, "DeviceOpGBwdWeight{}Ptrs", True),
    Solver("conv_hip_implicit_gemm_grouped_bwd_xdlops.cpp", "GroupBwd", False, 2, "DeviceOpGBwd{}Ptrs", False),
    Solver("conv_hip_implicit_gemm_3d_grouped_bwd_xdlops.cpp", "3DGroupBwd", False, 3, "DeviceOpGBwd{}Ptrs", True),
)


def between(text: str, begin: str, end: str) -> str:
    """The part of a file from one mark up to another; ends the program if MIOpen's file has no such part."""
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        sys.exit(f"no part from {begin!r} to {end!r}; the solvers of October 2024 are needed")
    return text[start:stop]


def cut(source: Path, solver: Solver) -> str:
    """A program: the mock, the code of MIOpen, and use.hpp."""
    utility = (source / UTILITY).read_text(encoding="utf-8")
    body = (source / "src/solver/conv" / solver.file).read_text(encoding="utf-8")
    functions = between(
        body, "namespace miopen {", f"void PerformanceConfigHipImplicitGemm{solver.name}Xdlops::Heuristic"
    )
    # The 2D solvers ask next whether a model of neural networks applies.
    functions = functions.partition(f"bool PerformanceConfigHipImplicitGemm{solver.name}Xdlops::IsModelApplicable")[0]
    requires = between(utility, "inline bool CKWrwRequireWorkspace(", "\n}\n") + "\n}\n"
    return "\n".join(
        [
            '#include "mock.hpp"',
            "#include <iostream>",
            *_CK_INCLUDES.findall(utility),
            *_CK_INCLUDES.findall(body),
            between(utility, "namespace miopen {", "#define WORKAROUND_CK_ISSUE_1184"),
            requires + "} }  // namespace miopen::solver",
            functions,
            "} } }  // namespace miopen::solver::conv",
            solver.defines(),
            '#include "use.hpp"\n',
        ]
    )


def build(program: Path, prefix: Path, arch: str) -> tuple[int, str, Path]:
    """Compile and link a program against the library of a prefix."""
    target = program.with_suffix("." + (arch or "host"))
    folders = [f"-I{PARTS}", f"-I{prefix / 'include'}"] + ([] if arch else [f"-I{prefix / 'include' / 'ckgen_no_hip'}"])
    compiler = ["hipcc", f"--offload-arch={arch}"] if arch else ["g++", "-pthread"]
    where = prefix / "lib"
    words: list[str | Path] = [*compiler, "-std=c++17", "-O2", "-DNDEBUG", *folders, program, "-o", target]
    code, output = command(*words, f"-L{where}", "-lckgen_conv", f"-Wl,-rpath,{where}", amd=bool(arch))
    return code, output, target


@click.command()
@click.argument("filters", nargs=-1)
@click.option("--work", "folder", type=click.Path(path_type=Path), default=ROOT / "build" / "miopen_solvers")
@click.option("--amd", "arch", default="", help="Only compile and link, for an AMD architecture, as in gfx90a.")
def main(filters: Sequence[str], folder: Path, arch: str) -> None:
    """Build and run the solvers of MIOPEN_SRC against the instances that FILTERS choose."""
    source = Path(os.environ.get("MIOPEN_SRC", ""))
    if not (source / UTILITY).is_file():
        raise click.UsageError("set MIOPEN_SRC to a checkout of MIOpen")
    work = Work(source, folder.resolve(), tuple(filters), None, 0)
    prefix = library(work, arch)
    failed = 0
    for solver in SOLVERS:
        program = work.folder / f"{solver.name}.cpp"
        program.write_text(cut(source, solver), encoding="utf-8")
        code, output, target = build(program, prefix, arch)
        click.echo(f"{solver.file}: {'compiles' if code == 0 else 'does not compile'}")
        if code == 0 and not arch:
            code, output = command(target)
        click.echo(output, nl=False)
        failed += code != 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
