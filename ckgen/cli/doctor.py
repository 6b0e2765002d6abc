"""ckgen doctor: say what this machine can build, what is missing, and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckgen.cli.common import console
from ckgen.cli.common.options import json_option
from ckgen.errors import EXIT_FAILED

if TYPE_CHECKING:
    from ckgen.build.survey import Finding

HEADERS = ("", "what", "found")
_SIGNS = {"ok": "ok", "missing": "-", "failed": "FAIL"}


@click.command("doctor", short_help="Say what this machine can build and what is missing.")
@json_option
def doctor_command(as_json: bool) -> int:
    """List compilers with their versions, GPUs, what can be built here, and the library that came with ckgen; for
    what is missing, the command that mends it. Exits with 1 if not even the host library can be built.

    \b
    Examples:
      ckgen doctor
      ckgen doctor --json
    """
    from dataclasses import asdict

    from ckgen.build.survey import survey

    found = [*survey(), _prebuilt()]
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


def _prebuilt() -> Finding:
    """The host library of the wheel, loaded: it needs no compiler."""
    from ckgen.build.survey import Finding
    from ckgen.errors import CkgenError
    from ckgen.library.library import Library
    from ckgen.paths import prebuilt_library

    name, path = "prebuilt library", prebuilt_library()
    if path is None:
        return Finding("prebuilt", name, "missing", "not in this installation; `ckgen build --platform host` makes one")
    try:
        count = len(Library(path).names)
    except CkgenError as error:
        return Finding("prebuilt", name, "failed", error.diagnostics[0].message, "pip install --force-reinstall ckgen")
    return Finding("prebuilt", name, "ok", f"host, {count} instances: ckgen smoke, ckgen.Library()")
