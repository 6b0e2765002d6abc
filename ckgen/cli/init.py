"""ckgen init: write a small instances.yaml to start from."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import PATH
from ckgen.cli.schema import schema_text


@click.command("init", short_help="Write a small instances.yaml to start from.")
@click.argument("folder", type=PATH, default=Path("."))
@click.option("--force", is_flag=True, help="Replace an existing instances.yaml.")
def init_command(folder: Path, force: bool) -> int:
    """Write a small instances.yaml to start from, and its schema for editors.

    \b
    Example:
      ckgen init my-library && cd my-library && ckgen validate
    """
    from ckgen.paths import PACKAGE

    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "instances.yaml"
    text = (PACKAGE / "cli" / "starters" / "weight.yaml").read_text(encoding="utf-8")
    if not write_new(spec, text, replace=force):
        raise click.UsageError(f"{spec} exists already; --force replaces it")
    write_new(folder / "instances.schema.json", schema_text(), replace=True)
    console.say(f"wrote {spec} and {folder / 'instances.schema.json'}")
    console.note("next: ckgen list, ckgen generate, ckgen build --platform host, ckgen smoke")
    return 0
