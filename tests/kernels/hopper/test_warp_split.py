"""Test family warp_split on the host platform: random small products of 1x1 filters are right in both operations, and
weights under any filter, with any alignment of their tensors, with splits and with functions; bugs that a GPU hides are
reported.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import gap
from tests.support.planted_bugs import Bug, check_bug

pytestmark = pytest.mark.compiles

WEIGHT = Instance(
    *("warp_split", "NHWGC/GKYXC/NHWGK", "bf16", "Filter1x1Stride1Pad0", 16, 32, 128, 16, 0, 4, 1, 1, 1, 1),
    operation=BWD_WEIGHT,
    archs=("sm_90a",),
)
DATA = replace(WEIGHT, operation=BWD_DATA, layout="NHWGK/GKYXC/NHWGC", dtype="f16", k_per_block=256)
PLANES = replace(WEIGHT, layout="NGCHW/GKCYX/NGKHW", k_per_block=256, a_vector=4, b_vector=4)
STEM = replace(WEIGHT, conv_spec="Default", m_per_block=32)
STEMS = (
    *(STEM, replace(STEM, m_per_block=64, n_per_block=64, dtype="f16"), replace(STEM, m_per_block=16)),
    replace(STEM, layout="NWGC/GKXC/NWGK", dtype="bf16_f32_bf16"),
    replace(STEM, layout="NDHWGC/GKZYXC/NDHWGK", n_per_block=64),
    replace(STEM, layout="GNHWC/GKYXC/GNHWK", math_waves=2, k_per_block=64),
    replace(STEM, function="Bilinear"),
)
OTHERS = {
    "planes": PLANES,
    "planes, 64x32": replace(PLANES, m_per_block=64, n_per_block=32, k_per_block=128),
    "planes, 32x16, two warps": replace(PLANES, m_per_block=32, n_per_block=16, k_per_block=64, math_waves=1),
    "planes of a line": replace(PLANES, layout="NGCW/GKCX/NGKW", dtype="f16"),
    "planes of a volume": replace(PLANES, layout="NGCDHW/GKCZYX/NGKDHW"),
    "two warps, 32 rows": replace(WEIGHT, m_per_block=32, math_waves=1, k_per_block=32),
    "64 rows": replace(WEIGHT, m_per_block=64, math_waves=2, k_per_block=64, dtype="f16"),
    "64 columns": replace(WEIGHT, n_per_block=64),
    "a line": replace(WEIGHT, layout="NWGC/GKXC/NWGK"),
    "groups outermost": replace(WEIGHT, layout="GNHWC/GKYXC/GNHWK"),
    "weights of f32": replace(WEIGHT, dtype="bf16_f32_bf16"),
    "inputs, 16 warps": replace(DATA, math_waves=8, k_per_block=512),
    "inputs, 64 columns": replace(DATA, n_per_block=64, dtype="bf16"),
    "inputs, 32 rows": replace(DATA, m_per_block=32, math_waves=2, k_per_block=128),
    "volumes": replace(DATA, layout="NDHWGK/GKZYXC/NDHWGC"),
    "inputs, groups outermost": replace(DATA, layout="GNHWK/GKYXC/GNHWC"),
}
FUSED = (
    replace(DATA, function="Bilinear"),
    replace(DATA, function="AddResidual", dtype="bf16"),
    replace(WEIGHT, function="Scale"),
    replace(WEIGHT, function="Bilinear"),
)
POINTWISE = (WEIGHT, DATA, *OTHERS.values(), *FUSED)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, (*POINTWISE, *STEMS)), CHECKED))


@pytest.mark.parametrize("instance", POINTWISE, ids=lambda one: one.name)
def test_random_problems_are_right(library: Library, instance: Instance) -> None:
    rng = random.Random(instance.name)
    for seed in range(10):
        k, c = (rng.choice([1, 1, 2, 4, 8]) * rng.randint(1, 40) for _ in range(2))
        image = [rng.choice([1, 1, 1, 2, 3]) for _ in range(instance.ndim)]
        image[-1] *= rng.choice([instance.a_vector, 2 * instance.a_vector, 5 * instance.a_vector])
        groups, batch = rng.choice([1, 1, 1, 3]), rng.choice([1, 5, 16, rng.randint(1, 90)])
        problem = make_problem(groups=groups, batch=batch, k=k, c=c, filter=[1] * len(image), input=image)
        assert library.unsupported_reason(instance.name, problem) is None, problem
        library.configure_host(seed=seed)
        run_instance(library, instance.name, problem, rng.choice([1, 3, -1]), gap=gap(instance, problem, rng))


@pytest.mark.parametrize("instance", STEMS, ids=lambda one: one.name)
def test_random_filters_are_right(library: Library, instance: Instance) -> None:
    rng = random.Random(instance.name)
    for seed in range(12):
        axes = [_random_axis(rng, 1 + 6 // instance.ndim) for _ in range(instance.ndim)]
        fields = {name: list(values) for name, values in zip(AXIS_FIELDS, zip(*axes, strict=True), strict=True)}
        k, c = rng.choice([1, 8, 16, rng.randint(1, 90)]), rng.choice([1, 3, 3, 4, rng.randint(1, 12)])
        problem = make_problem(groups=rng.choice([1, 1, 2]), batch=rng.randint(1, 4), k=k, c=c, **fields)
        assert library.unsupported_reason(instance.name, problem) is None, problem
        library.configure_host(seed=seed)
        run_instance(library, instance.name, problem, rng.choice([1, 3, -1]), gap=gap(instance, problem, rng))


AXIS_FIELDS = ("filter", "input", "stride", "dilation", "pad", "right_pad")


def _random_axis(rng: random.Random, longest: int) -> tuple[int, ...]:
    """A filter of up to `longest` taps and an image that it fits, with paddings up to the filter's reach."""
    taps, stride, dilation = rng.randint(1, longest), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2])
    reach = (taps - 1) * dilation
    return taps, reach + rng.randint(1, 25), stride, dilation, rng.randint(0, reach), rng.randint(0, reach)


def test_planes_of_slices_are_right(library: Library) -> None:
    problem = make_problem(batch=3, k=20, c=33, filter=[1, 1], input=[2, 6])
    rng = np.random.default_rng(1)
    wide = {"in": rng.normal(size=(3, 1, 40, 2, 6)), "out": rng.normal(size=(5, 1, 24, 2, 6))}
    bits = {name: (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for name, values in wide.items()}
    exact = {name: (values.astype(np.uint32) << 16).view(np.float32) for name, values in bits.items()}
    wei = np.full((1, 20, 33, 1, 1), 0x7FFF, np.uint16)
    library.run(PLANES.name, problem, bits["in"][:, :, 5:38], wei, bits["out"][::2, :, 2:22], split_k=-1)
    found = (wei.astype(np.uint32) << 16).view(np.float32)[0, :, :, 0, 0]
    expected = np.einsum("nkhw,nchw->kc", exact["out"][::2, 0, 2:22], exact["in"][:, 0, 5:38], dtype=np.float64)
    assert np.abs(found - expected).max() < 0.01 * np.abs(expected).max()


@pytest.mark.parametrize("fields", [{"input": [7, 7]}, {"input": [3, 6]}], ids=["odd", "even"])
def test_planes_that_fill_no_vector_are_refused(library: Library, fields: dict[str, object]) -> None:
    problem = make_problem(**{"batch": 2, "k": 64, "c": 32, "filter": [1, 1], **fields})  # type: ignore[arg-type]
    reason = library.unsupported_reason(PLANES.name, problem)
    assert reason is not None and "[a-vector]" in reason


@pytest.mark.parametrize("instance", [WEIGHT, DATA], ids=["weight", "data"])
def test_long_sums_are_right_and_only_split_if_asked(library: Library, instance: Instance) -> None:
    problem = make_problem(batch=1100, k=1100, c=20, filter=[1, 1], input=[1, 1])
    assert library.split_k(instance.name, problem, -1) == 1
    run_instance(library, instance.name, problem, -1)
    run_instance(library, instance.name, problem, 5)


@pytest.mark.parametrize("instance", [WEIGHT, DATA], ids=["weight", "data"])
@pytest.mark.parametrize("fields", [{"filter": [3, 3], "pad": 1}, {"stride": 2}], ids=["3x3", "stride"])
def test_other_filters_are_refused(library: Library, instance: Instance, fields: dict[str, object]) -> None:
    sizes: dict[str, object] = {"batch": 2, "k": 64, "c": 32, "filter": [1, 1], "input": [8, 8]}
    reason = library.unsupported_reason(instance.name, make_problem(**{**sizes, **fields}))  # type: ignore[arg-type]
    assert reason is not None and "[conv-spec]" in reason


KERNEL = "pipeline/warp_split.hpp"
OPERAND = "load/warp_split_operand.hpp"
SMALL = make_problem(batch=21, k=270, c=45, filter=[1, 1], input=[1, 2])
LINES = make_problem(batch=3, k=21, c=45, filter=[1, 1], input=[2, 2])
IMAGES = make_problem(batch=3, k=21, c=3, filter=[3, 5], input=[13, 43], stride=2, dilation=[1, 2], pad=[1, 3])
BUGS = {
    "no wait for the sums of other warps": (
        DATA,
        Bug(KERNEL, "thread.barrier();\n        constexpr int", "constexpr int", ("LDS", "warp_split.hpp"), SMALL),
    ),
    "one warp is left out": (
        DATA,
        Bug(KERNEL, "warp = 0; warp < Sums::warps;", "warp = 0; warp < Sums::warps - 1;", (), SMALL),
    ),
    "the last columns are not left out": (
        WEIGHT,
        Bug(KERNEL, "left >= width && reinterpret_cast", "reinterpret_cast", (), SMALL),
    ),
    "rows of an atom are exchanged": (
        WEIGHT,
        Bug(KERNEL, "half_of(line % 2,", "half_of(1 - line % 2,", (), SMALL),
    ),
    "the terms of an atom are exchanged": (
        PLANES,
        Bug(KERNEL, "slice, 2 * i + e % 2, e / 2)", "slice, 2 * i + e / 2, e % 2)", (), LINES),
    ),
    "images overlap": (
        PLANES,
        Bug(OPERAND, "base_ + image * images_.bytes", "base_ + image * row_bytes_", (), LINES),
    ),
    "terms after the last image": (
        PLANES,
        Bug(
            OPERAND,
            "image < static_cast<uint32>(images_.count)",
            "image <= static_cast<uint32>(images_.count)",
            ("global", "warp_split_operand.hpp"),
            LINES,
        ),
    ),
    "padding after a line is read": (
        STEM,
        Bug(
            OPERAND, "(reach - args_.pad[last] < inner_[last])", "(reach - args_.pad[last] <= inner_[last])", (), IMAGES
        ),
    ),
    "a step too few": (
        STEM,
        Bug(OPERAND, "        left_ -= rows_;\n", "", ("global",), IMAGES),
    ),
    "padding after an image is read": (
        STEM,
        Bug(OPERAND, "(first >= 0) & (first < inner_[d])", "(first >= 0)", (), IMAGES),
    ),
    "global memory before the previous kernel ends": (
        WEIGHT,
        Bug(
            KERNEL,
            "platform::pdl_wait();\n        typename Products::Sums sums",
            "typename Products::Sums sums",
            ("pdl_wait",),
            SMALL,
        ),
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_reported(name: str, tmp_path: Path) -> None:
    instance, bug = BUGS[name]
    check_bug(bug, instance, run_instance, tmp_path)
