"""Test family depthwise on the host platform: random problems are right in both operations, infinite values reach no
element but those of their taps, odd problems are refused by name, and sums of many splits are right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import TensorName, to_logical, to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.verify.run_tensors import Data, make_data
from tests.support.cxx import CHECKED, link, run_instance, write_tree

pytestmark = pytest.mark.compiles

WEIGHT_3X3 = Instance("depthwise", "NHWGC/GKYXC/NHWGK", "f16", "Default", 3, 32, 256, 1, 0, 4, 4, 1, 1, 3)
WEIGHT_ROWS = replace(WEIGHT_3X3, m_per_block=7, n_per_block=64, k_per_block=128, stages=1)
WEIGHT_1D = replace(WEIGHT_ROWS, layout="NWGC/GKXC/NWGK", dtype="f32")
WEIGHT_SINGLE = replace(
    WEIGHT_ROWS, layout="NDHWGC/GKZYXC/NDHWGK", dtype="f32", m_per_block=3, k_per_block=16, a_vector=1
)
DATA_3X3 = replace(WEIGHT_3X3, layout="NHWGK/GKYXC/NHWGC", operation=BWD_DATA)
DATA_5X5 = replace(
    DATA_3X3, function="AddResidual", m_per_block=5, n_per_block=64, k_per_block=128, stages=5, dtype="bf16"
)
DATA_ROWS = replace(DATA_5X5, m_per_block=7, stages=1, dtype="f16")
DATA_1D = replace(DATA_ROWS, layout="NWGK/GKXC/NWGC", dtype="f32", function="PassThrough")
DATA_SINGLE = replace(
    DATA_1D, layout="NDHWGK/GKZYXC/NDHWGC", m_per_block=3, k_per_block=16, a_vector=1, function="AddResidual"
)
# Few groups.
WEIGHT_FEW = (
    replace(WEIGHT_3X3, n_per_block=16, k_per_block=256, dtype="f32"),
    replace(WEIGHT_3X3, n_per_block=8, k_per_block=512),
)
DATA_FEW = (
    replace(DATA_3X3, n_per_block=16, k_per_block=256, dtype="bf16"),
    replace(DATA_3X3, n_per_block=8, k_per_block=512),
)
# One or two groups per lane.
WEIGHT_ODD = (
    replace(WEIGHT_3X3, k_per_block=64, a_vector=1),
    replace(WEIGHT_3X3, m_per_block=7, k_per_block=32, a_vector=1, stages=2, dtype="bf16"),
    replace(WEIGHT_3X3, k_per_block=64, a_vector=2, dtype="bf16_f32_bf16"),
    replace(WEIGHT_3X3, k_per_block=64, a_vector=2, stages=1),
)
DATA_ODD = (
    replace(DATA_3X3, k_per_block=64, a_vector=1),
    replace(DATA_3X3, m_per_block=7, n_per_block=16, k_per_block=64, a_vector=1, stages=7, dtype="bf16"),
    replace(DATA_3X3, k_per_block=128, a_vector=2, dtype="f32"),
    replace(DATA_3X3, k_per_block=128, a_vector=2, stages=1),
)
# Positions next to each other: a workgroup has one group, and its threads are side by side along the positions.
FIRST = replace(WEIGHT_3X3, layout="NGCHW/GKCYX/NGKHW", n_per_block=1, k_per_block=1024, a_vector=1)
WEIGHT_FIRST = (
    FIRST,
    replace(FIRST, m_per_block=5, k_per_block=512, stages=5, dtype="f32"),
    replace(FIRST, layout="NGCDHW/GKCZYX/NGKDHW", m_per_block=7, stages=1, dtype="bf16"),
    replace(FIRST, layout="NGCW/GKXC/NGKW", m_per_block=3, k_per_block=2048, stages=1),
    replace(FIRST, layout="GNHWC/GKYXC/GNHWK", m_per_block=1, stages=1),
)
FIRST_DATA = replace(FIRST, layout="NGKHW/GKCYX/NGCHW", operation=BWD_DATA)
DATA_FIRST = (
    FIRST_DATA,
    replace(FIRST_DATA, function="AddResidual", m_per_block=5, k_per_block=512, stages=5, dtype="f32"),
    replace(FIRST_DATA, layout="NGKDHW/GKCZYX/NGCDHW", m_per_block=7, stages=1, dtype="bf16"),
    replace(FIRST_DATA, layout="NGKW/GKXC/NGCW", m_per_block=3, k_per_block=2048, stages=1),
    replace(FIRST_DATA, layout="GNHWK/GKYXC/GNHWC", m_per_block=1, stages=1),
)
WEIGHT = (WEIGHT_3X3, WEIGHT_ROWS, WEIGHT_1D, WEIGHT_SINGLE, *WEIGHT_FEW, *WEIGHT_ODD, *WEIGHT_FIRST)
DATA = (DATA_3X3, DATA_5X5, DATA_ROWS, DATA_1D, DATA_SINGLE, *DATA_FEW, *DATA_ODD, *DATA_FIRST)
ALL = (*WEIGHT, *DATA)
NAMES = [instance.name for instance in ALL]
ROUNDS = 12  # problems per instance and seed
FILTERS = {1: ([1], [3], [9], [17]), 2: ([3, 3], [1, 17], [9, 9], [5, 2], [2, 1], [7, 3]), 3: ([3, 3, 3], [1, 2, 9])}


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem with the instance's number of dimensions and groups that fill its vectors."""
    sweeps = instance.stages > 1
    few = [rng.choice([1, 2, 3, instance.stages]) for _ in range(instance.ndim)]
    filter_ = few if sweeps else rng.choice(FILTERS[instance.ndim])
    stride = [rng.choice([1, 1, 2, 3]) for _ in filter_]
    dilation = [rng.choice([1, 1, 2, 3, 4]) for _ in filter_]
    if sweeps and instance.operation != BWD_DATA:
        dilation = [step * rng.choice([1, 2]) for step in stride]  # else it is refused
    pad = [rng.randint(0, (edge - 1) * step) for edge, step in zip(filter_, dilation, strict=True)]
    most = 14 if instance.ndim < 3 else 6
    input_ = [
        max(rng.randint(1, most), (edge - 1) * step + 1 - 2 * before)
        for edge, step, before in zip(filter_, dilation, pad, strict=True)
    ]
    groups = rng.choice([1, 3, 5, 67]) if instance.a_vector == 1 else instance.a_vector * rng.choice([1, 5, 9, 17])
    return make_problem(
        groups=groups,
        batch=rng.randint(1, 3),
        k=rng.choice([1, 2, 3]) if instance.a_vector == 1 else 1,
        c=1,
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        pad=pad,
    )


def result_of(library: Library, name: str, problem: ConvProblem, data: Data, split_k: int = 1) -> Any:
    """Run an instance into a poisoned result; return the result in logical order."""
    instance, function = library.instance(name), library.function_of(name)
    operation = OPERATIONS[instance.operation]
    arrays = {
        tensor: np.ascontiguousarray(array.transpose(to_physical(tensor, instance.layout)))
        for tensor, array in data.tensors.items()
    }
    element = element_of(instance.dtype, operation.written)
    arrays[operation.written] = encode(np.full(problem.shape(operation.written, instance.layout), np.nan), element)
    ds = [np.ascontiguousarray(data.d_array(at, slot)) for at, slot in enumerate(d_slots(instance, function))]
    given = {"ds": ds, "scalars": data.scalars}
    library.run(name, problem, arrays["in"], arrays["wei"], arrays["out"], split_k=split_k, **given)
    values = decode(arrays[operation.written], element)
    return values.transpose(to_logical(operation.written, instance.layout))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    library.configure_host(seed=seed)
    for split_k in [1, 2, 5, -1] * (ROUNDS // 4):
        run_instance(library, name, draw(library.instance(name), rng), split_k)


def draw_short(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem of backward data whose output has few positions, so that most taps meet it from few positions of
    the input; pads differ at both ends."""
    most = {1: [90], 2: [40, 9], 3: [12, 5, 7]}[instance.ndim]
    filter_ = [rng.randint(1, edge) for edge in rng.sample(most, len(most))]
    dilation = [rng.choice([1, 1, 2, 3]) for _ in filter_]
    reach = [(edge - 1) * step for edge, step in zip(filter_, dilation, strict=True)]
    left = [rng.choice([0, rng.randint(0, edge)]) for edge in reach]
    right = [rng.choice([0, rng.randint(0, edge)]) for edge in reach]
    input_ = [
        max(1, edge + 1 - before - after) + rng.choice([0, 0, 1, 4])
        for edge, before, after in zip(reach, left, right, strict=True)
    ]
    if rng.random() < 0.3 and instance.ndim > 1:
        input_[-1] = max(input_[-1], 150)
    return make_problem(
        groups=rng.choice([1, 3, 67]) if instance.a_vector == 1 else instance.a_vector * rng.choice([1, 9, 17]),
        batch=rng.randint(1, 3),
        k=rng.choice([1, 2, 3]) if instance.a_vector == 1 else 1,
        c=1,
        filter=filter_,
        input=input_,
        stride=[rng.choice([1, 1, 2, 3]) for _ in filter_],
        dilation=dilation,
        pad=left,
        right_pad=right,
    )


@pytest.mark.parametrize("name", [instance.name for instance in DATA if instance.stages == 1])
def test_taps_that_meet_no_output_may_be_left_out(library: Library, name: str) -> None:
    rng = random.Random(name)
    for _ in range(2 * ROUNDS):
        run_instance(library, name, draw_short(library.instance(name), rng), 1)


@pytest.mark.parametrize("instance", [DATA_FIRST[-1], DATA_ROWS], ids=["weights in LDS", "weights in parts"])
def test_taps_that_no_position_of_a_workgroup_sees_are_left_out(library: Library, instance: Instance) -> None:
    """The output has one row: each row of the input meets it with one tap. An infinite weight of another tap would make
    NaN with the zeros of the padding."""
    width = instance.k_per_block  # a workgroup has one row
    problem = make_problem(groups=4, batch=1, k=1, c=1, filter=[16, 1], input=[16, width])
    data = make_data(problem, instance.dtype, 1, instance.operation, library.function_of(instance.name))
    weights = data.tensors["wei"].copy()
    weights[..., 5, :] = np.inf
    result = result_of(library, instance.name, problem, replace(data, tensors={**data.tensors, "wei": weights}))
    finite = np.isfinite(result).all(axis=(0, 1, 2, 4))
    assert list(np.flatnonzero(~finite)) == [5]


LAYER: dict[str, Any] = {"groups": 8, "batch": 2, "k": 1, "c": 1, "filter": [3, 3], "input": [9, 7], "pad": 1}


def spoiled(data: Data, tensor: TensorName, places: Sequence[tuple[int, ...]]) -> tuple[Data, Data]:
    """The same data with infinite values at ``places`` of one operand, and with ones there and nowhere else, where the
    other operand is all ones."""
    infinite = {name: array.copy() for name, array in data.tensors.items()}
    ones = {name: np.ones_like(array) for name, array in data.tensors.items()}
    ones[tensor][...] = 0
    for place in places:
        infinite[tensor][place] = np.inf
        ones[tensor][place] = 1
    return replace(data, tensors=infinite), replace(data, tensors=ones)


@pytest.mark.parametrize(
    ("instance", "stride"),
    [(WEIGHT_3X3, 1), *((instance, stride) for instance in (WEIGHT_ROWS, DATA_3X3, DATA_ROWS) for stride in (1, 2))],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_an_infinite_value_at_an_edge_reaches_the_elements_of_its_taps_only(
    library: Library, instance: Instance, stride: int
) -> None:
    """The value is of the tensor that the taps gather: zeros of the padding are multiplied with those of the other."""
    problem = make_problem(**LAYER, stride=stride)
    operation = OPERATIONS[instance.operation]
    tensor: TensorName = "out" if instance.operation == BWD_DATA else "in"
    data = make_data(problem, instance.dtype, 1, instance.operation, library.function_of(instance.name))
    height, width = problem.lengths(tensor)[3:]
    for place in (
        (1, 0, 0, 0, 0),
        (2, 0, 0, height // 2, width - 1),
        (5, -1, 0, height - 1, 0),
        (6, -1, 0, 0, width - 1),
    ):
        infinite, ones = spoiled(data, tensor, [place])
        reached = operation.reference(problem, {name: np.float64(array) for name, array in ones.tensors.items()}) != 0
        result = result_of(library, instance.name, problem, infinite)
        assert (~np.isfinite(result) <= reached).all(), (place, np.argwhere(~np.isfinite(result) & ~reached))
        assert not np.isfinite(result[reached]).any() and reached.any()
        limit = data.allowance(element_of(instance.dtype, operation.written))
        assert (np.abs(result - data.expected) <= limit)[~reached].all()


@pytest.mark.parametrize(
    ("instance", "rule", "fields"),
    [
        *((instance, "depthwise-channels", {"c": 2}) for instance in (WEIGHT_3X3, WEIGHT_ROWS, DATA_3X3, DATA_ROWS)),
        *((instance, "depthwise-channels", {"k": 2}) for instance in (WEIGHT_3X3, DATA_ROWS)),
        *((instance, "depthwise-vector", {"groups": 6}) for instance in (WEIGHT_ROWS, DATA_3X3)),
        (WEIGHT_3X3, "depthwise-stride", {"stride": 2}),
        (WEIGHT_3X3, "depthwise-stride", {"stride": [2, 1]}),
        (DATA_3X3, "depthwise-filter", {"filter": [3, 4]}),
        (DATA_5X5, "depthwise-filter", {"filter": [6, 3]}),
    ],
)
def test_an_odd_problem_is_refused_by_name(
    library: Library, instance: Instance, rule: str, fields: dict[str, Any]
) -> None:
    assert library.unsupported_reason(instance.name, make_problem(**LAYER)) is None
    reason = library.unsupported_reason(instance.name, make_problem(**{**LAYER, **fields}))
    assert reason is not None and reason.startswith(f"[{rule}]"), reason


def test_taps_of_a_sweep_are_those_that_reach_one_position(library: Library) -> None:
    """With a stride, only some taps of a filter reach a position: longer filters fit the same instance."""
    problem = make_problem(**{**LAYER, "filter": [6, 5], "stride": 2, "pad": 2, "input": [11, 9]})
    run_instance(library, DATA_3X3.name, problem, 1)


@pytest.mark.parametrize(("instance", "workgroups"), [(DATA_3X3, [1, 4, 10]), (WEIGHT_3X3, [1, 7, 8])])
def test_small_problems_have_sweeps_of_few_rows(library: Library, instance: Instance, workgroups: list[int]) -> None:
    """The host has four compute units. A workgroup has 32 strips of 8 positions, so that 16 images of 14 rows would be
    one workgroup if each sweep had all rows; 160 images are enough for whole sweeps."""
    found = []
    for images in (1, 16, 160):
        problem = make_problem(groups=32, batch=images, k=1, c=1, filter=[3, 3], input=[14, 14], pad=1)
        described = library.describe(instance.name, problem, split_k=-1)
        found.append(library.planned(instance.name, described, (1 << 24, 2 << 24, 3 << 24, 4 << 24))[1])
        if images < 160:
            run_instance(library, instance.name, problem, -1)
    assert found == workgroups


@pytest.mark.parametrize("split_k", [17, 33, 129, 600])
@pytest.mark.parametrize("groups", [4, 3])
def test_threads_share_the_splits_of_few_weights(library: Library, split_k: int, groups: int) -> None:
    """Few weights of many splits: the sums of several threads, in loads of four weights and of one."""
    instance = WEIGHT_1D if groups == 4 else WEIGHT_SINGLE
    space = {1: {"filter": [5], "input": [700]}, 3: {"filter": [1, 1, 3], "input": [8, 9, 10]}}[instance.ndim]
    run_instance(library, instance.name, make_problem(groups=groups, batch=2, k=1, c=1, **space), split_k)
