"""The instances of a generated tree, as its manifest lists them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.generate.manifest import Manifest, load_manifest
from ckgen.instance.filters import filtered
from ckgen.instance.instance import parse


def sets_of(manifest: Manifest | None) -> dict[str, list[str]]:
    """The sets of a tree with the names of their instances; empty without a manifest."""
    sets: dict[str, list[str]] = {}
    for record in manifest.instances if manifest else ():
        for name in record.sets:
            sets.setdefault(name, []).append(record.name)
    return sets


def check_filters(tree: Path, filters: Sequence[str]) -> None:
    """Raise CkgenError if no instance of a tree passes the filters, before anything is built from it."""
    manifest = load_manifest(tree)
    if manifest is not None and filters:
        filtered([parse(record.name) for record in manifest.instances], filters, sets=sets_of(manifest))
