"""The committed table of runs, docs/machine_code_runs.csv, and the check for rows whose code has changed since.

A row holds a digest of its instance's row in docs/isa/, which `ckgen isa --check` compares with the machine code.
docs/isa/ lacks gfx1100, so stale rows of gfx1100 are not detected.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from tests.machine.campaign import Result
from tests.support.specs import ROOT

TABLE = ROOT / "docs" / "machine_code_runs.csv"
COLUMNS = tuple(field.name for field in fields(Result))


def code_digests(arch: str, folder: Path = ROOT / "docs" / "isa") -> dict[str, str]:
    """Digests of the instances' rows in an architecture's table of machine code."""
    table = folder / f"{arch}.csv"
    lines = table.read_text(encoding="utf-8").splitlines()[2:] if table.exists() else []
    return {line.partition(",")[0]: hashlib.sha256(line.encode()).hexdigest()[:12] for line in lines}


def table_text(results: Sequence[Result]) -> str:
    """The results as CSV, errors with three digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in results:
        row = (getattr(item, column) for column in COLUMNS)
        writer.writerow(f"{value:.3g}" if isinstance(value, float) else value for value in row)
    return out.getvalue()


def read_table(text: str) -> dict[tuple[str, str], Result]:
    """The rows by architecture and instance; none if the columns differ."""
    reader = csv.DictReader(io.StringIO(text))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        return {}
    return {(row["arch"], row["instance"]): _result(row) for row in reader}


def _result(row: Mapping[str, str]) -> Result:
    return Result(
        arch=row["arch"],
        compiler=row["compiler"],
        instance=row["instance"],
        code=row["code"],
        runs=int(row["runs"]),
        wrong=int(row["wrong"]),
        error=float(row["error"]),
        tolerance=float(row["tolerance"]),
        instructions=int(row["instructions"]),
        fault=row["fault"],
    )


def is_current(row: Result | None, digests: Mapping[str, str]) -> bool:
    """True if a row was measured with the code in the table of machine code."""
    return row is not None and row.code == digests.get(row.instance) and not row.wrong
