"""ckgen diff: list the instances that changed since a git revision or a generated tree."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import json_option, spec_option


@click.command("diff", short_help="List the instances that changed since a git revision or a generated tree.")
@click.argument("base", metavar="REV|DIR")
@spec_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything was added, removed or changed, as git does.")
@json_option
def diff_command(base: str, spec: Path, exit_code: bool, as_json: bool) -> int:
    """List instances added, removed and changed since a git revision or a generated tree.

    Since a tree, only the instances are compared that the tree's own command, which its manifest records, would
    generate now; since a revision, all instances of the spec.

    \b
    Examples:
      ckgen diff HEAD
      ckgen diff v0.1.0 --json
      ckgen diff generated --exit-code
    """
    from ckgen.cli.common.history import before_and_now
    from ckgen.errors import EXIT_FAILED
    from ckgen.spec import catalog

    before, now = before_and_now(base, spec)
    functions = before.functions, now.functions
    found = catalog.diff(before.instances, now.instances, before.sets, now.sets, functions)
    code = EXIT_FAILED if exit_code and found else 0
    if as_json:
        changed = [{"old": c.old, "new": c.new, "what": c.what} for c in found.changed]
        console.say_json({"added": found.added, "removed": found.removed, "changed": changed})
        return code
    rows = [("added", name, "") for name in found.added]
    rows += [("removed", name, "") for name in found.removed]
    rows += [("changed", c.new, c.what if c.old == c.new else f"{c.what} (was {c.old})") for c in found.changed]
    if rows:
        console.show_table(("change", "instance", "what"), rows)
    counts = f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed"
    console.note(f"{base} -> {spec}: {counts}")
    return code
