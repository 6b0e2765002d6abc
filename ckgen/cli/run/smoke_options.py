"""Parameters of `ckgen smoke`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.cluster_option import cluster_option
from ckgen.cli.common.options import (
    PATH,
    filters_argument,
    json_option,
    out_option,
    problems_option,
    set_option,
    spec_option,
)
from ckgen.cli.common.split_k import FACTOR
from ckgen.problems.sets import STANDARD_SETS

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform

MAX_MACS = 40_000_000


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """Values of the command line; each field declares its parameter."""

    filters: Annotated[tuple[str, ...], filters_argument]
    spec: Annotated[Path, spec_option]
    set_name: Annotated[str, set_option("default")]
    out: Annotated[Path, out_option]
    platform: Annotated["Platform", platform_option]
    archs: Annotated[tuple[str, ...], arch_option]
    jobs: Annotated[int, jobs_option]
    options: Annotated[tuple[str, ...], define_option]
    library: Annotated[
        Path | None, click.option("--library", type=PATH, help="Check this library instead of building one.")
    ]
    problems: Annotated[tuple[str, ...], problems_option(*STANDARD_SETS)]
    split_ks: Annotated[
        tuple[int, ...],
        click.option("--split-k", "split_ks", type=FACTOR, multiple=True, help="Default: -1, 1, 2 and 7."),
    ]
    max_macs: Annotated[
        int,
        click.option(
            "--max-macs", type=click.IntRange(1), default=MAX_MACS, show_default=True, help="Largest problem to run."
        ),
    ]
    seed: Annotated[
        int,
        click.option(
            "--seed",
            type=click.IntRange(0, 2**64 - 1),
            default=1,
            show_default=True,
            help="Seed of tensor data and schedules.",
        ),
    ]
    all_pairs: Annotated[
        bool, click.option("--all-pairs", is_flag=True, help="Run every instance on every problem that it takes.")
    ]
    allow_uncovered: Annotated[
        bool,
        click.option(
            "--allow-uncovered",
            is_flag=True,
            help="Only count problems that no instance of a data type takes, instead of failing.",
        ),
    ]
    emulate: Annotated[
        bool,
        click.option(
            "--emulate",
            is_flag=True,
            help="amd: run the machine code on this CPU, see docs/emulator.md; no GPU needed.",
        ),
    ]
    brief: Annotated[
        bool,
        click.option("--brief", is_flag=True, help="Print one row per instance: its run closest to the tolerance."),
    ]
    cluster: Annotated[str | None, cluster_option("the runs")]
    as_json: Annotated[bool, json_option]
