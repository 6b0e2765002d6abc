"""Test family depthwise_tma on the host platform: random problems are right with every split and schedule, problems
that it does not take are refused by name, and bugs that a GPU hides are reported.
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
from tests.support.cxx import CHECKED, link, run_instance, write_tree
from tests.support.drawn import gap
from tests.support.planted_bugs import Bug, check_bug
from tests.support.sweep.sampled import every_third

pytestmark = pytest.mark.compiles

T3X3 = Instance(
    *("depthwise_tma", "NHWGC/GKYXC/NHWGK", "f16", "Default", 3, 64, 16, 1, 1, 4, 2, 1, 1, 3), archs=("sm_90a",)
)
T5X5 = replace(T3X3, m_per_block=5, stages=5, dtype="bf16")
T7X4 = replace(T3X3, m_per_block=7, stages=4, dtype="bf16_f32_bf16")
T7X7 = replace(T3X3, m_per_block=7, stages=7, n_per_block=32, a_vector=1, dtype="f32")
T2X1 = replace(T7X7, m_per_block=2, stages=1)
ALL = (T3X3, T5X5, T7X4, T7X7, T2X1)


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes."""
    while True:
        filter_ = [rng.choice([1, 2, 3, 3, 5, 7, 9]) for _ in range(2)]
        dilation = [rng.choice([1, 1, 1, 2, 3]) for _ in filter_]
        reach = [(edge - 1) * step for edge, step in zip(filter_, dilation, strict=True)]
        pad, right = ([rng.randint(0, min(edge, 6)) for edge in reach] for _ in range(2))
        input_ = [
            max(rng.choice([1, 2, 9, 17, 31]), edge + 1 - before - after)
            for edge, before, after in zip(reach, pad, right, strict=True)
        ]
        problem = make_problem(
            groups=8 * rng.choice([1, 5, 8, 9]),
            batch=rng.randint(1, 3),
            k=1,
            c=1,
            filter=filter_,
            input=input_,
            stride=[rng.choice([1, 1, 2]) for _ in filter_],
            dilation=dilation,
            pad=pad,
            right_pad=right,
        )
        if FAMILIES[instance.family].takes(instance, problem):
            return problem


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, ALL), CHECKED))


@pytest.mark.parametrize("name", [instance.name for instance in ALL])
@pytest.mark.parametrize("seed", range(3))
def test_random_problems_are_right(library: Library, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    library.configure_host(seed=seed)
    for split_k in (1, 2, 5, -1):
        instance = library.instance(name)
        problem = draw(instance, rng)
        run_instance(library, name, problem, split_k, gap=gap(instance, problem, rng))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"c": 2}, "[halo-groups] input has groups of 2 channels"),
        ({"k": 2}, "[halo-groups] output has groups of 2 channels"),
        ({"filter": [9, 9], "input": [20, 20]}, "[halo-filter] the filter has 9 parts of 3x3 taps, more than 8"),
        ({"stride": 3}, "[halo-stride] stride 3 is not 1 or 2"),
        ({"groups": 12}, "[tma-limits]"),
        ({"input": [5, 600]}, "[halo-rows] rows of 600 output positions are too long for shared memory"),
    ],
)
def test_other_problems_are_refused(library: Library, change: dict[str, object], reason: str) -> None:
    sizes = {"groups": 16, "batch": 2, "k": 1, "c": 1, "filter": [3, 3], "input": [9, 9], "pad": 1} | change
    said = library.unsupported_reason(T3X3.name, make_problem(**sizes))  # type: ignore[arg-type]
    assert said is not None and said.startswith(reason), said


@pytest.mark.parametrize(("addresses", "tensor"), [((8200, 65536, 131072), "input"), ((8192, 65536, 131074), "output")])
def test_addresses_beside_16_bytes_are_refused(library: Library, addresses: tuple[int, int, int], tensor: str) -> None:
    described = CProblem.make(make_problem(groups=16, batch=2, k=1, c=1, filter=[3, 3], input=[9, 9]), T3X3.layout, 1)
    with pytest.raises(UnsupportedProblem, match=f"the {tensor} address"):
        library.prepare(T3X3.name, described, addresses)
    library.prepare(T3X3.name, described, (8192, 65538, 131072))  # TMA does not touch the weight


# More steps than ring stages, pieces that the warps share unevenly, and two parts of the filter.
STEPS = make_problem(groups=72, batch=3, k=1, c=1, filter=[4, 3], input=[37, 48], pad=1)
KERNEL = "pipeline/bwd_weight_depthwise_tma.hpp"
BUGS = {
    "math-does-not-wait": Bug(
        KERNEL,
        "            platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);\n",
        "",
        ("LDS read of bytes that nobody wrote", "bwd_weight_depthwise_tma.hpp"),
        STEPS,
    ),
    "a-warp-arrives-before-it-has-read": Bug(
        KERNEL,
        "            if(i >= steps.before && share_ < shares_) {",
        "            if(thread_.thread_id() % 32 == 0)\n"
        "                platform::mbarrier_arrive(walk.ring.empty());\n"
        "            if(i >= steps.before && share_ < shares_) {",
        ("mbarrier",),
        STEPS,
    ),
    "too-few-arrivals-expected": Bug(
        KERNEL, "rings.out.init(1, warps);", "rings.out.init(1, warps - 1);", ("LDS race", "a copy at"), STEPS
    ),
    "sums-over-rings-in-use": Bug(
        KERNEL,
        "        platform::barrier_of(1, D::block_size);  // the rings are free now\n        if(share_ < shares_)\n",
        "        if(share_ < shares_)\n",
        ("LDS race",),
        STEPS,
    ),
    "sums-are-added-too-early": Bug(
        KERNEL,
        "            spread(sums);\n        platform::barrier_of(1, D::block_size);\n",
        "            spread(sums);\n",
        ("LDS race",),
        STEPS,
    ),
    "a-share-counts-pieces-twice": Bug(KERNEL, "first -= max_of(0, count);", "first -= count - 1;", (), STEPS),
    "a-window-keeps-a-value-too-long": Bug(
        KERNEL, "[(i + tap / Classes) % Window", "[(i + tap / Classes + 1) % Window", (), STEPS
    ),
    "rows-are-not-padded-for-the-last-taps": Bug(
        "halo_geometry.hpp", "(taps - 1) * dilation[1] / stride[1]}", "0 * taps}", (), STEPS
    ),
}


@pytest.mark.parametrize("bug", every_third(BUGS))
def test_a_planted_bug_is_reported(bug: str, tmp_path: Path) -> None:
    check_bug(BUGS[bug], T3X3, lambda library, name, problem: run_instance(library, name, problem, 2), tmp_path)
