"""Test kernels of backward data on the host with hand-made instances of both families: compared with float64 for all
small parameters in one dimension and random ones in two and three, with every function and layout of D; and their
refusals.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.conv.problem import ConvProblem, ProblemError, make_problem
from ckgen.elementwise.function import BUILTINS, Function, make_function
from tests.support.bwd_data_library import (
    BwdDataLibrary,
    CTensor,
    Fused,
    Given,
    add_fusion,
    build,
    c_problem,
    check,
    random_storage,
    storage_axes,
)
from tests.support.sweep.sampled import chosen

pytestmark = pytest.mark.compiles

MIXTURE = make_function("Mixture", "tanh(e * gain) + min(a, b)", ("a", "b"), {"gain": 0.5})
LAYOUTS = {
    "wide_gnhwc_f16": "GNHWC/GKYXC/GNHWK",
    "generic_ngchw_f16": "NGCHW/GKYXC/NGKHW",
    "generic_ngcdhw_f32": "NGCDHW/GKZYXC/NGKDHW",
}

# Name, dimensions, type, and the divisor of K and C.
PLAIN = [
    ("generic_1d_f16", 1, "f16", 1),
    ("generic_2d_f16", 2, "f16", 1),
    ("generic_3d_f16", 3, "f16", 1),
    ("generic_2d_bf16", 2, "bf16", 1),
    ("generic_1d_f32", 1, "f32", 1),
    ("generic_2d_f32", 2, "f32", 1),
    ("generic_3d_f32", 3, "f32", 1),
    ("wide_2d_f16", 2, "f16", 8),
    ("wide_2d_bf16", 2, "bf16", 8),
    ("wide_2d_f32", 2, "f32", 4),
    ("wide_3d_f16", 3, "f16", 8),
    ("wide_gnhwc_f16", 2, "f16", 8),
    ("generic_ngchw_f16", 2, "f16", 1),
    ("generic_ngcdhw_f32", 3, "f32", 1),
    ("tall_2d_f16", 2, "f16", 2),
    ("pointwise_2d_f16", 2, "f16", 8),
    ("wavelet_f16", 2, "f16", 8),
    ("wavelet_bf16", 2, "bf16", 8),
    ("wavelet_pointwise_f16", 2, "f16", 8),
    ("wavelet_deep_3d_bf16", 3, "bf16", 8),
    ("wavelet_flat_f16", 2, "f16", 8),
    ("wavelet_narrow_f16", 2, "f16", 8),
]
# Name, dimensions, type, function, layout and type of each D tensor, scalars.
FUSED: list[tuple[str, int, str, Function, Sequence[tuple[str, str]], dict[str, float]]] = [
    ("scale_f16", 2, "f16", BUILTINS["Scale"], [], {"scale": -1.5}),
    ("clip_f16", 2, "f16", BUILTINS["Clip"], [], {"lo": -0.5, "hi": 1.25}),
    ("bilinear_f16", 2, "f16", BUILTINS["Bilinear"], [("NHWGC", "f16")], {"alpha": 2.0, "beta": -0.5}),
    ("bilinear_3d_f32", 3, "f32", BUILTINS["Bilinear"], [("GNDHWC", "f32")], {}),
    ("residual_f16", 2, "f16", BUILTINS["AddResidual"], [("NHWGC", "f16")], {}),
    ("residual_generic_f16", 2, "f16", BUILTINS["AddResidual"], [("NHWGC", "f16")], {}),
    ("residual_pointwise_f16", 2, "f16", BUILTINS["AddResidual"], [("NHWGC", "f16")], {}),
    ("scale_add_ngchw", 2, "bf16", BUILTINS["ScaleAdd"], [("NGCHW", "bf16")], {"scale": 3.0}),
    ("add_relu_gc", 2, "f16", BUILTINS["AddRelu"], [("GC", "f32")], {}),
    ("add_relu_pointwise", 2, "bf16", BUILTINS["AddRelu"], [("G_C", "bf16")], {}),
    ("relu_gradient", 2, "f16", BUILTINS["ReluGradient"], [("G_NHW_C", "f16")], {}),
    ("mixture", 2, "bf16", MIXTURE, [("NHWGC", "f32"), ("GC", "f16")], {"gain": 0.25}),
    ("wavelet_residual_f16", 2, "f16", BUILTINS["AddResidual"], [("NHWGC", "f16")], {}),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> BwdDataLibrary:
    return BwdDataLibrary(build(tmp_path_factory.mktemp("data")))


def random_problem(rng: random.Random, ndim: int, multiple: int, pointwise: bool) -> ConvProblem:
    """A problem with small random sizes; K and C range from one slot to several tiles."""
    channels = [multiple * rng.choice((1, 2, 3, 5, 96 // multiple)) for _ in range(2)]
    while True:
        batch, groups = rng.randint(1, 4), rng.randint(1, 3)
        filter, strides, dilations, left, right = (
            tuple(rng.randint(least, most) for _ in range(ndim))
            for least, most in ((1, 4), (1, 4), (1, 4), (0, 3), (0, 3))
        )
        if pointwise:
            filter, strides, left, right = (1,) * ndim, (1,) * ndim, (0,) * ndim, (0,) * ndim
        edges = tuple(rng.randint(1, 9) for _ in range(ndim))
        try:
            return ConvProblem(groups, batch, *channels, filter, edges, strides, dilations, left, right)
        except ProblemError:
            continue


SMALL_PROBLEMS = {1: 215, 5: 360, 8: 415, 13: 455}  # by the length of the input; the gate has half


@pytest.mark.parametrize("edge", chosen(SMALL_PROBLEMS, gate=[1, 8]))
def test_every_small_problem_of_one_dimension(library: BwdDataLibrary, edge: int) -> None:
    runs = 0
    filters, strides, dilations = (1, 2, 3, 5), (1, 2, 3, 4, 6), (1, 2, 3, 4)
    for filter, stride, dilation, left, right in product(filters, strides, dilations, (0, 1, 3), (0, 2)):
        try:
            problem = ConvProblem(1, 2, 3, 2, (filter,), (edge,), (stride,), (dilation,), (left,), (right,))
        except ProblemError:
            continue
        check(library, "generic_1d_f32", problem, "f32", seed=runs)
        runs += 1
    assert runs == SMALL_PROBLEMS[edge]


@pytest.mark.parametrize(("name", "ndim", "dtype", "multiple"), PLAIN)
def test_random_problems(library: BwdDataLibrary, name: str, ndim: int, dtype: str, multiple: int) -> None:
    rng = random.Random(name)
    layout = LAYOUTS.get(name, "")
    for seed in range(40):
        problem = random_problem(rng, ndim, multiple, "pointwise" in name)
        check(library, name, problem, dtype, layout, split_k=rng.choice((1, 1, 2, 5)), seed=seed)


@pytest.mark.parametrize(("name", "ndim", "dtype", "function", "layouts", "scalars"), FUSED)
def test_functions_and_d_tensors(
    library: BwdDataLibrary,
    name: str,
    ndim: int,
    dtype: str,
    function: Function,
    layouts: Sequence[tuple[str, str]],
    scalars: dict[str, float],
) -> None:
    """Half of the runs add the residual in place: D is then the input itself."""
    rng = random.Random(name)
    for seed in range(24):
        problem = random_problem(rng, ndim, 4 if dtype == "f32" else 8, "pointwise" in name)
        numbers = np.random.default_rng(seed)
        tensors = {}
        for tensor, (layout, of) in zip(function.tensors, layouts, strict=True):
            sizes = dict(zip(storage_axes("in", ndim), problem.lengths("in"), strict=True))
            shape = [sizes[axis] for axis in layout.replace("_", "")]
            tensors[tensor] = Given(random_storage(numbers, shape, of), of, layout)
        fusion = Fused(function, tensors, scalars, in_place="residual" in name and seed % 2 == 0)
        check(library, name, problem, dtype, split_k=rng.choice((1, 1, 2, 5)), fusion=fusion, seed=seed)


@pytest.mark.parametrize("name", ["wide_2d_f16", "wavelet_f16"])
@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_of_waves_gives_the_same(library: BwdDataLibrary, name: str, seed: int) -> None:
    problem = make_problem(groups=2, batch=2, k=40, c=24, filter=[3, 2], input=[7, 6], pad=1, stride=[2, 1])
    library.schedule(seed, 1)
    try:
        check(library, name, problem, "f16")
        check(library, name, problem, "f16", split_k=3)
    finally:
        library.schedule(0, 0)


PROBLEM = make_problem(groups=2, batch=2, k=16, c=16, filter=[3, 3], input=[7, 6], pad=1)
LAYOUT = "NHWGC/GKYXC/NHWGK"


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("wide_2d_f16", {"k": 12}, "a-vector"),
        ("wide_2d_f16", {"c": 12}, "c-vector"),
        ("wide_2d_f16", {"stride": 3, "split_k": 0}, "split-k"),
        ("wide_2d_f16", {"stride": 70000, "input": (80000, 1), "filter": (1, 1)}, "strides"),
        ("generic_3d_f16", {}, "ndim"),
        ("pointwise_2d_f16", {}, "conv-spec"),
        ("wide_gnhwc_f16", {}, "strides-layout"),
    ],
)
def test_refused_problems_name_their_rule(
    library: BwdDataLibrary, name: str, change: dict[str, object], rule: str
) -> None:
    fields = {"groups": 2, "batch": 2, "k": 16, "c": 16, "filter": (3, 3), "input": (7, 6), "pad": 1, **change}
    split_k = int(str(fields.pop("split_k", 1)))
    problem = make_problem(**fields)  # type: ignore[arg-type]
    assert library.reason(name, c_problem(problem, LAYOUT, split_k)).startswith(f"[{rule}] ")
    assert not library.reason("generic_2d_f16", c_problem(PROBLEM, LAYOUT))


def test_pointers_must_be_aligned_for_their_vectors(library: BwdDataLibrary) -> None:
    c = c_problem(PROBLEM, LAYOUT)
    for at, rule in enumerate(("c-alignment", "b-alignment", "a-alignment")):
        places = [1 << 20, 2 << 20, 3 << 20]  # too far apart to overlap
        places[at] += 2
        assert library.reason("wide_2d_f16", c, *places).startswith(f"[{rule}] ")
        assert not library.reason("generic_2d_f16", c, *places)


def d_problem(**changes: object) -> tuple[object, list[object]]:
    """PROBLEM for `residual_f16` with a full D; ``changes`` apply to the tensor's fields."""
    array = np.zeros(PROBLEM.shape("in", LAYOUT), np.float16)
    c = c_problem(PROBLEM, LAYOUT)
    alive = add_fusion(c, PROBLEM, Fused(BUILTINS["AddResidual"], {"d0": Given(array, "f16", "NHWGC")}), array)
    for field, value in changes.items():
        current = getattr(c.d[0], field)
        setattr(c.d[0], field, type(current)(*value) if field != "data" else value)  # type: ignore[misc]
    return c, alive


def test_d_tensors_are_checked(library: BwdDataLibrary) -> None:
    full = (16, 7 * 6 * 32, 1, 6 * 32, 32, 0)
    c, alive = d_problem()
    assert not library.reason("residual_f16", c)  # type: ignore[arg-type]
    for changes, rule in (
        ({"lengths": (2, 2, 15, 7, 6, 0)}, "d-shape"),
        ({"lengths": (2, 3, 16, 7, 6, 0)}, "d-shape"),
        ({"strides": (16, 7 * 6 * 32, 2, 6 * 32, 32, 0)}, "d-layout"),
        ({"strides": (16, 7 * 6 * 33, 1, 6 * 33, 33, 0)}, "d-vector"),
        ({"strides": (-16, *full[1:])}, "overflow"),
        ({"data": 4098}, "d-alignment"),
    ):
        c, alive = d_problem(**changes)
        assert library.reason("residual_f16", c).startswith(f"[{rule}] "), (changes, rule)  # type: ignore[arg-type]
    assert library.reason("residual_f16", c_problem(PROBLEM, LAYOUT)).startswith("[d-count] ")
    c, alive = d_problem(data=8192, strides=(0, *full[1:]))
    assert not library.reason("residual_f16", c)  # type: ignore[arg-type]
    assert library.reason("residual_f16", c, 8192, 0, 0).startswith("[d-alias] ")  # type: ignore[arg-type]
    del alive


def test_a_length_of_one_repeats_a_value(library: BwdDataLibrary) -> None:
    """A length of 1 means one value for all images, for any stride."""
    rng = np.random.default_rng(3)
    whole = np.repeat(random_storage(rng, (1, 7, 6, 2, 16), "f16"), 2, axis=0)
    one = np.ascontiguousarray(whole[:1])
    out = random_storage(rng, PROBLEM.shape("out", LAYOUT), "f16")
    wei = random_storage(rng, PROBLEM.shape("wei", LAYOUT), "f16")
    results = []
    for array, images in ((whole, 2), (one, 1)):
        c = c_problem(PROBLEM, LAYOUT)
        alive = add_fusion(c, PROBLEM, Fused(BUILTINS["AddResidual"], {"d0": Given(array, "f16", "NHWGC")}), array)
        c.d[0] = CTensor(array.ctypes.data, (type(c.in_lengths))(2, images, 16, 7, 6, 0), c.d[0].strides)
        in_ = np.full(PROBLEM.shape("in", LAYOUT), np.nan, np.float16)
        library.run("residual_f16", c, in_, wei, out)
        results.append(in_)
        del alive
    np.testing.assert_array_equal(*results)


def test_the_dense_operator_is_the_grouped_one_of_one_group(library: BwdDataLibrary) -> None:
    problem = make_problem(batch=2, k=5, c=3, filter=[3, 2], input=[7, 6], pad=1, stride=[2, 1])
    rng, c = np.random.default_rng(2), c_problem(problem, LAYOUT)
    out = random_storage(rng, problem.shape("out", LAYOUT), "f32")
    wei = random_storage(rng, problem.shape("wei", LAYOUT), "f32")
    grouped, dense = (np.full(problem.shape("in", LAYOUT), np.nan, np.float32) for _ in range(2))
    library.run("generic_2d_f32", c, grouped, wei, out)
    assert library.run_dense(c, dense, wei, out) == 0
    np.testing.assert_array_equal(grouped, dense)
    assert library.run_dense(c, dense, wei, out, short_lengths=True) == 3


def test_tensors_over_two_gigabytes(library: BwdDataLibrary) -> None:
    """Images lie 256 MiB apart in both tensors, so offsets exceed 2^31 bytes. Only the pages that hold an image are
    touched."""
    problem = make_problem(batch=17, k=8, c=8, filter=[3, 3], input=[6, 7], pad=1)
    distance, rng = 1 << 27, np.random.default_rng(3)  # elements

    def apart(shape: tuple[int, ...]) -> Any:
        memory = np.empty(16 * distance + 6 * 7 * 8, np.float16)
        return np.lib.stride_tricks.as_strided(memory, shape, [2 * n for n in (distance, 56, 8, 8, 1)])

    packed = rng.integers(-3, 4, problem.shape("out", LAYOUT)).astype(np.float16)
    wei = rng.integers(-3, 4, problem.shape("wei", LAYOUT)).astype(np.float16)
    out, far = apart(packed.shape), apart(problem.shape("in", LAYOUT))
    out[...] = packed
    near = np.full(far.shape, np.nan, np.float16)
    library.run("wide_2d_f16", c_problem(problem, LAYOUT), near, wei, packed)
    for split_k in (1, 3):
        far[...] = np.nan
        c = c_problem(problem, LAYOUT, split_k)
        c.out_strides[1] = c.in_strides[1] = distance
        library.run("wide_2d_f16", c, far, wei, out)
        np.testing.assert_array_equal(far, near)  # integers: every sum is exact


VARIANTS = {"lds that transposes": "-DCKGEN_HOST_TRANSPOSING_LDS=1", "portable atom": "-DCKGEN_HOST_PORTABLE_ATOM=1"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_other_hardware(tmp_path: Path, variant: str) -> None:
    """Run as on gfx950, where LDS reads transpose B, and as on hardware without matrix cores and with waves of half
    width."""
    other = BwdDataLibrary(build(tmp_path, ("-O1", VARIANTS[variant]), leave_out=("fused",)))
    rng = random.Random(variant)
    for name, ndim, dtype, multiple in PLAIN:
        for seed in range(6):
            problem = random_problem(rng, ndim, multiple, "pointwise" in name)
            check(other, name, problem, dtype, LAYOUTS.get(name, ""), split_k=rng.choice((1, 3)), seed=seed)


def test_split_k_is_reproducible_to_the_bit(library: BwdDataLibrary) -> None:
    rng = np.random.default_rng(1)
    out = random_storage(rng, PROBLEM.shape("out", LAYOUT), "f16")
    wei = random_storage(rng, PROBLEM.shape("wei", LAYOUT), "f16")
    results = []
    for seed in (0, 5):
        library.schedule(seed, 2)
        in_ = np.full(PROBLEM.shape("in", LAYOUT), np.nan, np.float16)
        library.run("wide_2d_f16", c_problem(PROBLEM, LAYOUT, 3), in_, wei, out)
        results.append(in_)
    library.schedule(0, 0)
    np.testing.assert_array_equal(*results)
    assert library.split_k("wide_2d_f16", c_problem(PROBLEM, LAYOUT, -1)) >= 1


def test_the_hand_made_sources_are_all_here() -> None:
    folder = Path(__file__).parents[1] / "data/bwd_data_host"
    names = {name for name, *_ in PLAIN} | {name for name, *_ in FUSED}
    names.add("copied_ngchw_f16")  # test_weight_copy.py runs it
    text = "".join(path.read_text() for path in folder.glob("*.cpp"))
    assert all(f"CKGEN_TEST_INSTANCE({name}," in text for name in names)
    assert text.count("\nCKGEN_TEST_INSTANCE(") == len(names)
