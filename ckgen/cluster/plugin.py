"""The part of a cluster that runs on each dask worker: it checks the worker, opens the work once and answers requests.

This module and `dask_pool` import dask; nothing imports them before a cluster is asked for.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from dataclasses import dataclass
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

import ckgen
from ckgen.cluster.work import Session, Work
from ckgen.errors import CkgenError

NAME = "ckgen"  # of the plugin: one ckgen at a time uses a cluster


@dataclass(frozen=True, slots=True)
class Failure:
    """A CkgenError on a worker, as plain data."""

    messages: tuple[tuple[str, str, str], ...]


class TakenOver(Exception):
    """Another ckgen began to use the cluster."""


class WorkPlugin(WorkerPlugin):  # type: ignore[misc]
    """A work on a dask worker."""

    name = NAME

    def __init__(self, token: str, version: str, work: Work[Any, Any]) -> None:
        self.token, self._version, self._work = token, version, work

    def setup(self, worker: Worker) -> None:
        """Check the worker. Raises RuntimeError, whose sentence reaches the user, if it must not take part."""
        if self._version != ckgen.__version__:
            raise RuntimeError(f"it has ckgen {ckgen.__version__}, this is ckgen {self._version}")
        threads = worker.state.nthreads
        if self._work.alone and threads != 1:
            raise RuntimeError(f"it has {threads} threads and would run as many rows at a time: use --nthreads 1")
        try:
            self._work.check()
        except CkgenError as error:
            raise RuntimeError("; ".join(diagnostic.message for diagnostic in error.diagnostics)) from None
        multiprocessing.current_process().daemon = False  # a worker of dask's nanny may else not start a child
        self._session: Session[Any, Any] | None = None
        self._lock = threading.Lock()

    def teardown(self, worker: Worker) -> None:
        """Close the session."""
        if getattr(self, "_session", None) is not None:
            assert self._session is not None
            self._session.close()

    def session(self) -> Session[Any, Any]:
        """The open work; the first call opens it."""
        with self._lock:
            self._session = self._session or self._work.open()
            return self._session


def perform(token: str, request: Any) -> Any:
    """Answer a request on a worker, or return a Failure."""
    plugin = get_worker().plugins.get(NAME)
    if plugin is None or plugin.token != token:
        raise TakenOver
    try:
        return plugin.session()(request)
    except CkgenError as error:
        said = tuple((diagnostic.rule, diagnostic.message, diagnostic.help) for diagnostic in error.diagnostics)
        return Failure(said)


def told_of(variable: str) -> tuple[str, str | None]:
    """The machine of a worker and the value of an environment variable there."""
    return os.uname().nodename, os.environ.get(variable)
