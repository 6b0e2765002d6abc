"""Verify the host library of set `quick`: every kind of kernel on a few small problems. `make test` runs this test; the
other test_proof_*.py run real layers, which takes minutes.
"""

from __future__ import annotations

import pytest

from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.sets import load_problems
from ckgen.verify.plan import Plan, make_plan
from ckgen.verify.smoke import run_plan
from tests.support.host_library import names_of
from tests.support.sweep.random_instances import kinds

PROBLEMS = tuple(load_problems("tiny"))


@pytest.fixture(scope="module")
def plan(quick_library: Library) -> Plan:
    """A plan of every instance on each problem that it takes, with GEMM-K whole and split."""
    return make_plan(quick_library, PROBLEMS, split_ks=(1, 3), everything=True, cover_problems=False)


def test_every_kind_of_kernel_and_dtype_is_there_and_runs(quick_library: Library, plan: Plan) -> None:
    every = quick_library.instances
    wanted = {(kind.operation, kind.family, kind.generic) for kind in kinds()}
    assert {(i.operation, i.family, i.generic) for i in every} == wanted
    assert {(i.operation, i.dtype) for i in every if i.generic} == {
        (operation.name, dtype) for operation in OPERATIONS.values() for dtype in operation.dtypes
    }
    assert {i.ndim for i in every} == {1, 2, 3}
    assert plan.gaps == () and {case.instance for case in plan.cases} == set(quick_library.names)


@pytest.mark.parametrize("problem", [problem.name for problem in PROBLEMS])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_is_right_on_small_problems(quick_library: Library, plan: Plan, operation: str, problem: str) -> None:
    own = set(names_of(quick_library, operation))
    cases = tuple(case for case in plan.cases if case.problem.name == problem and case.instance in own)
    assert cases
    assert [row for row in run_plan(quick_library, Plan(cases, ()), seed=3) if not row.ok] == []
