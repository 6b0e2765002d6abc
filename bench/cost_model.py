"""Compare the cost model with measured rows: python bench/cost_model.py [--rows FILE] [--write]

Predicts every timed row of an NVIDIA run (default: the committed run on an H200). Prints predicted / measured time by
family, and the time of the model's choice of instance and split-K relative to the best measured one. --write writes the
page to docs/cost_model_h200.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.conv.problem import ConvProblem
from ckgen.cost.rank import CodeBook, predict
from ckgen.hardware.compute_units import RATES
from ckgen.instance.instance import Instance, parse
from ckgen.machine_code.table import read_table

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "bench" / "results" / "2026-11-21-h200" / "rows.csv.gz"
PAGE = ROOT / "docs" / "cost_model_h200.md"
TABLE = ROOT / "docs" / "isa" / "gfx942.csv"
ARCH = "sm_90a"
_INTRODUCTION = """\
Predicted time divided by measured time, for every timed row of the RetinaNet weight gradients, batch 32, f16 and bf16.
The model's inputs are the vendor's rates, the tile, and the instruction mix of the same source on gfx942; none of its
numbers is fitted to measurements. A ratio of 1 means that the kernel keeps its busiest resource busy all the time.
"""
FAMILIES = ("wavelet_tma", "halo", "wavelet", "xdl")


@dataclass(frozen=True)
class Point:
    """One measured row and the model's time for it, in milliseconds."""

    instance: Instance
    problem_name: str
    split_k: int
    measured: float
    predicted: float
    limiter: str

    @property
    def ratio(self) -> float:
        """Predicted / measured time: below 1 if the kernel is slower than predicted."""
        return self.predicted / self.measured


def load_points(rows: Path) -> list[Point]:
    """Load every timed row of an instance."""
    book, rates = CodeBook(ARCH, read_table(TABLE)), RATES[ARCH]
    points = []
    with gzip.open(rows, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["kind"] != "instance" or not row["ms"] or row["verdict"] not in ("ok", "inexact"):
                continue
            stored = json.loads(row["problem_fields"])
            fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in stored.items()}
            problem = ConvProblem(**fields)
            instance, split_k = parse(row["name"]), int(row["split_k"])
            made = predict(instance, problem, split_k, book.code_of(instance), rates)
            points.append(
                Point(instance, row["problem_name"], split_k, float(row["ms"]), 1e3 * made.seconds, made.limiter)
            )
    return points


def page(points: Sequence[Point], rows: Path) -> str:
    """Text of the page with the comparison."""
    lines = [
        f"<!-- Written by bench/cost_model.py from {rows.relative_to(ROOT)}. Do not edit; run it with --write -->\n",
        "# The cost model on an H200\n",
        _INTRODUCTION,
        "## By family\n",
        _table(
            ("family", "rows", "median", "10th percentile", "90th percentile", "within 2x of the median"),
            [_family_row(family, [p for p in points if p.instance.family == family]) for family in FAMILIES],
        ),
        "## By what limits the main loop\n",
        _table(
            ("family", "limiter", "rows", "median", "10th percentile", "90th percentile"),
            [
                (family, limiter, *_spread([p.ratio for p in group])[:4])
                for family in FAMILIES
                for limiter, group in _by_limiter([p for p in points if p.instance.family == family])
            ],
        ),
        "## Quality of its choice\n",
        "Measured time of the model's first choice of instance and split-K factor, divided by the best measured time,\n"
        "per shape and type; among all rows, and among the rows of each family.\n",
        _table(
            ("among", "shapes x types", "geometric mean", "worst", "where", "within 1.1x", "within 1.5x"),
            [_choice_row("all", points)]
            + [_choice_row(f, [p for p in points if p.instance.family == f]) for f in FAMILIES],
        ),
    ]
    return "\n".join(lines)


def _spread(ratios: Sequence[float]) -> tuple[str, ...]:
    """Count, median, deciles, and the share within a factor of two of the median."""
    middle = statistics.median(ratios)
    deciles = statistics.quantiles(ratios, n=10) if len(ratios) > 1 else [ratios[0]] * 9
    near = sum(middle / 2 <= ratio <= middle * 2 for ratio in ratios) / len(ratios)
    return (str(len(ratios)), f"{middle:.2f}", f"{deciles[0]:.2f}", f"{deciles[-1]:.2f}", f"{100 * near:.0f} %")


def _family_row(family: str, points: Sequence[Point]) -> tuple[str, ...]:
    return (family, *_spread([point.ratio for point in points]))


def _by_limiter(points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.limiter, []).append(point)
    return sorted(found.items())


def _choice_row(label: str, points: Iterable[Point]) -> tuple[str, ...]:
    shapes: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        shapes.setdefault((point.problem_name, point.instance.dtype), []).append(point)
    costs = []
    for (name, dtype), group in shapes.items():
        chosen = min(group, key=lambda point: point.predicted)
        costs.append((chosen.measured / min(point.measured for point in group), f"{name} {dtype}"))
    worst, where = max(costs)
    mean = math.exp(statistics.fmean(math.log(cost) for cost, _ in costs))
    shares = [sum(cost <= limit for cost, _ in costs) / len(costs) for limit in (1.1, 1.5)]
    return label, str(len(costs)), f"{mean:.2f}", f"{worst:.2f}", where, *(f"{100 * share:.0f} %" for share in shares)


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = page(load_points(options.rows), options.rows.resolve())
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
