"""Parameters of `ckgen build`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.cluster_option import cluster_option
from ckgen.cli.common.options import filters_argument, json_option, out_option, set_option, spec_option

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``number`` of ``count``, from 1."""

    number: int
    count: int


def _shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    """Read I/N with 1 <= I <= N."""
    if value is None:
        return None
    number, _, count = value.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return Shard(int(number), int(count))
    raise click.BadParameter(f"{value!r} is not I/N with I from 1 to N", ctx, parameter)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Values of the command line; each field declares its parameter."""

    filters: Annotated[tuple[str, ...], filters_argument]
    spec: Annotated[Path, spec_option]
    set_name: Annotated[str, set_option("default")]
    out: Annotated[Path, out_option]
    platform: Annotated["Platform", platform_option]
    archs: Annotated[tuple[str, ...], arch_option]
    jobs: Annotated[int, jobs_option]
    options: Annotated[tuple[str, ...], define_option]
    launcher: Annotated[
        str | None,
        click.option(
            "--launcher", metavar="PROGRAM", help="A program that starts each compiler, as ccache or sccache."
        ),
    ]
    plan: Annotated[
        bool,
        click.option("--plan", is_flag=True, help="Compile nothing: print the compiler runs, their time and memory."),
    ]
    shards: Annotated[
        int | None,
        click.option(
            "--shards", type=click.IntRange(1), metavar="N", help="With --plan: write N lists of sources of equal cost."
        ),
    ]
    shard: Annotated[
        Shard | None,
        click.option("--shard", callback=_shard, metavar="I/N", help="Compile only the objects of one of N shards."),
    ]
    cluster: Annotated[str | None, cluster_option("the compiler runs")]
    as_json: Annotated[bool, json_option]
