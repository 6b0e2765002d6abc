"""init, validate, schema: the commands for whoever writes an instances.yaml."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from ckgen.cli import console
from ckgen.cli.options import PATH, json_option, spec_option


@click.command("init", short_help="Write a small instances.yaml to start from.")
@click.argument("folder", type=PATH, default=Path("."))
@click.option("--force", is_flag=True, help="Replace an instances.yaml that is there.")
def init_command(folder: Path, force: bool) -> int:
    """Write a small instances.yaml to start from, and its schema for editors.

    \b
    Example:
      ckgen init my-library && cd my-library && ckgen validate
    """
    from ckgen.paths import PACKAGE

    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "instances.yaml"
    text = (PACKAGE / "starter.yaml").read_text(encoding="utf-8")
    if not write_new(spec, text, replace=force):
        raise click.UsageError(f"{spec} is there already; --force replaces it")
    write_new(folder / "instances.schema.json", schema_text(), replace=True)
    console.say(f"wrote {spec} and {folder / 'instances.schema.json'}")
    console.note("next: ckgen list, ckgen generate, ckgen build --platform host, ckgen smoke")
    return 0


@click.command("validate", short_help="Check instances.yaml; all errors at once.")
@spec_option
@json_option
def validate_command(spec: Path, as_json: bool) -> int:
    """Check instances.yaml against every rule; all errors at once, each with its line.

    \b
    Example:
      ckgen validate --spec instances.yaml
    """
    from ckgen.cli.selection import load

    expansion = load(spec).expansion
    sizes = {name: len(members) for name, members in expansion.sets.items()}
    if as_json:
        console.say_json({"spec": str(spec), "instances": len(expansion.instances), "sets": sizes})
        return 0
    console.say(f"{spec}: {len(expansion.instances)} instances, no error")
    for name, size in sizes.items():
        console.say(f"  set {name}: {size}")
    return 0


@click.command("schema", short_help="Print the JSON Schema of instances.yaml.")
@click.option("--out", type=PATH, default=None, help="Write to this file instead of standard output.")
def schema_command(out: Path | None) -> int:
    """Print the JSON Schema of instances.yaml, with which editors complete and check it.

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
    """The JSON Schema as a file: two blanks a level, one newline at the end."""
    from ckgen.spec import json_schema

    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def write_new(path: Path, text: str, *, replace: bool) -> bool:
    """Write a file in one step; False when it exists and must not be replaced."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True
