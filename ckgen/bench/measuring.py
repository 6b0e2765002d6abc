"""The work of `ckgen bench`: each worker measures jobs in its own child process and says where it did."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.bench.job import Job, Outcome, Settings
from ckgen.bench.origin import UNKNOWN
from ckgen.bench.worker import open_bench
from ckgen.cluster.child import ChildGone, ChildProcess
from ckgen.errors import CkgenError, Diagnostic
from ckgen.library.digest import check_library

CEILING_SECONDS = 300.0  # time to tell the machine, or to measure the ceilings


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: measure ``job`` and, once per worker, the ceilings for ``dtypes``. Without a job, only tell the
    machine."""

    job: Job | None = None
    limit_ms: float | None = None
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: host, device, driver and software of the worker, the references that it has, the ceilings and the
    outcome of the job."""

    machine: Mapping[str, str]
    references: tuple[str, ...]
    ceilings: Mapping[str, float]
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measure jobs of a library, which every worker has under the same path."""

    library: Path
    digest: str
    settings: Settings
    job_seconds: float
    alone: bool = True

    def check(self) -> None:
        """Raise CkgenError if the library is not here or is another one."""
        check_library(self.library, self.digest)

    def open(self) -> MeasureSession:
        """A session with its own child process."""
        return MeasureSession(self)


class MeasureSession:
    """Measures jobs of one library one after another."""

    def __init__(self, work: Measuring) -> None:
        self._seconds = work.job_seconds
        self._child = ChildProcess(open_bench, work.library, work.settings)
        self._machine: dict[str, str] = {}
        self._references: tuple[str, ...] = ()
        self._ceilings: dict[str, float] = {}
        self._tried: tuple[str, ...] = ()  # data types that a ceiling was asked for

    def __call__(self, request: Ask) -> Told:
        """Measure a job, or only tell the machine."""
        if not self._machine:
            told, references = self._tell("origin")
            self._machine = {"host": platform.node() or UNKNOWN, **told}
            self._references = tuple(references)
        if not set(request.dtypes) <= set(self._tried):
            self._ceilings, self._tried = self._tell("ceilings", list(request.dtypes)), request.dtypes
        outcome = None if request.job is None else self._measured(request.job, request.limit_ms)
        return Told(self._machine, self._references, self._ceilings, outcome)

    def close(self) -> None:
        """End the child process."""
        self._child.close()

    def _measured(self, job: Job, limit_ms: float | None) -> Outcome:
        try:
            outcome: Outcome = self._child.ask(self._seconds, "measure", job, limit_ms)
            return outcome
        except ChildGone as gone:
            return Outcome(gone.verdict, gone.message)

    def _tell(self, do: str, *given: object) -> Any:
        try:
            return self._child.ask(CEILING_SECONDS, do, *given)
        except ChildGone as gone:
            message = f"the bench worker did not start: {gone.message}"
            raise CkgenError((Diagnostic(None, "bench", message),), 1) from gone
