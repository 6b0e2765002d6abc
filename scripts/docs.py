"""Write the documentation that follows from the code: docs/*.md and the marked tables of README.md.

python scripts/docs.py            write what changed
python scripts/docs.py --check    exit 1 with a diff when a page is not what the code says
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
NOTICE = "<!-- Written by scripts/docs.py from {source}. Do not edit; run: make docs -->\n"
WIDTH = 110


def cli_page() -> str:
    """docs/cli.md: every command's help, as the terminal shows it."""
    from ckgen.cli import COMMANDS

    parts = [NOTICE.format(source="ckgen/cli/"), "# The ckgen command\n"]
    parts.append("Exit codes: 0 done, 1 drift or a failed check, 2 wrong use or a wrong spec.\n")
    parts.append(f"```text\n{_help()}\n```\n")
    parts += [f"## ckgen {name}\n\n```text\n{_help(name)}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


def cli_table() -> str:
    """README's table of commands."""
    from ckgen.cli import COMMANDS, cli

    lines = ["| command | what it does |", "| --- | --- |"]
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        lines.append(f"| `ckgen {name}` | {command.get_short_help_str(WIDTH).rstrip('.')} |")
    return "\n".join(lines) + "\n"


def _help(name: str | None = None) -> str:
    from ckgen.cli import cli

    root = click.Context(cli, info_name="ckgen", terminal_width=WIDTH, max_content_width=WIDTH)
    if name is None:
        return cli.get_help(root)
    command = cli.get_command(root, name)
    assert command is not None
    return command.get_help(click.Context(command, info_name=name, parent=root, terminal_width=WIDTH))


def rules_page() -> str:
    """docs/rules.md: every rule with its reason."""
    from ckgen.rule_table import RULES

    parts = [NOTICE.format(source="ckgen/rule_table.py"), "# Rules\n"]
    parts.append(
        "Each rule is one expression. Python checks it before a compiler sees anything, and the generated\n"
        "header `ckgen/instance/rules.hpp` asserts it again. Its words are fields and derived values of an\n"
        "instance; `ckgen explain NAME` shows them with their numbers.\n"
    )
    for rule in RULES:
        parts.append(f"## {rule.id}\n\n{_sentence(rule.sentence)} {_sentence(rule.reason)}\n")
        parts.append(f"```text\n{rule.condition}\n```\n")
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def spliced(text: str, name: str, table: str) -> str:
    """`text` with `table` between `<!-- begin:name -->` and `<!-- end:name -->`."""
    begin, end = f"<!-- begin:{name} -->\n", f"<!-- end:{name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    result, count = pattern.subn(lambda _: f"{begin}{table}{end}", text)
    if count != 1:
        raise SystemExit(f"README.md must have one {begin.strip()} ... {end}")
    return result


def pages() -> dict[str, str]:
    """Every generated page by path, README.md with its tables brought up to date."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return {
        "docs/cli.md": cli_page(),
        "docs/rules.md": rules_page(),
        "README.md": spliced(readme, "cli", cli_table()),
    }


def drift(wanted: Mapping[str, str]) -> str:
    """A unified diff from the files on disk to `wanted`; empty when nothing differs."""
    lines: list[str] = []
    for name, text in wanted.items():
        path = ROOT / name
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        before, after = there.splitlines(keepends=True), text.splitlines(keepends=True)
        lines += difflib.unified_diff(before, after, f"{name} (on disk)", f"{name} (from the code)")
    return "".join(lines)


def main() -> int:
    wanted = pages()
    found = drift(wanted)
    if "--check" in sys.argv[1:]:
        sys.stdout.write(found or "docs: up to date\n")
        return 1 if found else 0
    for name, text in wanted.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
