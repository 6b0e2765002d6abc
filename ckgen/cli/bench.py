"""ckgen bench: time instances against each other, the reference and the roofline."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.declared import declared_by
from ckgen.cli.common.options import (
    PATH,
    filters_argument,
    json_option,
    out_option,
    problems_option,
    set_option,
    spec_option,
)
from ckgen.cli.common.store_option import store_option

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The command line of `ckgen bench`."""

    filters: Annotated[tuple[str, ...], filters_argument]
    spec: Annotated[Path, spec_option]
    set_name: Annotated[str, set_option("default")]
    out: Annotated[Path, out_option]
    platform: Annotated["Platform", platform_option]
    archs: Annotated[tuple[str, ...], arch_option]
    jobs: Annotated[int, jobs_option]
    options: Annotated[tuple[str, ...], define_option]
    library: Annotated[
        Path | None, click.option("--library", type=PATH, help="Measure this library instead of building one.")
    ]
    tree: Annotated[
        Path | None,
        click.option(
            "--tree", type=PATH, help="With --library: the tree that it was built from, for sets and spec digest."
        ),
    ]
    problems: Annotated[tuple[str, ...], problems_option("retinanet")]
    batch: Annotated[
        int | None,
        click.option("--batch", type=click.IntRange(1), help="Batch size of all problems, instead of their own."),
    ]
    max_macs: Annotated[
        int | None,
        click.option(
            "--max-macs", type=click.IntRange(1), help="Scale problems down to this size, as `ckgen smoke` does."
        ),
    ]
    split_ks: Annotated[
        tuple[str, ...],
        click.option("--split-k", "split_ks", multiple=True, metavar="N[,N...]", help="Default: -1,1,2,4,8,16,32."),
    ]
    no_reference: Annotated[
        bool, click.option("--no-reference", is_flag=True, help="Do not measure cuDNN (amd: MIOpen).")
    ]
    store: Annotated[Path, store_option]
    again: Annotated[
        Literal["nothing", "failed", "all"],
        click.option(
            "--again",
            type=click.Choice(["nothing", "failed", "all"]),
            default="nothing",
            show_default=True,
            help="Which stored rows of this library and machine to measure again.",
        ),
    ]
    cache: Annotated[
        Literal["flush", "warm"],
        click.option(
            "--cache",
            type=click.Choice(["flush", "warm"]),
            default="flush",
            show_default=True,
            help="Before each sample: flush the cache, or do nothing.",
        ),
    ]
    samples: Annotated[
        tuple[int, int],
        click.option(
            "--samples",
            type=(click.IntRange(1), click.IntRange(1)),
            default=(7, 50),
            show_default=True,
            metavar="MIN MAX",
            help="Number of samples per row, as far as they fit into --sample-ms.",
        ),
    ]
    sample_ms: Annotated[
        float,
        click.option(
            "--sample-ms", type=float, default=20.0, show_default=True, help="Time for the samples of one row."
        ),
    ]
    job_seconds: Annotated[
        float,
        click.option("--job-seconds", type=float, default=120.0, show_default=True, help="Time limit per row."),
    ]
    commit: Annotated[
        str | None, click.option("--commit", metavar="TEXT", help="Commit to store with the rows; default: from git.")
    ]
    as_json: Annotated[bool, json_option]


@click.command("bench", short_help="Time instances against each other, cuDNN and the roofline.")
@declared_by(BenchOptions)
def bench_command(options: BenchOptions) -> int:
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
      ckgen bench --set ci --platform host --max-macs 1000000 --samples 1 3
    """
    from ckgen.cli.bench_run import bench

    return bench(options)
