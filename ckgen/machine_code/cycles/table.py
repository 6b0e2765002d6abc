"""The committed table of simulated cycles of an architecture: one CSV line per instance.

    # gfx942, clang 19.1.7
    instance,code,workgroups,l2,memory

`code` is a digest of the instance's row in the table of `ckgen isa`: a number counts for the code that it was simulated
with. `l2` and `memory` are cycles of a compute unit per tile of a workgroup while `workgroups` are resident, with all
inputs in L2 or all from memory. docs/simulator.md says what the numbers are worth.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic
from ckgen.machine_code import table as code_table

COLUMNS = ("instance", "code", "workgroups", "l2", "memory")


@dataclass(frozen=True, slots=True)
class Cycles:
    """Simulated cycles per tile of one instance."""

    instance: str
    code: str
    workgroups: int
    l2: float
    memory: float


@dataclass(frozen=True, slots=True)
class CyclesTable:
    """The rows of one architecture, by instance, and the compiler release of their code."""

    arch: str
    compiler: str
    rows: Mapping[str, Cycles] = field(default_factory=dict)

    def of_code(self, name: str, row: code_table.Row) -> Cycles | None:
        """The cycles of an instance if they were simulated with the code of ``row``."""
        found = self.rows.get(name)
        return found if found is not None and found.code == digest_of(row) else None


def digest_of(row: code_table.Row) -> str:
    """A digest of an instance's row in the table of `ckgen isa`."""
    text = ",".join(row[column] for column in code_table.COLUMNS)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def cycles_path(code: Path) -> Path:
    """Path of the cycles that belong to a table of `ckgen isa`."""
    return code.parent / "cycles" / code.name


def table_text(table: CyclesTable) -> str:
    """The text of the table's file, rows sorted by name."""
    out = io.StringIO()
    out.write(f"# {table.arch}, {table.compiler}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name in sorted(table.rows):
        row = table.rows[name]
        writer.writerow((row.instance, row.code, row.workgroups, f"{row.l2:.1f}", f"{row.memory:.1f}"))
    return out.getvalue()


def read_cycles(path: Path) -> CyclesTable:
    """Read a table from its file. Raises CkgenError if the file cannot be read or has other columns."""
    try:
        head, _, body = path.read_text(encoding="utf-8").partition("\n")
    except OSError as error:
        raise CkgenError((Diagnostic(None, "isa-cycles", f"cannot read {path}: {error.strerror}"),)) from error
    arch, _, compiler = head.removeprefix("# ").partition(", ")
    header, *lines = csv.reader(io.StringIO(body)) if body else [[]]
    if tuple(header) != COLUMNS or not compiler or any(len(line) != len(COLUMNS) for line in lines):
        message = f"{path} is not a table of simulated cycles of this ckgen version"
        raise CkgenError((Diagnostic(None, "isa-cycles", message, "delete it; ckgen isa --simulate --write"),))
    rows = [Cycles(name, code, int(groups), float(l2), float(memory)) for name, code, groups, l2, memory in lines]
    return CyclesTable(arch, compiler, {row.instance: row for row in rows})


def stale(table: CyclesTable, code: code_table.Table) -> list[str]:
    """A line for each row that was simulated with other code than that of ``code``, or whose instance is not there."""
    found = []
    for name in sorted(table.rows):
        row = code.rows.get(name)
        if row is None:
            found.append(f"-{name}: simulated, and not in the table")
        elif table.of_code(name, row) is None:
            found.append(f"{name}: simulated with other code")
    return found
