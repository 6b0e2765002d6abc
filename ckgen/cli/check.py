"""ckgen check: fail if the generated tree drifted, and show the differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import asked_for, filters_argument, json_option, out_option, set_option, spec_option
from ckgen.cli.common.recorded import in_recorded_style, recorded
from ckgen.errors import EXIT_FAILED

SHOWN_STRAYS = 8


@click.command("check", short_help="Fail if the generated tree drifted, and show the differences.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@json_option
@click.pass_context
def check_command(
    ctx: click.Context, filters: tuple[str, ...], spec: Path, set_name: str, out: Path, as_json: bool
) -> int:
    """Compare the generated tree with what instances.yaml generates now, and fail if they differ.

    Without FILTER, --spec and --set, uses the command that the tree's manifest records, and searches the spec in the
    folder where that command ran. If they differ, prints a unified diff and the cause of each difference (spec,
    template, command or a hand edit, else the tool, which now writes the file differently) and exits with 1. A file
    that ckgen did not write only causes a warning.

    \b
    Examples:
      ckgen check
      ckgen check --out build/full
    """
    from ckgen.cli.common.selection import Selection
    from ckgen.generate import writer

    selection = Selection(spec, set_name, filters, out)
    asked = asked_for(ctx, ("filters", "spec", "set_name"))
    selection = in_recorded_style(selection) if asked else recorded(selection)
    _, tree = selection.render()
    drifts, strays = writer.check(tree, out), writer.strays(tree, out)
    if as_json:
        rows = [{"path": d.path, "kind": d.kind, "causes": d.causes, "diff": d.diff} for d in drifts]
        console.say_json({"out": str(out), "files": len(tree), "drift": rows, "strays": strays})
        return EXIT_FAILED if drifts else 0
    _point_out(strays)
    if not drifts:
        console.say(f"{out}: up to date, {len(tree)} files")
        return 0
    if any(drift.causes != ("not generated",) for drift in drifts):
        for drift in drifts:
            console.show_diff(drift.diff)
        for drift in drifts:
            console.say(drift.summary)
    where = f" in {selection.root}" if selection.root != Path() else ""
    console.note(f"{out}: {len(drifts)} of {len(tree)} files drifted; run{where}: {selection.command.text}")
    return EXIT_FAILED


def _point_out(strays: Sequence[str]) -> None:
    for path in strays[:SHOWN_STRAYS]:
        console.note(f"warning: {path} is not a generated file and is not in the library")
    if len(strays) > SHOWN_STRAYS:
        console.note(f"warning: and {len(strays) - SHOWN_STRAYS} more")
