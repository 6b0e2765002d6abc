"""ckgen init: write a project to start from: a small instances.yaml, and on request files for a CI service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from ckgen.cli.common import console
from ckgen.cli.common.files import write_new
from ckgen.cli.common.options import PATH
from ckgen.cli.schema import schema_text
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.paths import PACKAGE

STARTERS = PACKAGE / "cli" / "starters"  # a name `dot-x` there is `.x` in the project
SPEC, SCHEMA, EVERY, CI = "instances.yaml", "instances.schema.json", "every", "ci"
TEMPLATES = tuple(sorted(path.parent.name for path in STARTERS.glob(f"*/{SPEC}")))
SERVICES = tuple(sorted(path.name for path in (STARTERS / CI).iterdir()))


@click.command("init", short_help="Write a small instances.yaml to start from.")
@click.argument("folder", type=PATH, default=Path("."))
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default=OPERATIONS[DEFAULT_OPERATION].short,
    show_default=True,
    help="What the library is for.",
)
@click.option(
    "--ci",
    type=click.Choice(SERVICES),
    help="Also write the workflow of a CI service, hooks for pre-commit and files for git, and generate the library.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
def init_command(folder: Path, template: str, ci: str | None, force: bool) -> int:
    """Write a small instances.yaml to start from, and its schema for editors.

    With --ci, the folder is a repository that can be committed and passes its workflow: the generated tree is in it,
    and the workflow validates the spec, checks the tree, and builds and runs set `ci` on the host.

    \b
    Examples:
      ckgen init my-library && cd my-library && ckgen validate
      ckgen init my-library --template fusion --ci github
    """
    folder.mkdir(parents=True, exist_ok=True)
    starters = [STARTERS / template, *((STARTERS / EVERY, STARTERS / CI / ci) if ci else ())]
    wanted = {Path(SCHEMA): schema_text()}
    wanted |= {path: source.read_text(encoding="utf-8") for starter in starters for path, source in _files(starter)}
    there = [str(folder / path) for path in wanted if (folder / path).exists()]
    if there and not force:
        raise click.UsageError(f"{', '.join(there)} exists already; --force replaces it")
    with ExitStack() as undo:  # nothing half written is in the way of the next try
        for path, text in wanted.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                undo.callback(file.unlink, missing_ok=True)
            write_new(file, text, replace=True)
        undo.pop_all()
    console.say(f"wrote {', '.join(str(folder / path) for path in wanted)}")
    if ci:
        _generate(folder)
    console.note(f"next{_where(folder)}: ckgen list, ckgen generate, ckgen build --platform host, ckgen smoke")
    return 0


def _files(starter: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a starter: the path of each in the project, and its source."""
    for source in sorted(starter.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            parts = source.relative_to(starter).parts
            yield Path(*("." + part[4:] if part.startswith("dot-") else part for part in parts)), source


def _generate(folder: Path) -> None:
    """Write the tree that `ckgen generate` writes in the folder."""
    from ckgen.cli.common.selection import DEFAULT_OUT, DEFAULT_SET, DEFAULT_SPEC, Selection
    from ckgen.generate import writer

    selection = Selection(DEFAULT_SPEC, DEFAULT_SET, (), DEFAULT_OUT, folder)
    instances, tree = selection.render()
    writer.apply(tree, folder / DEFAULT_OUT)
    console.say(f"{folder / DEFAULT_OUT}: {len(instances)} instances, {len(tree)} files")


def _where(folder: Path) -> str:
    return "" if folder == Path() else f" in {folder}"
