"""Plans of a single gradient, by several instances and split-K factors, and plans as the binding reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ckgen.library.c_api import UnsupportedProblem
from ckgen.library.library import Library
from ckgen.torch.merged import Merged
from ckgen.torch.plan import GRADIENTS, Described, Plan, Request, Step, check, describe, joined, reads_of
from ckgen.torch.strides import Lengths


class Candidate(NamedTuple):
    """A plan of one gradient by an instance with a split-K factor. ``source`` says why the library proposes it."""

    name: str
    split_k: int
    source: str
    plan: Plan


class Gradient:
    """The one wanted gradient of a request. Raise LibraryError for tensors that do not fit, or ProblemError."""

    def __init__(self, library: Library | Merged, asked: Request) -> None:
        check(library, asked)
        self._at, self._reads = asked.wanted.index(True), reads_of(asked)
        self._described: Described = describe(library, asked, GRADIENTS[self._at], self._reads)

    def candidates(self, most: int, vary_split_k: bool) -> Iterator[Candidate]:
        """The library's ``most`` best instances, the probably fastest first; if wanted, each with half, twice and four
        times the split-K factor too. Raise UnsupportedProblem if there is none."""
        for choice in self._described.choices(most):
            step = self._described.step(choice.name, choice.split_k)
            split_k = _split_k(step)
            yield Candidate(choice.name, split_k, choice.source, self._plan(step))
            for other in {max(1, split_k // 2), 2 * split_k, 4 * split_k} - {split_k} if vary_split_k else ():
                step = self._described.step(choice.name, other)
                if _split_k(step) == other:  # the library raises a factor that would lose precision
                    yield Candidate(choice.name, other, choice.source, self._plan(step))

    def by_name(self, name: str, split_k: int) -> Plan | None:
        """The plan by one instance; None if the library no longer takes the gradient that way."""
        try:
            return self._plan(self._described.step(name, split_k))
        except UnsupportedProblem:
            return None

    def _plan(self, step: Step) -> Plan:
        data, weight = (step, None) if self._at == 0 else (None, step)
        return joined(data, weight, (False, False), self._reads)


def _split_k(step: Step) -> int:
    return step.start.split_k if step.start is not None else 1


def words(plan: Plan) -> list[int]:
    """The plan as binding.cpp reads it. The plan must outlive its use: addresses in it are those of its steps."""
    found: list[int] = []
    for strides in plan.copies:
        found += _counted(strides)
    for step in (plan.data, plan.weight):
        if step is None:
            found.append(0)
            continue
        found += [1 if step.start is None else 2, *_counted(step.strides), *_counted(step.reordered)]
        if step.start is not None:
            found += [*step.start.entry(), step.start.workspace_bytes]
    return found


def _counted(values: Lengths | None) -> list[int]:
    return [len(values or ()), *(values or ())]
