"""Build the gradients of MIOpen's plug-in for CK against a compat library, and run its kernels on the host.

MIOPEN_SRC=/path/to/rocm-libraries/projects/miopen python scripts/miopen_plugin.py [FILTER]... [--amd gfx90a]

MIOpen of 2026 calls CK through a library that it loads, with C functions per direction (its ck_impl_interface.hpp). The
files of src/ck_impl for weight and data gradients, in 2D and 3D, are compiled as they are, and so are the headers with
templates that they use. scripts/miopen_plugin/ has what they use of the rest of MIOpen, and a program that calls the
plug-in as MIOpen does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ck_programs import ROOT, Work, command, library

PARTS = Path(__file__).with_suffix("")
CODE = Path("src/ck_impl")
HEADERS = (
    CODE / "ck_grouped_conv_common.hpp",
    CODE / "ck_grouped_conv_impl_helpers.hpp",
    CODE / "implicitgemm_ck_util.hpp",
    Path("src/include/miopen/solver/implicitgemm_ck_util_common.hpp"),
)
SOURCES = tuple(CODE / f"ck_grouped_conv_{name}_impl.cpp" for name in ("wrw", "bwd", "3d_wrw", "3d_bwd"))
_MIOPEN_INCLUDES = re.compile(r"^#include <(miopen/.*)>$", re.MULTILINE)


def copied(source: Path, folder: Path) -> None:
    """Copy the files, and write a header for each other one of MIOpen's that they include."""
    include = Path("src/include")
    own = {str(path.relative_to(include)): path for path in HEADERS if path.is_relative_to(include)}
    included = set()
    for path in (*HEADERS, *SOURCES):
        text = (source / path).read_text(encoding="utf-8")
        included |= set(_MIOPEN_INCLUDES.findall(text))
        target = folder / (path.relative_to(include) if path in own.values() else path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name in included - set(own):
        header = folder / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text('#include "mock.hpp"\n', encoding="utf-8")


def build(folder: Path, prefix: Path, arch: str) -> tuple[int, str, Path]:
    """Compile the plug-in, and the program that calls it, against the library of a prefix."""
    include = prefix / "include"
    roots = [f"-I{path}" for path in (folder, PARTS, include, *([] if arch else [include / "ckgen_no_hip"]))]
    compiler = ["hipcc", f"--offload-arch={arch}"] if arch else ["g++", "-pthread"]
    options = [*compiler, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", *roots]
    program = folder / f"use.{arch or 'host'}"
    link = [f"-L{prefix / 'lib'}", "-lckgen_conv", f"-Wl,-rpath,{prefix / 'lib'}"]
    objects = []
    for source in SOURCES:
        objects.append(folder / f"{source.stem}.{arch or 'host'}.o")
        code, said = command(*options, "-c", folder / source.name, "-o", objects[-1], amd=bool(arch))
        click.echo(f"{source.name}: {'compiles' if code == 0 else 'does not compile'}")
        if code:
            return code, said, program
    plugin = folder / "libMIOpenCKGroupedConv.so"
    code, said = command(*options, "-shared", *objects, "-o", plugin, *link, amd=bool(arch))
    if code == 0:
        own = [f"-L{folder}", "-lMIOpenCKGroupedConv", f"-Wl,-rpath,{folder}"]
        code, said = command(*options, PARTS / "use.cpp", "-o", program, *own, *link, amd=bool(arch))
    return code, said, program


@click.command()
@click.argument("filters", nargs=-1)
@click.option("--work", "folder", type=click.Path(path_type=Path), default=ROOT / "build" / "miopen_plugin")
@click.option("--amd", "arch", default="", help="Only compile and link, for an AMD architecture, as in gfx90a.")
def main(filters: Sequence[str], folder: Path, arch: str) -> None:
    """Build and run the plug-in's code of MIOPEN_SRC against the instances that FILTERS choose."""
    source = Path(os.environ.get("MIOPEN_SRC", ""))
    missing = [str(path) for path in (*HEADERS, *SOURCES) if not (source / path).is_file()]
    if missing:
        raise click.UsageError(f"set MIOPEN_SRC to projects/miopen of rocm-libraries; not there: {missing[0]}")
    work = Work(source, folder.resolve(), tuple(filters), None, 0)
    prefix = library(work, arch)
    code_folder = work.folder / "plugin"
    copied(source, code_folder)
    code, said, program = build(code_folder, prefix, arch)
    if code == 0:
        click.echo("the plug-in and its program link")
        if not arch:
            code, said = command(program)
    click.echo(said, nl=False)
    sys.exit(code != 0)


if __name__ == "__main__":
    main()
