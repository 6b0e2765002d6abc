"""Measure the selector's predictions by removing each measured problem from the table in turn.

python bench/selector_regret.py     reads the committed tables and their results; run it at the root of a checkout

Prints the time of the selector's choice / the best time, for neighbours and for the rule alone. If the split-K factor
of a choice was not measured, the nearest measured factor is used; a factor with a wrong result counts as wrong. The
rule leaves the factor to the library, so its choices count with their best factor.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this checkout's ckgen, installed or not

from ckgen.bench.job import OK  # noqa: E402
from ckgen.conv.notation import problem_fields  # noqa: E402
from ckgen.conv.problem import ConvProblem  # noqa: E402
from ckgen.instance.instance import parse  # noqa: E402
from ckgen.selection.candidates import Choice, chain  # noqa: E402
from ckgen.selection.measured import MeasuredProblem, Table, load_tables  # noqa: E402
from ckgen.tuning.from_rows import read_measured  # noqa: E402

Times = dict[tuple[str, int], float | None]  # by instance and factor; None for a wrong result


def main() -> int:
    for table in load_tables():
        if table.predicted:
            continue  # there are no measurements to compare with
        times: dict[tuple[str, str], Times] = {}
        for row in read_measured(table.origin.results, ROOT).rows:
            if row.kind == "instance" and row.split_k:
                own = times.setdefault((row.problem, row.dtype), {})
                own[row.name, row.split_k] = row.ms if row.verdict == OK else None
        for what, tables in (("neighbours", [table]), ("rule", [])):
            report(f"{table.file_name}, {what}", [regret(row, tables, times) for row in table.rows])
    return 0


def regret(left_out: MeasuredProblem, tables: Sequence[Table], times: dict[tuple[str, str], Times]) -> float:
    """Time of the choice / best time; infinite for a wrong result."""
    others = [replace(t, rows=tuple(r for r in t.rows if r.problem != left_out.problem)) for t in tables]
    own = times[left_out.problem, left_out.dtype]
    supporting = [parse(name) for name in dict.fromkeys(name for name, _ in own)]
    problem = ConvProblem(**problem_fields(left_out.problem))
    arch = others[0].arch if others else "sm_90a"
    pick = chain(problem, left_out.dtype, left_out.layout, arch, supporting, others)[0]
    return time_of(pick, own) / min(ms for ms in own.values() if ms)


def time_of(pick: Choice, own: Times) -> float:
    factors = {split_k: ms for (name, split_k), ms in own.items() if name == pick.name}
    if pick.split_k < 0:
        return min((ms for ms in factors.values() if ms), default=math.inf)
    nearest = min(factors, key=lambda split_k: abs(math.log(split_k / pick.split_k)))
    return factors[nearest] or math.inf


def report(what: str, found: Sequence[float]) -> None:
    right = [value for value in found if value < math.inf]
    mean = math.exp(sum(map(math.log, right)) / len(right))
    wrong = len(found) - len(right)
    print(
        f"{what}: {mean:.3f} times the best (geometric mean of {len(right)}), at worst {max(right):.2f}, {wrong} wrong"
    )


if __name__ == "__main__":
    sys.exit(main())
