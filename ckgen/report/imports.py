"""Read rows that `ckgen report --out rows.csv` exported, plain or compressed with gzip."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ckgen.bench.store import ORIGIN_FIELDS, Origin, ResultRow, Store
from ckgen.bench.store_check import ResultCheck
from ckgen.errors import CkgenError, Diagnostic

_JSON = ("problem_fields", "settings", "ceilings")
_CONVERSIONS: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": lambda text: text == "True"}
_SUFFIXES = (".csv", ".csv.gz", ".sqlite")


_LATER = ("operation", "function")  # columns that the oldest files lack; their rows are of backward weight


def read_results(path: Path) -> tuple[list[ResultRow], dict[int, Origin]]:
    """The rows of an exported file (.csv, .csv.gz) or of a store (.sqlite), and their runs by number.

    Raise CkgenError when the file does not exist or holds something else.
    """
    if not path.name.endswith(_SUFFIXES):
        raise _refused(f"{path} is not a file of results", f"name one of {', '.join(_SUFFIXES)}")
    if path.suffix == ".sqlite":
        with Store(path, create=False) as store:
            runs = store.runs()
            return store.rows(list(runs)), runs
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        return parse_csv(text)
    except OSError as error:
        raise _refused(f"cannot read {path}: {error.strerror or error}", "") from error
    except (KeyError, ValueError, TypeError, EOFError, RecursionError, csv.Error, zlib.error) as error:
        raise _refused(f"{path} holds no rows of `ckgen report`: {error}", "") from error


def parse_csv(text: str) -> tuple[list[ResultRow], dict[int, Origin]]:
    """Parse the output of ``ckgen.report.export.to_csv``. Raise ValueError or TypeError for other text."""
    kinds = {item.name: str(item.type).split(" | ") for item in dataclasses.fields(ResultRow)}
    rows, runs, nested, check = [], {}, _Nested(), ResultCheck()
    reader = csv.DictReader(io.StringIO(text))
    wanted = [*(name for name in kinds if name not in _LATER), *ORIGIN_FIELDS]
    if missing := [name for name in wanted if name not in (reader.fieldnames or ())]:
        raise ValueError(f"there is no column {', '.join(missing)}")
    for line, record in enumerate(reader, 2):
        if None in record or None in record.values():
            raise ValueError(f"line {line} has another number of columns than the first")
        present = {n: kind for n, kind in kinds.items() if n in record or n not in _LATER}
        values = {n: nested(record[n]) if n in _JSON else _value(record[n], kind) for n, kind in present.items()}
        if wrong := check.row(values):
            raise ValueError(f"line {line}: {wrong}")
        rows.append(ResultRow(**values))
        number = int(record["run_id"])
        if number not in runs:
            told: dict[str, Any] = {n: nested(record[n]) if n in _JSON else record[n] for n in ORIGIN_FIELDS}
            if wrong := check.origin(told):
                raise ValueError(f"line {line}: {wrong}")
            runs[number] = Origin(**told)
    return rows, runs


class _Nested(dict[str, Any]):
    """Cache of parsed JSON values by their text: most rows repeat the values of the previous row."""

    def __call__(self, text: str) -> Any:
        if text not in self:
            self[text] = json.loads(text)
        return self[text]


def _value(text: str, kind: list[str]) -> Any:
    """A cell converted to the first type of its annotation; an empty cell is None if the annotation allows it."""
    return None if text == "" and "None" in kind else _CONVERSIONS[kind[0]](text)


def origin_values(runs: Iterable[Origin], name: str) -> str:
    """The distinct values of the field ``name`` over all runs."""
    return ", ".join(dict.fromkeys(str(getattr(origin, name)) for origin in runs))


def _refused(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "results", message, help),))
