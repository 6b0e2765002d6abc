"""The selection of instances that a generated tree's manifest records."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click

from ckgen.cli.common.options import filters_argument, out_option, set_option, spec_option, style_options
from ckgen.cli.common.selection import DEFAULT_SET, Selection
from ckgen.generate.manifest import MANIFEST_NAME, load_manifest, unusable


@click.command("generate")
@filters_argument
@spec_option
@set_option(DEFAULT_SET)
@out_option
@style_options
def _recorded_words(**_: object) -> None:
    """The arguments of `ckgen generate` that a manifest records."""


def recorded(selection: Selection) -> Selection:
    """Return the selection that the manifest of the tree at `selection.out` records; `selection` if it has none.

    The path of the recorded spec is tried first from the folder in which the recorded --out is this tree, then from the
    tree's parent folder, and last from the current folder, where it could be the spec of another project.
    """
    manifest = load_manifest(selection.out)
    if manifest is None:
        return selection
    try:
        words = shlex.split(manifest.origin.command)
        if words[:2] != ["ckgen", "generate"] or {"-h", "--help"} & set(words):
            raise ValueError("another command")
        given = _recorded_words.make_context("generate", words[2:]).params
    except (ValueError, click.ClickException, click.exceptions.Exit) as error:
        file, why = str(selection.out / MANIFEST_NAME), f"names no command that ckgen knows: {manifest.origin.command}"
        raise unusable(file, why) from error
    chosen = replace(selection, spec=given["spec"], set_name=given["set_name"], filters=given["filters"])
    chosen, tree, parts = (
        replace(chosen, out=given["out"], style=manifest.origin.style),
        selection.out.resolve(),
        given["out"].parts,
    )
    base = Path(*tree.parts[: -len(parts)]) if tree.parts[-len(parts) :] == parts else tree.parent
    roots = [folder for folder in (base, tree.parent) if (folder / chosen.spec).is_file()]
    return replace(chosen, root=_nearer(roots[0]) if roots else Path())


def _nearer(folder: Path) -> Path:
    """Return the empty path for the current folder, else the folder unchanged."""
    return Path() if folder == Path.cwd() else folder
