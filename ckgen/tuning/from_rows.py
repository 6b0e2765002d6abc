"""Measured rows -> the selector's table, and the check that a table still matches its rows.

Only correct results of instances without a function count: the selector has no other. A problem keeps its fastest few
instances, the fastest of each family, and every instance with weaker requirements than all faster ones, so that a
library of few instances still finds a measured candidate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.bench import job as bench_job
from ckgen.bench.store import Origin, ResultRow
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError, Diagnostic
from ckgen.hardware.archs import NVIDIA_ARCHES
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
    """The rows to use, the runs of each file by file and number, and the digests of the files."""

    rows: Sequence[ResultRow]
    runs: Mapping[tuple[str, int], Origin]
    files: Mapping[str, str]


def read_measured(files: Iterable[str], root: Path) -> Measured:
    """Read the rows of all ``files`` below ``root``. If several files have a row for a job, the last file wins."""
    latest: dict[object, ResultRow] = {}
    runs: dict[tuple[str, int], Origin] = {}
    digests = {}
    for file in files:
        rows, found = read_results(root / file)
        latest.update((row.key, row) for row in rows)
        runs.update(((file, number), origin) for number, origin in found.items())
        digests[file] = file_digest(root / file)
    return Measured(tuple(latest.values()), runs, digests)


def make_table(measured: Measured, operation: str, arch: str) -> Table:
    """Make the table of one operation. Raises CkgenError if it has no correct row, or if its rows are of another
    platform than ``arch`` or of several cache modes."""
    _refuse_others(measured, arch)
    named = {row.name: parse(row.name) for row in measured.rows if row.kind == "instance"}
    wanted = (operation, PASS_THROUGH)
    instances = {name: one for name, one in named.items() if (one.operation, one.function) == wanted}
    own = [row for row in measured.rows if row.name in instances]
    grouped: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in own:
        if row.verdict == bench_job.OK and row.ms is not None:
            grouped.setdefault((row.problem, row.dtype, instances[row.name].layout), []).append(row)
    if not grouped:
        raise _error(f"no correct result of {operation} in {', '.join(measured.files)}", "measure with `ckgen bench`")
    rows = tuple(
        MeasuredProblem(problem, dtype, layout, tuple(_candidate(row) for row in _kept(group, instances)))
        for (problem, dtype, layout), group in grouped.items()
    )
    return Table(operation, arch, _origin(measured), rows)


def _refuse_others(measured: Measured, arch: str) -> None:
    """Raise CkgenError for the first run whose times cannot be compared with the others of the table."""
    platform = "nvidia" if arch in NVIDIA_ARCHES else "amd"
    modes = {where: origin.settings.get("cache") for where, origin in measured.runs.items()}
    mode = next(iter(modes.values()), None)
    for (file, number), origin in measured.runs.items():
        where = f"{file}, run {number}"
        if origin.platform != platform:
            message = f"{where}: results of platform {origin.platform}, but {arch} is of platform {platform}"
            raise _error(message, "export the runs of one platform with `ckgen report --run N --out rows.csv`")
        if modes[file, number] != mode:
            message = f"{where}: results of cache mode {modes[file, number]}, those before are of {mode}"
            raise _error(message, "export the runs of one mode with `ckgen report --run N --out rows.csv`")


def _error(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "tune", message, help),))


def _origin(measured: Measured) -> TableOrigin:
    names = ("device", "driver", "software", "compiler", "spec_digest", "library_digest")
    runs = measured.runs.values()
    said = {name: origin_values(runs, name) for name in names}
    return TableOrigin(
        results=measured.files,
        commit=origin_values(runs, "commit_id"),
        measured=origin_values(runs, "started"),
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
