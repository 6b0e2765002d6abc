"""ckgen bench: time instances against each other, the reference and the roofline."""

from __future__ import annotations

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.options import PATH, asked_for, filters_argument, json_option, out_option, set_option, spec_option
from ckgen.cli.common.store_option import store_option


@click.command("bench", short_help="Time instances against each other, cuDNN and the floor.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@platform_option
@arch_option
@jobs_option
@define_option
@click.option("--library", type=PATH, help="Measure this library instead of building one.")
@click.option("--tree", type=PATH, help="With --library: the tree it was built from, for sets and spec digest.")
@click.option(
    "--problems",
    multiple=True,
    metavar="NAME|FILE",
    default=("retinanet",),
    show_default=True,
    help="A problem set that comes with ckgen, or a YAML file; may be given several times.",
)
@click.option("--batch", type=click.IntRange(1), help="Another batch size for all problems.")
@click.option("--max-macs", type=click.IntRange(1), help="Scale problems down to this size, as `ckgen smoke` does.")
@click.option("--split-k", "split_ks", multiple=True, metavar="N[,N...]", help="Default: -1,1,2,4,8,16,32.")
@click.option("--no-reference", is_flag=True, help="Do not measure cuDNN (amd: MIOpen).")
@store_option
@click.option(
    "--again",
    type=click.Choice(["nothing", "failed", "all"]),
    default="nothing",
    show_default=True,
    help="What to measure again of what the store has from this library and machine.",
)
@click.option(
    "--cache",
    type=click.Choice(["flush", "rotate", "warm"]),
    default="flush",
    show_default=True,
    help="Before each sample: flush the cache, take other copies of the tensors, or nothing.",
)
@click.option("--warm-up", type=click.IntRange(1), default=3, show_default=True, help="Runs before the first sample.")
@click.option(
    "--samples",
    type=(click.IntRange(1), click.IntRange(1)),
    default=(7, 50),
    show_default=True,
    metavar="MIN MAX",
    help="How many, as far as they fit into --sample-ms.",
)
@click.option("--sample-ms", type=float, default=20.0, show_default=True, help="Time for the samples of one row.")
@click.option("--job-seconds", type=float, default=120.0, show_default=True, help="After this a row is a timeout.")
@click.option("--total-seconds", type=float, help="Stop then; the next run with this --store goes on.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the tensors' contents.")
@click.option("--commit", metavar="TEXT", help="Noted with the rows; default: what git says.")
@click.option("--compiler", metavar="TEXT", help="Noted with the rows; default: what CMake or the library says.")
@json_option
@click.pass_context
def bench_command(ctx: click.Context, /, **given: object) -> int:
    """Time instances on real problems and keep every row; exit 1 if any instance is wrong, crashes or hangs.

    The library is built first where that is needed (see `ckgen build`); FILTER then says which of its
    instances are measured. Each runs in a worker process with every split-K factor, is compared with a
    reference of higher precision and then timed. A run that was ended goes on where it stopped.

    The floor is the arithmetic at the measured matrix peak or the least traffic at the measured bandwidth, whichever
    takes longer; D tensors of a function are part of that traffic, each read once. Where PassThrough was measured
    too, `over plain and D` is a fused instance's time over that of the best plain one and of D's bytes. The
    reference of a fused one is PyTorch's gradient followed by PyTorch's own element-wise operations.

    \b
    Examples:
      ckgen bench --library libckgen_conv.so --platform nvidia --batch 32
      ckgen bench '*wavelet*' dtype=f16 --platform nvidia --split-k 1,4
      ckgen bench operation=grouped_conv_bwd_data function=PassThrough,AddResidual --platform nvidia
      ckgen bench --set ci --platform host --max-macs 1000000 --samples 1 3
    """
    from ckgen.cli.bench_run import BenchOptions, bench

    options = BenchOptions(**given, chosen=asked_for(ctx, ("spec", "set_name")))  # type: ignore[arg-type]
    return bench(options)
