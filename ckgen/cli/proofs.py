"""build, smoke: from a generated tree to a library that is proven right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli import console
from ckgen.cli.options import (
    PATH,
    asked_for,
    filters_argument,
    json_option,
    out_option,
    set_option,
    spec_option,
)

if TYPE_CHECKING:
    from ckgen.build import Platform

MAX_MACS = 40_000_000
SELECTION = ("filters", "spec", "set_name")
platform_option = click.option(
    "--platform",
    type=click.Choice(["host", "amd", "nvidia"]),
    default="host",
    show_default=True,
    help="What to compile for.",
)
arch_option = click.option(
    "--arch", "archs", multiple=True, metavar="GFX|SM", help="amd, nvidia: an architecture; may be given several times."
)
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1), default=lambda: os.cpu_count() or 1, help="Compilers at a time."
)
define_option = click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="A CMake variable, as CKGEN_SANITIZE=ON."
)


@click.command("build", short_help="Compile a library for the host or for GPUs.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@platform_option
@arch_option
@jobs_option
@define_option
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
) -> int:
    """Compile a library and print its path. FILTER is explained by `ckgen list --help`.

    Without FILTER, --set and --spec the generated tree in --out is built; with one of them the chosen
    instances are generated below build/ first. Only what changed is compiled again.

    \b
    Examples:
      ckgen build --platform host --set ci
      ckgen build --platform amd --arch gfx90a
      ckgen build family=wavelet --platform amd --arch gfx942 --arch gfx950
      ckgen build --platform nvidia --arch sm_80 --arch sm_90a
    """
    from ckgen.cli.selection import Selection
    from ckgen.cli.workshop import build_library, workplace

    selection = Selection(spec, set_name, filters, out)
    place = workplace(selection, chosen=asked_for(ctx, SELECTION), platform=platform, archs=archs)
    console.say(str(build_library(place, platform, jobs=jobs, archs=archs, options=options)))
    return 0


@click.command("smoke", short_help="Run instances and compare them with float64.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@platform_option
@arch_option
@jobs_option
@define_option
@click.option("--library", type=PATH, help="Check this library instead of building one.")
@click.option(
    "--problems",
    multiple=True,
    metavar="NAME|FILE",
    default=("retinanet", "ck_bwd_weight", "ck_bwd_data"),
    show_default=True,
    help="A problem set that comes with ckgen, or a YAML file; may be given several times.",
)
@click.option("--split-k", "split_ks", type=int, multiple=True, help="Default: -1, 1, 2 and 7.")
@click.option("--max-macs", type=click.IntRange(1), default=MAX_MACS, show_default=True, help="Largest problem to run.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of data and schedules.")
@click.option("--all-pairs", is_flag=True, help="Every instance on every problem it takes.")
@click.option(
    "--allow-uncovered",
    is_flag=True,
    help="Problems that no instance of a data type takes are counted, not failures.",
)
@click.option("--brief", is_flag=True, help="One row an instance: its run nearest to the tolerance.")
@json_option
@click.pass_context
def smoke_command(ctx: click.Context, /, **given: object) -> int:
    """Run instances on real problems and compare them with float64; exit 1 if any is wrong.

    The library is built first where that is needed (see `ckgen build`); FILTER then says which of its
    instances run. Batch and image of each problem are scaled down until it has at most --max-macs
    multiply-accumulates; channels, groups, filter, strides and pads stay as they are.

    \b
    Examples:
      ckgen smoke --set ci
      ckgen smoke --set ci '*wavelet*' dtype=f16 --problems retinanet --split-k 7
      ckgen smoke --library build/ci/host/libckgen_conv.so --json
    """
    from ckgen.cli.smoke_run import SmokeOptions, smoke

    options = SmokeOptions(**given, chosen=asked_for(ctx, ("spec", "set_name")))  # type: ignore[arg-type]
    return smoke(options)
