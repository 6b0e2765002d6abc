"""Plant bugs in a copy of the headers: the host platform has to report them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, LibraryError
from tests.support.cxx import header, link, write_tree
from tests.support.planting import replace_once


@dataclass(frozen=True)
class Bug:
    """Replace ``old`` by ``new``, as tests.support.planting explains, in the header with this file name in any folder;
    ``words`` name headers without folders. In some schedules the report may be about another consequence of the same
    bug, so every schedule must report and one report must have all of ``words``. A bug without words leaves every
    access in order; only the result shows it.
    """

    header: str
    old: str
    new: str
    words: tuple[str, ...]
    problem: ConvProblem


def without_folders(report: str) -> str:
    """A report of the host platform, with headers named without their folders."""
    return re.sub(r"ckgen/(?:\w+/)+(\w+\.hpp)", r"\1", report)


def check_bug(bug: Bug, instance: Instance, run: Callable[[Library, str, ConvProblem], None], folder: Path) -> Library:
    """Build ``instance`` with the bug in ``folder`` and fail unless ``run`` shows it in every schedule; ``run`` raises
    AssertionError for a wrong result. Return the library."""
    tree = write_tree(folder, (instance,))
    replace_once(header(tree, bug.header), bug.old, bug.new)
    library = Library(link(folder, tree))
    said = []
    for seed in (0, 1, 2):
        library.configure_host(seed=seed)
        with pytest.raises(LibraryError if bug.words else (AssertionError, LibraryError)) as caught:
            run(library, instance.name, bug.problem)
        said.append(without_folders(str(caught.value)))
    assert not bug.words or any(all(word in message for word in bug.words) for message in said), said
    return library
