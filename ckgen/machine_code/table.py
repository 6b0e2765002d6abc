"""The columns of `ckgen isa`, and the committed table of an architecture: one CSV line per instance.

    # gfx942, clang 19.1.7
    instance,vgprs,...

Compilers of one release write the same code, so between tables of one release every difference is a kernel change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic
from ckgen.hardware.archs import ARCHES
from ckgen.machine_code.analyse import CodeReport, LoopReport

RESOURCE_COLUMNS = ("vgprs", "agprs", "sgprs", "spills", "scratch", "lds", "waves", "code")
# Counts per iteration of the hot path; `tiles` is the number of tiles that one iteration works on.
LOOP_COLUMNS = (
    *("tiles", "matrix", "valu", "slow", "salu", "lds_read", "lds_write", "loads", "exposed", "waits", "barriers"),
    "all",
)
# Counts of all code of the loop, including rare blocks.
WHOLE_COLUMNS = ("whole_valu", "whole_all")
COLUMNS = (
    "instance",
    *RESOURCE_COLUMNS,
    *(f"main_{column}" for column in (*LOOP_COLUMNS, *WHOLE_COLUMNS)),
    *(f"load_{column}" for column in (*LOOP_COLUMNS, *WHOLE_COLUMNS)),
)

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one architecture, by instance, and the compiler release that they are valid for."""

    arch: str
    compiler: str
    rows: Mapping[str, Row]


def row_of(report: CodeReport) -> Row:
    """The columns of one instance as text, empty for loops that it lacks. `main` is also the wavelet's math loop."""
    resources = report.resources
    main = report.loop("main") or report.loop("math")
    row = {
        "instance": report.name,
        "vgprs": resources.vgprs,
        "agprs": resources.agprs,
        "sgprs": resources.sgprs,
        "spills": resources.vgpr_spills + resources.sgpr_spills,
        "scratch": resources.scratch_bytes,
        "lds": resources.lds_bytes,
        "waves": format(report.waves, "g"),
        "code": resources.code_bytes,
        **_loop_columns("main", main),
        **_loop_columns("load", report.loop("load")),
    }
    return {name: str(value) for name, value in row.items()}


def _loop_columns(prefix: str, loop: LoopReport | None) -> dict[str, object]:
    if loop is None:
        return {f"{prefix}_{column}": "" for column in (*LOOP_COLUMNS, *WHOLE_COLUMNS)}
    values = {column: getattr(loop.hot, column) for column in LOOP_COLUMNS if column not in ("tiles", "all")}
    values |= {"tiles": loop.tiles, "all": loop.hot.total}
    values |= {"whole_valu": loop.whole.valu, "whole_all": loop.whole.total}
    return {f"{prefix}_{column}": values[column] for column in (*LOOP_COLUMNS, *WHOLE_COLUMNS)}


def make_table(arch: str, compiler: str, reports: Iterable[CodeReport]) -> Table:
    """Make the table of an architecture's reports."""
    rows = [row_of(report) for report in reports]
    return Table(arch, compiler, {row["instance"]: row for row in rows})


def table_text(table: Table) -> str:
    """Return the text of the table's file, rows sorted by name."""
    out = io.StringIO()
    out.write(f"# {table.arch}, {table.compiler}\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows[name] for name in sorted(table.rows))
    return out.getvalue()


def table_path(folder: Path, arch: str) -> Path:
    """Path of an architecture's table."""
    return folder / f"{arch}.csv"


def read_table(path: Path) -> Table:
    """Read a table from its file. Raises CkgenError if the file is missing or has other columns."""
    try:
        head, _, body = path.read_text(encoding="utf-8").partition("\n")
    except OSError as error:
        raise CkgenError((Diagnostic(None, "isa-table", f"cannot read {path}: {error.strerror}"),)) from error
    arch, _, compiler = head.removeprefix("# ").partition(", ")
    reader = csv.DictReader(io.StringIO(body))
    if arch not in ARCHES or not compiler or tuple(reader.fieldnames or ()) != COLUMNS:
        message = f"{path} is not a table of this ckgen version"
        raise CkgenError((Diagnostic(None, "isa-table", message, "write it again with `ckgen isa --write`"),))
    return Table(arch, compiler, {row["instance"]: row for row in reader})


def load_table(folder: Path, arch: str) -> Table | None:
    """Load the committed table of an architecture, None if there is none. Raises CkgenError as `read_table` does."""
    path = table_path(folder, arch)
    return read_table(path) if path.exists() else None


def load_tables(folder: Path, archs: Sequence[str]) -> dict[str, Table]:
    """Load the committed tables of those architectures that have one."""
    found = {arch: load_table(folder, arch) for arch in archs}
    return {arch: table for arch, table in found.items() if table is not None}


def differences(old: Table, new: Table) -> list[str]:
    """Describe the differences, one line per instance: changed columns with both values, and added or removed rows."""
    lines = []
    for name in sorted({*old.rows, *new.rows}):
        if name not in new.rows:
            lines.append(f"-{name}")
        elif name not in old.rows:
            lines.append(f"+{name}")
        else:
            before, after = old.rows[name], new.rows[name]
            moved = [
                f"{column} {before[column]} -> {after[column]}" for column in COLUMNS if before[column] != after[column]
            ]
            lines += [f"{name}: {', '.join(moved)}"] if moved else []
    return lines
