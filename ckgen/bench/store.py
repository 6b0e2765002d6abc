"""The results store: one SQLite file with runs (place, time, software) and the rows measured in each.

Each row is committed separately, so a killed run loses no finished row. The file names ckgen and the version of its
schema. Other versions are refused, not migrated: measuring again is cheap, misreading rows is costly.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckgen.bench.job import Job, Outcome
from ckgen.bench.store_check import ResultCheck, damaged
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError, Diagnostic
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS

SCHEMA_VERSION = 2
APPLICATION_ID = 0x636B6762  # "ckgb", in the file's header

_SCHEMA = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, host TEXT NOT NULL, platform TEXT NOT NULL, device TEXT NOT NULL,
    driver TEXT NOT NULL, software TEXT NOT NULL, compiler TEXT NOT NULL, commit_id TEXT NOT NULL,
    spec_digest TEXT NOT NULL, library_digest TEXT NOT NULL, tool_version TEXT NOT NULL, settings TEXT NOT NULL,
    ceilings TEXT NOT NULL);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs (id), measured TEXT NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, dtype TEXT NOT NULL, problem_name TEXT NOT NULL, problem TEXT NOT NULL,
    problem_fields TEXT NOT NULL, published_uplift REAL, split_k INTEGER, automatic INTEGER NOT NULL,
    flops INTEGER NOT NULL, least_bytes INTEGER NOT NULL, verdict TEXT NOT NULL, message TEXT NOT NULL, ms REAL,
    ms_min REAL, ms_q1 REAL, ms_q3 REAL, samples INTEGER NOT NULL, max_error REAL, tolerance REAL,
    workspace_bytes INTEGER, operation TEXT NOT NULL, function TEXT NOT NULL);
CREATE INDEX rows_of_run ON rows (run_id);
"""
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the latter if the text of SQLite's error is damaged
_IDENTITY = ("platform", "device", "driver", "commit_id", "spec_digest", "library_digest")
_JSON = ("settings", "ceilings", "problem_fields")


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of rows. Two runs with equal `identity` and cache mode measure the same thing.

    ``host`` is the machine's network name; ``spec_digest`` and ``library_digest`` are SHA-256 in hex; ``settings`` says
    how samples were taken; ``ceilings`` holds the measured bytes/s (`bytes`) and FLOP/s per data type.
    """

    started: str
    host: str
    platform: str
    device: str
    driver: str
    software: str
    compiler: str
    commit_id: str
    spec_digest: str
    library_digest: str
    tool_version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    ceilings: Mapping[str, float] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, ...]:
        """Values that must be equal for a row to count as already measured."""
        return (*(str(getattr(self, name)) for name in _IDENTITY), str(self.settings.get("cache")))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One stored measurement: a job, its outcome, and the number of its run. Times are in milliseconds."""

    run_id: int
    measured: str
    kind: str
    name: str
    dtype: str
    problem_name: str
    problem: str
    problem_fields: Mapping[str, Any]
    published_uplift: float | None
    split_k: int | None
    automatic: bool
    flops: int
    least_bytes: int
    verdict: str
    message: str
    ms: float | None
    ms_min: float | None
    ms_q1: float | None
    ms_q3: float | None
    samples: int
    max_error: float | None
    tolerance: float | None
    workspace_bytes: int | None
    operation: str = DEFAULT_OPERATION
    function: str = PASS_THROUGH

    @property
    def key(self) -> tuple[object, ...]:
        """The key of the job, see ``Job.key``."""
        return self.kind, self.name, self.operation, self.function, self.dtype, self.problem, self.split_k

    @property
    def timed(self) -> bool:
        """True if the row's time counts: the result is correct, or the row is a reference's."""
        return self.ms is not None and self.verdict in ("ok", "inexact")


ORIGIN_FIELDS = tuple(item.name for item in dataclasses.fields(Origin))
ROW_FIELDS = tuple(item.name for item in dataclasses.fields(ResultRow))


def make_row(run_id: int, measured: str, job: Job, outcome: Outcome) -> ResultRow:
    """The row of a job with its outcome, measured at the time ``measured``. It has no number where the outcome has
    NaN, as the error of a result that is not finite."""
    named = job.problem
    told: dict[str, Any] = dataclasses.asdict(outcome)
    told |= {name: None for name, value in told.items() if value != value}
    return ResultRow(
        run_id=run_id,
        measured=measured,
        kind=job.kind,
        name=job.name,
        dtype=job.dtype,
        problem_name=named.name,
        problem=str(named.problem),
        problem_fields=_plain(dataclasses.asdict(named.problem)),
        published_uplift=named.published_uplift,
        split_k=job.split_k,
        automatic=job.automatic,
        flops=named.problem.flops,
        least_bytes=OPERATIONS[job.operation].compulsory_bytes(named.problem, job.dtype) + job.d_bytes,
        operation=job.operation,
        function=job.function,
        **told,
    )


class Store:
    """An open results file. Raises CkgenError when the file belongs to another program or schema version."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self._check = ResultCheck()
        if not create and not path.exists():
            raise _refused(f"there are no results in {path}", "`ckgen bench` writes them")
        try:
            self._database = sqlite3.connect(path)
            self._open()
        except _SQLITE_ERRORS as error:
            raise _refused(f"{path}: {error}", "name another file") from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, origin: Origin) -> int:
        """Add a new run and return its number."""
        return self._insert("runs", ORIGIN_FIELDS, origin)

    def append(self, row: ResultRow) -> None:
        """Store a row; it is on disk when this returns. Raise CkgenError for a row that could not be read back."""
        if wrong := self._check.row({name: getattr(row, name) for name in ROW_FIELDS}):
            message = f"{self.path}: a row of {row.name} on {row.problem_name} cannot be stored: {wrong}"
            raise _refused(message, "what was measured before is kept: measure without this problem or instance")
        self._insert("rows", ROW_FIELDS, row)

    def runs(self) -> dict[int, Origin]:
        """All runs by number, oldest first."""
        found = self._read("runs", ORIGIN_FIELDS, "", (), self._check.origin)
        return {number: Origin(**values) for number, values in found}

    def alike(self, origin: Origin) -> list[int]:
        """Numbers of the runs that measured the same thing as ``origin``, oldest first."""
        return [run for run, other in self.runs().items() if other.identity == origin.identity]

    def rows(self, runs: Collection[int]) -> list[ResultRow]:
        """The rows of these runs, in the order of measurement; for a job that was measured more than once, its last
        row."""
        where = f"WHERE run_id IN ({', '.join('?' * len(runs))})"
        found = self._read("rows", ROW_FIELDS, where, tuple(runs), self._check.row)
        return list({row.key: row for row in (ResultRow(**values) for _, values in found)}.values())

    def _read(
        self, table: str, names: tuple[str, ...], where: str, given: tuple[int, ...], check: Callable[[Any], str]
    ) -> list[tuple[int, dict[str, Any]]]:
        """The rows of a table by number. Raise CkgenError at the first row that is damaged."""
        found = []
        try:
            for number, *line in self._database.execute(
                f"SELECT id, {', '.join(names)} FROM {table} {where} ORDER BY id", given
            ):
                values = _decoded(names, tuple(line))
                if wrong := check(values):
                    raise damaged(self.path, f"line {number} of table `{table}`: {wrong}")
                found.append((number, values))
        except _SQLITE_ERRORS as error:
            raise damaged(self.path, f"table `{table}`: {error}") from error
        return found

    def _insert(self, table: str, names: tuple[str, ...], item: object) -> int:
        values = [getattr(item, name) for name in names]
        texts = [json.dumps(v) if name in _JSON else v for name, v in zip(names, values, strict=True)]
        marks = ", ".join("?" * len(names))
        try:
            with self._database:
                done = self._database.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", texts)
        except _SQLITE_ERRORS as error:
            help = "what was measured before is kept: see to it that the file can be written, and run this again"
            raise _refused(f"{self.path}: cannot write into table `{table}`: {error}", help) from error
        return int(done.lastrowid or 0)

    def _open(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        (owner,) = self._database.execute("PRAGMA application_id").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (version, owner, tables) == (0, 0, 0):
            self._database.executescript(
                f"{_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA application_id = {APPLICATION_ID};"
            )
        elif owner != APPLICATION_ID:
            raise _refused(f"{self.path} is a database of another program", "name another file")
        elif version != SCHEMA_VERSION:
            message = f"{self.path} has schema version {version}, this ckgen knows {SCHEMA_VERSION}"
            raise _refused(message, "export it with the ckgen that wrote it, and measure into a new file")


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert tuples to lists, as JSON returns them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _decoded(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    named = dict(zip(names, values, strict=True))
    for name in _JSON:
        if name in named:
            with suppress(ValueError, TypeError, RecursionError):  # the text stays and fails the type check
                named[name] = json.loads(named[name])
    if named.get("automatic") in (0, 1):
        named["automatic"] = bool(named["automatic"])
    return named


def _refused(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "results", message, help),))
