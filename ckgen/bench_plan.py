"""Which instances are measured on which problems with which split-K factors, and against which references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckgen.bench_job import Job
from ckgen.library import Library
from ckgen.problem_sets import NamedProblem

SPLIT_KS = (-1, 1, 2, 4, 8, 16, 32)
# The types a reference library has a counterpart for: three tensors of one type.
REFERENCE_DTYPES = ("f16", "bf16", "f32")


def make_jobs(
    library: Library,
    problems: Sequence[NamedProblem],
    *,
    names: Iterable[str],
    split_ks: Sequence[int] = SPLIT_KS,
    references: Sequence[str] = (),
) -> list[Job]:
    """Every named instance on every problem it takes with every factor, the references of a problem and data
    type before the instances, all of one problem and type together.

    Factors that come to the same (the library's own choice to one that is asked for as well, or one that it
    cuts down) are measured once. Raises LibraryError for unknown names.
    """
    instances = [library.instance(name) for name in names]
    dtypes = sorted({instance.dtype for instance in instances})
    jobs: list[Job] = []
    for problem in problems:
        for dtype in dtypes:
            own: list[Job] = []
            for instance in instances:
                if instance.dtype == dtype:
                    own += _of_instance(library, instance.name, dtype, problem, split_ks)
            if own and dtype in REFERENCE_DTYPES and problem.problem.left_pads == problem.problem.right_pads:
                jobs += [Job("reference", name, dtype, problem) for name in references]
            jobs += own
    return jobs


def _of_instance(library: Library, name: str, dtype: str, problem: NamedProblem, split_ks: Sequence[int]) -> list[Job]:
    factors: dict[int, bool] = {}
    for split_k in split_ks:
        if library.unsupported_reason(name, problem.problem, split_k=split_k) is None:
            used = library.split_k(name, problem.problem, split_k)
            factors[used] = factors.get(used, False) or split_k == -1
    return [Job("instance", name, dtype, problem, used, automatic) for used, automatic in sorted(factors.items())]
