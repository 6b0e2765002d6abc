"""The ckgen command: parse, call one function, print, exit.

Each command is in the module of its name (`bench compare` in bench_compare.py), which is imported only when the command
or its help is called, so that a command loads only what it uses. Exit codes: 0 done, 1 drift or a failed check, 2 wrong
use or a wrong spec; 130, 143, 129 and 141 if a signal (Ctrl-C, SIGTERM, SIGHUP, a closed pipe) ended the run, as in a
shell.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from ckgen import __version__
from ckgen.cli.common import signals, streams

COMMANDS = (
    "init",
    "validate",
    "schema",
    "list",
    "explain",
    "diff",
    "import",
    "export",
    "generate",
    "check",
    "build",
    "smoke",
    "bench",
    "bench compare",
    "report",
    "tune",
    "select",
    "isa",
    "doctor",
    "cache list",
    "cache clear",
    "completion",
)
INTERRUPTED = 130
CLOSED_PIPE = 141


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return self._group_of(ctx, cmd_name)
        from ckgen.cli.common.options import with_verbosity

        python_name = cmd_name.replace(" ", "_")
        module = importlib.import_module(f"ckgen.cli.{python_name}")
        command: click.Command = getattr(module, f"{python_name}_command")
        return with_verbosity(command)

    def _group_of(self, ctx: click.Context, word: str) -> click.Command | None:
        """The commands of two words with this first word, as a group; None if there are none."""
        names = [name for name in COMMANDS if name.startswith(f"{word} ")]
        members = {name.split()[1]: command for name in names if (command := self.get_command(ctx, name)) is not None}
        return click.Group(word, members, short_help=f"{', '.join(members)}.") if members else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The words that may follow; a command of two words is completed one word at a time."""
        found = super().shell_complete(ctx, incomplete)
        words = {item.value.split()[0]: item.help for item in reversed(found)}
        return [CompletionItem(word, help=text) for word, text in reversed(words.items())]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if " ".join(args[:2]) in COMMANDS:  # before the command of the first word
            args = [" ".join(args[:2]), *args[2:]]
        seconds = [name for name in COMMANDS if name.startswith(f"{args[0]} ")] if len(args) > 1 else []
        near = difflib.get_close_matches(" ".join(args[:2]), seconds, 1, 0.85)
        if near and args[0] in COMMANDS and args[1].isalpha():
            ctx.fail(f"No such command {' '.join(args[:2])!r}. Did you mean {near[0]!r}?")
        near = difflib.get_close_matches(args[0], COMMANDS, 1) if args else []
        if near and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return CLOSED_PIPE


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="ckgen")
def cli() -> None:
    """Turn instances.yaml into a HIP instance library, build it, and verify it.

    \b
    First steps:
      ckgen init                     write a small instances.yaml to start from
      ckgen list '*wavelet*'         list the instances that it describes
      ckgen generate                 write the library's source tree, generated/
      ckgen build --platform host    compile it; no GPU needed
      ckgen smoke                    run every instance and compare it with a float64 reference
      ckgen bench                    time them against each other, cuDNN and the roofline

    `ckgen doctor` says what this machine can build and what is missing.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; only bugs leave a traceback."""
    streams.open_missing()
    gc.set_threshold(500_000)  # trees have many objects and no cycles: searching these takes time for nothing
    try:
        with signals.unwinding():
            code = _main(arguments)
    except signals.Ended as ended:
        from ckgen.cli.common import console

        console.warn(ended.message)
        code = ended.exit_code
    streams.settle(sys.stdout)
    return code


def _main(arguments: Sequence[str] | None) -> int:
    from ckgen.cli.common import console
    from ckgen.errors import CkgenError

    try:
        code = cli.main(args=arguments, prog_name="ckgen", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CkgenError as error:
        console.show_diagnostics(error.diagnostics)
        return error.exit_code
    except click.ClickException as error:
        streams.tell(error.show)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        console.warn("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return CLOSED_PIPE
    except OSError as error:
        console.warn(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return 2
