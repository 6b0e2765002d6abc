"""Build the weight gradients of MIOpen's plug-in for CK against a compat library, and run its kernels on the host.

MIOPEN_SRC=/path/to/rocm-libraries/projects/miopen python scripts/miopen_plugin.py [FILTER]... [--amd gfx90a]

MIOpen of 2026 calls CK through a library that it loads, with C functions per direction (its ck_impl_interface.hpp). The
files of src/ck_impl for weight gradients in 2D are compiled as they are; of implicitgemm_ck_util.hpp the parts that
they use. scripts/miopen_plugin/ has what they use of MIOpen, and a program that calls the plug-in as MIOpen does.
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
from miopen_solvers import between

PARTS = Path(__file__).with_suffix("")
CODE = "src/ck_impl"
FILES = ("ck_grouped_conv_common.hpp", "ck_grouped_conv_impl_helpers.hpp", "ck_grouped_conv_wrw_impl.cpp")
UTILITY = "implicitgemm_ck_util.hpp"
# The parts of UTILITY, each by its first words and those that follow it.
CUTS = (
    ("namespace conv {\ntemplate <typename DataType, typename ComputeType", "\n#endif\n"),
    ("template <typename ConvPtrsType>\ntypename ConvPtrsType::iterator FindConvPtrByID", "/**"),
    ("template <typename DeviceOpType>\ninline constexpr bool IsSplitKNeeded()", "\n#endif //"),
    (
        "template <typename DeviceOpType,\n          typename CKArgsType,\n"
        "          typename ProblemDescriptionType = miopen::conv::ProblemDescription,\n"
        "          bool CheckSplitK                = false>\nbool IsCKArgsSupported",
        "/**",
    ),
    (
        "template <typename DeviceOpType,\n          typename CKArgsType,\n"
        "          typename ProblemDescriptionType = miopen::conv::ProblemDescription>\nsize_t GetCKSplitkMax",
        "inline bool isDataTypeHalf",
    ),
    (
        "template <bool NeedsSplitK, typename DeviceOpType, typename CKArgsType, typename CastType>\n"
        "std::unique_ptr<ck::tensor_operation::device::BaseArgument>\nMakeNHWCCKArgPtr",
        "#endif\n",
    ),
    (
        "template <bool ZeroOutputs,\n          typename DeviceOpType,\n          typename CKArgsType,\n"
        "          typename CastType,\n          bool NativeForwardWorkspace     = false,",
        "template <int ND,",
    ),
    ("template <typename InvokerFactoryMakerNCHW, typename InvokerFactoryMakerNHWC>", "/// \\todo"),
)
_MIOPEN_INCLUDES = re.compile(r"^#include <(miopen/.*)>$", re.MULTILINE)
_CK_INCLUDES = re.compile(r"^#include <ck/.*backward.*$|^#include <ck/utility/.*$", re.MULTILINE)


def copied(source: Path, folder: Path) -> None:
    """Copy the files, cut the parts of UTILITY, and write a header for each name of MIOpen's that they include."""
    folder.mkdir(parents=True, exist_ok=True)
    included = set()
    for name in FILES:
        text = (source / CODE / name).read_text(encoding="utf-8")
        included |= set(_MIOPEN_INCLUDES.findall(text))
        (folder / name).write_text(text, encoding="utf-8")
    utility = (source / CODE / UTILITY).read_text(encoding="utf-8")
    parts = [between(utility, begin, end) for begin, end in CUTS]
    begin = ["#pragma once", '#include "mock.hpp"', *_CK_INCLUDES.findall(utility), "namespace miopen::solver {"]
    (folder / UTILITY).write_text("\n".join([*begin, *parts, "}  // namespace miopen::solver\n"]), encoding="utf-8")
    for name in included:
        header = folder / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text('#include "mock.hpp"\n', encoding="utf-8")


def build(folder: Path, prefix: Path, arch: str) -> tuple[int, str, Path]:
    """Compile the plug-in, and the program that calls it, against the library of a prefix."""
    include = prefix / "include"
    roots = [f"-I{path}" for path in (folder, PARTS, include, *([] if arch else [include / "ckgen_no_hip"]))]
    compiler = ["hipcc", f"--offload-arch={arch}"] if arch else ["g++", "-pthread"]
    options = [*compiler, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", *roots]
    plugin, program = folder / "libMIOpenCKGroupedConv.so", folder / f"use.{arch or 'host'}"
    link = [f"-L{prefix / 'lib'}", "-lckgen_conv", f"-Wl,-rpath,{prefix / 'lib'}"]
    code, said = command(*options, "-shared", folder / FILES[-1], "-o", plugin, *link, amd=bool(arch))
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
    if not (source / CODE / FILES[-1]).is_file():
        raise click.UsageError("set MIOPEN_SRC to projects/miopen of a checkout of rocm-libraries")
    work = Work(source, folder.resolve(), tuple(filters), None, 0)
    prefix = library(work, arch)
    code_folder = work.folder / "plugin"
    copied(source, code_folder)
    code, said, program = build(code_folder, prefix, arch)
    click.echo(f"{FILES[-1]}: {'compiles' if code == 0 else 'does not compile'}")
    if code == 0 and not arch:
        code, said = command(program)
    click.echo(said, nl=False)
    sys.exit(code != 0)


if __name__ == "__main__":
    main()
