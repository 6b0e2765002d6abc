"""``ckgen.select``: the instance and split-K factor for a problem, from a loaded library or from the tables alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ckgen.build.targets import DEVICES, check_archs
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.instance.instance import Instance, parse
from ckgen.library.catalogue import require_problem, require_type
from ckgen.library.library import Library
from ckgen.operations.operation import DEFAULT_OPERATION, LAYOUTS, OPERATIONS, operation_in
from ckgen.selection.candidates import Choice, chain, same_arch
from ckgen.selection.measured import Table, load_tables
from ckgen.selection.takes import takes


def select(
    problem: ConvProblem,
    dtype: str = "f16",
    *,
    layout: str | None = None,
    arch: str | None = None,
    operation: str | None = None,
    library: Library | str | os.PathLike[str] | None = None,
    tables: Sequence[Table] | None = None,
    instances: Iterable[Instance] = (),
) -> Choice:
    """The likely fastest instance for a problem, measured or predicted: see ckgen.selection.candidates.

    ``layout`` defaults to channels-last (NHWGC and so on), ``operation`` to that of the layout, or backward weight.
    With ``library``, a Library or its path, the candidates are the instances that it holds and supports, and ``arch``
    defaults to the current device's; raise UnsupportedProblem if there are none. Without one, they are ``instances``
    and those in the tables of ``arch`` (default: the only architecture with measurements). They are then judged by
    filter, vectors and groups alone (ckgen.selection.takes); only source `measured` is certain. Raise CkgenError if
    none takes the problem, and for an unknown data type, layout or architecture.
    """
    require_problem(problem)
    check_words(dtype, layout, arch, operation)
    if library is not None:
        loaded = library if isinstance(library, Library) else Library(library)
        return loaded.select(problem, dtype, layout=layout, arch=arch, operation=operation)
    known = load_tables() if tables is None else tuple(tables)
    where = arch or _only_arch(known)
    own = [table for table in known if same_arch(table.arch, where)]
    names = dict.fromkeys(c.name for table in own for row in table.rows for c in row.candidates)
    every = {name: parse(name) for name in names} | {instance.name: instance for instance in instances}
    form = layout or OPERATIONS[operation or DEFAULT_OPERATION].home(problem.ndim)
    held = {instance.operation for instance in every.values()}
    kind = operation or (operation_in(form, held) if layout else DEFAULT_OPERATION)
    alike = (instance for instance in every.values() if (instance.operation, instance.layout) == (kind, form))
    takers = [instance for instance in alike if takes(instance, problem)]
    found = chain(problem, dtype, form, where, takers, own, operation=kind)
    if not found:
        help = "name a spec or a library that has instances for it"
        raise _error("select", f"no known instance for {form} {dtype} on {where} takes {problem}", help)
    return found[0]


def check_words(dtype: str, layout: str | None, arch: str | None, operation: str | None = None) -> None:
    """Raise CkgenError for an unknown data type, operation, layout or architecture, with the most similar known one."""
    for name, value in (("layout", layout), ("arch", arch), ("operation", operation)):
        require_type(name, value, (str, type(None)), "its name, as gfx942, or None")
    require_type("dtype", dtype, str, "its name, as f16")
    layouts = OPERATIONS[operation].layouts if operation in OPERATIONS else LAYOUTS
    for what, word, known in (
        ("dtype", dtype, tuple(DTYPES)),
        ("operation", operation, tuple(OPERATIONS)),
        ("layout", layout, layouts),
    ):
        if word is not None and word not in known:
            raise _error(
                f"unknown-{what}",
                f"there is no {what} `{word}`",
                did_you_mean(word, known) or f"known: {', '.join(known)}",
            )
    check_archs([arch] if arch else [], DEVICES)


def _only_arch(tables: Sequence[Table]) -> str:
    archs = sorted({table.arch for table in tables if not table.predicted})
    if len(archs) != 1:
        raise _error("select", f"there are tables for {', '.join(archs) or 'no architecture'}", "say which: arch=NAME")
    return archs[0]


def _error(rule: str, message: str, help: str) -> CkgenError:
    return CkgenError((Diagnostic(None, rule, message, help),))
