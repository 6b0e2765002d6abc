"""ckgen bench: time instances against each other, the reference and the roofline."""

from __future__ import annotations

import click

from ckgen.cli.common.declared import declared_by
from ckgen.cli.run.bench_options import BenchOptions


@click.command("bench", short_help="Time instances against each other, cuDNN and the roofline.")
@declared_by(BenchOptions)
def bench_command(options: BenchOptions) -> int:
    """Time instances on real problems and store every row; exit 1 if any instance is wrong, crashes or hangs.

    The library is built first if necessary (see `ckgen build`); FILTER chooses the instances to measure. A FILTER like
    "K64 C32 3x3 on 14x14 p1" is a problem to measure, instead of --problems. Each instance runs in a worker process
    with every split-K factor; its result is compared with a reference of higher precision before it is timed. An
    interrupted run continues where it stopped.

    `roofline` is the shortest possible time: the arithmetic at the measured matrix peak or the compulsory bytes at the
    measured bandwidth, whichever takes longer. D tensors of a function count as read once. If PassThrough was measured
    too, `over plain and D` is the time of a fused instance / (time of the best PassThrough instance + time of D's
    bytes at the measured bandwidth). The reference of a fused instance is PyTorch's gradient followed by PyTorch's own
    element-wise operations.

    \b
    Examples:
      ckgen bench --library libckgen_conv.so --platform nvidia --batch 32
      ckgen bench '*wavelet*' dtype=f16 --platform nvidia --split-k 1,4
      ckgen bench operation=grouped_conv_bwd_data function=PassThrough,AddResidual --platform nvidia
      ckgen bench --problems zoo --only part=fitted --only class=depthwise,grouped_tiny --sample 100 1
      ckgen bench --set ci --platform host --max-macs 1000000 --samples 1 3
      ckgen bench --set ci "K64 C32 3x3 on 14x14 p1" --samples 1 3
    """
    from ckgen.cli.run.bench_run import bench

    return bench(options)
