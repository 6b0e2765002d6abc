"""From the command line's --spec, --set and FILTER to instances, and to the tree they make."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ckgen.expand import Expansion
    from ckgen.instance import Instance

DEFAULT_SPEC, DEFAULT_SET, DEFAULT_OUT = Path("instances.yaml"), "default", Path("generated")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A spec file's text and everything it stands for."""

    path: Path
    text: str
    expansion: Expansion


def load(path: Path) -> Loaded:
    """Read, check and expand a spec file. CkgenError carries all that is wrong with it at once."""
    from ckgen import source
    from ckgen.expand import expand_document

    document = source.load(path)
    return Loaded(path, document.text, expand_document(document))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which instances of which spec, and the folder their tree is for. The spec's path is one from ``root``, the folder
    that `command` is for."""

    spec: Path
    set_name: str
    filters: tuple[str, ...]
    out: Path
    root: Path = Path()

    @property
    def has_default_spec(self) -> bool:
        """Whether this is the spec of the current folder."""
        return self.spec == DEFAULT_SPEC

    @property
    def command(self) -> str:
        """The command line that makes the tree again, without what is the default anyway.

        It stands in the manifest, so it must be the same on every machine: an absolute path outside the current
        folder is cut to its name.
        """
        words = ["ckgen", "generate", *self.filters]
        if not self.has_default_spec:
            words += ["--spec", _portable(self.spec)]
        if self.set_name != DEFAULT_SET:
            words += ["--set", self.set_name]
        if self.out != DEFAULT_OUT:
            words += ["--out", _portable(self.out)]
        return shlex.join(words)

    def choose(self, loaded: Loaded) -> tuple[Instance, ...]:
        """The instances of the set that pass the filters, in the spec's order. CkgenError when none does."""
        from ckgen.filters import filtered

        expansion = loaded.expansion
        return filtered(expansion.instances, (f"set={self.set_name}", *self.filters), sets=expansion.sets)

    def render(self) -> tuple[tuple[Instance, ...], dict[str, str]]:
        """The chosen instances and the text of every file of their tree."""
        from ckgen.context import load_context
        from ckgen.render import render_tree

        loaded = load(self.root / self.spec)
        instances = self.choose(loaded)
        expansion = loaded.expansion
        functions = expansion.spec.own_functions
        context = load_context(_portable(self.spec), loaded.text, self.command, expansion.sets, functions)
        return instances, render_tree(instances, context)


def recorded(selection: Selection) -> Selection:
    """How the tree at `selection.out` was generated, as its manifest tells; `selection` where there is none.

    A recorded spec is looked for from the folder that makes the recorded --out this tree, then beside the tree, then
    from the current folder: another project's spec there is not to be taken for the tree's.
    """
    from ckgen.cli.trees import generate_command
    from ckgen.manifest import MANIFEST_NAME, load_manifest, unusable

    manifest = load_manifest(selection.out)
    if manifest is None:
        return selection
    try:
        words = shlex.split(manifest.origin.command)
        if words[:2] != ["ckgen", "generate"] or {"-h", "--help"} & set(words):
            raise ValueError("another command")
        given = generate_command.make_context("generate", words[2:]).params
    except (ValueError, click.ClickException, click.exceptions.Exit) as error:
        file, why = str(selection.out / MANIFEST_NAME), f"names no command that ckgen knows: {manifest.origin.command}"
        raise unusable(file, why) from error
    chosen = replace(selection, spec=given["spec"], set_name=given["set_name"], filters=given["filters"])
    chosen, tree, parts = replace(chosen, out=given["out"]), selection.out.resolve(), given["out"].parts
    base = Path(*tree.parts[: -len(parts)]) if tree.parts[-len(parts) :] == parts else tree.parent
    roots = [folder for folder in (base, tree.parent) if (folder / chosen.spec).is_file()]
    return replace(chosen, root=_nearer(roots[0]) if roots else Path())


def _nearer(folder: Path) -> Path:
    """A folder by its path from here, where it is here."""
    return Path() if folder == Path.cwd() else folder


def _portable(path: Path) -> str:
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.name if path.is_absolute() else path.as_posix()
