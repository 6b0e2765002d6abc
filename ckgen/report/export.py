"""Export rows as CSV: one flat record per row, which includes the run's origin."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

from ckgen.bench.store import ORIGIN_FIELDS, ROW_FIELDS, Origin
from ckgen.report.summary import Summary, floor_ms


def to_csv(summary: Summary, runs: Mapping[int, Origin]) -> str:
    """The rows of a summary as CSV: the fields of a row, `floor_ms`, and the fields of its run. Nested values are JSON,
    missing values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*ROW_FIELDS, "floor_ms", *ORIGIN_FIELDS))
    for row in summary.rows:
        own = [getattr(row, name) for name in ROW_FIELDS]
        told = [getattr(runs[row.run_id], name) for name in ORIGIN_FIELDS]
        cells = (*own, floor_ms(row, summary.ceilings), *told)
        writer.writerow([json.dumps(cell) if isinstance(cell, Mapping) else cell for cell in cells])
    return text.getvalue()
