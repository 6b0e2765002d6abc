"""Verify the host library of set `ci` on Composable Kernel's own table of weight gradients.

The table has 20 cases of CK's test and the three with odd channels that CK added later, K = 1 and C = 3 included; each
runs in every dtype and split-K factor: in f16 unscaled, in the others with smaller batches and images. CK's test passes
if no instance supports a case; this test then fails.
"""

from __future__ import annotations

import pytest

from ckgen.conv.layout import LAYOUTS
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_WEIGHT
from ckgen.problems.sets import load_problems
from ckgen.verify.plan import SPLIT_KS, Plan, make_plan
from ckgen.verify.smoke import run_plan
from tests.support.host_library import names_of
from tests.support.sweep.sampled import chosen

CASES = load_problems("ck_bwd_weight")
SMALL = tuple(case.fitted(2_000_000) for case in CASES)
UNSCALED = "f16"
DTYPES = {"bf16", "bf16_f32_bf16", UNSCALED, "f32"}
NAMES = [case.name for case in CASES]
LONG = {"ck.3d.2", "ck.3d.7"}  # each takes minutes; other cases in three dimensions stay in the gate


@pytest.fixture(scope="module")
def plan(host_library: Library) -> Plan:
    """A plan of all instances of backward weight, each on a few of the cases in rotation."""
    names = names_of(host_library, BWD_WEIGHT)
    unscaled = [name for name in names if host_library.instance(name).dtype == UNSCALED]
    small = [name for name in names if name not in unscaled]
    plans = make_plan(host_library, CASES, names=unscaled), make_plan(host_library, SMALL, names=small)
    return Plan(tuple(case for one in plans for case in one.cases), tuple(gap for one in plans for gap in one.gaps))


@pytest.mark.parametrize("name", chosen(NAMES, gate=[name for name in NAMES if name not in LONG]))
def test_ck_case(host_library: Library, plan: Plan, name: str) -> None:
    cases = tuple(case for case in plan.cases if case.problem.name == name)
    gaps = tuple(gap for gap in plan.gaps if gap.problem and gap.problem.name == name)
    rows = list(run_plan(host_library, Plan(cases, gaps), seed=5))
    assert [row for row in rows if not row.ok] == []
    ran = {(host_library.instance(case.instance).dtype, case.split_k) for case in cases}
    assert ran == {(dtype, split_k) for dtype in DTYPES for split_k in SPLIT_KS}


def test_every_instance_took_part(host_library: Library, plan: Plan) -> None:
    """Except pointwise rows of channels-first layouts: their vectors need other images than CK's 1x1 cases."""
    names = set(names_of(host_library, BWD_WEIGHT))
    left = [host_library.instance(name) for name in names - {case.instance for case in plan.cases}]
    assert all(one.pointwise and not LAYOUTS[one.layout].channels_last and one.b_vector > 1 for one in left)
    assert len(left) <= 3 and {gap.instance for gap in plan.gaps} == {one.name for one in left}
