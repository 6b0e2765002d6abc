"""Verify the host library of set `ci` on real layers: all 37 of RetinaNet and a depthwise 3x3, in every dtype and
split-K factor.

Channels, groups, filters, strides and pads are the true ones; batch and image are scaled down so that the test takes a
minute. The verdicts are those of `ckgen smoke`, whose verifier is tested in test_smoke.py.
"""

from __future__ import annotations

import math

import pytest

from ckgen.elementwise.function import PASS_THROUGH
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_WEIGHT
from ckgen.problems.sets import load_problems
from ckgen.verify.plan import SPLIT_KS, Case, Plan, make_plan
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import run_case, run_plan
from tests.support.host_library import DEPTHWISE, names_of
from tests.support.sweep.sampled import chosen

LAYERS = (*(layer.fitted(10_000_000) for layer in load_problems("retinanet")), DEPTHWISE)
CK_CASES = tuple(case.fitted(2_000_000) for case in load_problems("ck_bwd_weight"))
# The layers with the most weights differ in their images alone, and take the longest.
HEAVY = [layer.name for layer in LAYERS if math.prod(layer.problem.shape("wei", "NHWGC/GKYXC/NHWGK")) > 4_000_000]
GATE = [layer.name for layer in LAYERS if layer.name not in HEAVY]
DTYPES = ("bf16", "bf16_f32_bf16", "f16", "f32")
SEED = 20


@pytest.fixture(scope="module")
def plan(host_library: Library) -> Plan:
    """A plan of the 2D instances of the library, each on a few of the layers in rotation."""
    names = [name for name in names_of(host_library, BWD_WEIGHT) if host_library.instance(name).ndim == 2]
    return make_plan(host_library, LAYERS, names=names)


def test_the_plan_covers_every_layer_dtype_factor_and_instance(host_library: Library, plan: Plan) -> None:
    assert plan.gaps == ()
    covered = {(c.problem.name, host_library.instance(c.instance).dtype, c.split_k) for c in plan.cases}
    assert covered == {(p.name, dtype, split_k) for p in LAYERS for dtype in DTYPES for split_k in SPLIT_KS}
    ran = {case.instance for case in plan.cases}
    assert ran == {name for name in names_of(host_library, BWD_WEIGHT) if host_library.instance(name).ndim == 2}


@pytest.mark.parametrize("layer", chosen([layer.name for layer in LAYERS], gate=GATE))
def test_retinanet_layer(host_library: Library, plan: Plan, layer: str) -> None:
    cases = tuple(case for case in plan.cases if case.problem.name == layer)
    rows = list(run_plan(host_library, Plan(cases, ()), seed=SEED))
    assert len(rows) >= len(DTYPES) * len(SPLIT_KS)
    assert [row for row in rows if not row.ok] == []


def test_every_other_instance_runs_on_the_ck_cases(host_library: Library) -> None:
    """1D and 3D instances have no RetinaNet layer; each runs on scaled cases of CK's table."""
    names = [name for name in names_of(host_library, BWD_WEIGHT) if host_library.instance(name).ndim != 2]
    cases = [case for case in CK_CASES if case.problem.ndim != 2]
    plan = make_plan(host_library, cases, names=names)
    rows = list(run_plan(host_library, plan, seed=SEED))
    assert [row for row in rows if not row.ok] == []
    assert {row.instance for row in rows} == set(names)


def test_the_error_does_not_grow_with_split_k(host_library: Library) -> None:
    """Partial sums are kept in f32 and rounded once, so many splits are as accurate as one."""
    problem = next(layer for layer in LAYERS if layer.name == "layer2.1.conv2")
    for instance in map(host_library.instance, names_of(host_library, BWD_WEIGHT)):
        if not instance.generic or instance.ndim != 2 or instance.function != PASS_THROUGH:
            continue
        data = make_data(problem.problem, instance.dtype, SEED)
        errors = {}
        for split_k in (1, 2, 8, 32):
            row = run_case(host_library, Case(instance.name, problem, split_k, twice=False), data, seed=SEED)
            assert row.ok, row
            errors[split_k] = row.max_error or 0.0
        floor = 2.0**-24 * problem.problem.gemm[2]
        assert max(errors.values()) <= 2 * errors[1] + floor, (instance.name, errors)
