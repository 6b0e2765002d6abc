"""ckgen smoke: run instances and compare them with float64."""

from __future__ import annotations

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.options import (
    PATH,
    asked_for,
    filters_argument,
    json_option,
    out_option,
    set_option,
    spec_option,
)
from ckgen.problems.sets import STANDARD_SETS

MAX_MACS = 40_000_000


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
    default=STANDARD_SETS,
    show_default=True,
    help="A bundled problem set, or a YAML file; may be given several times.",
)
@click.option("--split-k", "split_ks", type=int, multiple=True, help="Default: -1, 1, 2 and 7.")
@click.option("--max-macs", type=click.IntRange(1), default=MAX_MACS, show_default=True, help="Largest problem to run.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of tensor data and schedules.")
@click.option("--all-pairs", is_flag=True, help="Run every instance on every problem that it takes.")
@click.option(
    "--allow-uncovered",
    is_flag=True,
    help="Only count problems that no instance of a data type takes, instead of failing.",
)
@click.option("--brief", is_flag=True, help="Print one row per instance: its run closest to the tolerance.")
@json_option
@click.pass_context
def smoke_command(ctx: click.Context, /, **given: object) -> int:
    """Run instances on real problems and compare them with float64; exit 1 if any is wrong.

    The library is built first if necessary (see `ckgen build`); FILTER chooses the instances to run. Batch and image
    size of each problem are scaled down until it has at most --max-macs multiply-accumulates; channels, groups,
    filter, strides and pads are unchanged.

    \b
    Examples:
      ckgen smoke --set ci
      ckgen smoke --set ci '*wavelet*' dtype=f16 --problems retinanet --split-k 7
      ckgen smoke --library build/ci/host/libckgen_conv.so --json
    """
    from ckgen.cli.smoke_run import SmokeOptions, smoke

    options = SmokeOptions(**given, chosen=asked_for(ctx, ("spec", "set_name")))  # type: ignore[arg-type]
    return smoke(options)
