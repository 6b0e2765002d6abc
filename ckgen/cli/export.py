"""ckgen export: write instances in another project's notation."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import filters_argument, set_option, spec_option

FORMS = ("type", "serialised", "dispatcher")


@click.command("export", short_help="Write instances as CK's type strings or JSON.")
@click.argument("format", type=click.Choice(["ck"]))
@filters_argument
@spec_option
@set_option("default")
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default="type",
    show_default=True,
    help="Type strings, instances with all template arguments (backward weight), or the dispatcher's JSON.",
)
def export_command(format: str, filters: tuple[str, ...], spec: Path, set_name: str, form: str) -> int:
    """Print instances as Composable Kernel writes them, one per line or as one JSON file. For FILTER see `ckgen list
    --help`.

    Instances that no class of CK describes are left out and counted: those of other families than xdl, wmma and dl,
    with two LDS buffers, or, with all template arguments or for the dispatcher, those without such a form. Exits with 2
    if none is left.

    \b
    Examples:
      ckgen export ck --set full layout=NHWGC* dtype=f16 > nhwgc_fp16.conf
      ckgen export ck --set full layout=NHWGK* dtype=f16 family=xdl --form dispatcher > nhwgc_fp16.json
    """
    from ckgen.ck.exporting import dispatcher_file, has_entry, has_row, serialised, type_string
    from ckgen.cli.common.selection import DEFAULT_OUT, Selection, load

    loaded = load(spec)
    instances = Selection(spec, set_name, filters, DEFAULT_OUT).choose(loaded)
    rows = [made for made in instances if (has_entry if form == "dispatcher" else has_row)(made)]
    if form == "serialised":
        rows = [made for made in rows if serialised(made) is not None]
    if not rows:
        raise click.UsageError(f"CK has no row for any of the {len(instances)} instances")
    if form == "dispatcher":
        console.say(json.dumps(dispatcher_file(rows), indent=2))
    else:
        write = type_string if form == "type" else serialised
        console.say("\n".join(str(write(made)) for made in rows))
    console.note(f"{len(rows)} of {len(instances)} instances have a row of CK")
    return 0
