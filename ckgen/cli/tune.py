"""ckgen tune: make the selector's table from measured rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.cluster_option import cluster_option
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import PATH, asked_for, problems_option
from ckgen.errors import EXIT_FAILED
from ckgen.operations.operation import DEFAULT_OPERATION
from ckgen.selection.measured import TABLES, Table


@click.command("tune", short_help="Make the selector's table from measured rows.")
@click.option(
    "--results",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Rows of `ckgen report` (.csv, .csv.gz) or a store (.sqlite). The last file with a row for a job wins.",
)
@click.option("--arch", metavar="NAME", help="The architecture that they were measured on, for example sm_90a.")
@click.option(
    "--model", type=PATH, metavar="FILE", help="Without --results: predict with the cost model from this code table."
)
@click.option("--spec", type=PATH, default=Path("instances.yaml"), help="With --model: the spec of the instances.")
@click.option(
    "--library",
    type=PATH,
    metavar="FILE",
    help="First measure what --results, one store (.sqlite), lacks: every instance of this library.",
)
@problems_option("retinanet")
@cluster_option("the measurements of --library")
@click.option("--operation", default=DEFAULT_OPERATION, show_default=True, help="The operation that the table is for.")
@click.option("--tables", type=PATH, default=TABLES, help="Folder of the tables; default: the bundled ones.")
@click.option("--check", "checking", is_flag=True, help="Write nothing; exit 1 if a table differs from its results.")
@click.option(
    "--classes",
    type=PATH,
    default=Path("docs/classes"),
    show_default=True,
    help="With --check: folder of the files of `ckgen report --predicted`, which are checked too.",
)
@click.pass_context
def tune_command(
    ctx: click.Context,
    results: tuple[Path, ...],
    arch: str | None,
    model: Path | None,
    spec: Path,
    library: Path | None,
    problems: tuple[str, ...],
    cluster: str | None,
    operation: str,
    tables: Path,
    checking: bool,
    classes: Path,
) -> int:
    """Write the table of the fastest instances, which `ckgen.select` and the C++ library read.

    Only correct results count. For an architecture without results, --model ranks instances with the cost model of
    docs/isa.md; the selector calls its choices from such a table `predicted`. The table contains the paths and digests
    of its results: run this at the root of a checkout, where the paths are valid. `ckgen generate` then copies the
    table into the library.

    \b
    Examples:
      ckgen tune --results bench/results/2026-11-21-h200/rows.csv.gz --arch sm_90a
      ckgen tune --library libckgen_conv.so --results rows.sqlite --arch sm_90a --cluster
      ckgen tune --model docs/isa/gfx942.csv
      ckgen tune --check
    """
    from ckgen.build.targets import check_archs

    check_archs([arch] if arch else [])
    if checking:
        return _check(tables, classes)
    _refuse_absolute((*results, spec, *([model] if model else [])))
    _measure(ctx, results, library, problems, cluster)
    table = _make(results, arch, model, spec, operation)
    _write(table, tables)
    return 0


def _write(table: Table, tables: Path) -> None:
    from ckgen.selection.measured import table_text

    tables.mkdir(parents=True, exist_ok=True)
    write_new(tables / table.file_name, table_text(table), replace=True)
    count = sum(len(row.candidates) for row in table.rows)
    console.say(f"{tables / table.file_name}: {len(table.rows)} problems, {count} candidates")
    console.note("to put it into the library and the pages: ckgen generate; make docs")


def _refuse_absolute(paths: Iterable[Path]) -> None:
    if any(path.is_absolute() for path in paths):
        raise click.UsageError("the table notes the paths of its results: give them relative to the current folder")


def _measure(
    ctx: click.Context, results: tuple[Path, ...], library: Path | None, problems: tuple[str, ...], cluster: str | None
) -> None:
    """Measure what the store lacks with `ckgen bench`. Its failed rows do not count, so its exit code does not."""
    from ckgen.cli.bench import bench_command

    if library is None:
        if cluster is not None:
            raise click.UsageError("--cluster spreads the measurements of --library: name one")
        return
    if len(results) != 1 or results[0].suffix != ".sqlite":
        raise click.UsageError("--library measures into --results FILE.sqlite: name one")
    ctx.invoke(bench_command, library=library, problems=problems, store=results[0], cluster=cluster)


def _make(results: tuple[Path, ...], arch: str | None, model: Path | None, spec: Path, operation: str) -> Table:
    from ckgen.tuning.from_model import predict_table
    from ckgen.tuning.from_rows import make_table, read_measured

    if model is not None and not results:
        return predict_table(model.as_posix(), spec.as_posix(), operation, Path())
    if results and arch is not None and model is None:
        return make_table(read_measured([path.as_posix() for path in results], Path()), operation, arch)
    message = "name the rows and where they were measured: --results FILE --arch NAME; or --model FILE; or --check"
    raise click.UsageError(message)


def _check(tables: Path, classes: Path) -> int:
    if not tables.is_dir():
        raise click.BadParameter(f"there is no folder {tables} with tables to check", param_hint="--tables")
    if asked_for(click.get_current_context(), ("classes",)) and not classes.is_dir():
        raise click.BadParameter(f"there is no folder {classes} with files to check", param_hint="--classes")
    from ckgen.report import by_class
    from ckgen.tuning.from_rows import find_drift, find_times_drift

    drifts = find_drift(tables, Path()) + (find_times_drift(Path()) if tables == TABLES else [])
    for file in sorted(classes.rglob("*.csv")):
        drifts += by_class.find_drift(file, Path())
    for drift in drifts:
        console.say(drift)
    if not drifts:
        console.say(f"tables: up to date, {len(list(tables.glob('*.json')))} made from results")
    return EXIT_FAILED if drifts else 0
