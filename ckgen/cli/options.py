"""The arguments that several commands share, and the one way from --spec to instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


def spec_option(command: Decorated) -> Decorated:
    """--spec PATH."""
    return click.option(
        "--spec", type=PATH, default=Path("instances.yaml"), show_default=True, help="The YAML file to read."
    )(command)


def set_option(default: str | None) -> Callable[[Decorated], Decorated]:
    """--set NAME: a named set of the spec; without one, `default`."""
    return click.option(
        "--set",
        "set_name",
        metavar="NAME",
        default=default,
        show_default=True,
        help="A named set of the spec.",
    )


def json_option(command: Decorated) -> Decorated:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(command)


def filters_argument(command: Decorated) -> Decorated:
    """FILTER..."""
    return click.argument("filters", nargs=-1, metavar="[FILTER]...")(command)


def out_option(command: Decorated) -> Decorated:
    """--out DIR."""
    return click.option("--out", type=PATH, default=Path("generated"), show_default=True, help="The generated tree.")(
        command
    )


def asked_for(ctx: click.Context, names: Sequence[str]) -> bool:
    """Whether the command line itself gave one of these parameters."""
    written = click.core.ParameterSource.COMMANDLINE
    return any(ctx.get_parameter_source(name) is written and ctx.params[name] != () for name in names)
