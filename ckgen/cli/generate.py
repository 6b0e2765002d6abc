"""ckgen generate: write the library's source tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import (
    filters_argument,
    out_option,
    set_option,
    spec_option,
    style_from,
    style_options,
)

if TYPE_CHECKING:
    from ckgen.cli.common.selection import Selection
    from ckgen.generate.writer import Plan


@click.command("generate", short_help="Write the library's source tree.")
@filters_argument
@spec_option
@set_option("default")
@out_option
@style_options
@click.option("--dry-run", is_flag=True, help="List what would be written and removed; write nothing.")
@click.option("--watch", is_flag=True, help="Stay, and write again whenever the spec changes; Ctrl-C ends it.")
@click.option("--list-inputs", is_flag=True, help="List the files that the tree depends on; write nothing.")
def generate_command(
    filters: tuple[str, ...],
    spec: Path,
    set_name: str,
    out: Path,
    namespace: str | None,
    compat: Literal["ck"] | None,
    dry_run: bool,
    watch: bool,
    list_inputs: bool,
) -> int:
    """Write the library's source tree. For FILTER see `ckgen list --help`.

    Writes only files that changed and removes only files that ckgen wrote. If the run is killed, every
    file is whole and the manifest says that the tree is unfinished: CMake refuses it, and the next run finishes it.

    \b
    Examples:
      ckgen generate
      ckgen generate --set full --out build/full
      ckgen generate family=wavelet dtype=f16,bf16 --out build/wavelet
      ckgen generate --compat ck --out build/ck
      ckgen generate --watch
    """
    from ckgen.cli.common.selection import Selection

    style = style_from(namespace, compat)
    if list_inputs:
        return _list_inputs(spec)
    selection = Selection(spec, set_name, filters, out, style=style)
    if not watch:
        return _write(selection, dry_run)
    from ckgen.cli.common.watching import watch as watched

    return watched(spec, lambda: _write(selection, dry_run, watching=True))


def _write(selection: Selection, dry_run: bool, *, watching: bool = False) -> int:
    """Write the tree of a selection, or list what would be written, and print the counts."""
    from ckgen.cli.common.known_trees import memory_of
    from ckgen.generate import writer

    out = selection.out
    memory = memory_of(selection, off=watching)
    if found := memory.intact(out):
        writer.resolved(out)  # refuses the current directory, as for a tree that is rendered
        _say_done(out, found[0], writer.Plan((), tuple(found[1]), ()), dry_run)
        return 0
    instances, tree = selection.render()
    done = writer.plan(tree, out) if dry_run else writer.apply(tree, out)
    memory.keep(len(instances), tree)
    if dry_run:
        for path in done.write:
            console.say(f"write   {path}")
        for path in done.prune:
            console.say(f"remove  {path}")
    _say_done(out, len(instances), done, dry_run)
    return 0


def _say_done(out: Path, instances: int, done: Plan, dry_run: bool) -> None:
    verb = "would be " if dry_run else ""
    counts = f"{verb}written {len(done.write)}, unchanged {len(done.keep)}, removed {len(done.prune)}"
    console.say(f"{out}: {instances} instances, {len(done.write) + len(done.keep)} files: {counts}")


def _list_inputs(spec: Path) -> int:
    """Print the spec and all files of ckgen that the tree may depend on, for build systems."""
    from ckgen.generate.inputs import input_files

    for path in (spec.resolve(), *input_files()):
        console.say(str(path))
    return 0
