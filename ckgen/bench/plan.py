"""Select the jobs to measure: instances, problems, split-K factors and references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from ckgen.bench.job import Job
from ckgen.conv.dtypes import DTYPES
from ckgen.instance.instance import Instance
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.sets import NamedProblem

SPLIT_KS = (-1, 1, 2, 4, 8, 16, 32)


def make_jobs(
    library: Library,
    problems: Sequence[NamedProblem],
    *,
    names: Iterable[str],
    split_ks: Sequence[int] = SPLIT_KS,
    references: Sequence[str] = (),
) -> list[Job]:
    """Every named instance on every problem that it takes with every factor. Jobs of one problem, operation, function
    and data type are adjacent, the references first.

    Requests that result in the same factor are measured once: the library's own choice may equal a requested factor,
    and the library may reduce a factor. A problem that has several names is measured once, under the first. Raise
    LibraryError for unknown names.
    """
    instances = [library.instance(name) for name in names]
    rank = {operation: at for at, operation in enumerate(OPERATIONS)}
    kinds = sorted({_kind(instance) for instance in instances}, key=lambda kind: (rank[kind[0]], kind))
    jobs: list[Job] = []
    for problem in problems:
        for kind in kinds:
            operation, function, dtype = kind
            alike = [i for i in instances if _kind(i) == kind and i.ndim == problem.problem.ndim]
            if operation not in problem.operations or not alike:
                continue
            slots = d_slots(alike[0], library.functions[function])
            d_bytes = sum(prod(slot.shape(problem.problem)) * slot.element.bytes for slot in slots)
            work: dict[str, Any] = {"operation": operation, "function": function, "d_bytes": d_bytes}
            own = [job for i in alike for job in _of_instance(library, i.name, dtype, problem, split_ks, work)]
            if own and DTYPES[dtype].by_pytorch and problem.problem.left_pads == problem.problem.right_pads:
                jobs += [Job("reference", name, dtype, problem, **work) for name in references]
            jobs += own
    first: dict[tuple[object, ...], Job] = {}
    for job in jobs:
        first.setdefault(job.key, job)
    return list(first.values())


def _kind(instance: Instance) -> tuple[str, str, str]:
    return instance.operation, instance.function, instance.dtype


def _of_instance(
    library: Library, name: str, dtype: str, problem: NamedProblem, split_ks: Sequence[int], work: dict[str, Any]
) -> list[Job]:
    factors: dict[int, bool] = {}
    for split_k in split_ks:
        if library.unsupported_reason(name, problem.problem, split_k=split_k) is None:
            used = library.split_k(name, problem.problem, split_k)
            factors[used] = factors.get(used, False) or split_k == -1
    return [
        Job("instance", name, dtype, problem, used, automatic, **work) for used, automatic in sorted(factors.items())
    ]
