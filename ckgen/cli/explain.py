"""ckgen explain: explain the values of an instance, or why a combination does not exist."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import spec_option


@click.command("explain", short_help="Explain an instance's values, or why a combination does not exist.")
@click.argument("words", nargs=-1, required=True, metavar="NAME|KEY=VALUE...")
@spec_option
def explain_command(words: tuple[str, ...], spec: Path) -> int:
    """Explain where each value of an instance comes from, or why a combination does not exist.

    For an instance in the tables of docs/isa, also prints one line per architecture about its machine code. For a
    combination that does not exist, prints the rule, exclude or axis that prevents it, and the smallest change that
    would allow it.

    \b
    Examples:
      ckgen explain '*wavelet_nhwgc*_f16_default_128x128*w4x4*'
      ckgen explain family=wavelet dtype=f32
      ckgen explain family=xdl tile=256x256 block_size=256
    """
    from ckgen.cli.common.selection import load
    from ckgen.cli.run.isa_options import TABLES
    from ckgen.explain.explain import explain
    from ckgen.hardware.archs import ARCHES
    from ckgen.machine_code.table import load_tables

    tables = load_tables(spec.parent / TABLES, tuple(ARCHES))
    console.say(explain(load(spec).expansion, words, tables).rstrip("\n"))
    return 0
