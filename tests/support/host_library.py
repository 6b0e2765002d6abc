"""The real library: set `ci` of instances.yaml, generated and built for the host below build/ci/, with the same result
as `ckgen build --platform host --set ci`, so that neither has to compile after the other.

The folder is kept between runs and shared by test processes; unchanged files are neither rendered nor compiled again.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ckgen.build.cmake import build
from ckgen.cli.common.selection import DEFAULT_SPEC, Selection
from ckgen.cli.common.workshop import BUILD
from ckgen.generate import writer
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.instance.filters import filtered
from ckgen.library.library import Library
from ckgen.problems.sets import load_problems
from ckgen.spec.expand import expand_document
from ckgen.text import source

ROOT = Path(__file__).resolve().parents[2]
# A layer for the instances of set `ci` that take groups of one channel only; the other layers of the tests have none.
DEPTHWISE = next(problem for problem in load_problems("tiny") if problem.name == "tiny.depthwise")


def selection_of(set_name: str) -> Selection:
    """The selection of the command line's `--set`, including the place of its tree, which its manifest names."""
    return Selection(DEFAULT_SPEC, set_name, (), BUILD / set_name / "tree")


def tree_of(set_name: str = "ci") -> Path:
    """The tree that build_host_library() generates."""
    return ROOT / selection_of(set_name).out


def names_of(library: Library, operation: str) -> list[str]:
    """The instances of a library that compute one operation, in the library's order."""
    return [instance.name for instance in library.instances if instance.operation == operation]


def build_host_library(set_name: str = "ci") -> Path:
    """The path of the library. Raise CkgenError with the reason if a compiler is missing or a compilation fails. One
    process builds while others wait."""
    selection = selection_of(set_name)
    tree = tree_of(set_name)
    tree.parent.mkdir(parents=True, exist_ok=True)
    with (tree.parent / "test-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = source.load(ROOT / "instances.yaml")
        expansion = expand_document(document)
        instances = filtered(expansion.instances, (f"set={set_name}",), sets=expansion.sets)
        functions = expansion.spec.own_functions
        context = load_context(selection.command, document.text, expansion.sets, functions)
        writer.apply(render_tree(instances, context), tree)
        return build(tree, "host", tree.parent / "host", jobs=os.cpu_count() or 1).library
