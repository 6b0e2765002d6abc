"""ckgen report: turn measured rows into a page or CSV."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common.options import FILE, PATH, asked_for, json_option
from ckgen.cli.common.store_option import store_option

PAGE = Path("build/report.html")


@click.command("report", short_help="Turn measured rows into a page or CSV.")
@store_option
@click.option(
    "--out",
    "outs",
    type=FILE,
    multiple=True,
    default=(PAGE,),
    show_default=True,
    help="A file to write: .html or .csv; may be given several times.",
)
@click.option("--run", type=click.IntRange(1), help="Number of a run, see --list; default: the newest.")
@click.option(
    "--code", type=PATH, help="A table of machine code, as docs/isa/gfx942.csv: adds its columns to the page."
)
@click.option(
    "--timelines", type=PATH, metavar="FOLDER", help="A folder that `ckgen isa --timeline` wrote: adds its pictures."
)
@click.option(
    "--against", metavar="RUN", help="Another run to compare with: its number, or a file as of `ckgen bench compare`."
)
@click.option(
    "--predicted",
    type=PATH,
    metavar="FILE",
    help="A table of machine code: predict every layer of a problem set instead and write CSV, by class of layer.",
)
@click.option(
    "--problems", default="zoo", metavar="NAME|FILE", help="With --predicted: a bundled problem set, or a YAML file."
)
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="With --predicted: N of the layers, a share of each class."
)
@click.option("--list", "list_runs", is_flag=True, help="List the runs of the store instead.")
@json_option
def report_command(
    store: Path,
    outs: tuple[Path, ...],
    run: int | None,
    code: Path | None,
    timelines: Path | None,
    against: str | None,
    predicted: Path | None,
    problems: str,
    sample: int | None,
    list_runs: bool,
    as_json: bool,
) -> int:
    """Write the rows of a run, and of the runs that it continued, as one self-contained page or as data.

    With --predicted nothing was measured: each layer of a problem set has the time of the cost model (see
    docs/isa.md) relative to the roofline, and the rows of a class of layers are added up. Run it at the root of a
    checkout; it takes a few minutes.

    \b
    Examples:
      ckgen report
      ckgen report --store bench.sqlite --out report.html --out rows.csv
      ckgen report --run 2 --against 1
      ckgen report --code docs/isa/gfx942.csv --timelines build/timelines
      ckgen report --predicted docs/isa/gfx942.csv --out docs/classes/gfx942.csv
      ckgen report --predicted docs/isa/gfx942.csv --problems mine.yaml --out mine.csv
      ckgen report --list
    """
    from ckgen.cli.run.report_run import Additions, list_stored_runs, report, report_predicted

    for name in ("sample", "problems") if predicted is None else ():
        if asked_for(click.get_current_context(), (name,)):
            raise click.UsageError(f"--{name} is for --predicted: name a table of machine code, or leave it out")
    if predicted is not None:
        return report_predicted(predicted, outs, as_json, sample, problems)
    if list_runs:
        return list_stored_runs(store, as_json)
    return report(store, outs, run, as_json, Additions(code, timelines, against))
