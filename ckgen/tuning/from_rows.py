"""Measured rows -> the table that the selector picks from, and the check that a table still says what they say.

Only right results count. A problem keeps its fastest few instances, the fastest of each family, and every instance
that asks less of a problem than all faster ones: a library that holds few instances, or a neighbouring problem with
odd channels, then still finds something measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from ckgen.bench import job as bench_job
from ckgen.bench.job import problem_from_json
from ckgen.bench.origin import file_digest
from ckgen.bench.store import Origin, ResultRow
from ckgen.conv.problem import ConvProblem
from ckgen.errors import CkgenError, Diagnostic
from ckgen.instance.instance import Instance, parse
from ckgen.operations.gemm import accumulations
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

FASTEST = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows that count, the runs they are of, and the files they were read from with their digests."""

    rows: Sequence[ResultRow]
    runs: Mapping[int, Origin]
    files: Mapping[str, str]


def read_measured(files: Iterable[str], root: Path) -> Measured:
    """The rows of all ``files`` below ``root``; where a job was measured more than once, the last file's row."""
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
    """The table of one operation. CkgenError when no row of it is right."""
    own = [row for row in measured.rows if row.kind == "instance" and parse(row.name).operation == operation]
    instances = {row.name: parse(row.name) for row in own}
    longest = _longest_sums(own)
    grouped: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in own:
        if row.verdict == bench_job.OK and row.ms is not None:
            grouped.setdefault((row.problem, row.dtype, instances[row.name].layout), []).append(row)
    if not grouped:
        message = f"no right result of {operation} in {', '.join(measured.files)}"
        raise CkgenError((Diagnostic(None, "tune", message, "`ckgen bench` measures"),))
    rows = tuple(
        MeasuredProblem(problem, dtype, layout, tuple(_candidate(row, longest) for row in _kept(group, instances)))
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


def _candidate(row: ResultRow, longest: Mapping[str, int]) -> Candidate:
    assert row.ms is not None and row.split_k is not None, "only timed instances are kept"
    return Candidate(row.name, row.split_k, round(row.ms * 1e3, 1), longest[row.name])


def _kept(rows: Sequence[ResultRow], instances: Mapping[str, Instance]) -> list[ResultRow]:
    """Of one problem's right rows the best of each instance that is worth keeping, fastest first."""
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
    """What an instance asks of a problem and of the library that holds it; less is more widely useful."""
    channels = max(instance.b_vector, instance.c_vector)
    return instance.a_vector, channels, int(instance.conv_spec != "Default"), int(instance.uses_tma)


def _longest_sums(rows: Sequence[ResultRow]) -> dict[str, int]:
    """For each instance the longest sum of a right result that is shorter than those of all wrong ones.

    Matrix units may round each partial sum toward zero, so that an error grows with the number of terms; split-K
    shortens sums.
    """
    problems: dict[str, ConvProblem] = {}
    right: dict[str, set[int]] = {}
    wrong: dict[str, set[int]] = {}
    for row in rows:
        if row.split_k and row.verdict in (bench_job.OK, bench_job.WRONG):
            problem = problems.setdefault(row.problem, problem_from_json(row.problem_fields))
            into = right if row.verdict == bench_job.OK else wrong
            terms = accumulations(row.operation, problem)
            into.setdefault(row.name, set()).add(ceil(terms / row.split_k))
    return {
        name: max((own for own in sums if own < min(wrong.get(name, ()), default=own + 1)), default=min(sums))
        for name, sums in right.items()
    }


def _again(table: Table, root: Path) -> Table:
    """The table, made again from what it says that it was made from."""
    if table.predicted:
        from ckgen.tuning.from_model import predict_table

        code, spec = table.origin.results
        return predict_table(code, spec, table.operation, root)
    return make_table(read_measured(table.origin.results, root), table.operation, table.arch)


def find_drift(tables: Path, root: Path) -> list[str]:
    """A sentence for each table in a folder that is not what the results below ``root`` that it names say."""
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
            found.append(f"{file}: is not what its results say (a hand edit, or another ckgen); run ckgen tune")
    return found
