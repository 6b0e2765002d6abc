"""Tests of the records of operations and layouts, and of the values derived from them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from ckgen.conv.dtypes import DTYPES, ELEMENTS
from ckgen.conv.layout import LAYOUTS as ROWS
from ckgen.conv.layout import same_form
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError
from ckgen.families.registry import FAMILIES
from ckgen.instance.checker import Checker
from ckgen.operations import operation as registry
from ckgen.operations.operation import LAYOUTS, OPERATIONS, Operation, operation_in
from ckgen.problems.sets import bundled_sets
from tests.support.strategies import problems
from tests.support.sweep.random_instances import random_instances

EACH = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.short)
SMALL = make_problem(groups=2, batch=2, k=3, c=5, filter=(3, 2), input=(5, 4), stride=(2, 1), pad=(1, 0))


@EACH
def test_a_result_has_the_shape_of_what_is_written(operation: Operation) -> None:
    read = {tensor: np.ones(SMALL.lengths(tensor)) for tensor in operation.read}
    assert operation.reference(SMALL, read).shape == SMALL.lengths(operation.written)
    assert {operation.written, *operation.read} == {"in", "wei", "out"}


@EACH
@given(problem=problems(max_channels=4, max_groups=2))
@settings(max_examples=30, deadline=None)
def test_a_sum_of_ones_counts_its_terms(operation: Operation, problem: ConvProblem) -> None:
    """GEMM-K is the number of terms, and the selector's count is never lower."""
    found = operation.reference(problem, {tensor: np.ones(problem.lengths(tensor)) for tensor in operation.read})
    assert found.max(initial=0) <= operation.accumulations(problem) <= np.prod(operation.extents(problem).k)


@EACH
def test_its_words_are_its_own(operation: Operation) -> None:
    others = [other for other in OPERATIONS.values() if other is not operation]
    for field in ("short", "words", "results", "operator", "prefix", "c_reference"):
        assert getattr(operation, field) not in [getattr(other, field) for other in others], field
    assert operation.problem_set in bundled_sets()
    assert all(DTYPES[dtype].wei_type in ELEMENTS for dtype in operation.dtypes)


def test_a_layout_tells_the_operation_while_one_alone_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for layout in LAYOUTS:
        having = [operation.name for operation in OPERATIONS.values() if layout in operation.layouts]
        assert [operation_in(layout, [name]) for name in having] == having
        if len(having) == 1:
            assert operation_in(layout, ()) == having[0]
    twin = dataclasses.replace(OPERATIONS[registry.BWD_WEIGHT], name="grouped_conv_fwd", short="fwd")
    assert twin.layouts == OPERATIONS[registry.BWD_WEIGHT].layouts
    monkeypatch.setitem(OPERATIONS, twin.name, twin)
    with pytest.raises(CkgenError, match="grouped_conv_bwd_weight and grouped_conv_fwd have the layout NHWGC"):
        operation_in("NHWGC/GKYXC/NHWGK")
    assert operation_in("NHWGC/GKYXC/NHWGK", {registry.BWD_WEIGHT, registry.BWD_DATA}) == registry.BWD_WEIGHT
    for held in ((), {registry.BWD_DATA}):  # none of them has the layout
        with pytest.raises(CkgenError, match="grouped_conv_bwd_weight and grouped_conv_fwd have the layout NHWGC"):
            operation_in("NHWGC/GKYXC/NHWGK", held)
    with pytest.raises(CkgenError, match="no operation has the layout NCHW"):
        operation_in("NCHW")


def test_a_form_has_one_layout_for_each_number_of_dimensions() -> None:
    assert same_form("NGKDHW/GKZYXC/NGCDHW", 1) == "NGKW/GKXC/NGCW"
    for name, row in ROWS.items():
        assert [same_form(name, ndim) for ndim in (1, 2, 3)].index(name) == row.ndim - 1
        assert same_form(name, 4) is None


def test_slots_of_a_are_filled_as_they_are_where_the_home_layout_has_it_so() -> None:
    assert not OPERATIONS[registry.BWD_WEIGHT].a_k_major
    assert OPERATIONS[registry.BWD_DATA].a_k_major


def test_which_axis_is_contiguous_follows_from_the_layout() -> None:
    weight, bwd_data = OPERATIONS[registry.BWD_WEIGHT], OPERATIONS[registry.BWD_DATA]
    for layout in weight.layouts:
        first = not ROWS[layout].channels_last_in("in")
        assert weight.k_major("out", layout) == weight.k_major("in", layout) == first
        assert not weight.m_major(layout)
    for layout in bwd_data.layouts:
        first = not ROWS[layout].channels_last_in("in")
        assert bwd_data.k_major("out", layout) != first and not bwd_data.k_major("wei", layout)
        assert bwd_data.m_major(layout) == first


def test_derived_values_know_no_more_of_a_layout_than_the_checker_says() -> None:
    checker = Checker()
    for instance in random_instances(seed=1, count=60).instances:
        alike = [
            layout
            for layout in OPERATIONS[instance.operation].layouts
            if checker.read_of_layout(instance.operation, instance.family, layout)
            == checker.read_of_layout(instance.operation, instance.family, instance.layout)
        ]
        for layout in alike:
            other = dataclasses.replace(instance, layout=layout)
            names = FAMILIES[instance.family].formulas.names
            assert {name for name in names if getattr(instance, name) != getattr(other, name)} <= {"ndim"}
