"""Rows that `ckgen report --out rows.csv` exported, back again, plain or compressed with gzip."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckgen.bench.store import ORIGIN_FIELDS, Origin, ResultRow, Store
from ckgen.bench.store_check import ResultCheck
from ckgen.errors import CkgenError, Diagnostic

_JSON = ("problem_fields", "settings", "ceilings")
_CONVERSIONS: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": lambda text: text == "True"}
_SUFFIXES = (".csv", ".csv.gz", ".sqlite")


_LATER = ("operation", "function")  # columns that the first files do not have: they are of backward weight


def read_results(path: Path) -> tuple[list[ResultRow], dict[int, Origin]]:
    """The rows of an exported file (.csv, .csv.gz) or of a store (.sqlite), and the runs they belong to by number.

    CkgenError when there is no such file or it holds something else.
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
    """What ``results_export.to_csv`` wrote. KeyError, ValueError or TypeError for another text."""
    kinds = {item.name: str(item.type).split(" | ") for item in dataclasses.fields(ResultRow)}
    rows, runs, nested, check = [], {}, _Nested(), ResultCheck()
    for line, record in enumerate(csv.DictReader(io.StringIO(text)), 2):
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
    """JSON values by their text: most rows repeat those of the row before."""

    def __call__(self, text: str) -> Any:
        if text not in self:
            self[text] = json.loads(text)
        return self[text]


def _value(text: str, kind: list[str]) -> Any:
    """A cell as a value of the type that its annotation names first; an empty one is None where that may be."""
    return None if text == "" and "None" in kind else _CONVERSIONS[kind[0]](text)


def origin_values(runs: Mapping[int, Origin], name: str) -> str:
    """What the runs say under ``name``, each value once."""
    return ", ".join(dict.fromkeys(str(getattr(origin, name)) for origin in runs.values()))


def _refused(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "results", message, help),))
