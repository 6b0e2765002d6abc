"""ckgen bench compare: compare the measurements of two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import Positive, json_option
from ckgen.cli.common.store_option import store_option
from ckgen.errors import EXIT_FAILED, CkgenError, Diagnostic

if TYPE_CHECKING:
    from ckgen.report.compare import Pair

HEADERS = ("shape", "type", "ms before", "ms now", "speed", "instance now")


@click.command("bench compare", short_help="Compare the measurements of two runs.")
@click.argument("old", metavar="RUN1")
@click.argument("new", metavar="RUN2")
@store_option
@click.option(
    "--fail-below",
    type=Positive(1e6),
    metavar="SPEED",
    help="Exit with 1 if a problem has less than this speed, relative to RUN1.",
)
@json_option
def bench_compare_command(old: str, new: str, store: Path, fail_below: float | None, as_json: bool) -> int:
    """Compare the best correct instance of each problem in two runs. The speed is RUN1's time / RUN2's time.

    A run is its number in --store (see `ckgen report --list`), or a file: rows that `ckgen report --out rows.csv`
    wrote, or a store, whose newest run it is unless a number follows: bench.sqlite:3. With --fail-below, a problem that
    RUN2 measured without a correct result also fails.

    \b
    Examples:
      ckgen bench compare 1 2 --fail-below 0.97
      ckgen bench compare before.csv build/bench.sqlite:4
    """
    from ckgen.report.compare import compare, load_run

    found = compare(load_run(old, store), load_run(new, store))
    if not found.pairs:
        message = f"{old} and {new} have no problem in common"
        raise CkgenError([Diagnostic(None, "results", message, "compare runs of the same problems and data types")])
    slow = found.below(fail_below) if fail_below is not None else ()
    if as_json:
        pairs = [_record(pair) for pair in found.pairs]
        facts = {"mean_speed": found.mean_speed, "only_run1": found.only_old, "only_run2": found.only_new}
        console.say_json({**facts, "problems": pairs, "failed": [pair.problem_name for pair in slow]})
        return EXIT_FAILED if slow else 0
    console.show_table(HEADERS, [_cells(pair) for pair in found.pairs], right=HEADERS[2:5])
    if found.mean_speed is not None:
        console.say(f"speed, geometric mean of {len(found.speeds)}: {found.mean_speed:.3f}x")
    for count, name in ((found.only_old, old), (found.only_new, new)):
        if count:
            console.note(f"{count} problems are only in {name}")
    if found.old.origin.device != found.new.origin.device:
        console.warn(f"warning: {old} is of {found.old.origin.device}, {new} of {found.new.origin.device}")
    for pair in slow:
        said = "no correct result" if pair.speed is None else f"{pair.speed:.3f}x"
        console.warn(f"below {fail_below:g}: {pair.problem_name}, {pair.subject}: {said}")
    return EXIT_FAILED if slow else 0


def _record(pair: Pair) -> dict[str, object]:
    names = {"old": pair.old.best.name if pair.old.best else None, "new": pair.new.best.name if pair.new.best else None}
    times = {"old_ms": pair.old_ms, "new_ms": pair.new_ms, "speed": pair.speed}
    return {"name": pair.problem_name, "problem": pair.problem, "subject": pair.subject, **times, **names}


def _cells(pair: Pair) -> tuple[str, ...]:
    times = ("-" if ms is None else f"{ms:.4f}" for ms in (pair.old_ms, pair.new_ms))
    speed = "-" if pair.speed is None else f"{pair.speed:.3f}x"
    return pair.problem_name, pair.subject, *times, speed, pair.new.best.name if pair.new.best else "-"
