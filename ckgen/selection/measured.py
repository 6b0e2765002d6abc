"""Tables of measured or predicted rows: the best instances of each problem, by operation and architecture.

A table is a JSON file below ckgen/tables/ with one problem per line. `ckgen tune` makes it from the rows of `ckgen
bench`; `ckgen tune --check` makes it again and compares. The selector and the C++ library read it. Do not edit it by
hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ckgen.errors import CkgenError, Diagnostic
from ckgen.paths import PACKAGE

SCHEMA_VERSION = 4
TABLES = PACKAGE / "tables"


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """The origin of a table's numbers. ``results`` are the files that it was made from, relative to the repository,
    with their SHA-256. The other fields list the values that the runs in these files report, each value once."""

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
    """An instance with its fastest split-K factor and its median time."""

    name: str
    split_k: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class MeasuredProblem:
    """The candidates of one problem, fastest first. ``problem`` is the text of the problem, which
    ``ckgen.conv.notation`` reads."""

    problem: str
    dtype: str
    layout: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of one operation on one architecture, either measured or predicted."""

    operation: str
    arch: str
    origin: TableOrigin
    rows: tuple[MeasuredProblem, ...]
    predicted: bool = False  # from the cost model, not measured

    @property
    def file_name(self) -> str:
        """The table's file below ``TABLES``."""
        return f"{self.operation}.{self.arch}.json"


def table_text(table: Table) -> str:
    """The text of a table's file. Names are in a separate list, to which rows refer by index: a row has a problem, type
    and layout, then for each candidate the index, split_k and microseconds."""
    encode, compact = json.JSONEncoder().encode, json.JSONEncoder(separators=(",", ":")).encode
    names = sorted({c.name for row in table.rows for c in row.candidates})
    head: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "operation": table.operation, "arch": table.arch}
    head["predicted"] = table.predicted
    note = {"generated_by": "ckgen tune. Do not edit; `ckgen tune --check` compares it with the results"}
    lines = [f"{encode(key)}: {encode(value)}" for key, value in (note | head).items()]
    origin = (f"{encode(key)}: {encode(value)}" for key, value in asdict(table.origin).items())
    lines.append('"origin": {\n' + ",\n".join(origin) + "\n}")
    lines.append('"instances": [\n' + ",\n".join(map(encode, names)) + "\n]")
    lines.append('"rows": [\n' + ",\n".join(compact(_row(row, names)) for row in table.rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parse_table(text: str, file: str = "the table") -> Table:
    """The table in a text. Raises CkgenError if the text is not a table or has another version."""
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
    """The text of every table included in ckgen, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}


def load_tables(folder: Path = TABLES) -> tuple[Table, ...]:
    """Every table included in ckgen."""
    return tuple(parse_table(text, name) for name, text in load_texts(folder).items())


def _row(row: MeasuredProblem, names: Sequence[str]) -> list[Any]:
    candidates = ([names.index(c.name), c.split_k, c.microseconds] for c in row.candidates)
    return [row.problem, row.dtype, row.layout, *candidates]


def _parse_row(row: Sequence[Any], instances: Sequence[str]) -> MeasuredProblem:
    problem, dtype, layout, *candidates = row
    best = tuple(Candidate(instances[at], split_k, microseconds) for at, split_k, microseconds in candidates)
    return MeasuredProblem(problem, dtype, layout, best)


def _unusable(message: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "table", message, "make it again: ckgen tune"),))
