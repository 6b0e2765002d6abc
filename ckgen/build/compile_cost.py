"""Forecast of the CPU time and memory of a compiler run, from a table that bench/compile_cost.py fits to measured runs.

The time of a translation unit is a fixed part plus a part per source; each has a part for the host's code and one per
target architecture. The memory is that of the largest kind of source.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("compile_cost.csv")
UNIT, OTHER = "unit", "other"  # kinds: the fixed part of a unit; a source that the table does not know


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds and peak memory in MiB of a compiler run on the machine that the table was measured on."""

    seconds: float
    mebibytes: float


@dataclass(frozen=True, slots=True)
class KindCost:
    """A row of the table: seconds for the host's code, seconds per target architecture, and memory."""

    host_seconds: float
    target_seconds: float
    mebibytes: float


def kind_of(source: str) -> str:
    """The kind of a source, given below `src/`: family and operation of an instance, `factory`, or the file itself."""
    folder, *rest = source.split("/")
    if not folder.startswith("grouped_conv"):
        return source
    return "factory" if rest[0] == "factory" else f"{rest[0]}/{folder}"


def read_table(path: Path = TABLE) -> dict[str, dict[str, KindCost]]:
    """The costs of kinds by platform."""
    found: dict[str, dict[str, KindCost]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = (float(row[name]) for name in ("host_seconds", "target_seconds", "mebibytes"))
            found.setdefault(row["platform"], {})[row["kind"]] = KindCost(*values)
    return found


def forecast(table: dict[str, KindCost], sources: Sequence[str], targets: int) -> Cost:
    """The cost of a unit of ``sources``, compiled for a number of target architectures; 0: only the host's code."""
    parts = [table[UNIT], *(table.get(kind_of(source), table[OTHER]) for source in sources)]
    return Cost(
        sum(part.host_seconds + targets * part.target_seconds for part in parts),
        max(part.mebibytes for part in parts),
    )
