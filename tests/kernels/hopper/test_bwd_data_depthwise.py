"""Test family depthwise_tma of backward data on the host platform: random problems are right, problems that it does not
take are refused by name, and bugs that a GPU hides are reported.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library, UnsupportedProblem
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import every_third

pytestmark = pytest.mark.compiles

T3X3 = Instance(
    *("depthwise_tma", "NHWGK/GKYXC/NHWGC", "f16", "Default", 3, 64, 8, 1, 1, 8, 2, 1, 1, 3),
    archs=("sm_90a",),
    operation=BWD_DATA,
)
T5X5 = replace(T3X3, m_per_block=5, stages=5, dtype="bf16")
T7X7 = replace(T3X3, m_per_block=7, stages=7, math_waves=4)
T2X1 = replace(T3X3, m_per_block=1, stages=2, n_per_block=32, k_per_block=5, a_vector=1, dtype="f32")
FUSED = replace(T3X3, function="AddResidual")
TALL = replace(T2X1, stages=70)
ALL = (T3X3, T5X5, T7X7, T2X1, FUSED)


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    edges = instance.stages, instance.m_per_block
    pad, right = ([rng.randint(0, edge + 1) for edge in edges] for _ in range(2))
    input_ = [
        max(rng.choice([1, 2, 7, 14, 19, 33]), edge - before - after)
        for edge, before, after in zip(edges, pad, right, strict=True)
    ]
    problem = make_problem(
        groups=8 * rng.choice([1, 3, 8, 9]),
        batch=rng.choice([1, 2, 5, 13]),
        k=1,
        c=1,
        filter=edges,
        input=input_,
        pad=pad,
        right_pad=right,
    )
    assert FAMILIES[instance.family].takes(instance, problem)
    return problem


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, (*ALL, TALL)), CHECKED))


@pytest.mark.parametrize("name", [instance.name for instance in ALL])
@pytest.mark.parametrize("seed", range(8))
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    library.configure_host(seed=seed)
    instance, rng = library.instance(name), random.Random(f"{name} {seed}")
    problem = draw(instance, rng)
    run_instance(library, name, problem, gap=gap(instance, problem, rng))


# Wide rows in parts, tall images in bands, and small images together: more tiles than workgroups or stages.
@pytest.mark.parametrize(
    "sizes",
    [
        {"groups": 8, "batch": 1, "input": [3, 700], "pad": 1},
        {"groups": 72, "batch": 1, "input": [300, 5], "pad": [2, 0]},
        {"groups": 136, "batch": 40, "input": [4, 4], "pad": 1},
        {"groups": 8, "batch": 3, "input": [60, 90], "pad": 1},
    ],
)
def test_every_division_into_tiles_is_right(library: Library, sizes: dict[str, object]) -> None:
    run_instance(library, T3X3.name, make_problem(k=1, c=1, filter=[3, 3], **sizes))  # type: ignore[arg-type]


def test_rows_of_any_length_are_divided(library: Library) -> None:
    for width in (1000, 9001):
        problem = make_problem(groups=8, batch=1, k=1, c=1, filter=[7, 7], input=[2, width], pad=3)
        run_instance(library, T7X7.name, problem)


def test_a_filter_whose_boxes_do_not_fit_is_refused(library: Library) -> None:
    problem = make_problem(groups=8, batch=1, k=1, c=1, filter=[70, 1], input=[70, 100])
    said = library.unsupported_reason(TALL.name, problem)
    assert said is not None and said.startswith("[depthwise-filter] two boxes of rows of 100 positions"), said
    run_instance(library, TALL.name, replace(problem, input=(71, 5)))


def test_a_sum_may_be_written_over_its_residual(library: Library) -> None:
    problem = make_problem(groups=72, batch=3, k=1, c=1, filter=[3, 3], input=[9, 12], pad=1)
    run_instance(library, FUSED.name, problem, in_place=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"c": 2}, "[depthwise-channels] groups have 2 input channels"),
        ({"k": 2}, "[depthwise-channels] groups have 2 output channels"),
        ({"filter": [3, 5]}, "[depthwise-filter] dimension 1 has 5 taps; the instance has sums for exactly 3"),
        ({"stride": 2}, "[depthwise-stride] stride 2 and dilation 1 are not both 1"),
        ({"dilation": [1, 2]}, "[depthwise-stride] stride 1 and dilation 2 are not both 1"),
        ({"groups": 12}, "[tma-limits] an output stride 972 is not a multiple of the vector 8"),
    ],
)
def test_other_problems_are_refused(library: Library, change: dict[str, object], reason: str) -> None:
    sizes = {"groups": 16, "batch": 2, "k": 1, "c": 1, "filter": [3, 3], "input": [9, 9], "pad": 1} | change
    said = library.unsupported_reason(T3X3.name, make_problem(**sizes))  # type: ignore[arg-type]
    assert said is not None and said.startswith(reason), said


def test_single_values_of_groups_are_refused_alike(library: Library) -> None:
    """A lane of f32 has one group, but TMA copies 32 side by side: each with one output channel, without gaps."""
    sizes = make_problem(groups=32, batch=2, k=1, c=1, filter=[2, 1], input=[9, 9])
    assert library.unsupported_reason(T2X1.name, sizes) is None
    for k, groups in ((2, 32), (64, 1)):
        said = library.unsupported_reason(T2X1.name, replace(sizes, k=k, groups=groups))
        assert said is not None and said.startswith(f"[depthwise-channels] groups have {k} output channels"), said
    apart = CProblem.make(sizes, T2X1.layout, 1)
    apart.set_strides("out", tuple(2 * stride for stride in sizes.strides_of("out", T2X1.layout)))
    with pytest.raises(UnsupportedProblem, match=r"\[depthwise-groups\] the output has neighbouring groups 2 elements"):
        library.prepare(T2X1.name, apart, (8192, 65536, 131072))


@pytest.mark.parametrize(("addresses", "tensor"), [((8194, 65536, 131072), "input"), ((8192, 65536, 131080), "output")])
def test_addresses_that_do_not_fit_are_refused(library: Library, addresses: tuple[int, int, int], tensor: str) -> None:
    described = CProblem.make(make_problem(groups=16, batch=2, k=1, c=1, filter=[3, 3], input=[9, 9]), T3X3.layout, 1)
    with pytest.raises(UnsupportedProblem, match=f"the {tensor} address"):
        library.prepare(T3X3.name, described, addresses)
    library.prepare(
        T3X3.name, described, (8196, 65538, 131072)
    )  # the input is written in pairs, the weight read singly


STEPS = make_problem(groups=72, batch=3, k=1, c=1, filter=[3, 3], input=[60, 90], pad=1)
# More blocks of groups than compute units.
BLOCKS = make_problem(groups=328, batch=2, k=1, c=1, filter=[3, 3], input=[9, 9], pad=1)
KERNEL = "pipeline/bwd_data_depthwise_tma.hpp"
BUGS = {
    "math-does-not-wait": Bug(
        KERNEL,
        "            platform::mbarrier_wait(ring.full(), ring.parity);\n",
        "",
        ("LDS read of bytes that nobody wrote", "bwd_data_depthwise_tma.hpp"),
        STEPS,
    ),
    "a-warp-arrives-before-it-has-read": Bug(
        KERNEL,
        "            for(int unit = warp_; unit < boxes.units; unit += warps)",
        "            if(lane_ == 0)\n"
        "                platform::mbarrier_arrive(ring.empty());\n"
        "            for(int unit = warp_; unit < boxes.units; unit += warps)",
        ("mbarrier",),
        STEPS,
    ),
    "too-few-arrivals-expected": Bug(
        KERNEL, "ring.init(1, warps);", "ring.init(1, warps - 1);", ("LDS race", "a copy at"), STEPS
    ),
    "the-weights-are-not-turned": Bug(KERNEL, "filter - 1 - tap)", "tap)", (), STEPS),
    "weights-of-the-block-before": Bug(
        KERNEL,
        "            if(tile.channel_block != channel_block) {",
        "            if(channel_block < 0) {",
        (),
        BLOCKS,
    ),
    "a-box-begins-at-the-tile": Bug(KERNEL, "args.problem.pad[0] - (rows - 1)", "args.problem.pad[0]", (), STEPS),
    "the-next-weights-come-too-early": Bug(
        KERNEL,
        "        platform::barrier_of(1, D::block_size);\n        group_ = ",
        "        group_ = ",
        ("LDS r",),
        BLOCKS,
    ),
    "weights-are-overwritten-while-they-are-read": Bug(
        KERNEL,
        "        platform::barrier_of(1, D::block_size);  // all warps have read the weights before\n        for(",
        "        for(",
        ("LDS r",),
        BLOCKS,
    ),
    "segments-overlap-too-little": Bug(
        KERNEL, "window = positions + taps - 1;", "window = positions + taps - 2;", (), STEPS
    ),
}


@pytest.mark.parametrize("bug", every_third(BUGS))
def test_a_planted_bug_is_reported(bug: str, tmp_path: Path) -> None:
    check_bug(BUGS[bug], T3X3, run_instance, tmp_path)
