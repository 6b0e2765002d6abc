"""tune, select: from measured rows to a table, and from a problem to the instance that a table or library picks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli import console
from ckgen.cli.authoring import write_new
from ckgen.cli.options import PATH, json_option
from ckgen.measured import TABLES, Table

if TYPE_CHECKING:
    from ckgen.instance import Instance
    from ckgen.problem import ConvProblem
    from ckgen.selector import Choice

HEADERS = ("problem", "instance", "split_k", "answer", "us", "by")
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
    from ckgen.measured import table_text
    from ckgen.targets import check_archs

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
    from ckgen.tune import make_table, read_measured
    from ckgen.tune_model import predict_table

    if any(path.is_absolute() for path in (*results, spec, *([model] if model else []))):
        raise click.UsageError("the table notes the paths of its results: give them relative to the current folder")
    if model is not None and not results:
        return predict_table(model.as_posix(), spec.as_posix(), operation, Path())
    if results and arch is not None and model is None:
        return make_table(read_measured([path.as_posix() for path in results], Path()), operation, arch)
    message = "name the rows and where they were measured: --results FILE --arch NAME; or --model FILE; or --check"
    raise click.UsageError(message)


def _check(tables: Path) -> int:
    from ckgen.tune import find_drift

    drifts = find_drift(tables, Path())
    for drift in drifts:
        console.say(drift)
    if not drifts:
        console.say(f"tables: up to date, {len(list(tables.glob('*.json')))} made from results")
    return 1 if drifts else 0


@click.command("select", short_help="Which instance runs a problem, and why.")
@click.argument("words", nargs=-1, metavar="[PROBLEM]...")
@click.option("--problems", metavar="NAME|FILE", help="All problems of a set that comes with ckgen, or of a YAML file.")
@click.option("--dtype", default="f16", show_default=True, help="f16, bf16, f32 or bf16_f32_bf16.")
@click.option("--layout", metavar="IN/WEI/OUT", help="Default: channels last, for example NHWGC/GKYXC/NHWGK.")
@click.option("--arch", metavar="NAME", help="Default: the library's device, or the one that has a table.")
@click.option("--library", type=PATH, help="Choose among what this library holds and supports.")
@click.option("--spec", type=PATH, help="Without --library: choose among this file's instances too. [instances.yaml]")
@json_option
def select_command(
    words: tuple[str, ...],
    problems: str | None,
    dtype: str,
    layout: str | None,
    arch: str | None,
    library: Path | None,
    spec: Path | None,
    as_json: bool,
) -> int:
    """Say which instance, with which split-K factor, the selector picks for a problem, and what it knows of it.

    `measured` is the fastest right one of this very problem on this architecture. All else is `predicted`: by the
    nearest measured problem, by the cost model on architectures without measurements, or by rule. A time is shown
    where it is that of this very problem. Without --library it is known of an instance what its filter, vectors and
    groups take, and a library may still refuse. Exit 1 when there is nothing for a problem; its row says why.

    \b
    Examples:
      ckgen select G32 N32 K8 C8 3x3 on 100x100 s1 p1 --dtype bf16
      ckgen select --problems retinanet
      ckgen select K64 C32 3x3 on 14x14 p1 --layout NHWGK/GKYXC/NHWGC  # backward data
      ckgen select K64 C32 3x3 on 14x14 p1 --library build/ci/host/libckgen_conv.so
    """
    from ckgen.library import Library
    from ckgen.measured import load_tables
    from ckgen.selection import check_words, select

    check_words(dtype, layout, arch)
    asked, loaded = _asked(words, problems), Library(library) if library else None
    given: dict[str, Any] = {"layout": layout, "arch": arch, "library": loaded, "tables": load_tables()}
    if loaded is None:
        given["instances"] = _instances(spec)
    answers = [(one, _answer(partial(select, one, dtype, **given))) for one in asked]
    if as_json:
        console.say_json([_record(str(one), answer) for one, answer in answers])
    else:
        console.show_table(HEADERS, [_row(str(one), answer) for one, answer in answers], right=("split_k", "us"))
    return 1 if any(isinstance(answer, str) for _, answer in answers) else 0


def _asked(words: tuple[str, ...], problems: str | None) -> list[ConvProblem]:
    """The problem in words, or all of a set."""
    from ckgen.problem import ConvProblem
    from ckgen.problem_sets import load_problems
    from ckgen.problem_text import problem_fields

    if bool(words) == (problems is not None):
        raise click.UsageError("give one problem, or --problems")
    if problems:
        return [item.problem for item in load_problems(problems)]
    return [ConvProblem(**problem_fields(" ".join(words)))]


def _instances(spec: Path | None) -> tuple[Instance, ...]:
    """The instances of a spec; without one, of the current folder's if it has any."""
    from ckgen.cli.selection import DEFAULT_SPEC, load

    if spec is None and not DEFAULT_SPEC.is_file():
        return ()
    return load(spec or DEFAULT_SPEC).expansion.instances


def _answer(ask: Callable[[], Choice]) -> Choice | str:
    """What the selector says, or why it has nothing to say."""
    from ckgen.errors import CkgenError

    try:
        return ask()
    except CkgenError as error:
        return "; ".join(diagnostic.message for diagnostic in error.diagnostics)


def _record(asked: str, answer: Choice | str) -> dict[str, object]:
    if isinstance(answer, str):
        return {"asked": asked, "error": answer}
    return {"asked": asked, **asdict(answer), "answer": answer.answer, "basis": answer.basis}


def _row(asked: str, answer: Choice | str) -> tuple[str, ...]:
    if isinstance(answer, str):
        return asked, "-", "-", "none", "-", answer
    time = "-" if answer.microseconds is None else f"{answer.microseconds:.1f}"
    split_k = "chosen" if answer.split_k < 0 else str(answer.split_k)
    return asked, answer.name, split_k, answer.answer, time, answer.basis
