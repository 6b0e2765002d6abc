"""ckgen import: turn another project's instance lists into a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import FILE, PATH, json_option

if TYPE_CHECKING:
    from ckgen.ck.importing import Imported

HEADERS = ("row", "became")


@click.command("import", short_help="Turn CK's instance lists into a spec.")
@click.argument("format", type=click.Choice(["ck"]))
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option(
    "--layout",
    default="",
    metavar="IN",
    help="Layout of type strings: the input's, as nhwgc, or as ngchw_gkcyx_ngkhw. [the file's name]",
)
@click.option("--dtype", default="", metavar="WORD", help="Data type of type strings, as fp16. [the file's name]")
@click.option("--out", type=FILE, help="A spec to write with the rows that became instances.")
@click.option("--force", is_flag=True, help="Replace an existing --out.")
@json_option
def import_command(
    format: str, files: tuple[Path, ...], layout: str, dtype: str, out: Path | None, force: bool, as_json: bool
) -> int:
    """Print what each row of Composable Kernel's instance lists becomes: the name of an instance, or the rules that
    stand against it.

    A .conf file has one row per line: a type string, as GetTypeString returns it, or an instance with all template
    arguments. A .json file is one of CK's dispatcher. Rows that become the same instance count once in --out. Exits
    with 2 if a file has a malformed row, with its place.

    \b
    Examples:
      ckgen import ck nhwgc_fp16.conf
      ckgen import ck rows.conf --layout nhwgc --dtype fp16 --out from_ck.yaml
    """
    from ckgen.ck.importing import Asked, import_files, spec_text

    rows = import_files(files, Asked(layout, dtype))
    made = [row for row in rows if row.resolved.instance is not None]
    if out is not None and not made:
        raise click.UsageError("no row became an instance, so there is no spec to write")
    text = spec_text(rows, ", ".join(str(file) for file in files))
    if out is not None and not write_new(out, text, replace=force):
        raise click.UsageError(f"{out} exists already; --force replaces it")
    if as_json:
        console.say_json([_record(row) for row in rows])
    else:
        console.show_table(HEADERS, [(f"{row.place.file}:{row.place.line}", _became(row)) for row in rows])
    console.note(f"{len(made)} of {len(rows)} rows became instances" + (f", written to {out}" if out else ""))
    return 0


def _became(row: Imported) -> str:
    if row.resolved.instance is None:
        return "; ".join(f"{refusal.rule}: {refusal.message}" for refusal in row.rules)
    twin = f" (as {row.twin.file}:{row.twin.line})" if row.twin else ""
    return f"{row.resolved.instance.name}{twin}"


def _record(row: Imported) -> dict[str, object]:
    instance = row.resolved.instance
    return {
        "file": row.place.file,
        "line": row.place.line,
        "row": row.text,
        "instance": instance.name if instance else None,
        "keys": dict(row.resolved.keys),
        "rules": [{"rule": refusal.rule, "message": refusal.message} for refusal in row.rules],
        "same_as_line": row.twin.line if row.twin else None,
    }
