"""Selection of an instance and a split-K factor for a problem: the fastest that was measured, or else predicted.

The chain of candidates, best first:

1. measured: the problem itself is in the table of its architecture, or predicted if the table is the cost model's. 2.
model: the others in the order of the times that ckgen.selection.time_model predicts, each with its best split-K factor;
predicted on architectures whose coefficients come from the cost model. 3. rule: instances that the model has no
coefficients for. Those with the lowest traffic through tiles come first, then those with the widest vectors. 4.
generic: takes every valid problem. It comes last, unless it was measured on this very problem.

All but the first are predictions. A library takes the first candidate that it contains and that supports the problem.
templates/src/library/selector.cpp has the same chain in C++; the model's expressions have one source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.families.counts import saturated
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS, operation_in
from ckgen.selection.measured import Table
from ckgen.selection.time_model import Fitted, fastest, load_fitted

Source = Literal["measured", "model", "rule", "generic", "predicted"]
SOURCES: tuple[Source, ...] = ("measured", "model", "rule", "generic", "predicted")


@dataclass(frozen=True, slots=True)
class Choice:
    """An instance for a problem. ``split_k`` -1 leaves the factor to the library. ``microseconds`` is the time of the
    problem, measured or predicted; None if there is none."""

    name: str
    split_k: int
    source: Source
    microseconds: float | None = None

    @property
    def answer(self) -> str:
        """`measured` if this very problem was measured, else `predicted`."""
        return "measured" if self.source == "measured" else "predicted"

    @property
    def basis(self) -> str:
        """The basis of the answer, in words."""
        return _BASES[self.source]


_BASES: dict[Source, str] = {
    "measured": "this problem",
    "model": "model of time, fitted to measurements",
    "rule": "rule: fewest bytes moved",
    "generic": "rule: nothing else takes it",
    "predicted": "cost model",
}


def chain(
    problem: ConvProblem,
    dtype: str,
    layout: str,
    arch: str,
    instances: Iterable[Instance],
    tables: Sequence[Table],
    function: str = PASS_THROUGH,
    *,
    operation: str | None = None,
) -> tuple[Choice, ...]:
    """All candidates among ``instances``, best first, each once. Only a library can check that they support the
    problem. ``instances`` need their ``archs``, as the expansion of a spec gives them. ``operation`` defaults to the
    one that has the layout."""
    known = tuple(instances)
    key = (operation or operation_in(layout, {i.operation for i in known}), layout, dtype, function)
    alike = (i for i in known if (i.operation, i.layout, i.dtype, i.function) == key)
    own = {i.name: i for i in alike if runs_on(i.archs, arch, FAMILIES[i.family].amd_only)}
    found = {choice.name: choice for choice in _listed(problem, dtype, layout, arch, own, tables)}
    rest = [instance for name, instance in own.items() if name not in found]
    found |= {choice.name: choice for choice in _timed(rest, problem, arch, load_fitted())}
    for instance in sorted(own.values(), key=lambda instance: _rule_order(instance, problem)):
        found.setdefault(instance.name, Choice(instance.name, -1, "generic" if instance.generic else "rule"))
    return tuple(found.values())


def runs_on(archs: Sequence[str], arch: str, amd_only: bool = False) -> bool:
    """True if an instance for ``archs`` runs on ``arch``. AMD architectures must be in the list; NVIDIA GPUs and the
    host run every instance that is not for NVIDIA architectures only, NVIDIA GPUs none of families for AMD alone."""
    if amd_only and any(same_arch(own, arch) for own in NVIDIA_ARCHES):
        return False
    if not archs or any(same_arch(own, arch) for own in archs):
        return True
    return not arch.startswith("gfx") and not all(own in NVIDIA_ARCHES for own in archs)


def same_arch(one: str, other: str) -> bool:
    """True if two names mean the same architecture: code for a GPU of compute capability 9.0 is compiled for sm_90a,
    and features after a colon (gfx90a:xnack+) are ignored."""
    return _plain(one) == _plain(other)


def _plain(arch: str) -> str:
    return arch.rstrip("a") if arch.startswith("sm_") else arch.partition(":")[0]


def _listed(
    problem: ConvProblem, dtype: str, layout: str, arch: str, own: Mapping[str, Instance], tables: Sequence[Table]
) -> Iterator[Choice]:
    """The candidates in ``own`` (instances by name) of the problem's row in a table. A generic instance counts only if
    it was measured: the cost model counts bytes, not accesses."""
    for table in tables:
        for row in table.rows if same_arch(table.arch, arch) else ():
            if (row.dtype, row.layout) != (dtype, layout) or ConvProblem(**problem_fields(row.problem)) != problem:
                continue
            source: Source = "predicted" if table.predicted else "measured"
            for one in row.candidates:
                if one.name in own and not (table.predicted and own[one.name].generic):
                    yield Choice(one.name, one.split_k, source, one.microseconds)


def _timed(instances: Iterable[Instance], problem: ConvProblem, arch: str, fitted: Fitted) -> list[Choice]:
    """The instances with coefficients for the architecture, in the order of predicted times. Those with LDS writes of
    the spec, which the model does not count, are left to the rule."""
    own = {(op, family): (name, row) for (name, op, family), row in fitted.items() if same_arch(name, arch)}
    found = []
    for instance in instances:
        name, row = own.get((instance.operation, instance.family), (arch, None))
        if row is not None and not instance.generic and not instance.given_copy:
            time, factor = fastest(instance, problem, name, row)
            source: Source = "model" if name in NVIDIA_ARCHES else "predicted"
            splits = FAMILIES[instance.family].splits(instance)
            order = time, instance.conv_spec == "Default", instance.name
            found.append((order, Choice(instance.name, factor if splits else -1, source, round(time, 1))))
    return [choice for _, choice in sorted(found, key=lambda item: item[0])]


def _terms(instance: Instance, problem: ConvProblem) -> int:
    """The number of terms in the longest sums."""
    return saturated(instance.extents(problem).k)


def _overflows(instance: Instance, problem: ConvProblem) -> bool:
    """True if sums are longer than the part of the weight that stays in LDS, so that partial sums are written."""
    return 0 < FAMILIES[instance.family].kept_rows(instance) < _terms(instance, problem)


def _rule_order(instance: Instance, problem: ConvProblem) -> tuple[bool, bool, int, int, bool, int, int, bool, str]:
    """The sort key of instances without measurements. Vectors of the tensors that are read count before those of the
    tensor that is written, which the main loop does not access."""
    family = FAMILIES[instance.family]
    read = saturated((family.tiles(instance, problem), family.values_per_term(instance, problem)))
    read_vectors = instance.a_vector + instance.b_vector
    # Tiles of a matrix product that are filled with single elements are no better than the generic instance unless they
    # move less. Family depthwise, whose tiles are single positions, wastes nothing.
    coverage = family.coverage(instance)
    single = read_vectors + instance.c_vector == 3 and coverage.m * coverage.n > 1
    # Where merged groups share GEMM-K, groups of one channel are left to family depthwise, and of equal traffic that of
    # more groups comes first: it has longer rows of memory.
    merged = family.merged(instance, problem) if OPERATIONS[instance.operation].merged.k else 1
    return (
        instance.generic or single or (merged > 1 and problem.c == 1),
        _overflows(instance, problem),
        read,
        -merged,
        instance.given_copy,
        -read_vectors,
        -instance.c_vector,
        instance.conv_spec == "Default",
        instance.name,
    )
