"""ckgen validate: check instances.yaml and show all errors at once."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import json_option, spec_option


@click.command("validate", short_help="Check instances.yaml and show all errors at once.")
@spec_option
@json_option
def validate_command(spec: Path, as_json: bool) -> int:
    """Check instances.yaml against every rule and show all errors at once, each with its line.

    \b
    Example:
      ckgen validate --spec instances.yaml
    """
    from ckgen.cli.common.selection import load

    expansion = load(spec).expansion
    sizes = {name: len(members) for name, members in expansion.sets.items()}
    if as_json:
        console.say_json({"spec": str(spec), "instances": len(expansion.instances), "sets": sizes})
        return 0
    console.say(f"{spec}: {len(expansion.instances)} instances, no error")
    for name, size in sizes.items():
        console.say(f"  set {name}: {size}")
    return 0
