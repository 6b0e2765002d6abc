"""From the command line's --spec, --set and FILTER to instances, and to the tree they make."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckgen.instance.instance import Instance
    from ckgen.spec.expand import Expansion

DEFAULT_SPEC, DEFAULT_SET, DEFAULT_OUT = Path("instances.yaml"), "default", Path("generated")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A spec file's text and everything it stands for."""

    path: Path
    text: str
    expansion: Expansion


def load(path: Path) -> Loaded:
    """Read, check and expand a spec file. CkgenError carries all that is wrong with it at once."""
    from ckgen.spec.expand import expand_document
    from ckgen.text import source

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
        from ckgen.instance.filters import filtered

        expansion = loaded.expansion
        return filtered(expansion.instances, (f"set={self.set_name}", *self.filters), sets=expansion.sets)

    def render(self) -> tuple[tuple[Instance, ...], dict[str, str]]:
        """The chosen instances and the text of every file of their tree."""
        from ckgen.generate.inputs import load_context
        from ckgen.generate.render import render_tree

        loaded = load(self.root / self.spec)
        instances = self.choose(loaded)
        expansion = loaded.expansion
        functions = expansion.spec.own_functions
        context = load_context(_portable(self.spec), loaded.text, self.command, expansion.sets, functions)
        return instances, render_tree(instances, context)


def _portable(path: Path) -> str:
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.name if path.is_absolute() else path.as_posix()
