"""ckgen bench: time instances against each other, the reference and the roofline."""

from __future__ import annotations

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.options import PATH, asked_for, filters_argument, json_option, out_option, set_option, spec_option
from ckgen.cli.common.store_option import store_option


@click.command("bench", short_help="Time instances against each other, cuDNN and the roofline.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@platform_option
@arch_option
@jobs_option
@define_option
@click.option("--library", type=PATH, help="Measure this library instead of building one.")
@click.option("--tree", type=PATH, help="With --library: the tree that it was built from, for sets and spec digest.")
@click.option(
    "--problems",
    multiple=True,
    metavar="NAME|FILE",
    default=("retinanet",),
    show_default=True,
    help="A bundled problem set, or a YAML file; may be given several times.",
)
@click.option(
    "--only",
    "terms",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only problems with this part, class, model or name (a glob, or several with commas).",
)
@click.option("--sample", type=click.IntRange(1), help="At most this many problems: a share of each class and part.")
@click.option("--batch", type=click.IntRange(1), help="Batch size of all problems, instead of their own.")
@click.option("--max-macs", type=click.IntRange(1), help="Scale problems down to this size, as `ckgen smoke` does.")
@click.option("--split-k", "split_ks", multiple=True, metavar="N[,N...]", help="Default: -1,1,2,4,8,16,32.")
@click.option("--no-reference", is_flag=True, help="Do not measure cuDNN (amd: MIOpen).")
@store_option
@click.option(
    "--again",
    type=click.Choice(["nothing", "failed", "all"]),
    default="nothing",
    show_default=True,
    help="Which stored rows of this library and machine to measure again.",
)
@click.option(
    "--cache",
    type=click.Choice(["flush", "rotate", "warm"]),
    default="flush",
    show_default=True,
    help="Before each sample: flush the cache, switch to other copies of the tensors, or do nothing.",
)
@click.option("--warm-up", type=click.IntRange(1), default=3, show_default=True, help="Runs before the first sample.")
@click.option(
    "--samples",
    type=(click.IntRange(1), click.IntRange(1)),
    default=(7, 50),
    show_default=True,
    metavar="MIN MAX",
    help="Number of samples per row, as far as they fit into --sample-ms.",
)
@click.option("--sample-ms", type=float, default=20.0, show_default=True, help="Time for the samples of one row.")
@click.option("--job-seconds", type=float, default=120.0, show_default=True, help="Time limit per row.")
@click.option("--total-seconds", type=float, help="Time limit of the run; the next one with this --store continues.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the tensors' contents and of --sample.",
)
@click.option("--commit", metavar="TEXT", help="Commit to store with the rows; default: from git.")
@click.option("--compiler", metavar="TEXT", help="Compiler to store with the rows; default: from CMake or the library.")
@json_option
@click.pass_context
def bench_command(ctx: click.Context, /, **given: object) -> int:
    """Time instances on real problems and store every row; exit 1 if any instance is wrong, crashes or hangs.

    The library is built first if necessary (see `ckgen build`); FILTER chooses the instances to measure. Each instance
    runs in a worker process with every split-K factor; its result is compared with a reference of higher precision
    before it is timed. An interrupted run continues where it stopped.

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
      ckgen bench --problems zoo --only part=fitted --only class=depthwise,grouped_tiny --sample 100
      ckgen bench --set ci --platform host --max-macs 1000000 --samples 1 3
    """
    from ckgen.cli.bench_run import BenchOptions, bench

    options = BenchOptions(**given, chosen=asked_for(ctx, ("spec", "set_name")))  # type: ignore[arg-type]
    return bench(options)
