"""ckgen completion: print a shell's completion script."""

from __future__ import annotations

import click

from ckgen.cli.common import console

_LINES = {
    "bash": 'eval "$(ckgen completion bash)"      # in ~/.bashrc',
    "zsh": 'eval "$(ckgen completion zsh)"       # in ~/.zshrc',
    "fish": "ckgen completion fish | source      # in ~/.config/fish/config.fish",
}


@click.command("completion", short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(tuple(_LINES)))
def completion_command(shell: str) -> int:
    """Print the script with which a shell completes commands, options and their values.

    \b
    Examples:
      ckgen completion bash > ckgen.bash && source ckgen.bash
      ckgen completion zsh
      ckgen completion fish
    """
    from click.shell_completion import get_completion_class

    from ckgen.cli.entry import cli

    kind = get_completion_class(shell)
    assert kind is not None
    console.say(kind(cli, {}, "ckgen", "_CKGEN_COMPLETE").source().rstrip("\n"))
    console.note(f"for every new shell: {_LINES[shell]}")
    return 0
