"""Tables of what was measured or predicted: the best instances of each problem, by operation and architecture.

A table is JSON, one problem a line, below ckgen/tables/. `ckgen tune` makes it from the rows of `ckgen bench` and
`ckgen tune --check` makes it again and compares. The selector and the C++ library read it; nobody edits it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ckgen.errors import CkgenError, Diagnostic
from ckgen.paths import PACKAGE

SCHEMA_VERSION = 2
TABLES = PACKAGE / "tables"


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Where a table's numbers come from. ``results`` are the files that it was made of, relative to the repository,
    with their SHA-256; the others are what the runs in them say of themselves, each value once."""

    results: Mapping[str, str]
    device: str
    driver: str
    software: str
    compiler: str
    commit: str
    spec_digest: str
    library_digest: str
    measured: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instance with the split-K factor that was its fastest, and the median time. ``longest_sum`` is the largest
    number of terms that any of its right results on this architecture added up in one split, below which none was
    wrong."""

    name: str
    split_k: int
    microseconds: float
    longest_sum: int


@dataclass(frozen=True, slots=True)
class MeasuredProblem:
    """The candidates of one problem, fastest first. ``problem`` is the problem's text, which
    ``ckgen.conv.notation`` reads."""

    problem: str
    dtype: str
    layout: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All that was measured of one operation on one architecture, or else predicted."""

    operation: str
    arch: str
    origin: TableOrigin
    rows: tuple[MeasuredProblem, ...]
    predicted: bool = False  # by the cost model, not measured

    @property
    def file_name(self) -> str:
        """The table's file below ``TABLES``."""
        return f"{self.operation}.{self.arch}.json"


def table_text(table: Table) -> str:
    """The file that holds a table. Names stand in a list of their own; rows have their positions in it."""
    encode = json.JSONEncoder().encode
    longest = {c.name: c.longest_sum for row in table.rows for c in row.candidates}
    names = sorted(longest)
    head: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "operation": table.operation, "arch": table.arch}
    head["predicted"] = table.predicted
    note = {"generated_by": "ckgen tune. Do not edit; `ckgen tune --check` compares it with the results"}
    lines = [f"{encode(key)}: {encode(value)}" for key, value in (note | head).items()]
    origin = (f"{encode(key)}: {encode(value)}" for key, value in asdict(table.origin).items())
    lines.append('"origin": {\n' + ",\n".join(origin) + "\n}")
    listed = (encode({"name": name, "longest_sum": longest[name]}) for name in names)
    lines.append('"instances": [\n' + ",\n".join(listed) + "\n]")
    lines.append('"rows": [\n' + ",\n".join(encode(_row(row, names)) for row in table.rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parse_table(text: str, file: str = "the table") -> Table:
    """The table that a text holds. CkgenError when it holds none or one of another version."""
    try:
        data = json.loads(text)
        if data["schema_version"] != SCHEMA_VERSION:
            version = data["schema_version"]
            raise _unusable(f"{file} has schema version {version}, this ckgen knows {SCHEMA_VERSION}")
        origin = TableOrigin(**{item.name: data["origin"][item.name] for item in fields(TableOrigin)})
        rows = tuple(_parse_row(row, data["instances"]) for row in data["rows"])
        return Table(data["operation"], data["arch"], origin, rows, data["predicted"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise _unusable(f"{file} is not a table that ckgen wrote") from error


def load_texts(folder: Path = TABLES) -> dict[str, str]:
    """The text of every table that comes with ckgen, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}


def load_tables(folder: Path = TABLES) -> tuple[Table, ...]:
    """Every table that comes with ckgen."""
    return tuple(parse_table(text, name) for name, text in load_texts(folder).items())


def _row(row: MeasuredProblem, names: Sequence[str]) -> dict[str, Any]:
    best = [[names.index(c.name), c.split_k, c.microseconds] for c in row.candidates]
    return {"problem": row.problem, "dtype": row.dtype, "layout": row.layout, "best": best}


def _parse_row(row: Mapping[str, Any], instances: Sequence[Mapping[str, Any]]) -> MeasuredProblem:
    best = tuple(
        Candidate(instances[at]["name"], split_k, microseconds, instances[at]["longest_sum"])
        for at, split_k, microseconds in row["best"]
    )
    return MeasuredProblem(row["problem"], row["dtype"], row["layout"], best)


def _unusable(message: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "table", message, "make it again: ckgen tune"),))
