"""ckgen doctor: say what this machine can build, what is missing, and the command that mends it."""

from __future__ import annotations

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import json_option
from ckgen.errors import EXIT_FAILED

HEADERS = ("", "what", "found")
_SIGNS = {"ok": "ok", "missing": "-", "failed": "FAIL"}


@click.command("doctor", short_help="Say what this machine can build and what is missing.")
@json_option
def doctor_command(as_json: bool) -> int:
    """List compilers with their versions, GPUs, and what can be built here; for what is missing, the command that
    mends it. Exits with 1 if not even the host library can be built.

    \b
    Examples:
      ckgen doctor
      ckgen doctor --json
    """
    from dataclasses import asdict

    from ckgen.build.survey import survey

    found = survey()
    if as_json:
        console.say_json([asdict(one) for one in found])
    else:
        console.show_table(HEADERS, [(_SIGNS[one.verdict], one.name, one.found) for one in found])
        lacking = [one for one in found if one.mend]
        if lacking:
            console.say("\nto mend it:")
        for name, mend in dict.fromkeys((one.name, one.mend) for one in lacking):
            console.say(f"  {name}: {mend}")
    host = next(one for one in found if one.name == "library, host")
    return 0 if host.verdict == "ok" else EXIT_FAILED
