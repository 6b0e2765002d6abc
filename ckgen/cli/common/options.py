"""The arguments that several commands share, and the one way from --spec to instances."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from unicodedata import category

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class PlainPath(click.Path):
    """A name of a file that can stand in generated files, in messages and in what other programs read: UTF-8 without
    control characters. A line break in a name would end the line it stands in, and what follows be code."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click.Path does, or its failure (exit 2)."""
        text = os.fspath(value)
        if not all(char.isprintable() or category(char) == "Zs" for char in text):  # Zs: blanks of all widths
            self.fail(f"{ascii(text)}: a name may not hold control characters or bytes that are not UTF-8", param, ctx)
        return super().convert(value, param, ctx)


PATH = PlainPath()


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
