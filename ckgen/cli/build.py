"""ckgen build: compile a library for the host or for GPUs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.build_options import SELECTION, arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.options import (
    asked_for,
    filters_argument,
    out_option,
    set_option,
    spec_option,
)

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform


@click.command("build", short_help="Compile a library for the host or for GPUs.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@platform_option
@arch_option
@jobs_option
@define_option
@click.option("--launcher", metavar="PROGRAM", help="A program that starts each compiler, as ccache or sccache.")
@click.pass_context
def build_command(
    ctx: click.Context,
    filters: tuple[str, ...],
    spec: Path,
    set_name: str,
    out: Path,
    platform: Platform,
    archs: tuple[str, ...],
    jobs: int,
    options: tuple[str, ...],
    launcher: str | None,
) -> int:
    """Compile a library and print its path. For FILTER see `ckgen list --help`.

    Without FILTER, --set and --spec, builds the generated tree in --out. With any of these, generates the chosen
    instances below build/ first. Compiles only what changed.

    \b
    Examples:
      ckgen build --platform host --set ci
      ckgen build --platform amd --arch gfx90a
      ckgen build family=wavelet --platform amd --arch gfx942 --arch gfx950
      ckgen build --platform nvidia --arch sm_80 --arch sm_90a
      ckgen build --platform host --launcher ccache
    """
    from ckgen.cli.common.selection import Selection
    from ckgen.cli.common.workshop import build_library, workplace

    if launcher is not None:
        options = (*options, *_launched_by(launcher))
    selection = Selection(spec, set_name, filters, out)
    place = workplace(selection, chosen=asked_for(ctx, SELECTION), platform=platform, archs=archs)
    console.say(str(build_library(place, platform, jobs=jobs, archs=archs, options=options)))
    return 0


def _launched_by(program: str) -> tuple[str, ...]:
    """CMake's variables for a launcher. UsageError if it is not installed: every compiler would fail."""
    if shutil.which(program) is None:
        raise click.BadParameter(f"{program} is not on PATH", param_hint="--launcher")
    return tuple(f"CMAKE_{language}_COMPILER_LAUNCHER={program}" for language in ("CXX", "CUDA"))
