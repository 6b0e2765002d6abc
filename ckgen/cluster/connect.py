"""Connect to a dask cluster: one of this machine's processes, or the scheduler at an address."""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any

import ckgen
from ckgen.cluster.gpus import VARIABLES
from ckgen.cluster.interrupt import kept_interrupts
from ckgen.cluster.pool import Here, Pool
from ckgen.cluster.work import Answer, Request, Work
from ckgen.errors import CkgenError, Diagnostic

LOCAL = "local"
ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://\S+:\d+")
_ANSWER_SECONDS = 10.0  # for a scheduler to answer
_WORKER_SECONDS = 60.0  # for the first worker to come


@contextmanager
def pool_of(
    where: str | None,
    work: Work[Request, Answer],
    *,
    platform: str,
    hands: Sequence[Mapping[str, str]],
) -> Iterator[Pool[Request, Answer]]:
    """A pool for a work. ``where`` is None for this process, `local` for a cluster of this machine, or the address of
    a scheduler. A local cluster has one worker for each of ``hands``, which are the variables of its environment."""
    if where is None:
        here = Here(work)
        try:
            yield here
        finally:
            here.close()
        return
    with kept_interrupts() as check, connected(where, hands=hands) as client:
        from ckgen.cluster.dask_pool import DaskPool

        if work.alone:
            _refuse_shared_gpus(client, platform)
        pool = DaskPool(client, work, check)
        try:
            yield pool
        finally:
            pool.close()


@contextmanager
def connected(where: str, *, hands: Sequence[Mapping[str, str]], threads: int = 1) -> Iterator[Any]:
    """A client of the cluster. Raise CkgenError if dask is not installed, the scheduler does not answer, it has no
    worker, or it or a worker has another ckgen."""
    if importlib.util.find_spec("distributed") is None:
        message = "--cluster needs the package distributed (dask), which is not here"
        raise CkgenError([Diagnostic(None, "cluster", message, "pip install 'ckgen[cluster]'")])
    with ExitStack() as opened:
        address = opened.enter_context(_local(hands, threads)) if where == LOCAL else where
        client = opened.enter_context(_client(address))
        _refuse_other_versions(client, address)
        yield client


@contextmanager
def _client(address: Any) -> Iterator[Any]:
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        client = Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        help = f"start one with `dask scheduler`; the error was {type(error).__name__}: {error}"
        raise _error(f"no dask scheduler answers at {address}", help) from None
    try:
        try:
            client.wait_for_workers(1, timeout=_WORKER_SECONDS)
        except TimeoutError:
            help = f"start one per GPU, with --nthreads 1: `dask worker {address} --nthreads 1`"
            raise _error(f"the scheduler at {address} has no worker", help) from None
        yield client
    finally:
        with suppress(Exception):  # a scheduler that is gone cannot say goodbye
            client.close(timeout=_ANSWER_SECONDS)


@contextmanager
def _local(hands: Sequence[Mapping[str, str]], threads: int) -> Iterator[Any]:
    """A cluster of processes of this machine, which ends with the block."""
    from distributed import Nanny, Scheduler, SpecCluster

    own = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with TemporaryDirectory(prefix="ckgen-cluster-") as folder:
        quiet = {"silence_logs": logging.CRITICAL}
        options = {**own, **quiet, "nthreads": threads, "memory_limit": 0, "local_directory": folder}
        workers = {
            number: {"cls": Nanny, "options": {**options, "env": dict(environment)}}
            for number, environment in enumerate(hands)
        }
        scheduler = {"cls": Scheduler, "options": {**own, "port": 0}}
        with SpecCluster(workers, scheduler, silence_logs=logging.CRITICAL) as cluster:
            yield cluster


def _refuse_other_versions(client: Any, address: str) -> None:
    """Raise CkgenError if the scheduler or a worker has another ckgen or none. A function of Python's own library asks,
    because a task of ckgen could not be read there."""
    import pydoc

    asked = "ckgen.__version__"
    found = {"the scheduler": client.run_on_scheduler(pydoc.locate, asked), **client.run(pydoc.locate, asked)}
    for who, version in found.items():
        if version != ckgen.__version__:
            has = f"has ckgen {version}" if version else "has no ckgen"
            help = "install the same ckgen there"
            raise _error(f"{who} of the cluster {has}, this is ckgen {ckgen.__version__}", help)


def _refuse_shared_gpus(client: Any, platform: str) -> None:
    """Raise CkgenError if two workers of a machine would use the same GPU."""
    if platform not in VARIABLES:
        return
    from ckgen.cluster.plugin import told_of

    variable = VARIABLES[platform]
    seen: dict[tuple[str, str | None], str] = {}
    for worker, (machine, gpus) in client.run(told_of, variable).items():
        other = seen.setdefault((machine, gpus), worker)
        if other != worker:
            message = f"workers {other} and {worker} on {machine} use the same GPU: {variable} is {gpus or 'not set'}"
            raise _error(message, f"start each with its own: `{variable}=1 dask worker ... --nthreads 1`")


def _error(message: str, help: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "cluster", message, help)])
