"""Verify the host library of set `ci` on backward data: real layers, CK's table, a depthwise 3x3, random problems and
fused functions.

Outputs are poisoned before every run, so a kernel must also write positions that no tap reaches. Batch and image of
layers and cases are scaled down; channels, groups, filters, strides and pads are the true ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode
from ckgen.conv.layout import to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library, LibraryError
from ckgen.operations.operation import BWD_DATA
from ckgen.problems.sets import NamedProblem, load_problems
from ckgen.verify.plan import Case, Plan, make_plan
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import run_case, run_plan
from tests.support.host_library import DEPTHWISE, names_of
from tests.support.strategies import problems

LAYERS = (
    *(problem.fitted(1_000_000) for name in ("retinanet", "ck_bwd_data") for problem in load_problems(name)),
    DEPTHWISE,
)
DTYPES = ("f16", "bf16", "f32")
SPLIT_KS = (-1, 7)
SEARCH = settings(derandomize=True)
# Three quarters of the positions have no tap; stride and dilation have a common factor; the filter exceeds the image.
HARD = (
    make_problem(groups=3, batch=2, k=5, c=7, filter=(1, 1), input=(9, 7), stride=2),
    make_problem(batch=2, k=9, c=3, filter=(3,), input=(23,), stride=4, dilation=6, pad=2),
    make_problem(groups=2, batch=1, k=3, c=5, filter=(2, 3, 1), input=(5, 6, 4), stride=(3, 2, 2), dilation=(3, 2, 1)),
    make_problem(batch=1, k=4, c=4, filter=(5, 5), input=(2, 3), stride=(1, 3), pad=4, right_pad=1),
)


@pytest.fixture(scope="module")
def plan(host_library: Library) -> Plan:
    """A plan of all instances of backward data, each on a few of the layers and cases in rotation."""
    return make_plan(host_library, LAYERS, names=names_of(host_library, BWD_DATA), split_ks=SPLIT_KS)


def test_the_plan_covers_every_problem_dtype_factor_and_instance(host_library: Library, plan: Plan) -> None:
    assert plan.gaps == ()
    covered = {(c.problem.name, host_library.instance(c.instance).dtype, c.split_k) for c in plan.cases}
    assert covered == {(p.name, dtype, split_k) for p in LAYERS for dtype in DTYPES for split_k in SPLIT_KS}
    assert {case.instance for case in plan.cases} == set(names_of(host_library, BWD_DATA))


@pytest.mark.parametrize("name", [problem.name for problem in LAYERS])
def test_layer_or_case(host_library: Library, plan: Plan, name: str) -> None:
    cases = tuple(case for case in plan.cases if case.problem.name == name)
    rows = list(run_plan(host_library, Plan(cases, ()), seed=20))
    assert len(rows) >= len(DTYPES) * len(SPLIT_KS)
    assert [row for row in rows if not row.ok] == []


@settings(SEARCH, max_examples=40)
@given(problem=problems(), dtype=st.sampled_from(DTYPES), split_k=st.sampled_from([-1, 1, 2, 7]), data=st.data())
def test_generic_instances_take_any_problem_and_all_takers_are_right(
    host_library: Library, problem: ConvProblem, dtype: str, split_k: int, data: st.DataObject
) -> None:
    every = [host_library.instance(name) for name in names_of(host_library, BWD_DATA)]
    fit = [i for i in every if (i.ndim, i.dtype) == (problem.ndim, dtype)]
    alike = [i.name for i in fit if i.generic and i.function == PASS_THROUGH]
    assert len(alike) == 4, "one generic instance for each of the four layouts"
    others = host_library.supporting(problem, [i.name for i in fit if i.name not in alike], split_k=split_k)
    names = [data.draw(st.sampled_from(alike)), *([data.draw(st.sampled_from(others))] if others else [])]
    for name in names:
        inputs = make_data(problem, dtype, 11, BWD_DATA, host_library.function_of(name))
        row = run_case(host_library, Case(name, NamedProblem("random", problem), split_k, twice=True), inputs, seed=3)
        assert row.ok, row


@pytest.mark.parametrize("problem", HARD, ids=str)
@pytest.mark.parametrize("split_k", [1, 3])
def test_positions_without_a_tap_get_the_function_of_zero(
    host_library: Library, problem: ConvProblem, split_k: int
) -> None:
    ran = 0
    for name in names_of(host_library, BWD_DATA):
        if host_library.unsupported_reason(name, problem, split_k=split_k) is None:
            dtype, function = host_library.instance(name).dtype, host_library.function_of(name)
            data = make_data(problem, dtype, 4, BWD_DATA, function)
            row = run_case(host_library, Case(name, NamedProblem("hard", problem), split_k, twice=False), data)
            assert row.ok, row
            ran += 1
    assert ran >= 9, "a generic instance for each layout and dtype"


def test_the_residual_may_be_the_result_itself(host_library: Library) -> None:
    problem = make_problem(groups=2, batch=2, k=16, c=8, filter=(3, 3), input=(9, 8), stride=2, pad=1)
    names = [n for n in names_of(host_library, BWD_DATA) if host_library.instance(n).function == "AddResidual"]
    taken = host_library.supporting(problem, names)
    assert taken
    for name in taken:
        instance, function = host_library.instance(name), host_library.function_of(name)
        data, layout = make_data(problem, instance.dtype, 9, BWD_DATA, function), instance.layout
        (slot,) = d_slots(instance, function)
        both = np.ascontiguousarray(data.d_array(0, slot))
        wei, out = (np.ascontiguousarray(data.tensors[t].transpose(to_physical(t, layout))) for t in ("wei", "out"))
        host_library.run(name, problem, both, wei, out, ds=[both])
        order, element = to_physical("in", layout), element_of(instance.dtype, "in")
        error = np.abs(decode(both, element) - data.expected.transpose(order))
        assert (error <= data.allowance(element).transpose(order)).all()


def test_what_does_not_fit_is_refused(host_library: Library) -> None:
    problem = make_problem(batch=2, k=16, c=8, filter=(3, 3), input=(9, 8), pad=1)
    name = next(n for n in names_of(host_library, BWD_DATA) if host_library.instance(n).function == "Bilinear")
    instance = host_library.instance(name)
    data = make_data(problem, instance.dtype, 1, BWD_DATA, host_library.function_of(name))
    tensors = [np.zeros(problem.shape(t, instance.layout), data.out.dtype) for t in ("in", "wei", "out")]
    right = np.zeros_like(tensors[0])
    with pytest.raises(LibraryError, match="Bilinear takes 1 D tensors, these are 0"):
        host_library.run(name, problem, *tensors)
    with pytest.raises(LibraryError, match=r"d0 \(d0\) has shape"):
        host_library.run(name, problem, *tensors, ds=[right[:1]])
    with pytest.raises(LibraryError, match="d0 \\(d0\\) has type float64"):
        host_library.run(name, problem, *tensors, ds=[right.astype(np.float64)])
    with pytest.raises(LibraryError, match="Bilinear has no scalar gamma"):
        host_library.run(name, problem, *tensors, ds=[right], scalars={"gamma": 1.0})
    tensors[0].flags.writeable = False
    with pytest.raises(LibraryError, match="in is read-only"):
        host_library.run(name, problem, *tensors, ds=[right])
