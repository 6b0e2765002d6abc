"""The real library: set `ci` of instances.yaml, generated and built for the host below build/test-host/.

The folder is kept between runs and between test processes; what has not changed is neither rendered anew nor
compiled.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ckgen import outputs, source
from ckgen.build import build
from ckgen.context import load_context
from ckgen.expand import expand_document
from ckgen.filters import filtered
from ckgen.library import Library
from ckgen.render import render_tree

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "test-host"


def names_of(library: Library, operation: str) -> list[str]:
    """The instances of a library that are of one operation, in its order."""
    return [instance.name for instance in library.instances if instance.operation == operation]


def build_host_library(set_name: str = "ci") -> Path:
    """The path of the library. Raises CkgenError with the reason when a compiler is missing or a compilation
    fails; one process builds while others wait."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = source.load(ROOT / "instances.yaml")
        expansion = expand_document(document)
        instances = filtered(expansion.instances, (f"set={set_name}",), sets=expansion.sets)
        command = f"ckgen generate --set {set_name}"
        context = load_context("instances.yaml", document.text, command, expansion.sets, expansion.spec.own_functions)
        outputs.apply(render_tree(instances, context), FOLDER / "tree")
        return build(FOLDER / "tree", "host", FOLDER / "host", jobs=os.cpu_count() or 1).library
