"""Test that valid random instances of every kind compile, on the host and as device code for AMD's architectures.

`python -m tests.support.sweep.compile` and `python -m tests.support.sweep.run` do the same for other seeds and for more
instances.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.toolchain import find_toolchain
from ckgen.conv.dtypes import DTYPES
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.checker import Checker
from ckgen.instance.instance import parse
from ckgen.operations.operation import OPERATIONS
from tests.support.sweep import compile as compile_sweep
from tests.support.sweep import run as run_sweep
from tests.support.sweep.compile import HOST, Way
from tests.support.sweep.random_instances import FUNCTIONS, kinds, random_instances
from tests.support.sweep.sampled import chosen

SEED, COUNT, RUN_COUNT = 8, 210, 6
EXPANSION = random_instances(SEED, COUNT)
TOOLS = find_toolchain()
GENERATIONS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")  # one architecture of each
SYNTAX = Way(codegen=False, hipcc=False)


def test_the_sample_has_every_kind_of_instance() -> None:
    instances = EXPANSION.instances
    assert len(instances) == COUNT
    assert {(i.operation, i.family, i.generic) for i in instances} == set(kinds())
    assert {(i.operation, i.dtype) for i in instances} == {
        (operation.name, dtype) for operation in OPERATIONS.values() for dtype in operation.dtypes
    }
    assert {i.layout for i in instances} == {
        layout for operation in OPERATIONS.values() for layout in operation.layouts
    }
    assert {i.function for i in instances} == set(FUNCTIONS)
    assert {i.m_per_xdl for i in instances} == {1, 16, 32, 64, 128} and {i.conv_spec for i in instances} > {"Default"}
    assert {arch for i in instances for arch in i.archs} == {*ARCHES, *NVIDIA_ARCHES}
    assert {i.dtype for i in instances} == set(DTYPES)


def test_a_seed_stands_for_the_same_instances() -> None:
    assert random_instances(7, 30).instances == random_instances(7, 30).instances != random_instances(8, 30).instances


@pytest.mark.compiles
@pytest.mark.parametrize("arch", chosen([HOST, *ARCHES], gate=[HOST, *GENERATIONS]))
def test_what_validates_compiles(arch: str) -> None:
    assert compile_sweep.refused(EXPANSION, [arch]) == []


@pytest.mark.compiles
@pytest.mark.skipif(TOOLS.hipcc is None, reason="hipcc is not here, nor its older clang")
def test_what_validates_compiles_with_hipcc() -> None:
    """Includes HIP 5.2, whose clang 15 knows gfx90a and none of the newer architectures."""
    assert compile_sweep.refused(EXPANSION, ["gfx90a"], hipcc=True) == []


@pytest.mark.compiles
@pytest.mark.skipif(TOOLS.nvcc is None, reason="nvcc is not here")
def test_what_validates_compiles_for_nvidia() -> None:
    assert compile_sweep.refused(EXPANSION, ["sm_90a"]) == []


@pytest.mark.compiles
@pytest.mark.parametrize("arch", [HOST, "gfx90a"])
@pytest.mark.parametrize(
    ("header", "place", "of"),
    [
        ("block/tile_copy.hpp", "    // A slice of a wave", "Layout_"),
        ("pipeline/xdl.hpp", "        const Mma mma(thread, id);", "D"),
    ],
    ids=["class", "function"],
)
def test_an_assert_without_a_rule_is_seen(tmp_path: Path, arch: str, header: str, place: str, of: str) -> None:
    """Covers an assert inside a function, which a compiler must instantiate even if it only checks syntax."""
    expansion = random_instances(SEED, 13)
    tree = compile_sweep.write_tree(expansion, tmp_path)
    sources = [
        path
        for path in sorted((tree / "src").glob("*/xdl/*.cpp"))
        if any(i.name == path.stem and arch in (HOST, *i.archs) for i in expansion.instances)
    ]
    assert sources and compile_sweep.complaint(tree, arch, sources, SYNTAX) == ""
    (file,) = (tree / "include").rglob(header)
    text = file.read_text(encoding="utf-8")
    assert text.count(place) == 1
    file.write_text(text.replace(place, f'static_assert(sizeof({of}) == 0, "planted");\n{place}'), encoding="utf-8")
    assert "planted" in compile_sweep.complaint(tree, arch, sources, SYNTAX)


# These instances need several tables of rows, waves that begin inside a plane, and columns in groups of fewer than 8 x
# vector.
AWKWARD = (
    "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f16_default_32x32x128_w0x1_xdl32_v2x8x8_s1",
    "grouped_conv2d_bwd_weight_xdl_gnhwc_gkyxc_gnhwk_f32_default_64x32x64_w0x1_xdl16_v1x1x1_s1_generic",
    "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_96x96x32_w3x1_xdl32_v4x4x2_s2",
    "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_bf16_default_96x48x32_w3x1_xdl16_v8x2x2_s4",
    "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_80x80x64_w5x1_xdl16_v8x8x2_s2",
    "grouped_conv2d_bwd_data_wavelet_nhwgk_gkyxc_nhwgc_f16_default_192x96x32_w3x4_xdl16_v8x8x2_s4",
)


@pytest.mark.compiles
@pytest.mark.parametrize("like", chosen(run_sweep.LIKE, gate=["gfx950"]))
def test_what_validates_runs_right_on_the_host(like: str) -> None:
    awkward = [replace(parse(name), archs=("gfx950",)) for name in AWKWARD]
    checker = Checker()
    assert [checker.violations(instance) for instance in awkward] == [[]] * len(awkward)
    rows = run_sweep.run(SEED, RUN_COUNT, like, awkward)
    expected = run_sweep.imitated((*random_instances(SEED, RUN_COUNT).instances, *awkward), like)
    assert {row.instance for row in rows} == {instance.name for instance in expected}
    assert len(expected) > RUN_COUNT // 2 + len(awkward)
    assert [row for row in rows if not row.ok] == []
