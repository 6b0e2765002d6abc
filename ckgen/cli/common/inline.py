"""Problems that a command line holds as text, among the filters: `ckgen bench "K64 C32 3x3 on 14x14"`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ckgen.cli.common.options import asked_for

if TYPE_CHECKING:
    from ckgen.problems.sets import NamedProblem

_BEGINNING = re.compile(r"\s*[GNKC]\d+\s")


def divided(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The filters among the words, and the texts of problems: no filter has ` on ` in it, or begins like a problem."""
    texts = tuple(word for word in words if " on " in word or _BEGINNING.match(word))
    return tuple(word for word in words if word not in texts), texts


def problems_of(texts: Sequence[str], sets: Sequence[str]) -> list[NamedProblem]:
    """The problems of the texts, and of the sets: if there are texts, only of sets that the command line names."""
    from ckgen.conv.notation import problem_fields
    from ckgen.conv.problem import ConvProblem
    from ckgen.problems.sets import NamedProblem, load_problems

    written = [ConvProblem(**problem_fields(text)) for text in texts]
    named = [NamedProblem(str(problem), problem) for problem in dict.fromkeys(written)]
    asked = not texts or asked_for(click.get_current_context(), ("problems",))
    return [*named, *(problem for name in (sets if asked else ()) for problem in load_problems(name))]
