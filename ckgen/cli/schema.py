"""ckgen schema: print the JSON Schema of instances.yaml."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import FILE


@click.command("schema", short_help="Print the JSON Schema of instances.yaml.")
@click.option("--out", type=FILE, default=None, help="Write to this file instead of standard output.")
def schema_command(out: Path | None) -> int:
    """Print the JSON Schema of instances.yaml; editors use it to complete and check the file.

    \b
    Example:
      ckgen schema --out instances.schema.json
    """
    if out is None:
        console.say(schema_text().rstrip("\n"))
    else:
        write_new(out, schema_text(), replace=True)
        console.note(f"wrote {out}")
    return 0


def schema_text() -> str:
    """Return the JSON Schema as the text of a file, indented by two spaces."""
    from ckgen.spec.models import json_schema

    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
