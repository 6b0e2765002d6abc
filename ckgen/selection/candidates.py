"""Selection of an instance and a split-K factor for a problem: the fastest that was measured, or else predicted.

The chain of candidates, best first:

1. measured: the problem itself is in the table of its architecture. 2. neighbour: the nearest measured problems with
the same layout and data type; 1x1 filters have only 1x1 filters as neighbours. The distance between two problems is the
sum of the differences, in octaves (factors of two), of groups, K, C, filter taps and GEMM-K. split_k is scaled so that
the number of workgroups stays the same, and raised if sums would become longer than any whose result was verified. If
nothing was measured, the rows of the cost model are used in the same way: predicted. 3. rule: for problems without
measurements or neighbours. Instances with the lowest traffic through tiles come first, then those with the widest
vectors. 4. generic: takes every valid problem. It comes last, unless it was measured on this very problem.

All but the first are predictions, and only the problem itself has a time. A library takes the first candidate that it
contains and that supports the problem. templates/src/library/selector.cpp has the same chain in C++; all arithmetic is
in integers, so that both produce the same candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS, operation_in
from ckgen.selection.measured import Candidate, Table

Source = Literal["measured", "neighbour", "rule", "generic", "predicted"]
SOURCES: tuple[Source, ...] = ("measured", "neighbour", "rule", "generic", "predicted")
NEIGHBOURS = 3
OCTAVE = 16  # the unit of distances is a sixteenth of an octave
FARTHEST = 6 * OCTAVE
MOST_SPLITS = 1 << 16  # the largest split_k that instances take


@dataclass(frozen=True, slots=True)
class Choice:
    """An instance for a problem. ``split_k`` -1 leaves the factor to the library. ``microseconds`` is the time of the
    requested problem, measured or from the cost model; None if there is none. ``problem`` is the problem in the table
    on which the choice is based: the requested one or its neighbour; empty if there is none."""

    name: str
    split_k: int
    source: Source
    microseconds: float | None = None
    problem: str = ""

    @property
    def answer(self) -> str:
        """`measured` if this very problem was measured, else `predicted`."""
        return "measured" if self.source == "measured" else "predicted"

    @property
    def basis(self) -> str:
        """The basis of the answer, in words."""
        near = self.problem or "a problem nearby"
        if self.source == "predicted":
            return "cost model" if self.microseconds is not None else f"cost model, for {near}"
        return {
            "measured": "this problem",
            "neighbour": f"nearest measured problem, {near}",
            "rule": "rule: fewest bytes moved",
            "generic": "rule: nothing else takes it",
        }[self.source]


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A measured or predicted problem at a distance; ``exact`` if it is the requested problem itself."""

    exact: bool
    predicted: bool
    distance: int
    problem: ConvProblem
    candidates: tuple[Candidate, ...]


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
    found: dict[str, Choice] = {}
    for neighbour in _neighbours(problem, dtype, layout, arch, own, tables):
        for candidate in neighbour.candidates:
            if not neighbour.exact and _overflows(own[candidate.name], problem):
                continue
            found.setdefault(candidate.name, _choice(candidate, neighbour, own[candidate.name], problem))
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
    """True if two names mean the same architecture: code for a GPU of compute capability 9.0 is compiled for sm_90a."""
    return _plain(one) == _plain(other)


def _plain(arch: str) -> str:
    return arch.rstrip("a") if arch.startswith("sm_") else arch


def _neighbours(
    problem: ConvProblem, dtype: str, layout: str, arch: str, own: Mapping[str, Instance], tables: Sequence[Table]
) -> list[_Neighbour]:
    """The measured problems that have a candidate in ``own`` (instances by name); the requested problem comes first.

    A generic instance counts only if it was measured on the problem itself: that it took a neighbour, or moves as few
    bytes as the others, says nothing about this problem.
    """
    found: list[_Neighbour] = []
    for table in tables:
        for row in table.rows if same_arch(table.arch, arch) else ():
            if row.dtype != dtype or row.layout != layout:
                continue
            other = ConvProblem(**problem_fields(row.problem))
            exact, distance = other == problem, _distance(problem, other)
            measured = exact and not table.predicted
            known = (c for c in row.candidates if c.name in own and (measured or not own[c.name].generic))
            candidates = tuple(known)
            if not candidates:
                continue
            if exact or (_single_tap(other) == _single_tap(problem) and distance <= FARTHEST):
                found.append(_Neighbour(exact, table.predicted, distance, other, candidates))
    return sorted(found, key=lambda item: (not item.exact, item.distance))[:NEIGHBOURS]


def _choice(candidate: Candidate, neighbour: _Neighbour, instance: Instance, problem: ConvProblem) -> Choice:
    split_k = candidate.split_k
    if not neighbour.exact:
        split_k = _scaled(candidate, instance, neighbour.problem, problem)
    source: Source = "predicted" if neighbour.predicted else "measured" if neighbour.exact else "neighbour"
    time = candidate.microseconds if neighbour.exact else None
    return Choice(candidate.name, split_k, source, time, str(neighbour.problem))


def _scaled(candidate: Candidate, instance: Instance, measured: ConvProblem, problem: ConvProblem) -> int:
    """The split-K factor for another problem. It keeps the measured number of workgroups, makes no sum longer than the
    longest verified one, and leaves each workgroup at least one tile along GEMM-K."""
    family = FAMILIES[instance.family]
    workgroups, tiles = candidate.split_k * family.tiles(instance, measured), family.tiles(instance, problem)
    terms = _terms(instance, problem)
    wanted = (2 * workgroups + tiles) // (2 * tiles)  # rounded to nearest
    wanted = max(wanted, ceil_div(terms, max(1, candidate.longest_sum)), 1)
    return min(wanted, ceil_div(terms, instance.k_per_block), MOST_SPLITS)


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


def _distance(one: ConvProblem, other: ConvProblem) -> int:
    return sum(abs(_octaves(a) - _octaves(b)) for a, b in zip(_sizes(one), _sizes(other), strict=True))


def _sizes(problem: ConvProblem) -> tuple[int, ...]:
    return problem.groups, problem.k, problem.c, saturated(problem.filter), _gemm_k(problem)


def _octaves(value: int) -> int:
    """log2 in sixteenths, linear between powers of two."""
    whole = value.bit_length() - 1
    return OCTAVE * whole + (OCTAVE * value >> whole) - OCTAVE


def _gemm_k(problem: ConvProblem) -> int:
    return saturated((problem.batch, *problem.output))


def _single_tap(problem: ConvProblem) -> bool:
    return prod(problem.filter) == 1
