"""Plans of a single gradient, by several instances and split-K factors, and plans as the binding reads them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import NamedTuple

from ckgen.library.c_api import UnsupportedProblem
from ckgen.library.library import Library
from ckgen.torch.merged import Merged
from ckgen.torch.plan import GRADIENTS, Plan, Step, check, describe, forms_of
from ckgen.torch.request import Request
from ckgen.torch.strides import Lengths

_SLOW = 10.0  # times the first candidate's predicted time


class Candidate(NamedTuple):
    """A plan of one gradient by an instance with a split-K factor. ``source`` says why the library proposes it."""

    name: str
    split_k: int
    source: str
    plan: Plan


class Gradient:
    """The one wanted gradient of a request, in all its forms. Raise LibraryError for tensors that do not fit, or
    ProblemError."""

    def __init__(self, library: Library | Merged, asked: Request) -> None:
        check(library, asked)
        self._at = asked.wanted.index(True)
        written = GRADIENTS[self._at]
        self._forms = [describe(library, asked, written, form) for form in forms_of(asked, written)]

    def candidates(self, most: int, vary_split_k: bool) -> Iterator[Candidate]:
        """The library's ``most`` best instances in each form, the probably fastest first, but none that probably takes
        _SLOW times as long as the first; if wanted, each with half, twice and four times the split-K factor too. Raise
        UnsupportedProblem if there is none."""
        refused: list[UnsupportedProblem] = []
        for form in self._forms:
            try:
                choices = form.choices(most)
            except UnsupportedProblem as error:
                refused.append(error)
                continue
            most_us = _SLOW * (choices[0].microseconds or math.inf)
            for choice in choices:
                if (choice.microseconds or 0.0) > most_us:
                    continue
                step = form.step(choice.name, choice.split_k)
                split_k = _split_k(step)
                yield Candidate(choice.name, split_k, choice.source, self._plan(step))
                for other in {max(1, split_k // 2), 2 * split_k, 4 * split_k} - {split_k} if vary_split_k else ():
                    with contextlib.suppress(UnsupportedProblem):  # a grid or a workspace may become too large
                        step = form.step(choice.name, other)
                        if _split_k(step) == other:  # the library raises a factor that would lose precision
                            yield Candidate(choice.name, other, choice.source, self._plan(step))
        if len(refused) == len(self._forms):
            raise refused[0]

    def by_name(self, name: str, split_k: int) -> Plan | None:
        """The plan by one instance; None if the library no longer takes the gradient that way."""
        for form in self._forms:
            with contextlib.suppress(UnsupportedProblem):
                return self._plan(form.step(name, split_k))
        return None

    def _plan(self, step: Step) -> Plan:
        data, weight = (step, None) if self._at == 0 else (None, step)
        return Plan(data, weight, (False, False))


def _split_k(step: Step) -> int:
    return step.start.split_k if step.start is not None else 1


def words(plan: Plan, *, give: bool = False) -> list[int]:
    """The plan as plan.hpp reads it. Addresses in it are those of the plan's steps, which must outlive its use, or,
    with ``give``, belong to the binding from now on."""
    found: list[int] = []
    for step in (plan.data, plan.weight):
        if step is None:
            found.append(0)
            continue
        found += [1 if step.start is None else 2, *_counted(step.strides)]
        if step.start is not None:
            for strides in (step.reordered, *step.copies):
                found += _counted(strides)
            found += [*(step.start.give() if give else step.start.entry()), step.start.workspace_bytes]
    return found


def _counted(values: Lengths | None) -> list[int]:
    return [len(values or ()), *(values or ())]
