"""ckgen check: fail if the generated tree drifted, and show the differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.findings import format_option, say_findings, told
from ckgen.cli.common.options import asked_for, filters_argument, out_option, set_option, spec_option
from ckgen.errors import EXIT_FAILED, CkgenError, Diagnostic, Place

if TYPE_CHECKING:
    from ckgen.cli.common.selection import Selection
    from ckgen.generate.drift import Drift

SHOWN_STRAYS = 8


@click.command("check", short_help="Fail if the generated tree drifted, and show the differences.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@click.option("--brief", is_flag=True, help="Print one line per file that differs, without its diff.")
@format_option
@click.pass_context
def check_command(
    ctx: click.Context, filters: tuple[str, ...], spec: Path, set_name: str, out: Path, brief: bool, form: str
) -> int:
    """Compare the generated tree with what instances.yaml generates now, and fail if they differ.

    Without FILTER, --spec and --set, uses the command that the tree's manifest records, and searches the spec in the
    folder where that command ran. If they differ, prints a unified diff and the cause of each difference (spec,
    template, command, a hand edit or line ends, else the tool, which now writes the file differently) and exits with 1.
    A file that ckgen did not write only causes a warning. With --set, a tree of another set or FILTER differs too.

    \b
    Examples:
      ckgen check
      ckgen check --brief
      ckgen check --set default
      ckgen check --out build/full --format sarif
    """
    from ckgen.cli.common.recorded import in_recorded_style, recorded
    from ckgen.cli.common.selection import Selection

    selection = Selection(spec, set_name, filters, out)
    try:
        asked = asked_for(ctx, ("filters", "spec", "set_name"))
        selection = in_recorded_style(selection) if asked else recorded(selection)
        drifts, strays, files = _compare(selection, out)
    except CkgenError as error:
        return told(form, error, out=str(out), files=None, drift=[], strays=[])
    if form != "text":
        rows = [{"path": d.path, "kind": d.kind, "causes": d.causes, "diff": d.diff} for d in drifts]
        facts = {"out": str(out), "files": files, "drift": rows, "strays": strays}
        say_findings(form, _findings(out, drifts, strays, selection), **facts)
        return EXIT_FAILED if drifts else 0
    _point_out(strays)
    if not drifts:
        console.say(f"{out}: up to date, {files} files of {_chosen(selection)}")
        return 0
    if len(drifts) < files or any(drift.kind != "missing" for drift in drifts):  # otherwise there is no tree
        _show(drifts, brief)
    console.warn(f"{out}: {len(drifts)} of {files} files drifted; run{_where(selection)}: {selection.command.text}")
    return EXIT_FAILED


def _compare(selection: Selection, out: Path) -> tuple[tuple[Drift, ...], tuple[str, ...], int]:
    """The differences between a folder and the selection's tree, the foreign files in it, and the tree's files."""
    from ckgen.cli.common.known_trees import memory_of
    from ckgen.generate import writer

    memory = memory_of(selection)
    if found := memory.intact(out):
        return (), writer.strays(found[1], out), len(found[1])
    instances, tree = selection.render()
    memory.keep(len(instances), tree)
    return writer.check(tree, out), writer.strays(tree, out), len(tree)


def _show(drifts: Sequence[Drift], brief: bool) -> None:
    """Print the diffs and their causes."""
    from ckgen.generate.drift import LINE_ENDS

    for drift in () if brief else drifts:
        console.show_diff(drift.diff)
    for drift in drifts:
        console.say(drift.summary)
    if any(LINE_ENDS in drift.causes for drift in drifts):
        console.warn("git may have changed the line ends; `generated/** -text` in .gitattributes prevents that")


def _findings(out: Path, drifts: Sequence[Drift], strays: Sequence[str], selection: Selection) -> list[Diagnostic]:
    help_text = f"run{_where(selection)}: {selection.command.text}"
    found = [Diagnostic(Place(str(out / d.path), 1, 1), "drift", d.summary, help_text) for d in drifts]
    message = "this file is not generated and is not in the library"
    return [*found, *(Diagnostic(Place(str(out / path), 1, 1), "stray", message, "", "warning") for path in strays)]


def _chosen(selection: Selection) -> str:
    """The set and the filters, so that a tree of fewer instances than expected does not pass unnoticed."""
    filters = f", filter {' '.join(selection.filters)}" if selection.filters else ""
    return f"set {selection.set_name}{filters}"


def _where(selection: Selection) -> str:
    return f" in {selection.root}" if selection.root != Path() else ""


def _point_out(strays: Sequence[str]) -> None:
    for path in strays[:SHOWN_STRAYS]:
        console.warn(f"warning: {path} is not a generated file and is not in the library")
    if len(strays) > SHOWN_STRAYS:
        console.warn(f"warning: and {len(strays) - SHOWN_STRAYS} more")
