"""Options of the commands that build a library."""

from __future__ import annotations

import os

import click

platform_option = click.option(
    "--platform",
    type=click.Choice(["host", "amd", "nvidia"]),
    default="host",
    show_default=True,
    help="What to compile for.",
)


arch_option = click.option(
    "--arch", "archs", multiple=True, metavar="GFX|SM", help="amd, nvidia: an architecture; may be given several times."
)


jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1), default=lambda: os.cpu_count() or 1, help="Compilers that run at a time."
)


define_option = click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="A CMake variable, as CKGEN_SANITIZE=ON."
)


SELECTION = ("filters", "spec", "set_name")
