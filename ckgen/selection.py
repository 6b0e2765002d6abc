"""``ckgen.select``: the instance and split-K factor for a problem, of a loaded library or of the tables alone."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ckgen.errors import CkgenError, Diagnostic
from ckgen.instance import parse
from ckgen.layout import CHANNELS_LAST
from ckgen.library import Library
from ckgen.measured import Table, load_tables
from ckgen.problem import ConvProblem
from ckgen.selector import TIMED, Choice, chain, same_arch


def select(
    problem: ConvProblem,
    dtype: str = "f16",
    *,
    layout: str | None = None,
    arch: str | None = None,
    library: Library | str | os.PathLike[str] | None = None,
    tables: Sequence[Table] | None = None,
) -> Choice:
    """The likely fastest instance for a problem, measured, by neighbours, by rule or generic: see ckgen.selector.

    ``layout`` is channels-last (NHWGC and so on) unless given. With ``library``, a Library or its path, the choice is
    what that library holds and supports, on the current device unless ``arch`` says otherwise; UnsupportedProblem
    when it has nothing. Without one it is the first candidate of what was measured on ``arch`` (default: the only
    architecture that something was measured on) or predicted for it, and nobody was asked whether it supports the
    problem, which is certain for source `measured` alone; CkgenError when there is nothing like the problem.
    """
    if library is not None:
        loaded = library if isinstance(library, Library) else Library(library)
        return loaded.select(problem, dtype, layout=layout, arch=arch)
    known = load_tables() if tables is None else tuple(tables)
    where = arch or _only_arch(known)
    own = [table for table in known if same_arch(table.arch, where)]
    names = dict.fromkeys(c.name for table in own for row in table.rows for c in row.candidates)
    found = chain(problem, dtype, layout or CHANNELS_LAST[problem.ndim], where, map(parse, names), own)
    best = next((choice for choice in found if choice.source in TIMED), None)
    if best is None:
        raise _nothing(f"nothing like {problem} in {dtype} was measured on {where}", "ask a library: library=PATH")
    return best


def _only_arch(tables: Sequence[Table]) -> str:
    archs = sorted({table.arch for table in tables if not table.predicted})
    if len(archs) != 1:
        raise _nothing(f"there are tables for {', '.join(archs) or 'no architecture'}", "say which: arch=NAME")
    return archs[0]


def _nothing(message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, "select", message, help),))
