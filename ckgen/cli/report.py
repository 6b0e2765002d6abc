"""ckgen report: turn measured rows into a page or CSV."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common.options import PATH, json_option
from ckgen.cli.common.store_option import store_option

PAGE = Path("build/report.html")


@click.command("report", short_help="Turn measured rows into a page or CSV.")
@store_option
@click.option(
    "--out",
    "outs",
    type=PATH,
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
    "--against", metavar="RUN", help="Another run to compare with: its number, or a file as of `ckgen bench compare`."
)
@click.option("--list", "list_runs", is_flag=True, help="List the runs of the store instead.")
@json_option
def report_command(
    store: Path,
    outs: tuple[Path, ...],
    run: int | None,
    code: Path | None,
    against: str | None,
    list_runs: bool,
    as_json: bool,
) -> int:
    """Write the rows of a run, and of the runs that it continued, as one self-contained page or as data.

    \b
    Examples:
      ckgen report
      ckgen report --store bench.sqlite --out report.html --out rows.csv
      ckgen report --run 2 --against 1
      ckgen report --list
    """
    from ckgen.cli.run.report_run import list_stored_runs, report

    if list_runs:
        return list_stored_runs(store, as_json)
    return report(store, outs, run, code, as_json, against)
