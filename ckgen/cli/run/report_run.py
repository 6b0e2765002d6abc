"""Implementation of `ckgen report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ckgen.bench.store import Origin, Store
from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.shape_table import show_shapes
from ckgen.report.page import Picture
from ckgen.report.summary import load_summary

SUFFIXES = (".html", ".csv")


@dataclass(frozen=True, slots=True)
class Additions:
    """The optional parts of a page: a table of machine code, a folder with pictures of simulations, and a run to
    compare with."""

    code: Path | None = None
    timelines: Path | None = None
    against: str | None = None


def report(store_path: Path, outs: Sequence[Path], run: int | None, as_json: bool, more: Additions) -> int:
    """Write each file of ``outs`` in the format of its suffix."""
    from ckgen.machine_code.table import read_table
    from ckgen.report.compare import compare, load_run
    from ckgen.report.export import to_csv
    from ckgen.report.page import render_report

    for out in outs:
        if out.suffix not in SUFFIXES:
            raise click.BadParameter(f"{out} does not end in {', '.join(SUFFIXES)}", param_hint="--out")
    table = None if more.code is None else read_table(more.code)
    pictures = [] if more.timelines is None else _pictures(more.timelines)
    with Store(store_path, create=False) as store:
        summary = load_summary(store, run)
        beside = None if more.against is None else compare(load_run(more.against, store_path), summary)
        for out in outs:
            html = out.suffix == ".html"
            out.parent.mkdir(parents=True, exist_ok=True)
            text = render_report(summary, table, beside, pictures) if html else to_csv(summary, store.runs())
            write_new(out, text, replace=True)
            console.note(f"wrote {out}")
    if as_json:
        console.say_json([asdict(total) for total in summary.totals])
    else:
        show_shapes(summary)
    return 0


def _pictures(folder: Path) -> list[Picture]:
    files = sorted(folder.glob("*.svg"))
    if not files:
        raise click.BadParameter(
            f"there is no .svg in {folder}; make some: ckgen isa FILTERS --simulate --timeline {folder}",
            param_hint="--timelines",
        )
    return [Picture(file.stem, file.read_bytes()) for file in files]


def list_stored_runs(store_path: Path, as_json: bool) -> int:
    """Print the runs of a store, oldest first."""
    with Store(store_path, create=False) as store:
        runs = store.runs()
        counts = {number: len(store.rows([number])) for number in runs}
    if as_json:
        console.say_json([{"run": n, "rows": counts[n], **asdict(origin)} for n, origin in runs.items()])
        return 0
    headers = ("run", "started", "device", "platform", "commit", "library", "rows")
    rows = [(number, *_run_cells(origin), counts[number]) for number, origin in runs.items()]
    console.show_table(headers, rows, right=("run", "rows"))
    return 0


def _run_cells(origin: Origin) -> tuple[str, ...]:
    return origin.started, origin.device, origin.platform, origin.commit_id[:12], origin.library_digest[:12]


def report_predicted(code: Path, outs: Sequence[Path], as_json: bool, sample: int | None, problems: str) -> int:
    """Write the predicted times of a problem set, or of a sample, to the file of ``outs``; show the slow classes."""
    from ckgen.report.by_class import class_rows, make_study, study_problems, to_text

    if len(outs) != 1 or outs[0].suffix != ".csv" or code.is_absolute():
        raise click.UsageError(
            "--predicted takes the name of a table relative to the current folder, and one --out .csv"
        )
    study = make_study(code.as_posix(), "instances.yaml", Path(), problems)
    rows = tuple(class_rows(study, study_problems(study, sample)))
    write_new(outs[0], to_text(study, rows), replace=True)
    console.note(f"wrote {outs[0]}")
    if as_json:
        console.say_json([asdict(row) for row in rows])
        return 0
    slow = [row for row in rows if row.slow]
    console.say(f"{study.arch}: {len(rows) - len(slow)} of {len(rows)} classes within the bar")
    headers = ("operation", "order", "type", "set", "class", "part", "layers", "mean", "worst", "worst layer")
    cells = [
        (
            *(row.operation, row.order, row.dtype, row.set_name, row.class_name, row.part, row.layers),
            *(f"{row.mean:.2f}", f"{row.worst:.1f}", row.problem),
        )
        for row in slow
    ]
    if cells:
        console.show_table(headers, cells, right=("layers", "mean", "worst"))
    return 0
