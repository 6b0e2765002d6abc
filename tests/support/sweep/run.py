"""Run random instances that validate on the host, on small problems, against the float64 reference.

    python -m tests.support.sweep.run --seed 3 --count 40 [--like gfx950]

The host can imitate an architecture (LIKE). Prints the instances that failed or that no problem suited, and exits with
1 if one failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.problems.sets import NamedProblem
from ckgen.verify.plan import Plan, make_plan
from ckgen.verify.smoke import OK, Row, run_plan
from tests.support.cxx import link, write_tree
from tests.support.sweep.random_instances import random_instances

# gfx950 stores tiles by rows in LDS; gfx1201 and NVIDIA exchange values among half as many lanes. Family wmma has the
# fragments of gfx11 except on gfx1201.
LIKE = {
    "gfx942": (),
    "gfx950": ("-DCKGEN_HOST_TRANSPOSING_LDS=1",),
    "gfx1201": ("-DCKGEN_HOST_PORTABLE_ATOM=1", "-DCKGEN_HOST_WMMA=12"),
}


def problems(ndim: int) -> list[ConvProblem]:
    """Small problems of each kind: several ragged tiles, strides and groups, single channels, filters of one tap, and
    problems for the families for few channels."""
    edge = {1: (37,), 2: (9, 7), 3: (5, 4, 6)}[ndim]
    even = {1: (48,), 2: (4, 8), 3: (2, 4, 6)}[ndim]  # multiples of 16, which vectors of positions divide
    three, two, one = (3,) * ndim, (2,) * ndim, (1,) * ndim
    kept = [
        make_problem(groups=1, batch=2, k=80, c=72, filter=three, input=edge, pad=1),
        make_problem(groups=2, batch=2, k=16, c=64, filter=three, input=edge, stride=2, pad=1),
        make_problem(groups=2, batch=3, k=5, c=3, filter=two, input=edge, pad=1),
        make_problem(groups=1, batch=2, k=40, c=64, filter=one, input=edge),
        make_problem(groups=2, batch=2, k=7, c=5, filter=one, input=edge),
        make_problem(groups=1, batch=2, k=64, c=64, filter=one, input=even),  # vectors of 16 elements of one byte
        make_problem(groups=2, batch=3, k=48, c=40, filter=one, input=even),
        make_problem(groups=1, batch=2, k=48, c=24, filter=three, input=even, pad=1),
        make_problem(groups=16, batch=2, k=1, c=1, filter=three, input=edge, pad=1),
        make_problem(groups=16, batch=2, k=1, c=1, filter=one, input=edge),
        make_problem(groups=11, batch=2, k=4, c=8, filter=two, input=edge, stride=2, dilation=2, pad=1),
    ]
    if ndim == 2:
        few = ((9, 8, 8), (5, 16, 16), (3, 32, 32), (1, 36, 64), (1, 64, 64))
        kept += [make_problem(groups=g, batch=2, k=k, c=c, filter=(3, 3), input=(9, 12), pad=1) for g, k, c in few]
        taps = (1, 3, 5, 7)  # each filter is the only one that some instance of family depthwise_tma takes
        kept += [
            make_problem(groups=64, batch=2, k=1, c=1, filter=(rows, row), input=(9, 16), pad=[rows // 2, row // 2])
            for rows in taps
            for row in taps
        ]
    return kept


def plan_of(library: Library, instances: Sequence[Instance]) -> Plan:
    """Every instance on each of the problems that it takes, with and without splitting GEMM-K."""
    names = [instance.name for instance in instances]
    named = [
        NamedProblem(f"{ndim}d.{number}", problem)
        for ndim in (1, 2, 3)
        for number, problem in enumerate(problems(ndim))
    ]
    return make_plan(library, named, names=names, split_ks=(1, 3), everything=True, cover_problems=False)


def imitated(instances: Sequence[Instance], like: str) -> tuple[Instance, ...]:
    """The instances that a host that imitates an architecture can run: not those of dot products or WMMA where it reads
    LDS as an architecture does that has neither."""
    foreign = {i.name for i in instances if LIKE[like] and FAMILIES[i.family].amd_only and like not in i.archs}
    return tuple(i for i in instances if i.name not in foreign)


def run(seed: int, count: int, like: str = "gfx942", others: Sequence[Instance] = ()) -> list[Row]:
    """The rows of all runs of ``count`` random instances and of ``others``, as far as `imitated` has them; an instance
    that takes no problem has a row with the reason."""
    expansion = random_instances(seed, count)
    instances = imitated((*expansion.instances, *others), like)
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(Path(folder), instances, expansion.spec.own_functions)
        library = Library(link(Path(folder), tree, LIKE[like]))
        rows = run_plan(library, plan_of(library, instances), seed=seed)
        return [row if row.problem != "-" else replace(row, verdict=_refusals(library, row)) for row in rows]


def _refusals(library: Library, row: Row) -> str:
    """The reason why an instance takes no problem of its number of dimensions."""
    own = problems(library.instance(row.instance).ndim)
    reasons = {library.check(row.instance, library.describe(row.instance, problem)) for problem in own}
    gpu_only = any(reason and reason.startswith("[host]") for reason in reasons)
    return OK if gpu_only else "FAIL: " + "; ".join(sorted(reason or "" for reason in reasons))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--like", choices=tuple(LIKE), default="gfx942")
    arguments = parser.parse_args()
    rows = run(arguments.seed, arguments.count, arguments.like)
    bad = [row for row in rows if not row.ok]
    for row in bad:
        print(f"{row.instance} on {row.problem}, split_k {row.split_k}: {row.verdict}")
    print(f"seed {arguments.seed}: {len({row.instance for row in rows})} instances, {len(rows)} runs: {len(bad)} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
