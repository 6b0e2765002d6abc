"""The table of measured shapes that `ckgen bench` and `ckgen report` print."""

from __future__ import annotations

from ckgen.cli.common import console
from ckgen.report.summary import Summary

FUSED = "over plain and D"  # see ckgen.report.summary.Shape.over_plain
HEADERS = ("shape", "type", "best instance", "split_k", "ms", "roofline", "reference", "speed-up")


def show_shapes(summary: Summary) -> None:
    """Print one row per shape: the best instance, the roofline and the reference."""

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    table, fused = [], any(shape.over_plain is not None for shape in summary.shapes)
    for shape in summary.shapes:
        best, reference = shape.best, shape.reference
        speed_up = "-" if shape.speed_up is None else f"{shape.speed_up:.2f}x"
        named = (best.name, best.split_k, number(best.ms)) if best else ("-", "-", "-")
        times = number(shape.floor_ms), number(reference.ms if reference else None)
        beside = ("-" if shape.over_plain is None else f"{shape.over_plain:.2f}x",) if fused else ()
        table.append((shape.problem_name, shape.subject, *named, *times, speed_up, *beside))
    headers = (*HEADERS, FUSED) if fused else HEADERS
    console.show_table(headers, table, right=headers[3:])
