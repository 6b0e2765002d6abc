"""Selection of instances by the command line's --spec, --set and FILTER, and the tree generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckgen.generate.style import DEFAULT_STYLE, Style

if TYPE_CHECKING:
    from ckgen.generate.command import GenerateCommand
    from ckgen.instance.instance import Instance
    from ckgen.spec.expand import Expansion

DEFAULT_SPEC, DEFAULT_SET, DEFAULT_OUT = Path("instances.yaml"), "default", Path("generated")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A spec file's text and its expansion into instances."""

    path: Path
    text: str
    expansion: Expansion


def load(path: Path) -> Loaded:
    """Read, check and expand a spec file. Raises CkgenError with all errors of a stage at once."""
    from ckgen.spec.expand import expand_document
    from ckgen.text import source

    document = source.load(path)
    return Loaded(path, document.text, expand_document(document))


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of instances of a spec, and the folder for their tree. The spec's path is relative to ``root``, the
    folder in which `command` runs. ``style`` has the C++ names of the tree."""

    spec: Path
    set_name: str
    filters: tuple[str, ...]
    out: Path
    root: Path = Path()
    style: Style = DEFAULT_STYLE

    @property
    def has_default_spec(self) -> bool:
        """True if the spec is the default, instances.yaml."""
        return self.spec == DEFAULT_SPEC

    @property
    def command(self) -> GenerateCommand:
        """The command that generates the tree again.

        The manifest contains it, so it must be the same on every machine: an absolute path outside the current folder
        is shortened to its name.
        """
        from ckgen.generate.command import GenerateCommand

        return GenerateCommand(_portable(self.spec), self.set_name, self.filters, _portable(self.out), self.style)

    def choose(self, loaded: Loaded) -> tuple[Instance, ...]:
        """Return the instances of the set that pass the filters, in the spec's order. CkgenError if none does."""
        from ckgen.instance.filters import filtered

        expansion = loaded.expansion
        return filtered(expansion.instances, (f"set={self.set_name}", *self.filters), sets=expansion.sets)

    def render(self) -> tuple[tuple[Instance, ...], dict[str, str]]:
        """Return the chosen instances and the text of every file of their tree."""
        from ckgen.generate.inputs import load_context
        from ckgen.generate.render import render_tree

        loaded = load(self.root / self.spec)
        instances = self.choose(loaded)
        expansion = loaded.expansion
        functions = expansion.spec.own_functions
        context = load_context(self.command, loaded.text, expansion.sets, functions)
        return instances, render_tree(instances, context)


def _portable(path: Path) -> str:
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.name if path.is_absolute() else path.as_posix()
