"""Select the checks: instances, problems and split-K factors.

The full product of instances, problems and factors is large. The default plan runs every problem with every data type
and factor, each time on the least used instance that takes it, and then runs every unused instance once. A problem that
no instance takes and an instance that takes no problem are gaps, which the caller counts as failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ckgen.instance.instance import Instance
from ckgen.instance.work import padded_macs
from ckgen.library.library import Library
from ckgen.problems.sets import NamedProblem

SPLIT_KS = (-1, 1, 2, 7)


@dataclass(frozen=True, slots=True)
class Case:
    """One check. ``twice`` requests a second run, whose result must equal the first bit for bit."""

    instance: str
    problem: NamedProblem
    split_k: int
    twice: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """A problem that no instance of a data type takes (``instance`` is None), or an instance that takes no problem
    (``problem`` is None), with the reason."""

    instance: str | None
    problem: NamedProblem | None
    split_k: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All checks, in the order of their problems, and the gaps."""

    cases: tuple[Case, ...]
    gaps: tuple[Gap, ...]


def make_plan(
    library: Library,
    problems: Sequence[NamedProblem],
    *,
    names: Iterable[str] | None = None,
    split_ks: Sequence[int] = SPLIT_KS,
    everything: bool = False,
    cover_problems: bool = True,
) -> Plan:
    """Plan checks of the instances ``names`` (default: all of the library).

    Every problem must run in every operation and data type of the named instances, in every number of dimensions.
    ``cover_problems=False`` drops this requirement, for selections of instances that do not cover every problem.
    ``everything`` plans the whole product instead of the rotation. Raise LibraryError for unknown names.
    """
    rotation = _Rotation({name: library.instance(name) for name in (library.names if names is None else names)})
    kinds = sorted({(instance.operation, instance.dtype) for instance in rotation.instances.values()}, reverse=True)
    cases: list[Case] = []
    gaps: list[Gap] = []
    for problem in problems:
        for split_k in split_ks:
            wanted = [n for n, instance in rotation.instances.items() if instance.operation in problem.operations]
            takers = library.supporting(problem.problem, wanted, split_k=split_k)
            rotation.remember(takers, problem)
            for operation, dtype in kinds:
                fit = [name for name in takers if rotation.is_of(name, operation, dtype)]
                if fit:
                    chosen = fit if everything else [rotation.least_used(fit, problem)]
                    cases += [rotation.case(name, problem, split_k, everything) for name in chosen]
                elif cover_problems and operation in problem.operations:
                    gaps.append(Gap(None, problem, split_k, f"no {operation} of dtype {dtype} takes it"))
    for name in rotation.instances:
        if name not in rotation.cheapest:
            gaps.append(Gap(name, None, None, f"takes none of the {len(problems)} problems"))
        elif not rotation.uses[name]:
            cases.append(rotation.case(name, rotation.cheapest[name], split_ks[-1], everything))
    order = {problem.name: at for at, problem in enumerate(problems)}
    cases.sort(key=lambda case: (order[case.problem.name], *rotation.data_of(case.instance)))
    return Plan(tuple(cases), tuple(gaps))


class _Rotation:
    """Number of runs per instance, and the cheapest problem for each instance."""

    def __init__(self, instances: dict[str, Instance]) -> None:
        self.instances = instances
        self.uses: Counter[str] = Counter()
        self.cheapest: dict[str, NamedProblem] = {}
        self._repeated: set[str] = set()

    def is_of(self, name: str, operation: str, dtype: str) -> bool:
        """True if an instance has this operation and data type."""
        return (self.instances[name].operation, self.instances[name].dtype) == (operation, dtype)

    def data_of(self, name: str) -> tuple[str, str, str]:
        """Properties by which instances can share the same data."""
        instance = self.instances[name]
        return instance.operation, instance.dtype, instance.function

    def remember(self, names: Iterable[str], problem: NamedProblem) -> None:
        """Note that the instances ``names`` take ``problem``."""
        for name in names:
            known = self.cheapest.setdefault(name, problem)
            if padded_macs(self.instances[name], problem.problem) < padded_macs(self.instances[name], known.problem):
                self.cheapest[name] = problem

    def least_used(self, names: Sequence[str], problem: NamedProblem) -> str:
        """The instance among ``names`` with the fewest runs; among equals, the one with the least work."""
        return min(names, key=lambda name: (self.uses[name], padded_macs(self.instances[name], problem.problem), name))

    def case(self, name: str, problem: NamedProblem, split_k: int, always_twice: bool) -> Case:
        """The next case of an instance. Its first case that may split GEMM-K runs twice, with ``always_twice`` each of
        them."""
        twice = split_k != 1 and (always_twice or name not in self._repeated)
        if twice:
            self._repeated.add(name)
        self.uses[name] += 1
        return Case(name, problem, split_k, twice)
