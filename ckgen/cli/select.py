"""ckgen select: show which instance the selector chooses for a problem, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import PATH, json_option, problems_option
from ckgen.conv.dtypes import DTYPES

if TYPE_CHECKING:
    from ckgen.conv.problem import ConvProblem
    from ckgen.instance.instance import Instance
    from ckgen.selection.candidates import Choice


_DTYPES = tuple(DTYPES)
HEADERS = ("problem", "instance", "split_k", "answer", "us", "by")


@click.command("select", short_help="Show which instance the selector chooses for a problem, and why.")
@click.argument("words", nargs=-1, metavar="[PROBLEM]...")
@problems_option()
@click.option("--dtype", default="f16", show_default=True, help=f"{', '.join(_DTYPES[:-1])} or {_DTYPES[-1]}.")
@click.option("--layout", metavar="IN/WEI/OUT", help="Default: channels last, for example NHWGC/GKYXC/NHWGK.")
@click.option("--operation", metavar="NAME", help="Default: the one that has the layout, or backward weight.")
@click.option("--arch", metavar="NAME", help="Default: the library's device, or the only architecture with a table.")
@click.option("--library", type=PATH, help="Choose only instances that this library has and supports.")
@click.option("--spec", type=PATH, help="Without --library: also choose among this file's instances. [instances.yaml]")
@json_option
def select_command(
    words: tuple[str, ...],
    problems: tuple[str, ...],
    dtype: str,
    layout: str | None,
    operation: str | None,
    arch: str | None,
    library: Path | None,
    spec: Path | None,
    as_json: bool,
) -> int:
    """Print the instance and split-K factor that the selector chooses for a problem, and why.

    `measured` is the fastest correct instance for exactly this problem on this architecture. Any other answer is
    `predicted`: by the cost model on architectures without measurements, by the model of time, or by rule.
    A time is shown only if it is for exactly this problem. Without --library, only the instance's filter, vector sizes
    and groups are compared with the problem, so a library may still refuse it. Exits with 1 if there is no instance
    for a problem; its row says why.

    \b
    Examples:
      ckgen select G32 N32 K8 C8 3x3 on 100x100 s1 p1 --dtype bf16
      ckgen select --problems retinanet
      ckgen select K64 C32 3x3 on 14x14 p1 --operation grouped_conv_bwd_data
      ckgen select K64 C32 3x3 on 14x14 p1 --library build/ci/host/libckgen_conv.so
    """
    from ckgen.library.choose import check_words, select
    from ckgen.library.library import Library
    from ckgen.selection.measured import load_tables

    check_words(dtype, layout, arch, operation)
    asked, loaded = _asked(words, problems), Library(library) if library else None
    given: dict[str, Any] = {"layout": layout, "operation": operation, "arch": arch, "library": loaded}
    given |= {"tables": load_tables(), "instances": () if loaded else _instances(spec)}
    answers = [(one, _answer(partial(select, one, dtype, **given))) for one in asked]
    if as_json:
        console.say_json([_record(str(one), answer) for one, answer in answers])
    else:
        console.show_table(HEADERS, [_row(str(one), answer) for one, answer in answers], right=("split_k", "us"))
    return 1 if any(isinstance(answer, str) for _, answer in answers) else 0


def _asked(words: tuple[str, ...], problems: tuple[str, ...]) -> list[ConvProblem]:
    """Read the problem given in words, or load all problems of the sets."""
    from ckgen.conv.notation import problem_fields
    from ckgen.conv.problem import ConvProblem
    from ckgen.problems.sets import load_problems

    if bool(words) == bool(problems):
        raise click.UsageError("give one problem, or --problems")
    if problems:
        return [item.problem for name in problems for item in load_problems(name)]
    return [ConvProblem(**problem_fields(" ".join(words)))]


def _instances(spec: Path | None) -> tuple[Instance, ...]:
    """Load the instances of a spec; by default, of the current folder's spec if there is one."""
    from ckgen.cli.common.selection import DEFAULT_SPEC, load

    if spec is None and not DEFAULT_SPEC.is_file():
        return ()
    return load(spec or DEFAULT_SPEC).expansion.instances


def _answer(ask: Callable[[], Choice]) -> Choice | str:
    """Return the selector's choice, or the reason why there is none. Raise CkgenError if the operation is unclear."""
    from ckgen.errors import CkgenError

    try:
        return ask()
    except CkgenError as error:
        if any(diagnostic.rule == "operation" for diagnostic in error.diagnostics):
            raise  # the same for every problem
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
