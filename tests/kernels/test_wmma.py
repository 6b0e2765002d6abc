"""Test families wmma and dl on the host platform: random problems are right with the fragments of gfx11 and of gfx12,
and a wave whose halves disagree is reported where gfx11 needs equal ones.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA
from tests.support.cxx import CHECKED, header, link, run_instance, write_tree
from tests.support.planting import replace_once
from tests.support.sweep.sampled import chosen

pytestmark = pytest.mark.compiles

ODD = Instance("wmma", "NHWGC/GKYXC/NHWGK", "f16", "Default", 64, 64, 32, 16, 0, 4, 1, 1, 1, 1)
ONE_WAVE = Instance("wmma", "GNDHWC/GKZYXC/GNDHWK", "bf16", "Default", 16, 32, 64, 16, 0, 1, 4, 4, 4, 2)
DATA_ODD = replace(ODD, layout="NDHWGK/GKZYXC/NDHWGC", dtype="bf16", operation=BWD_DATA)
DATA_FUSED = replace(
    ODD, layout="NHWGK/GKYXC/NHWGC", operation=BWD_DATA, function="AddResidual", m_per_block=32, math_waves=2
)
INTEGERS = replace(ODD, dtype="i8", k_per_block=64, a_vector=4, b_vector=2, c_vector=2)
DATA_INTEGERS = replace(DATA_ODD, dtype="i8", k_per_block=64, b_vector=2)
PLANES = replace(ODD, layout="NGCHW/GKCYX/NGKHW", dtype="i8", k_per_block=64)
WMMA = (ODD, ONE_WAVE, DATA_ODD, DATA_FUSED, INTEGERS, DATA_INTEGERS, PLANES)
DOT = Instance("dl", "NWGC/GKXC/NWGK", "f16", "Default", 128, 64, 16, 32, 0, 2, 2, 1, 1, 2, a_k1=1, b_k1=1)
DOT_MIXED = replace(DOT, layout="GNDHWC/GKZYXC/GNDHWK", dtype="bf16_f32_bf16", m_per_block=64, math_waves=1, stages=1)
DATA_DOT = replace(DOT_MIXED, layout="GNHWK/GKYXC/GNHWC", dtype="f32", a_k1=0, b_k1=0, operation=BWD_DATA)
DOT_INTEGERS = replace(DOT, dtype="i8", k_per_block=32, stages=1)
DATA_DOT_INTEGERS = replace(DATA_DOT, dtype="i8", k_per_block=32, a_vector=4, b_vector=4, c_vector=4)
DATA_DOT_F8 = replace(DATA_DOT, layout="NHWGK/GKYXC/NHWGC", dtype="f16_comp_bf8_f8", k_per_block=32)
DOTS = (DOT, DOT_MIXED, DATA_DOT, DOT_INTEGERS, DATA_DOT_INTEGERS, DATA_DOT_F8)
ROUNDS = 8  # problems per instance


def draw(instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem with the instance's number of dimensions, whose channels its vectors divide."""
    few = range(instance.ndim)
    filter_ = [rng.randint(1, 3) for _ in few]
    stride, dilation = [rng.randint(1, 3) for _ in few], [rng.randint(1, 2) for _ in few]
    pads = [[rng.randint(0, 2) for _ in few] for _ in range(2)]
    most = {1: 70, 2: 12, 3: 6}[instance.ndim]
    input_ = [max(rng.randint(1, most), (edge - 1) * step + 1) for edge, step in zip(filter_, dilation, strict=True)]
    return make_problem(
        groups=rng.choice([1, 1, 2, 3]),
        batch=rng.randint(1, 3),
        k=instance.a_vector * rng.randint(1, 70),
        c=instance.b_vector * rng.randint(1, 70),
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        pad=pads[0],
        right_pad=pads[1],
    )


def check_random_problems(library: Library, instances: tuple[Instance, ...], seed: int) -> None:
    library.configure_host(seed=seed)
    for instance in instances:
        rng = random.Random(f"{instance.name} {seed}")
        for split_k in [1, 2, 5, -1] * (ROUNDS // 4):
            run_instance(library, instance.name, draw(instance, rng), split_k)


@pytest.mark.parametrize("generation", chosen([11, 12], gate=[12]))
def test_random_problems_are_right_with_either_fragments(tmp_path: Path, generation: int) -> None:
    macro = f"-DCKGEN_HOST_WMMA={generation}"
    library = Library(link(tmp_path, write_tree(tmp_path, WMMA), (*CHECKED, macro)))
    for seed in (0, generation):
        check_random_problems(library, WMMA, seed)


def test_dot_products_are_right(tmp_path: Path) -> None:
    library = Library(link(tmp_path, write_tree(tmp_path, DOTS), CHECKED))
    for seed in (0, 3):
        check_random_problems(library, DOTS, seed)


def test_halves_of_a_wave_that_disagree_are_reported(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, [ODD])
    replace_once(header(tree, "wmma_lanes.hpp"), "return Generation == 11 ? 0 : lane / 16;", "return lane / 16;")
    library = Library(link(tmp_path, tree))
    with pytest.raises(Exception, match="the halves of a wave give WMMA different operands"):
        run_instance(library, ODD.name, make_problem(k=40, c=40, filter=[3, 3], input=[9, 9], pad=1), 1)
