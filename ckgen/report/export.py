"""Export rows as CSV or JSON for other programs: one flat record per row, which includes the run's origin."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.bench.store import ORIGIN_FIELDS, ROW_FIELDS, Origin, ResultRow, Store
from ckgen.report.summary import Summary, floor_ms

_NESTED = ("settings", "ceilings", "problem_fields")


def records(summary: Summary, runs: Mapping[int, Origin]) -> list[dict[str, Any]]:
    """A record per row: its own fields, `floor_ms`, and the fields of its run."""
    return [_record(row, runs[row.run_id], summary.ceilings) for row in summary.rows]


def to_json(found: Sequence[Mapping[str, Any]]) -> str:
    """The records as a JSON list, one per line."""
    return "[\n" + ",\n".join(json.dumps(record) for record in found) + "\n]\n"


def to_csv(found: Sequence[Mapping[str, Any]]) -> str:
    """The records as CSV with a header line; nested values are JSON, missing values empty."""
    text = io.StringIO()
    columns = (*ROW_FIELDS, "floor_ms", *ORIGIN_FIELDS)
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in found:
        writer.writerow({k: json.dumps(v) if k in _NESTED else v for k, v in record.items()})
    return text.getvalue()


def export(store: Store, summary: Summary, suffix: str) -> str:
    """The rows of a summary as text in the format of a file name's ``suffix`` (.csv or .json)."""
    found = records(summary, store.runs())
    return to_csv(found) if suffix == ".csv" else to_json(found)


def _record(row: ResultRow, origin: Origin, ceilings: Mapping[str, float]) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in ROW_FIELDS}
    return {**own, "floor_ms": floor_ms(row, ceilings), **{name: getattr(origin, name) for name in ORIGIN_FIELDS}}
