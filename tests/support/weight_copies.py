"""Check when a family for Hopper copies a weight: where tiles often read rows that break cache lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ckgen.conv.problem import make_problem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from tests.support.cxx import run_instance

OFTEN = make_problem(batch=32, k=928, c=232, filter=[1, 1], input=[28, 28])
LEAST = make_problem(batch=1, k=2304, c=72, filter=[1, 1], input=[48, 56])


def check_weight_copies(library: Library, instances: Iterable[Instance], small: Instance) -> None:
    """The library copies as the selector expects for each of ``instances``. ``small`` copies and is right."""
    problems = [OFTEN, replace(OFTEN, c=256), replace(OFTEN, batch=1), replace(OFTEN, k=32)]
    for instance in instances:
        copied = [library.workspace_size(instance.name, p, split_k=1) >= p.k * p.c * 2 for p in problems]
        assert copied == [FAMILIES[instance.family].aligns_weight(instance, p) for p in problems], instance.name
        assert copied == [True, False, False, False], instance.name
    assert FAMILIES[small.family].aligns_weight(small, LEAST)
    run_instance(library, small.name, LEAST, 1)
