"""generate, check: between instances.yaml and the generated tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ckgen.cli import console
from ckgen.cli.options import asked_for, filters_argument, json_option, out_option, set_option, spec_option

SHOWN_STRAYS = 8


@click.command("generate", short_help="Write the library's source tree.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@click.option("--dry-run", is_flag=True, help="Say what would be written and removed; write nothing.")
@click.option("--list-inputs", is_flag=True, help="List the files that the tree depends on; write nothing.")
def generate_command(
    filters: tuple[str, ...], spec: Path, set_name: str, out: Path, dry_run: bool, list_inputs: bool
) -> int:
    """Write the library's source tree. FILTER is explained by `ckgen list --help`.

    Only what changed is written and only files that ckgen made are removed, in one step: a run that is killed
    leaves the old tree or the new one.

    \b
    Examples:
      ckgen generate
      ckgen generate --set full --out build/full
      ckgen generate family=wavelet dtype=f16,bf16 --out build/wavelet
    """
    from ckgen import outputs
    from ckgen.cli.selection import Selection

    if list_inputs:
        return _list_inputs(spec)
    instances, tree = Selection(spec, set_name, filters, out).render()
    done = outputs.plan(tree, out) if dry_run else outputs.apply(tree, out)
    if dry_run:
        for path in done.write:
            console.say(f"write   {path}")
        for path in done.prune:
            console.say(f"remove  {path}")
    verb = "would be " if dry_run else ""
    counts = f"{verb}written {len(done.write)}, unchanged {len(done.keep)}, removed {len(done.prune)}"
    console.say(f"{out}: {len(instances)} instances, {len(tree)} files: {counts}")
    return 0


def _list_inputs(spec: Path) -> int:
    """For build systems: the spec and every file of this ckgen that decides what the tree holds."""
    from ckgen.context import input_files

    for path in (spec.resolve(), *input_files()):
        console.say(str(path))
    return 0


@click.command("check", short_help="Fail if the tree drifted, and say what moved.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@json_option
@click.pass_context
def check_command(
    ctx: click.Context, filters: tuple[str, ...], spec: Path, set_name: str, out: Path, as_json: bool
) -> int:
    """Fail if the generated tree is not what instances.yaml says, and tell what moved.

    Without FILTER, --spec and --set the tree's own manifest says how it was generated, and the spec is looked for
    where that was. Exit 1 comes with a unified diff and the cause of each difference: spec, template, table, tool,
    command or a hand edit. A file that ckgen did not write is only pointed out.

    \b
    Examples:
      ckgen check
      ckgen check --out build/full
    """
    from ckgen import outputs
    from ckgen.cli.selection import Selection, recorded

    selection = Selection(spec, set_name, filters, out)
    asked = asked_for(ctx, ("filters", "spec", "set_name"))
    selection = selection if asked else recorded(selection)
    _, tree = selection.render()
    drifts, strays = outputs.check(tree, out), outputs.strays(tree, out)
    if as_json:
        rows = [{"path": d.path, "kind": d.kind, "causes": d.causes, "diff": d.diff} for d in drifts]
        console.say_json({"out": str(out), "files": len(tree), "drift": rows, "strays": strays})
        return 1 if drifts else 0
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
    console.note(f"{out}: {len(drifts)} of {len(tree)} files drifted; run{where}: {selection.command}")
    return 1


def _point_out(strays: Sequence[str]) -> None:
    for path in strays[:SHOWN_STRAYS]:
        console.note(f"warning: {path} is not generated and part of no library")
    if len(strays) > SHOWN_STRAYS:
        console.note(f"warning: and {len(strays) - SHOWN_STRAYS} more")
