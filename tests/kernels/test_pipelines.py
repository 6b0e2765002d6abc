"""Test CK's pipelines of family xdl: every loop on sums of zero to many tiles, with each atom, and its type string."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance, parse
from ckgen.library.library import Library
from tests.support.cxx import link, run_instance, write_tree

pytestmark = pytest.mark.compiles

PREFIX = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk"
VERSIONS = ("p1_s1", "p1i_s1", "p2_s1", "p2i_s1", "p3_s1", "p4_s2", "p5_s1")
NAMES = (
    *(f"{PREFIX}_f16_default_64x64x64_w0x4_xdl32_v8x8x8_{version}" for version in VERSIONS),
    *(f"{PREFIX}_bf16_default_32x64x32_w0x1_xdl16_v4x4x2_{version}" for version in VERSIONS),
    f"{PREFIX}_f16_default_64x64x32_w0x4_xdl32_v4x4x8_p2_s1",
    f"{PREFIX}_f32_1x1s1p0_64x64x16_w0x4_xdl32_v4x4x4_p2_s1",
    f"{PREFIX}_f32_1x1s1p0_64x64x16_w0x4_xdl32_v4x4x4_p4_s2",
)
HELD = (1, 1, 2, 2, 1, 1, 2)  # tiles in registers of those with 64x64x64, in the order of VERSIONS


def problems(instance: Instance) -> list[ConvProblem]:
    """Sums of one to many tiles, and random sizes with padding and strides."""
    rng = random.Random(instance.name)
    if instance.pointwise:
        return [make_problem(groups=2, batch=n, k=72, c=8, filter=[1, 1], input=[3, 5]) for n in (1, 2, 3, 5, 9)]
    found = [make_problem(batch=1, k=16, c=8, filter=[1, 1], input=[8, 8 * tiles]) for tiles in (1, 2, 3, 4, 5, 9, 10)]
    for _ in range(4):
        sizes = [rng.randint(3, 12), rng.randint(3, 12)]
        taps = [rng.randint(1, 3), rng.randint(1, 3)]
        k, c = 8 * rng.randint(1, 9), 8 * rng.randint(1, 5)
        stride, pad = rng.randint(1, 2), rng.randint(0, 2)
        found.append(make_problem(groups=2, batch=2, k=k, c=c, filter=taps, input=sizes, stride=stride, pad=pad))
    return found


@pytest.mark.parametrize(
    "flags",
    [[], ["-DCKGEN_HOST_TRANSPOSING_LDS=1"], ["-DCKGEN_HOST_PORTABLE_ATOM=1"]],
    ids=["slots", "transposing", "portable"],
)
def test_every_loop_sums_every_number_of_tiles(tmp_path: Path, flags: list[str]) -> None:
    instances = tuple(parse(name) for name in NAMES)
    library = Library(link(tmp_path, write_tree(tmp_path, instances), flags))
    for instance in instances:
        for number, problem in enumerate(problems(instance)):
            library.configure_host(seed=number)
            run_instance(library, instance.name, problem, split_k=1 + number % 3)
    string = library.type_string(f"{PREFIX}_f16_default_64x64x64_w0x4_xdl32_v8x8x8_p2i_s1")
    assert string == (
        "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<256, 64, 64, 64, Default, 8, 1, 1, 8, 2, 8, 2, 1, 1, 8,"
        " BlkGemmPipelineScheduler: Interwave, BlkGemmPipelineVersion: v2>"
    )


def test_the_tiles_in_registers_are_those_of_the_version() -> None:
    instances = [parse(name) for name in NAMES]
    assert tuple(instance.prefetch_tiles for instance in instances[: len(VERSIONS)]) == HELD
    assert instances[-3].prefetch_tiles == 4  # a smaller tile, for as many bytes in flight
    assert [instance.stages for instance in instances] == [1 + (i.pipeline_version == 4) for i in instances]
