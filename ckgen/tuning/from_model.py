"""Predicted tables: the fastest instances by the cost model, for an architecture without measurements.

A predicted table has the form of a measured one and is used in the same way, but the selector calls its choices from it
`predicted`. It is made from the committed tables of machine code and of simulated cycles, the spec and the bundled
problem sets. Measurements of the architecture replace it.

The generic instance is ranked only for problems that no other instance takes. The model counts bytes, not accesses, so
an instance that loads one element at a time would rank as high as one that loads eight. For the same reason instances
with LDS writes of the spec, which are narrower than those by rule, are not ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ckgen.conv.problem import ConvProblem
from ckgen.cost.rank import CodeBook, Prediction, rank, read_book
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.hardware.compute_units import RATES
from ckgen.instance.instance import Instance
from ckgen.library.digest import file_digest
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.sets import STANDARD_SETS, load_problems
from ckgen.selection.measured import Candidate, MeasuredProblem, Table, TableOrigin
from ckgen.selection.takes import takes
from ckgen.spec.expand import expand_document
from ckgen.text import source

FASTEST = 3


def predict_table(code: str, spec: str, operation: str, root: Path) -> Table:
    """Make a table with the cost model. ``code`` is a table of `ckgen isa`, beside which its simulated cycles may be,
    ``spec`` the YAML file; both paths are relative to ``root``. Raises CkgenError if a file cannot be read."""
    book, sources = read_book(root, code)
    every = expand_document(source.load(root / spec)).instances
    known = [i for i in every if i.operation == operation and book.arch in i.archs and i.function == PASS_THROUGH]
    instances = [i for i in known if not i.given_copy]
    rows = tuple(
        row
        for problem in _problems(operation)
        for dtype in dict.fromkeys(instance.dtype for instance in instances)
        for row in _row(problem, dtype, instances, book)
    )
    origin = TableOrigin(
        results={path: file_digest(root / path) for path in (sources[0], spec, *sources[1:])},
        device=RATES[book.arch].gpu,
        driver="",
        software="the cost model of docs/isa.md; nothing was measured",
        compiler=book.compiler,
        commit="",
        spec_digest="",
        library_digest="",
        measured="",
    )
    return Table(operation, book.arch, origin, rows, predicted=True)


def _problems(operation: str) -> list[ConvProblem]:
    """All problems of the sets that are for the operation, without duplicates."""
    every = [named for name in STANDARD_SETS for named in load_problems(name)]
    return list(dict.fromkeys(named.problem for named in every if operation in named.operations))


def _row(problem: ConvProblem, dtype: str, instances: Sequence[Instance], book: CodeBook) -> Iterable[MeasuredProblem]:
    if not instances:
        return
    layout = OPERATIONS[instances[0].operation].home(problem.ndim)
    takers = [i for i in instances if i.layout == layout and i.dtype == dtype and takes(i, problem)]
    takers = [i for i in takers if not i.generic] or takers
    best = _kept(rank(takers, problem, book)) if takers else []
    if best:
        candidates = (Candidate(p.instance.name, p.split_k, round(p.seconds * 1e6, 1)) for p in best)
        yield MeasuredProblem(str(problem), dtype, layout, tuple(candidates))


def _kept(ranked: Sequence[Prediction]) -> list[Prediction]:
    """Keep the fastest few, and the fastest of each family."""
    kept: list[Prediction] = []
    families: set[str] = set()
    for prediction in ranked:
        if len(kept) < FASTEST or prediction.instance.family not in families:
            kept.append(prediction)
            families.add(prediction.instance.family)
    return kept
