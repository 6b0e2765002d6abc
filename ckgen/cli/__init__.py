"""The ckgen command: one file per subcommand, named like it.

`X.py` declares the options and the help of `ckgen X` and is imported when that command is called; longer
implementations are in `run/`, the projects of `ckgen init` in `starters/`. `common/` has the code that several commands
share, `entry.py` the command group and the exit codes. This room may import every other room; no room imports it.
"""

from ckgen.cli.entry import CLOSED_PIPE, COMMANDS, INTERRUPTED, cli, main

__all__ = ["CLOSED_PIPE", "COMMANDS", "INTERRUPTED", "cli", "main", "schema"]
