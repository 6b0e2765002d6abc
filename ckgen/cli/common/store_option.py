"""The option that names a store of measured rows."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.common.options import FILE

STORE = Path("build/bench.sqlite")


store_option = click.option(
    "--store", type=FILE, default=STORE, show_default=True, help="The SQLite file of results; created if missing."
)
