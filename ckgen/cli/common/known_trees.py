"""The cache of rendered trees, for the selection of a command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ckgen.cli.common.selection import Selection
from ckgen.generate.known import ROOM, SWITCH, KnownTree, KnownTrees, key_of


@dataclass(frozen=True, slots=True)
class Memory:
    """The cache's entry for one selection; `key` is None if the cache is off or something could not be read."""

    selection: Selection
    trees: KnownTrees | None
    key: str | None

    def intact(self, out: Path) -> tuple[int, frozenset[str]] | None:
        """The number of instances and the paths of the selection's tree if `out` holds what would be rendered now,
        byte for byte; None if it does not or if that is not known."""
        found = self.trees.find(self.key) if self.trees and self.key else None
        if found is None:
            return None
        from ckgen.generate.disk import intact

        paths = intact(out, found.manifest_sha256)
        return None if paths is None else (found.instances, paths)

    def keep(self, instances: int, tree: Mapping[str, str]) -> None:
        """Add the tree that was rendered, unless an input changed in the meantime."""
        from ckgen.generate.manifest import MANIFEST_NAME, digest

        if self.trees and self.key and _key(self.selection) == self.key:
            self.trees.keep(self.key, KnownTree(digest(tree[MANIFEST_NAME].encode()), instances))


def memory_of(selection: Selection, *, off: bool = False) -> Memory:
    """The entry of a selection. `off` is for processes that live long, whose code may differ from the files."""
    if off or os.environ.get(SWITCH):
        return Memory(selection, None, None)
    from ckgen.paths import cache_dir

    try:
        return Memory(selection, KnownTrees(cache_dir() / ROOM), _key(selection))
    except (OSError, RuntimeError):  # no home folder
        return Memory(selection, None, None)


def _key(selection: Selection) -> str | None:
    return key_of(selection.root / selection.spec, selection.command)
