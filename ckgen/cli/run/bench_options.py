"""Parameters of `ckgen bench`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from ckgen.cli.common.build_options import arch_option, define_option, jobs_option, platform_option
from ckgen.cli.common.cluster_option import cluster_option
from ckgen.cli.common.options import (
    PATH,
    Positive,
    filters_argument,
    json_option,
    out_option,
    problems_option,
    set_option,
    spec_option,
)
from ckgen.cli.common.split_k import Factors
from ckgen.cli.common.store_option import store_option
from ckgen.selection.time_model import MOST_SPLITS

if TYPE_CHECKING:
    from ckgen.build.cmake import Platform


@dataclass(frozen=True, slots=True)
class BenchOptions:
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
        Path | None, click.option("--library", type=PATH, help="Measure this library instead of building one.")
    ]
    tree: Annotated[
        Path | None,
        click.option(
            "--tree", type=PATH, help="With --library: the tree that it was built from, for sets and spec digest."
        ),
    ]
    problems: Annotated[tuple[str, ...], problems_option("retinanet")]
    terms: Annotated[
        tuple[str, ...],
        click.option(
            "--only",
            "terms",
            multiple=True,
            metavar="KEY=VALUE",
            help="Only problems with this part, class, model or name (a glob, or several with commas).",
        ),
    ]
    sample: Annotated[
        tuple[int, int] | None,
        click.option(
            "--sample",
            type=(click.IntRange(1), click.IntRange(0)),
            metavar="COUNT SEED",
            help="A random sample of so many problems, with an equal share of each class and part.",
        ),
    ]
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
        tuple[tuple[int, ...], ...],
        click.option(
            "--split-k",
            "split_ks",
            type=Factors(),
            multiple=True,
            metavar="N[,N...]",
            help=f"-1 (the library chooses) or up to {MOST_SPLITS}. Default: -1,1,2,4,8,16,32.",
        ),
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
            "--sample-ms", type=Positive(1e6), default=20.0, show_default=True, help="Time for the samples of one row."
        ),
    ]
    job_seconds: Annotated[
        float,
        click.option("--job-seconds", type=Positive(1e6), default=120.0, show_default=True, help="Time limit per row."),
    ]
    commit: Annotated[
        str | None, click.option("--commit", metavar="TEXT", help="Commit to store with the rows; default: from git.")
    ]
    cluster: Annotated[str | None, cluster_option("the rows")]
    as_json: Annotated[bool, json_option]
