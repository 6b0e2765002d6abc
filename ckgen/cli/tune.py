"""ckgen tune: make the selector's table from measured rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import PATH
from ckgen.selection.measured import TABLES, Table

if TYPE_CHECKING:
    pass


OPERATION = "grouped_conv_bwd_weight"


@click.command("tune", short_help="Make the selector's table from measured rows.")
@click.option(
    "--results",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Rows of `ckgen report` (.csv, .csv.gz) or a store (.sqlite); of a job in several files the last row counts.",
)
@click.option("--arch", metavar="NAME", help="The architecture that they were measured on, for example sm_90a.")
@click.option(
    "--model", type=PATH, metavar="FILE", help="No results: predict by the cost model from this table of code."
)
@click.option("--spec", type=PATH, default=Path("instances.yaml"), help="With --model: whose instances to rank.")
@click.option("--operation", default=OPERATION, show_default=True, help="The operation to make the table of.")
@click.option("--tables", type=PATH, default=TABLES, help="Folder of tables; default: those that come with ckgen.")
@click.option("--check", "checking", is_flag=True, help="Write nothing; exit 1 if a table is not what its results say.")
def tune_command(
    results: tuple[Path, ...],
    arch: str | None,
    model: Path | None,
    spec: Path,
    operation: str,
    tables: Path,
    checking: bool,
) -> int:
    """Write the table of best instances that `ckgen.select` and the C++ library pick from.

    Only right results count. Where there are none, --model ranks instances by the cost model of docs/isa.md, and the
    selector says `predicted` of what it picks from that. The table names its results with their digests: run this
    where their paths hold, at the root of a checkout. `ckgen generate` then puts the table into the library.

    \b
    Examples:
      ckgen tune --results bench/results/2026-11-21-h200/rows.csv.gz --arch sm_90a
      ckgen tune --model docs/isa/gfx942.csv
      ckgen tune --check
    """
    from ckgen.build.targets import check_archs
    from ckgen.selection.measured import table_text

    check_archs([arch] if arch else [])
    if checking:
        return _check(tables)
    table = _make(results, arch, model, spec, operation)
    tables.mkdir(parents=True, exist_ok=True)
    write_new(tables / table.file_name, table_text(table), replace=True)
    candidates = sum(len(row.candidates) for row in table.rows)
    console.say(f"{tables / table.file_name}: {len(table.rows)} problems, {candidates} candidates")
    console.note("to put it into the library and the pages: ckgen generate; make docs")
    return 0


def _make(results: tuple[Path, ...], arch: str | None, model: Path | None, spec: Path, operation: str) -> Table:
    from ckgen.tuning.from_model import predict_table
    from ckgen.tuning.from_rows import make_table, read_measured

    if any(path.is_absolute() for path in (*results, spec, *([model] if model else []))):
        raise click.UsageError("the table notes the paths of its results: give them relative to the current folder")
    if model is not None and not results:
        return predict_table(model.as_posix(), spec.as_posix(), operation, Path())
    if results and arch is not None and model is None:
        return make_table(read_measured([path.as_posix() for path in results], Path()), operation, arch)
    message = "name the rows and where they were measured: --results FILE --arch NAME; or --model FILE; or --check"
    raise click.UsageError(message)


def _check(tables: Path) -> int:
    from ckgen.tuning.from_rows import find_drift

    drifts = find_drift(tables, Path())
    for drift in drifts:
        console.say(drift)
    if not drifts:
        console.say(f"tables: up to date, {len(list(tables.glob('*.json')))} made from results")
    return 1 if drifts else 0
