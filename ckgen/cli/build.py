"""ckgen build: compile a library for the host or for GPUs."""

from __future__ import annotations

import click

from ckgen.cli.common.declared import declared_by
from ckgen.cli.run.build_options import BuildOptions


@click.command("build", short_help="Compile a library for the host or for GPUs.")
@declared_by(BuildOptions)
def build_command(options: BuildOptions) -> int:
    """Compile a library and print its path. For FILTER see `ckgen list --help`.

    Without FILTER, --set and --spec, builds the generated tree in --out. With any of these, generates the chosen
    instances below build/ first. Compiles only what changed.

    The forecasts of --plan are CPU seconds of the machine that they were measured on; see docs/cluster.md.

    \b
    Examples:
      ckgen build --platform host --set ci
      ckgen build --platform amd --arch gfx90a
      ckgen build family=wavelet --platform amd --arch gfx942 --arch gfx950
      ckgen build --platform nvidia --arch sm_80 --arch sm_90a
      ckgen build --platform host --launcher ccache
      ckgen build --platform amd --arch gfx942 --plan --shards 4 --jobs 16
      ckgen build --platform amd --arch gfx942 --shard 1/4 --launcher sccache
      ckgen build --platform amd --arch gfx942 --cluster tcp://head:8786
    """
    from ckgen.cli.run.build_run import build

    return build(options)
