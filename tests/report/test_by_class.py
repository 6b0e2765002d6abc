"""Test the predicted times by class: the arithmetic of a row, the layouts and generics that count, files and drift."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.cost.rank import roofline_seconds
from ckgen.errors import CkgenError
from ckgen.hardware.compute_units import RATES
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.problems.sets import NamedProblem
from ckgen.report import by_class
from ckgen.report.by_class import ORDERS, ClassRow, Study, class_rows, layers_of, make_study, read_rows, to_text
from tests.support.specs import ROOT

CODE = "docs/isa/gfx942.csv"
DENSE = NamedProblem("dense", make_problem(batch=8, k=64, c=64, filter=[3, 3], input=[28, 28], pad=1))
WIDER = NamedProblem("wider", make_problem(batch=8, k=64, c=64, filter=[3, 3], input=[56, 56], pad=1))
DEEP = NamedProblem("deep", make_problem(groups=96, batch=32, k=1, c=1, filter=[3, 3], input=[56, 56], pad=1))


@pytest.fixture(scope="module")
def study() -> Study:
    return make_study(CODE, "instances.yaml", ROOT)


def test_the_roofline_by_hand() -> None:
    """f16: 2 * 64 * 64 * 9 * 8 * 28 * 28 FLOP at 1307 TFLOP/s are longer than 1.7 MB at 5.3 TB/s; then 3 us."""
    rates = RATES["gfx942"]
    flops = 2 * 64 * 64 * 9 * 8 * 28 * 28
    assert roofline_seconds(DENSE.problem, BWD_WEIGHT, "f16", rates) == pytest.approx(flops / 1307e12 + 3e-6, rel=1e-3)
    moved = 2 * (2 * 8 * 28 * 28 * 64 + 64 * 64 * 9)
    slow = replace(rates, memory_bytes_per_s=rates.memory_bytes_per_s / 100)
    assert roofline_seconds(DENSE.problem, BWD_WEIGHT, "f16", slow) == pytest.approx(moved / 5.3e10 + 3e-6)


def test_a_row_is_the_geometric_mean_and_the_worst_of_its_layers(study: Study) -> None:
    layers = [
        layer
        for name, layer in layers_of(study, BWD_WEIGHT, "f16", ORDERS[0], [DENSE, WIDER])
        if name == "full" and layer.times >= 1
    ]
    (row,) = [
        row
        for row in class_rows(study, [DENSE, WIDER])
        if (row.operation, row.order, row.dtype, row.set_name) == (BWD_WEIGHT, ORDERS[0], "f16", "full")
    ]
    one, other = (layer.times for layer in layers)
    assert row.mean == pytest.approx((one * other) ** 0.5, abs=1e-3) and row.worst == pytest.approx(
        max(one, other), abs=1e-3
    )
    assert (row.class_name, row.part, row.layers, row.within) == ("dense_2d", "fitted", 2, 1.0)
    assert row.slow == (row.mean > by_class.BAR)


@pytest.mark.parametrize("operation", [BWD_WEIGHT, BWD_DATA])
@pytest.mark.parametrize("order", ORDERS)
def test_a_set_uses_a_generic_instance_only_where_it_has_no_other(study: Study, operation: str, order: str) -> None:
    found = dict(layers_of(study, operation, "f16", order, [DENSE]))
    assert set(found) == set(by_class.SETS)
    for layer in found.values():
        instance = layer.prediction.instance
        assert not instance.generic and instance.channels_last == (order == ORDERS[0])
    generics = frozenset(i.name for i in study.expansion.instances if i.generic)
    sets = {**study.expansion.sets, "default": tuple(generics)}
    bare = Study(study.book, replace(study.expansion, sets=sets), study.problems, study.origin)
    assert dict(layers_of(bare, operation, "f16", order, [DENSE]))["default"].prediction.instance.generic


@pytest.mark.parametrize("order", ORDERS)
def test_depthwise_layers_are_near_the_roofline_in_both_orders(study: Study, order: str) -> None:
    for operation in (BWD_WEIGHT, BWD_DATA):
        for _, layer in layers_of(study, operation, "f16", order, [DEEP]):
            assert layer.prediction.instance.family == "depthwise" and layer.times < 2


def test_drift_is_a_changed_source_or_another_prediction(study: Study, tmp_path: Path) -> None:
    rows = tuple(class_rows(study, [DENSE]))
    file = tmp_path / "gfx942.csv"
    file.write_text(to_text(study, rows), encoding="utf-8")
    assert read_rows(file) == (dict(study.origin), list(rows))
    assert by_class.find_drift(file, ROOT) == []

    first: ClassRow = rows[0]
    file.write_text(to_text(study, (replace(first, worst=first.worst * 1.01), *rows[1:])), encoding="utf-8")
    assert by_class.find_drift(file, ROOT) == [
        f"gfx942.csv: {first.problem} differs from its prediction; run ckgen report --predicted"
    ]
    other = Study(study.book, study.expansion, study.problems, {**study.origin, CODE: "0" * 64})
    file.write_text(to_text(other, rows), encoding="utf-8")
    assert by_class.find_drift(file, ROOT) == [f"gfx942.csv: {CODE} changed since; run ckgen report --predicted"]
    file.write_text("operation\n", encoding="utf-8")
    with pytest.raises(CkgenError):
        read_rows(file)
