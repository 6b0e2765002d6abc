"""Test functions and D tensors of backward weight on the host platform, against float64: every function, with and
without split-K, D tensors with gaps, repeated values and in place; results have the same bits in every schedule, and a
function that is applied to partial sums is found.
"""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode, encode
from ckgen.conv.layout import to_logical, to_physical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import BUILTINS, PASS_THROUGH, Kind, make_function
from ckgen.instance.instance import Instance
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_WEIGHT
from ckgen.problems.sets import NamedProblem
from ckgen.verify.plan import Case
from ckgen.verify.run_tensors import Data, make_data
from ckgen.verify.smoke import run_case
from tests.support.cxx import CHECKED, ROOT, compile_with, link, write_tree
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

MIXTURE = make_function(
    "Mixture", "e * gain + tanh(a) * b", ("a", "b"), {"gain": 0.5}, (Kind("f32", None), Kind(None, "GC"))
)
GENERIC = Instance(
    *("xdl", "NHWGC/GKYXC/NHWGK", "f32", "Default", 64, 64, 16, 32, 0, 4, 1, 1, 1, 1, True), function="Bilinear"
)
WIDE = Instance("xdl", "NHWGC/GKYXC/NHWGK", "f16", "Default", 64, 128, 32, 32, 0, 2, 8, 8, 8, 1, function="Bilinear")
# The problems have up to three groups; the third is alone in its tile.
MERGED = Instance(
    *("two_stage", "NHWGC/GKYXC/NHWGK", "f16", "Default", 16, 64, 32, 16, 0, 1, 1, 1, 1, 1),
    groups_to_merge=2,
    function="Bilinear",
)
# Vectors of the weight are taps where its taps are contiguous.
FIRST = Instance("xdl", "NGCHW/GKCYX/NGKHW", "f16", "Default", 64, 64, 32, 32, 0, 1, 1, 1, 8, 1, function="Bilinear")
INSTANCES = {
    **{name: replace(GENERIC, function=name) for name in BUILTINS if name != PASS_THROUGH},
    "mixture": replace(GENERIC, function="Mixture", layout="GNWC/GKXC/GNWK", dtype="bf16", k_per_block=32),
    "mixture wide": replace(WIDE, function="Mixture"),
    "3d": replace(GENERIC, layout="NDHWGC/GKZYXC/NDHWGK", dtype="bf16_f32_bf16", k_per_block=32),
    "wide": WIDE,
    "pointwise": replace(WIDE, layout="NDHWGC/GKZYXC/NDHWGK", conv_spec="Filter1x1Stride1Pad0"),
    "merged groups": replace(MERGED, function="Mixture"),
    "merged groups wide": replace(
        MERGED, dtype="f32", m_per_block=32, k_per_block=16, a_vector=4, b_vector=4, c_vector=4, stages=2
    ),
    "merged groups channels first": replace(MERGED, function="Mixture", layout="NGCHW/GKCYX/NGKHW"),
    "channels first": replace(GENERIC, layout="NGCHW/GKCYX/NGKHW"),
    "channels first wide": replace(FIRST, function="Mixture"),
    "channels first 3d": replace(FIRST, layout="NGCDHW/GKCZYX/NGKDHW", dtype="f32", k_per_block=16, c_vector=4),
    "channels first but the weight": replace(FIRST, layout="NGCHW/GKYXC/NGKHW"),
    "wavelet": replace(
        WIDE, family="wavelet", n_per_block=64, load_waves=4, math_waves=4, a_vector=2, b_vector=2, c_vector=2, stages=4
    ),
}
HOPPER = ("sm_90a",)
# The other families; those of Hopper are executed on the host too.
DEPTHWISE = Instance(
    *("depthwise", "NHWGC/GKYXC/NHWGK", "f16", "Default", 3, 32, 256, 1, 0, 4, 4, 1, 1, 3), function="Bilinear"
)
TMA = Instance(
    *("wavelet_tma", "NHWGC/GKYXC/NHWGK", "f16", "Default", 64, 128, 64, 64, 2, 2, 8, 8, 2, 6),
    function="Bilinear",
    archs=HOPPER,
)
HALO = Instance(
    *("halo", "NHWGC/GKYXC/NHWGK", "f16", "Default", 8, 8, 16, 16, 2, 4, 8, 8, 4, 6), function="Bilinear", archs=HOPPER
)
DEPTHWISE_TMA = Instance(
    *("depthwise_tma", "NHWGC/GKYXC/NHWGK", "f16", "Default", 3, 64, 16, 1, 1, 4, 2, 1, 1, 3),
    function="Bilinear",
    archs=HOPPER,
)
OTHERS = {
    "depthwise": DEPTHWISE,
    "depthwise rows": replace(
        DEPTHWISE,
        layout="NDHWGC/GKZYXC/NDHWGK",
        dtype="bf16_f32_bf16",
        m_per_block=7,
        n_per_block=64,
        k_per_block=128,
        stages=1,
        function="Mixture",
    ),
    "wavelet_tma": TMA,
    "wavelet_tma f32": replace(TMA, dtype="bf16_f32_bf16", function="Mixture"),
    "wavelet_tma tf32": replace(TMA, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4),
    "depthwise_tma": DEPTHWISE_TMA,
    "depthwise_tma f32": replace(DEPTHWISE_TMA, dtype="bf16_f32_bf16", function="Mixture"),
    "halo": HALO,
    "halo f32": replace(HALO, dtype="bf16_f32_bf16", function="Mixture"),
}
ROUNDS = 8


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem with channels that the instance's vectors divide."""
    pointwise = instance.conv_spec != "Default"
    filter_ = [1 if pointwise else rng.randint(1, 4) for _ in range(instance.ndim)]
    stride = [1 if pointwise else rng.randint(1, 3) for _ in filter_]
    dilation = [rng.randint(1, 3) for _ in filter_]
    pad = [0 if pointwise else rng.randint(0, 3) for _ in filter_]
    input_ = [
        max(rng.randint(1, 9), (edge - 1) * step + 1 - 2 * before)
        for edge, step, before in zip(filter_, dilation, pad, strict=True)
    ]
    k, c = (
        vector * rng.choice([1, 2, 3, 9] if vector > 1 else [1, 2, 5, 70])
        for vector in (instance.a_vector, max(instance.b_vector, instance.c_vector))
    )
    sizes: dict[str, Any] = {"groups": rng.randint(1, 3), "batch": rng.randint(1, 4), "k": k, "c": c}
    return make_problem(**sizes, filter=filter_, input=input_, stride=stride, dilation=dilation, pad=pad)


def draw_other(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    sizes: dict[str, Any] = {"batch": rng.randint(1, 3), "filter": [3] * instance.ndim, "pad": rng.randint(0, 2)}
    sizes["input"] = [rng.randint(5, 9) for _ in range(instance.ndim)]
    if instance.family.startswith("depthwise"):
        sizes |= {"groups": 8 * rng.choice([1, 5, 17]), "k": 1, "c": 1, "dilation": rng.randint(1, 2)}
    elif instance.family == "halo":
        sizes |= {"groups": rng.choice([1, 3, 9]), "k": 8, "c": 8}
    else:
        sizes |= {"groups": rng.randint(1, 2), "k": 8 * rng.choice([1, 3, 11]), "c": 8 * rng.choice([1, 3, 8, 16])}
        sizes["stride"] = rng.randint(1, 2)
    return make_problem(**sizes)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("others")
    return Library(link(folder, write_tree(folder, tuple(OTHERS.values()), (MIXTURE,)), CHECKED))


@pytest.mark.parametrize("kind", OTHERS)
def test_random_problems_of_other_families_are_right(others: Library, kind: str) -> None:
    instance, rng = OTHERS[kind], random.Random(kind)
    function = others.function_of(instance.name)
    for split_k in [1, 2, 5, -1, 1, 3]:
        problem = draw_other(instance, rng)
        data = make_data(problem, instance.dtype, 3, BWD_WEIGHT, function)
        case = Case(instance.name, NamedProblem("random", problem), split_k, twice=True)
        row = run_case(others, case, data, seed=split_k + 1)
        assert row.ok, row


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, tuple(INSTANCES.values()), (MIXTURE,)), CHECKED))


@pytest.mark.parametrize("kind", INSTANCES)
def test_random_problems_are_right_and_have_the_same_bits(library: Library, kind: str) -> None:
    """Outputs and workspaces are poisoned; a second run has other poison and another schedule."""
    instance, rng = INSTANCES[kind], random.Random(kind)
    function = library.function_of(instance.name)
    for split_k in [1, 2, 5, -1, 40] * (ROUNDS // 4):
        problem = draw(instance, rng)
        data = make_data(problem, instance.dtype, 3, BWD_WEIGHT, function)
        case = Case(instance.name, NamedProblem("random", problem), split_k, twice=True)
        row = run_case(library, case, data, seed=split_k + 1)
        assert row.ok, row


def operands(library: Library, name: str, problem: ConvProblem) -> tuple[Data, list[Any], list[Any]]:
    """Data of an instance, its tensors in the layout's order with a poisoned weight, and its gap-free D tensors."""
    instance, function = library.instance(name), library.function_of(name)
    data, layout = make_data(problem, instance.dtype, 5, BWD_WEIGHT, function), instance.layout
    in_, out = (np.ascontiguousarray(data.tensors[t].transpose(to_physical(t, layout))) for t in ("in", "out"))
    wei = encode(np.full(problem.shape("wei", layout), np.nan), element_of(instance.dtype, "wei"))
    ds = [np.ascontiguousarray(data.d_array(at, slot)) for at, slot in enumerate(d_slots(instance, function))]
    return data, [in_, wei, out], ds


def check(library: Library, name: str, data: Data, wei: Any) -> None:
    instance = library.instance(name)
    element = element_of(instance.dtype, "wei")
    error = np.abs(decode(wei, element).transpose(to_logical("wei", instance.layout)) - data.expected)
    assert (error <= data.allowance(element)).all(), (name, error.max())


PROBLEM = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 2], input=[9, 7], pad=1)


@pytest.mark.parametrize("kind", ["Bilinear", "wide", "wavelet", "mixture wide"])
@pytest.mark.parametrize("split_k", [1, 3])
def test_d_tensors_may_have_gaps(library: Library, kind: str, split_k: int) -> None:
    name = INSTANCES[kind].name
    data, tensors, ds = operands(library, name, PROBLEM)
    apart = []
    for d in ds:
        wide = encode(np.full([edge + 8 for edge in d.shape], np.nan), element_of(INSTANCES[kind].dtype, "wei"))
        wide = np.full([edge + 8 for edge in d.shape], np.nan, d.dtype) if d.dtype != wide.dtype else wide
        apart.append(wide[tuple(slice(0, edge) for edge in d.shape)])
        apart[-1][...] = d
    library.run(name, PROBLEM, *tensors, ds=apart, scalars=data.scalars, split_k=split_k)
    check(library, name, data, tensors[1])


@pytest.mark.parametrize("kind", ["AddResidual", "wide", "wavelet"])
@pytest.mark.parametrize("split_k", [1, 4])
def test_a_d_tensor_may_be_the_weight_itself(library: Library, kind: str, split_k: int) -> None:
    name = INSTANCES[kind].name
    data, tensors, (d,) = operands(library, name, PROBLEM)
    library.run(name, PROBLEM, tensors[0], d, tensors[2], ds=[d], scalars=data.scalars, split_k=split_k)
    check(library, name, data, d)


@pytest.mark.parametrize("kind", ["AddResidual", "wide"])
@pytest.mark.parametrize("split_k", [1, 2])
@pytest.mark.parametrize("axes", [(0,), (1,), (3, 4), (0, 1, 3, 4)])
def test_a_d_tensor_may_repeat_values(library: Library, kind: str, split_k: int, axes: tuple[int, ...]) -> None:
    """A length of 1 repeats one value along groups, K or the filter."""
    name = INSTANCES[kind].name
    data, (in_, wei, out), (d,) = operands(library, name, PROBLEM)
    logical = d.transpose(to_logical("wei", INSTANCES[kind].layout))
    first = logical[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(5))]
    logical[...] = first
    described = library.describe(name, PROBLEM, split_k=split_k)
    described.d[0].data = d.ctypes.data
    for axis in axes:
        described.d[0].lengths[axis] = 1
        described.d[0].strides[axis] = 12345 * 8
    function = library.function_of(name)
    described.set_scalars(tuple((data.scalars or dict(function.scalars)).values()))
    start = library.prepare(name, described)
    workspace = np.full(start.workspace_bytes // 4 + 16, np.nan, np.float32)
    aligned = workspace[-workspace.ctypes.data % 64 // 4 :]
    start(in_.ctypes.data, wei.ctypes.data, out.ctypes.data, aligned.ctypes.data, 0)
    inputs = {"e": gradient_of(data, kind), **dict(zip(function.tensors, [decode_d(first, kind)], strict=True))}
    scalars = data.scalars or dict(function.scalars)
    expected = inputs["e"] + inputs["d0"] if kind == "AddResidual" else None
    if expected is None:
        expected = scalars["alpha"] * inputs["e"] + scalars["beta"] * inputs["d0"]
    check(library, name, replace(data, expected=expected), wei)


def decode_d(values: Any, kind: str) -> Any:
    return decode(values, element_of(INSTANCES[kind].dtype, "wei"))


def gradient_of(data: Data, kind: str) -> Any:
    """The float64 gradient before the function."""
    return make_data(PROBLEM, INSTANCES[kind].dtype, 5, BWD_WEIGHT).expected


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"length": (1, 7)}, "[d-shape] D0 length 1 is 7, the weight's is 24; 1 repeats one value"),
        ({"length": (2, 1)}, "[d-shape] D0 length 2 is 1, the weight's is 16"),
        ({"stride": (2, 2)}, "[d-layout] D0 stride of channels is 2"),
        ({"stride": (1, 97)}, "[d-vector] D0 stride 97 is not a multiple of the vector 8"),
        ({"stride": (3, -8)}, "[overflow] D0 stride 3 is -8"),
    ],
)
def test_d_tensors_that_do_not_fit_are_refused(library: Library, change: dict[str, tuple[int, int]], rule: str) -> None:
    described = library.describe(WIDE.name, PROBLEM)
    for what, (axis, value) in change.items():
        getattr(described.d[0], f"{what}s")[axis] = value
    reason = library.check(WIDE.name, described)
    assert reason is not None and reason.startswith(rule), reason


def test_the_selector_finds_the_instances_of_a_function(library: Library) -> None:
    described = library.describe(WIDE.name, PROBLEM)
    where = ("f16", WIDE.layout, "gfx942", (0, 0, 0))
    found = library.candidates_for(described, *where, function="Bilinear", operation=BWD_WEIGHT)
    assert {library.instance(choice.name).function for choice in found} == {"Bilinear"}
    assert WIDE.name in {choice.name for choice in found}


def test_a_type_string_is_that_of_cks_class(library: Library) -> None:
    words = "DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle<128, 64, 128, 4, Default, 8, 2, 2,"
    assert library.type_string(WIDE.name).startswith(words), library.type_string(WIDE.name)


def test_factors_of_operands_are_factors_of_the_sum(tmp_path: Path) -> None:
    """Operator types with Scale of the input and the output have the library's instances, which apply it once."""
    volume = replace(GENERIC, layout="NDHWGC/GKZYXC/NDHWGK", dtype="f16", k_per_block=32)
    tree = write_tree(tmp_path, [replace(volume, function=name) for name in ("Scale", "Bilinear", "ConvScale")])
    link(tmp_path, tree)
    program = ["-I", str(tree / "include"), str(ROOT / "tests/data/operand_ops/main.cpp"), "-o", "operand_ops"]
    compile_with(tmp_path, [*CHECKED, *program, "libckgen_conv.so", f"-Wl,-rpath,{tmp_path}"])
    said = subprocess.run([tmp_path / "operand_ops"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "1 1 1 0 1"
    assert said[1:] == ["scaled 0", "bilinear 0"]


def run(library: Library, name: str, problem: ConvProblem) -> None:
    for split_k in (1, 3):
        data, tensors, ds = operands(library, name, problem)
        library.run(name, problem, *tensors, ds=ds, scalars=data.scalars, split_k=split_k)
        check(library, name, data, tensors[1])


BUGS = {
    "no-function-of-sums-that-are-complete": Bug(
        "bwd_weight_store.hpp",
        "take<D::fused, kExchanges<D>>(thread, base, pass, reinterpret_cast<Wei*>(args_.wei)",
        "take<false, kExchanges<D>>(thread, base, pass, reinterpret_cast<Wei*>(args_.wei)",
        (),
        PROBLEM,
    ),
    "the-last-partial-sum-is-left-out": Bug(
        "bwd_weight_reduce.hpp",
        "elements, args.split_k, reduce_lanes(elements, args.split_k),",
        "elements, args.split_k - 1, reduce_lanes(elements, args.split_k),",
        (),
        PROBLEM,
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    check_bug(BUGS[name], WIDE, run, tmp_path)
