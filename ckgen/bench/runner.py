"""Measure a library: spread the jobs over the workers of a pool and store each row as soon as it is finished.

A job that crashes or hangs its worker loses only its own row; the next job gets a new child process. Rows that the
store already holds from the same machine, code and library, with at least as many samples, are not measured again, so
an interrupted run continues where it stopped.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome
from ckgen.bench.measuring import Ask, Told
from ckgen.bench.origin import now
from ckgen.bench.store import Origin, ResultRow, Store, make_row
from ckgen.cluster.pool import Pool
from ckgen.errors import CkgenError, Diagnostic

Again = Literal["nothing", "failed", "all"]
_SAMPLING = ("warm_up", "min_samples", "max_samples", "sample_ms")  # settings: more of any is a better measurement
_FIXED_COST = 10_000_000  # of a row, in multiply-accumulates: its tensors, its reference, its least samples


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run: seconds per job, and the number of crashes or timeouts after which the other jobs of an instance
    are skipped. An instance whose first sample takes ``give_up`` times as long as the best so far on the same problem,
    operation, function and data type gets few samples."""

    job_seconds: float = 120.0
    crashes: int = 3
    give_up: float = 3.0


class BenchRun:
    """A measurement of one library on the workers of ``pool`` into one store."""

    def __init__(self, pool: Pool[Ask, Told], store: Store, limits: Limits) -> None:
        self._pool, self._store, self._limits = pool, store, limits
        self._best: dict[tuple[str, ...], float] = {}
        self._crashes: Counter[str] = Counter()
        self._run_ids: dict[tuple[object, ...], int] = {}
        self._machine: Mapping[str, str] = {}
        self.left: list[Job] = []
        self.stored: list[ResultRow] = []

    def machine(self) -> tuple[dict[str, str], list[str]]:
        """Device, driver and software as the workers see them, and the references that they have. Raise CkgenError if
        a worker cannot be started, or two workers have other devices."""
        told = list(self._pool.everywhere(Ask()).values())
        for answer in told:
            self._refuse_other_device(answer.machine)
        return dict(told[0].machine), list(told[0].references)

    def measure(self, jobs: Sequence[Job], origin: Origin, *, again: Again = "nothing") -> Iterator[ResultRow]:
        """Measure the jobs that are missing in the store and yield each row once it is stored.

        From the first step on, ``stored`` holds the rows of these jobs that existed before; at the end, ``left`` holds
        the jobs that the limits cut off. ``again`` selects the existing rows to ignore and measure again.
        """
        known = {row.key: row for row in self._store.rows(self._usable_runs(origin))}
        self.stored = [known[job.key] for job in jobs if job.key in known and not _stale(known[job.key], again)]
        have = {row.key for row in self.stored}
        wanted = [job for job in jobs if job.key not in have]
        for row in self.stored:
            self._note_best(row)
        if not wanted:
            return
        dtypes = tuple(sorted({job.dtype for job in wanted}))
        answers = self._pool.spread(
            wanted,
            lambda job: self._request(job, dtypes),
            self._lost,
            cost=_cost,
            group=lambda job: job.problem.problem,
        )
        for job, told in answers:
            assert told.outcome is not None, "a job was asked for"
            row = make_row(self._run_of(origin, told), now(), job, told.outcome)
            self._store.append(row)
            self._crashes[job.name] += row.verdict in (bench_job.CRASHED, bench_job.TIMEOUT)
            self._note_best(row)
            yield row

    def _usable_runs(self, origin: Origin) -> list[int]:
        """The runs that measured the same thing as ``origin``, with samples that are not fewer."""
        runs, wanted = self._store.runs(), _sampling(origin)
        return [
            number
            for number in self._store.alike(origin)
            if all(have >= want for have, want in zip(_sampling(runs[number]), wanted, strict=True))
        ]

    def _request(self, job: Job, dtypes: tuple[str, ...]) -> Ask | None:
        """The request for a job; None if its instance has crashed too often."""
        if self._crashes[job.name] >= self._limits.crashes:
            self.left.append(job)
            return None
        best = self._best.get((str(job.problem.problem), job.operation, job.function, job.dtype))
        return Ask(job, None if best is None else best * self._limits.give_up, dtypes)

    def _lost(self, job: Job, message: str) -> Told:
        """The answer for a job that ended several workers, so that none could tell its machine."""
        return Told(self._machine, (), {}, Outcome(bench_job.CRASHED, message))

    def _run_of(self, origin: Origin, told: Told) -> int:
        """The number of the run that a worker's rows belong to: workers with other ceilings have other runs."""
        key = (*told.machine.items(), *told.ceilings.items())
        if key not in self._run_ids:
            self._refuse_other_device(told.machine)
            where: dict[str, Any] = {what: told.machine[what] for what in ("host", "software") if what in told.machine}
            self._run_ids[key] = self._store.begin(dataclasses.replace(origin, ceilings=dict(told.ceilings), **where))
        return self._run_ids[key]

    def _refuse_other_device(self, machine: Mapping[str, str]) -> None:
        """Raise CkgenError for a worker whose times cannot be compared with those of the others."""
        first = self._machine = self._machine or machine
        for what in ("device", "driver"):
            if machine.get(what) != first.get(what):
                message = f"the workers differ: {what} {first.get(what)} and {what} {machine.get(what)}"
                raise CkgenError([Diagnostic(None, "cluster", message, "measure one kind of device at a time")])

    def _note_best(self, row: ResultRow) -> None:
        if row.kind == "instance" and row.timed and row.ms is not None:
            key = row.problem, row.operation, row.function, row.dtype
            self._best[key] = min(row.ms, self._best.get(key, math.inf))


def _sampling(origin: Origin) -> list[float]:
    """The numbers that say how much was measured; 0 where they are missing."""
    found = (origin.settings.get(name) for name in _SAMPLING)
    return [value if isinstance(value, int | float) else 0 for value in found]


def _cost(job: Job) -> float:
    return job.problem.problem.flops / 2 + _FIXED_COST


def _stale(row: ResultRow, again: Again) -> bool:
    return again == "all" or (again == "failed" and not row.timed)


def failures(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows of instances that failed. A reference's verdict does not count as a failure."""
    return [row for row in rows if row.kind == "instance" and row.verdict != bench_job.OK]
