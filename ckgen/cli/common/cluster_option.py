"""The option --cluster, and the pool that it asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ckgen.cluster.pool import Pool
    from ckgen.cluster.work import Answer, Request, Work

_LOCAL = "local"
_FORM = "is not N or a scheduler's address, as tcp://host:8786; before a FILTER, write --cluster=local"


def _checked(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from ckgen.cluster.connect import ADDRESS

    if value is None or value == _LOCAL or ADDRESS.fullmatch(value) or (value.isdecimal() and int(value) > 0):
        return value
    raise click.BadParameter(f"{value!r} {_FORM}", ctx, parameter)


def cluster_option(what: str) -> Callable[[Any], Any]:
    """--cluster [N|ADDRESS]: spread ``what`` over a dask cluster."""
    return click.option(
        "--cluster",
        is_flag=False,
        flag_value=_LOCAL,
        default=None,
        metavar="[N|ADDRESS]",
        callback=_checked,
        help=f"Spread {what} over the workers of a dask scheduler (tcp://host:8786), or over N workers of this "
        "machine; without a value one per GPU, host: one per core. See docs/cluster.md.",
    )


def open_pool(
    cluster: str | None, work: Work[Request, Answer], platform: str
) -> AbstractContextManager[Pool[Request, Answer]]:
    """The pool that the option asks for; without the option, this process alone."""
    from ckgen.cluster.connect import LOCAL, pool_of

    local = cluster is not None and (cluster == _LOCAL or cluster.isdecimal())
    hands = local_hands(cluster or "", platform) if local else []
    return pool_of(LOCAL if local else cluster, work, platform=platform, hands=hands)


def local_hands(cluster: str, platform: str) -> Sequence[Mapping[str, str]]:
    """Per worker of a cluster of this machine, the variables of its environment. Raise UsageError if it has too few
    GPUs."""
    from ckgen.cluster.gpus import VARIABLES, pins

    if platform not in VARIABLES:
        return [{}] * (int(cluster) if cluster.isdecimal() else os.cpu_count() or 1)
    gpus = pins(platform, os.environ)
    wanted = int(cluster) if cluster.isdecimal() else max(1, len(gpus))
    if wanted > len(gpus):
        raise click.UsageError(f"--cluster: {wanted} workers need as many GPUs, and this machine has {len(gpus)}")
    return gpus[:wanted]
