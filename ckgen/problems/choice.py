"""Choices among named problems: filters on class, part and model, and samples that cover every class.

part=fitted              or held_out: problems of held-out models only
class=depthwise,grouped  classes of `ckgen.conv.classes`
model=resnet*            problems that a model has; values may be globs
name=*.n32               the names of problems
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Callable, Sequence

from ckgen.conv.classes import CLASSES, class_of
from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.problems.sets import PARTS, NamedProblem

_VALUES: dict[str, Callable[[NamedProblem], tuple[str, ...]]] = {
    "part": lambda named: (named.part,),
    "class": lambda named: (class_of(named.problem),),
    "model": lambda named: named.models,
    "name": lambda named: (named.name,),
}
_KNOWN = {"part": PARTS, "class": tuple(CLASSES)}


def chosen(problems: Sequence[NamedProblem], terms: Sequence[str]) -> tuple[NamedProblem, ...]:
    """The problems for which every term `KEY=VALUE[,VALUE]` holds, in order.

    Raises CkgenError with the nearest words if a term is wrong or a value fits no problem that the terms before left.
    """
    kept = tuple(problems)
    for term in terms:
        key, equals, text = term.partition("=")
        if key not in _VALUES or not equals:
            raise _error(f"`{term}` chooses no problems", did_you_mean(key, tuple(_VALUES)) or "write class=depthwise")
        patterns = [value.strip() for value in text.split(",")]
        texts = [_VALUES[key](named) for named in kept]
        for pattern in patterns:
            if not any(fnmatch.filter(values, pattern) for values in texts):
                known = _KNOWN.get(key) or tuple(dict.fromkeys(value for values in texts for value in values))
                raise _error(f"no problem has {key}={pattern}", did_you_mean(pattern, known))
        kept = tuple(
            named
            for named, values in zip(kept, texts, strict=True)
            if any(fnmatch.filter(values, pattern) for pattern in patterns)
        )
    return kept


def sample(problems: Sequence[NamedProblem], count: int, seed: int = 1) -> tuple[NamedProblem, ...]:
    """At most ``count`` problems, the same for the same ``seed``, in the order given.

    Each class and part has the same share, as far as it has problems. Within them all problems are equally probable.
    A larger count contains the smaller sample of the same seed.
    """
    strata: dict[tuple[str, str], list[int]] = {}
    for index, named in enumerate(problems):
        strata.setdefault((named.part, class_of(named.problem)), []).append(index)
    ranked: list[tuple[int, bytes, int]] = []
    for stratum, members in strata.items():
        members.sort(key=lambda index: _rank(seed, problems[index].name))
        ranked += [(place, _rank(seed, *stratum), index) for place, index in enumerate(members)]
    return tuple(problems[index] for index in sorted(index for _, _, index in sorted(ranked)[:count]))


def _rank(seed: int, *words: str) -> bytes:
    return hashlib.sha256("\n".join((str(seed), *words)).encode()).digest()


def _error(message: str, help: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "problem-choice", message, help)])
