"""ckgen smoke: run instances and compare them with float64."""

from __future__ import annotations

import click

from ckgen.cli.common.declared import declared_by
from ckgen.cli.run.smoke_options import SmokeOptions


@click.command("smoke", short_help="Run instances and compare them with float64.")
@declared_by(SmokeOptions)
def smoke_command(options: SmokeOptions) -> int:
    """Run instances on real problems and compare them with float64; exit 1 if any is wrong.

    The library is built first if necessary (see `ckgen build`); where there is neither a spec nor a generated tree,
    it is the one that came with ckgen, which needs no compiler. FILTER chooses the instances to run; a FILTER
    like "K64 C32 3x3 on 14x14 p1" is a problem to run, instead of --problems. Batch and image
    size of each problem are scaled down until it has at most --max-macs multiply-accumulates; channels, groups,
    filter, strides and pads are unchanged.

    \b
    Examples:
      ckgen smoke --set ci
      ckgen smoke --set ci "K64 C32 3x3 on 14x14 p1"
      ckgen smoke --set ci '*wavelet*' dtype=f16 --problems retinanet --split-k 7
      ckgen smoke --platform amd --arch gfx942 --emulate --set ci 'family=xdl' --brief
      ckgen smoke --library build/ci/host/libckgen_conv.so --json
    """
    from ckgen.cli.run.smoke_run import smoke

    return smoke(options)
