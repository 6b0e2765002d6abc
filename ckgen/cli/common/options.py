"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Literal, TypeVar
from unicodedata import category

import click

from ckgen.cli.common.console import VERBOSITY
from ckgen.generate.style import Style, style_of

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


_LONGEST_PATH = 4095
_QUIET = "Print results and errors only."
_VERBOSE = "Also print each line of compilers and build tools, and each finished step."


class PlainPath(click.Path):
    """A file name of UTF-8 characters without control characters. Names are written to generated files, to messages and
    to the input of other programs; text after a line break in a name could be read as code there."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert as click.Path does; fail (exit 2) for other characters."""
        text = os.fspath(value)
        if not text:
            self.fail("the name is empty", param, ctx)
        if not all(char.isprintable() or category(char) == "Zs" for char in text):  # Zs: blanks of all widths
            self.fail(f"{ascii(text)}: a name may not hold control characters or bytes that are not UTF-8", param, ctx)
        if len(text) > _LONGEST_PATH:
            self.fail(f"a name of {len(text)} characters; the system takes {_LONGEST_PATH}", param, ctx)
        return super().convert(value, param, ctx)


PATH = PlainPath()
FILE = PlainPath(dir_okay=False)  # a file to write


class Positive(click.FloatRange):
    """A number above 0, and at most `most`."""

    name = "number"

    def __init__(self, most: float) -> None:
        super().__init__(0, most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert as click.FloatRange does; fail (exit 2) for NaN, which no comparison refuses."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value}: write a number", param, ctx) if isnan(number) else number


def spec_option(command: Decorated) -> Decorated:
    """--spec PATH."""
    return click.option(
        "--spec", type=PATH, default=Path("instances.yaml"), show_default=True, help="The YAML file to read."
    )(command)


def set_option(default: str | None) -> Callable[[Decorated], Decorated]:
    """--set NAME: a named set of the spec, by default `default`."""
    return click.option(
        "--set",
        "set_name",
        metavar="NAME",
        default=default,
        show_default=True,
        help="A named set of the spec.",
        shell_complete=_set_names,
    )


def json_option(command: Decorated) -> Decorated:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(command)


def filters_argument(command: Decorated) -> Decorated:
    """FILTER..."""
    return click.argument("filters", nargs=-1, metavar="[FILTER]...", shell_complete=_second_words)(command)


def _second_words(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Second words of commands, which complete the first argument: `compare` after `bench`."""
    root = ctx.find_root()
    known = root.command.list_commands(root) if isinstance(root.command, click.Group) and not ctx.args else []
    seconds = [name.split()[1] for name in known if name.startswith(f"{ctx.info_name} ")]
    return [second for second in seconds if second.startswith(incomplete)]


def _set_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The named sets of the spec of this command line; none if it cannot be read."""
    from ckgen.cli.common.selection import load
    from ckgen.errors import CkgenError

    try:
        names = load(Path(ctx.params.get("spec") or "instances.yaml")).expansion.sets
    except (CkgenError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _problem_sets(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """The bundled problem sets, and files."""
    from click.shell_completion import CompletionItem

    from ckgen.problems.sets import bundled_sets

    return [name for name in bundled_sets() if name.startswith(incomplete)] or [CompletionItem(incomplete, "file")]


def out_option(command: Decorated) -> Decorated:
    """--out DIR."""
    return click.option("--out", type=PATH, default=Path("generated"), show_default=True, help="The generated tree.")(
        command
    )


def style_options(command: Decorated) -> Decorated:
    """--namespace NAME and --compat ck."""
    namespace = click.option("--namespace", metavar="NAME", help="The C++ namespace of the library, by default ckgen.")
    compat = click.option(
        "--compat",
        type=click.Choice(["ck"]),
        help="Also write CK's include paths and CMake package, for programs written for CK; the namespace is ck.",
    )
    return namespace(compat(command))


def style_from(namespace: str | None, compat: Literal["ck"] | None) -> Style:
    """The style that these options choose; UsageError (exit 2) if they exclude each other."""
    try:
        return style_of(namespace, compat)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def problems_option(*default: str) -> Callable[[Decorated], Decorated]:
    """--problems NAME|FILE, several times."""
    return click.option(
        "--problems",
        multiple=True,
        metavar="NAME|FILE",
        default=default,
        show_default=True,
        help="A bundled problem set, or a YAML file; may be given several times.",
        shell_complete=_problem_sets,
    )


def with_verbosity(command: click.Command) -> click.Command:
    """Add --quiet and --verbose, which every command has, in front of --help."""

    def told(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
        def tell(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
            if given:
                ctx.meta[VERBOSITY] = level

        return tell

    if not any(parameter.name == "quiet" for parameter in command.params):
        command.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=told(-1), help=_QUIET),
            click.Option(["-v", "--verbose"], is_flag=True, expose_value=False, callback=told(1), help=_VERBOSE),
        ]
    return command


def asked_for(ctx: click.Context, names: Sequence[str]) -> bool:
    """True if one of these parameters is on the command line, rather than a default."""
    written = click.core.ParameterSource.COMMANDLINE
    return any(ctx.get_parameter_source(name) is written and ctx.params[name] != () for name in names)
