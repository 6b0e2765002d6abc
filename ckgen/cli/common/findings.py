"""Diagnostics in the formats of other programs: JSON, SARIF 2.1.0 (code scanning, editors) and GitHub's annotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from ckgen import __version__
from ckgen.cli.common import console
from ckgen.cli.common.options import asked_for
from ckgen.errors import CkgenError, Diagnostic, sort_diagnostics

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FORMATS = ("text", "json", "sarif", "github")
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}  # in a property of an annotation


def format_option(command: Decorated) -> Decorated:
    """--format NAME, and --json for its value json; the parameter ``form`` is the name."""
    form = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="sarif: for code scanning and editors; github: annotations of a GitHub workflow.",
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")

    @wraps(command)
    def merged(*words: Any, form: str, as_json: bool, **given: Any) -> Any:
        if as_json and form != "json" and asked_for(click.get_current_context(), ("form",)):
            raise click.UsageError(f"--json is --format json: leave --json or --format {form} out")
        return command(*words, form="json" if as_json else form, **given)

    return form(as_json(merged))  # type: ignore[return-value]


def say_findings(form: str, found: Sequence[Diagnostic], **facts: object) -> None:
    """Print findings on standard output in a format other than text; ``facts`` are further members of the JSON."""
    ordered = sort_diagnostics(found)
    if form == "json":
        console.say_json({**facts, "diagnostics": [record(one) for one in ordered]})
    elif form == "sarif":
        console.say_json(sarif(ordered))
    else:
        for one in ordered:
            console.say(annotation(one))


def told(form: str, error: CkgenError, **facts: object) -> int:
    """Print the diagnostics of an error in a format other than text and return its exit code; for the text, raise it
    again."""
    if form == "text":
        raise error
    say_findings(form, error.diagnostics, **facts)
    return error.exit_code


def record(found: Diagnostic) -> dict[str, Any]:
    """A diagnostic as plain data; file, line, column and length are null if it has no place."""
    place = found.place
    where = {name: getattr(place, name, None) for name in ("file", "line", "column", "length")}
    said = {"rule": found.rule, "severity": found.severity, "message": found.message, "help": found.help}
    return {**where, **said, "notes": list(found.notes)}


def annotation(found: Diagnostic) -> str:
    """A diagnostic as a command of a GitHub workflow, which shows it at its line of the pull request."""
    properties = {"title": f"ckgen: {found.rule}"}
    if found.place is not None:
        place = found.place
        ends = {"line": place.line, "col": place.column, "endColumn": place.column + place.length}
        properties = {"file": place.file, **{name: str(number) for name, number in ends.items()}, **properties}
    listed = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    kind = found.severity if found.severity in ("error", "warning") else "notice"
    return f"::{kind} {listed}::{_escaped(_sentences(found))}"


def sarif(found: Sequence[Diagnostic]) -> dict[str, Any]:
    """A SARIF log with one run; rules of the families' tables have their sentence and reason as help."""
    ids = list(dict.fromkeys(one.rule for one in found))
    results = [
        {
            "ruleId": one.rule,
            "ruleIndex": ids.index(one.rule),
            "level": one.severity if one.severity in ("error", "warning") else "note",
            "message": {"text": _sentences(one)},
            "locations": _locations(one),
        }
        for one in found
    ]
    driver = {"name": "ckgen", "version": __version__, "rules": [_rule(name) for name in ids]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    from ckgen.families.registry import RULES

    known = next((rule for rule in RULES if rule.id == name), None)
    texts = (known.sentence, known.reason) if known else (name.replace("-", " "), "")
    return {"id": name, "shortDescription": {"text": texts[0]}, "help": {"text": texts[1] or texts[0]}}


def _locations(found: Diagnostic) -> list[dict[str, Any]]:
    place = found.place
    if place is None:
        return []
    ends = {"startLine": place.line, "startColumn": place.column, "endColumn": place.column + place.length}
    path = Path(place.file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    uri = path.as_uri() if path.is_absolute() else _percent(path.as_posix())
    return [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": ends}}]


def _percent(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


def _sentences(found: Diagnostic) -> str:
    parts = [found.message, *found.notes] + ([f"help: {found.help}"] if found.help else [])
    return "\n".join(parts)


def _escaped(text: str, more: str = "") -> str:
    return re.sub(f"[%\r\n{more}]", lambda match: _ESCAPED[match[0]], text)
