"""ckgen validate: check instances.yaml and show all errors at once."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.findings import format_option, say_findings, told
from ckgen.cli.common.options import spec_option


@click.command("validate", short_help="Check instances.yaml and show all errors at once.")
@spec_option
@format_option
def validate_command(spec: Path, form: str) -> int:
    """Check instances.yaml against every rule and show all errors at once, each with its line.

    \b
    Examples:
      ckgen validate
      ckgen validate --spec instances.yaml --json
      ckgen validate --format github
    """
    from ckgen.cli.common.selection import load
    from ckgen.errors import CkgenError

    try:
        expansion = load(spec).expansion
    except CkgenError as error:
        return told(form, error, spec=str(spec), instances=None, sets={})
    sizes = {name: len(members) for name, members in expansion.sets.items()}
    if form != "text":
        say_findings(form, (), spec=str(spec), instances=len(expansion.instances), sets=sizes)
        return 0
    console.say(f"{spec}: {len(expansion.instances)} instances, no error")
    for name, size in sizes.items():
        console.say(f"  set {name}: {size}")
    return 0
