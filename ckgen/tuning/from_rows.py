"""Measured rows -> the selector's table, and the check that a table still matches its rows.

Only correct results count. A problem keeps its fastest few instances, the fastest of each family, and every instance
with weaker requirements than all faster ones, so that a library of few instances still finds a measured candidate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.bench import job as bench_job
from ckgen.bench.store import Origin, ResultRow
from ckgen.errors import CkgenError, Diagnostic
from ckgen.instance.instance import Instance, parse
from ckgen.library.digest import file_digest
from ckgen.report.imports import origin_values, read_results
from ckgen.selection.measured import (
    Candidate,
    MeasuredProblem,
    Table,
    TableOrigin,
    load_texts,
    parse_table,
    table_text,
)
from ckgen.selection.time_model import COEFFICIENTS

FASTEST = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows to use, their runs by number, and the digests of the files that they were read from."""

    rows: Sequence[ResultRow]
    runs: Mapping[int, Origin]
    files: Mapping[str, str]


def read_measured(files: Iterable[str], root: Path) -> Measured:
    """Read the rows of all ``files`` below ``root``. If several files have a row for a job, the last file wins."""
    latest: dict[object, ResultRow] = {}
    runs: dict[int, Origin] = {}
    digests = {}
    for file in files:
        rows, found = read_results(root / file)
        latest.update((row.key, row) for row in rows)
        runs.update((len(runs) + number, origin) for number, origin in enumerate(found.values()))
        digests[file] = file_digest(root / file)
    return Measured(tuple(latest.values()), runs, digests)


def make_table(measured: Measured, operation: str, arch: str) -> Table:
    """Make the table of one operation. Raises CkgenError if it has no correct row."""
    own = [row for row in measured.rows if row.kind == "instance" and parse(row.name).operation == operation]
    instances = {row.name: parse(row.name) for row in own}
    grouped: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in own:
        if row.verdict == bench_job.OK and row.ms is not None:
            grouped.setdefault((row.problem, row.dtype, instances[row.name].layout), []).append(row)
    if not grouped:
        message = f"no correct result of {operation} in {', '.join(measured.files)}"
        raise CkgenError((Diagnostic(None, "tune", message, "measure with `ckgen bench`"),))
    rows = tuple(
        MeasuredProblem(problem, dtype, layout, tuple(_candidate(row) for row in _kept(group, instances)))
        for (problem, dtype, layout), group in grouped.items()
    )
    return Table(operation, arch, _origin(measured), rows)


def _origin(measured: Measured) -> TableOrigin:
    names = ("device", "driver", "software", "compiler", "spec_digest", "library_digest")
    said = {name: origin_values(measured.runs, name) for name in names}
    return TableOrigin(
        results=measured.files,
        commit=origin_values(measured.runs, "commit_id"),
        measured=origin_values(measured.runs, "started"),
        **said,
    )


def _candidate(row: ResultRow) -> Candidate:
    assert row.ms is not None and row.split_k is not None, "only timed instances are kept"
    return Candidate(row.name, row.split_k, round(row.ms * 1e3, 1))


def _kept(rows: Sequence[ResultRow], instances: Mapping[str, Instance]) -> list[ResultRow]:
    """Choose the rows of one problem to keep, at most one per instance, fastest first. All rows are correct."""
    best: dict[str, ResultRow] = {}
    for row in sorted(rows, key=lambda row: (row.ms, row.split_k, row.name)):
        best.setdefault(row.name, row)
    kept: list[ResultRow] = []
    demands: list[tuple[int, ...]] = []
    families: set[str] = set()
    for row in best.values():
        instance = instances[row.name]
        own = _demands(instance)
        covered = any(all(a <= b for a, b in zip(other, own, strict=True)) for other in demands)
        if len(kept) < FASTEST or instance.family not in families or not covered:
            kept.append(row)
            demands.append(own)
            families.add(instance.family)
    return kept


def _demands(instance: Instance) -> tuple[int, ...]:
    """Requirements of an instance on a problem and its library; smaller numbers fit more problems."""
    channels = max(instance.b_vector, instance.c_vector)
    return instance.a_vector, channels, int(instance.conv_spec != "Default"), int(instance.uses_tma)


def _again(table: Table, root: Path) -> Table:
    """Make a table again from the sources that it names."""
    if table.predicted:
        from ckgen.tuning.from_model import predict_table

        code, spec, *_ = table.origin.results
        return predict_table(code, spec, table.operation, root)
    return make_table(read_measured(table.origin.results, root), table.operation, table.arch)


def find_drift(tables: Path, root: Path) -> list[str]:
    """Compare each table in a folder with the results below ``root`` that it names. Returns a sentence per mismatch."""
    found = []
    for file, text in load_texts(tables).items():
        table = parse_table(text, file)
        missing = [name for name in table.origin.results if not (root / name).is_file()]
        if missing:
            found.append(f"{file}: made from {', '.join(missing)}, which is not there")
            continue
        changed = [name for name, sha in table.origin.results.items() if file_digest(root / name) != sha]
        if changed:
            found.append(f"{file}: {', '.join(changed)} changed since; run ckgen tune")
        elif table_text(_again(table, root)) != text or table.file_name != file:
            found.append(f"{file}: differs from its results (a hand edit, or another ckgen); run ckgen tune")
    return found


def find_times_drift(root: Path) -> list[str]:
    """Compare the results that the time model was fitted to with those below ``root``. Returns a sentence if they
    differ."""
    files = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))["measured"]
    changed = [name for name, sha in files.items() if not (root / name).is_file() or file_digest(root / name) != sha]
    again = "changed since; run python bench/fit_times.py --write"
    return [f"{COEFFICIENTS.name}: {', '.join(changed)} {again}"] if changed else []
