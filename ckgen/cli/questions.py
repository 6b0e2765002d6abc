"""list, explain, diff: what exists, why, and what changed. Nothing here writes a file."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli import console
from ckgen.cli.options import filters_argument, json_option, set_option, spec_option


@click.command("list", short_help="List instances; --json for scripts.")
@filters_argument
@spec_option
@set_option("default")
@click.option("--names", is_flag=True, help="Print names alone, one a line.")
@json_option
def list_command(filters: tuple[str, ...], spec: Path, set_name: str, names: bool, as_json: bool) -> int:
    """List instances: what `ckgen generate` with the same arguments would write.

    \b
    FILTER chooses instances:
      '*wavelet*'         a glob on the name; quote it, or the shell expands it
      dtype=f16,bf16      a value, with alternatives
      family!=xdl         anything else
      'm_per_block>=128'  a number
    Several globs are alternatives; all tests must hold. Keys are the fields and derived values that
    `ckgen explain NAME` shows, and ndim, tile, vector, wave_ratio, arch and set.

    \b
    Examples:
      ckgen list
      ckgen list '*wavelet*' dtype=f16 tile=128x128
      ckgen list --set full ndim=3 --json
    """
    from ckgen.catalog import LIST_HEADERS, list_records, list_rows
    from ckgen.cli.selection import DEFAULT_OUT, Selection, load

    loaded = load(spec)
    instances = Selection(spec, set_name, filters, DEFAULT_OUT).choose(loaded)
    sets = loaded.expansion.sets
    if as_json:
        console.say_json(list_records(instances, sets))
    elif names:
        console.say("\n".join(instance.name for instance in instances))
    else:
        console.show_table(LIST_HEADERS, list_rows(instances, sets), right=("lds",))
        console.note(f"{len(instances)} of {len(loaded.expansion.instances)} instances")
    return 0


@click.command("explain", short_help="Why an instance is as it is, or is absent.")
@click.argument("words", nargs=-1, required=True, metavar="NAME|KEY=VALUE...")
@spec_option
def explain_command(words: tuple[str, ...], spec: Path) -> int:
    """Say where each value of an instance comes from, or why a combination does not exist.

    For instances in the tables of docs/isa there is a line about the machine code on each architecture. An absent
    combination is explained by the rule, exclude or axis that keeps it out, with the nearest change
    that would admit it.

    \b
    Examples:
      ckgen explain '*wavelet_nhwgc*_f16_default_128x128*w4x4*'
      ckgen explain family=wavelet dtype=f32
      ckgen explain family=xdl tile=256x256 block_size=256
    """
    from ckgen.cli.machine import TABLES
    from ckgen.cli.selection import load
    from ckgen.explain import explain
    from ckgen.hardware import ARCHES
    from ckgen.isa_table import load_tables

    tables = load_tables(spec.parent / TABLES, tuple(ARCHES))
    console.say(explain(load(spec).expansion, words, tables).rstrip("\n"))
    return 0


@click.command("diff", short_help="What changed since a git revision or in a tree.")
@click.argument("base", metavar="REV|DIR")
@spec_option
@json_option
def diff_command(base: str, spec: Path, as_json: bool) -> int:
    """List instances added, removed and changed since a git revision or a generated tree.

    \b
    Examples:
      ckgen diff HEAD
      ckgen diff v0.1.0 --json
      ckgen diff generated
    """
    from ckgen import catalog
    from ckgen.cli.history import before_and_now

    before, now = before_and_now(base, spec)
    functions = before.functions, now.functions
    found = catalog.diff(before.instances, now.instances, before.sets, now.sets, functions)
    if as_json:
        changed = [{"old": c.old, "new": c.new, "what": c.what} for c in found.changed]
        console.say_json({"added": found.added, "removed": found.removed, "changed": changed})
        return 0
    rows = [("added", name, "") for name in found.added]
    rows += [("removed", name, "") for name in found.removed]
    rows += [("changed", c.new, c.what if c.old == c.new else f"{c.what} (was {c.old})") for c in found.changed]
    if rows:
        console.show_table(("change", "instance", "what"), rows)
    counts = f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed"
    console.note(f"{base} -> {spec}: {counts}")
    return 0
