"""The command that generates a tree, as data: the manifest records it, and `ckgen check` generates the tree again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ckgen.generate.style import DEFAULT_STYLE, Style


@dataclass(frozen=True, slots=True)
class GenerateCommand:
    """The arguments of `ckgen generate`. Paths are relative to the folder where the command runs, with `/`."""

    spec: str = "instances.yaml"
    set: str = "default"
    filters: tuple[str, ...] = ()
    out: str = "generated"
    style: Style = DEFAULT_STYLE

    @property
    def text(self) -> str:
        """The command line, without options that have their default."""
        words = ["ckgen", "generate", *self.filters]
        for name in ("spec", "set", "out"):
            if getattr(self, name) != getattr(_DEFAULT, name):
                words += [f"--{name}", getattr(self, name)]
        return shlex.join([*words, *self.style.options])


_DEFAULT = GenerateCommand()
