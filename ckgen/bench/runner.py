"""Measure a library: run each job in a worker process and store each row as soon as it is finished.

A job that crashes or hangs its worker loses only its own row; the next job gets a new worker. Rows that the store
already holds from the same machine, code and library are not measured again, so an interrupted run continues where it
stopped.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome, Settings
from ckgen.bench.origin import now
from ckgen.bench.store import Origin, ResultRow, Store, make_row
from ckgen.bench.worker_process import WorkerGone, WorkerProcess
from ckgen.errors import CkgenError, Diagnostic

Again = Literal["nothing", "failed", "all"]
START_SECONDS = 300.0  # time to load PyTorch and a large library, and to measure the ceilings


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run: seconds per job, and the number of crashes or timeouts after which the other jobs of an instance
    are skipped. An instance whose first sample takes ``give_up`` times as long as the best so
    far on the same problem and data type gets few samples."""

    job_seconds: float = 120.0
    crashes: int = 3
    give_up: float = 3.0


class BenchRun:
    """A measurement of one library into one store. Use it as a context manager, which ends its worker."""

    def __init__(self, library: Path, settings: Settings, store: Store, limits: Limits) -> None:
        self._library, self._settings, self._store, self._limits = library, settings, store, limits
        self._worker = WorkerProcess(library, settings)
        self._best: dict[tuple[str, str], float] = {}
        self._crashes: Counter[str] = Counter()
        self.left: list[Job] = []
        self.stored: list[ResultRow] = []

    def __enter__(self) -> BenchRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()

    def machine(self) -> tuple[dict[str, str], list[str]]:
        """Device, driver and software as the worker sees them, and the references that it has. Raise CkgenError if no
        worker can be started."""
        told, references = self._tell("origin")
        return told, list(references)

    def measure(self, jobs: Sequence[Job], origin: Origin, *, again: Again = "nothing") -> Iterator[ResultRow]:
        """Measure the jobs that are missing in the store and yield each row once it is stored.

        From the first step on, ``stored`` holds the rows of these jobs that existed before; at the end, ``left`` holds
        the jobs that the limits cut off. ``again`` selects the existing rows to ignore and measure again.
        """
        known = {row.key: row for row in self._store.rows(self._store.alike(origin))}
        self.stored = [known[job.key] for job in jobs if job.key in known and not _stale(known[job.key], again)]
        have = {row.key for row in self.stored}
        wanted = [job for job in jobs if job.key not in have]
        for row in self.stored:
            self._note_best(row)
        if not wanted:
            return
        dtypes = sorted({job.dtype for job in wanted})
        ceilings = self._tell("ceilings", dtypes)
        run_id = self._store.begin(dataclasses.replace(origin, ceilings=ceilings))
        for job in wanted:
            if self._crashes[job.name] >= self._limits.crashes:
                self.left.append(job)
                continue
            row = make_row(run_id, now(), job, self._outcome(job))
            self._store.append(row)
            self._note_best(row)
            yield row

    def _outcome(self, job: Job) -> Outcome:
        best = self._best.get((job.problem.name, job.dtype))
        limit_ms = None if best is None else best * self._limits.give_up
        try:
            outcome: Outcome = self._worker.ask(self._limits.job_seconds, "measure", job, limit_ms)
            return outcome
        except WorkerGone as gone:
            self._crashes[job.name] += 1
            return Outcome(gone.verdict, gone.message)

    def _note_best(self, row: ResultRow) -> None:
        if row.kind == "instance" and row.timed and row.ms is not None:
            key = row.problem_name, row.dtype
            self._best[key] = min(row.ms, self._best.get(key, math.inf))

    def _tell(self, do: str, *given: object) -> Any:
        try:
            return self._worker.ask(START_SECONDS, do, *given)
        except WorkerGone as gone:
            message = f"the bench worker did not start: {gone.message}"
            raise CkgenError((Diagnostic(None, "bench", message),), 1) from gone


def _stale(row: ResultRow, again: Again) -> bool:
    return again == "all" or (again == "failed" and not row.timed)


def failures(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows of instances that failed. A reference's verdict does not count as a failure."""
    return [row for row in rows if row.kind == "instance" and row.verdict != bench_job.OK]
