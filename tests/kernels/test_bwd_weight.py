"""Test kernel paths that ordinary problems do not reach: moving windows, tensors over 2 GiB, the portable atom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, UnsupportedProblem
from tests.support.cxx import compile_with, ending, link, run_instance, source, write_tree
from tests.support.planting import replace_once

LAYOUT = "NHWGC/GKYXC/NHWGK"
XDL = Instance("xdl", LAYOUT, "f16", "Default", 64, 64, 32, 32, 0, 4, 4, 4, 8, 1)
POINTWISE = replace(XDL, conv_spec="Filter1x1Stride1Pad0")
F32 = Instance("xdl", LAYOUT, "f32", "Default", 64, 64, 16, 16, 0, 4, 4, 4, 4, 2)
WAVELET = Instance("wavelet", LAYOUT, "bf16", "Default", 64, 64, 32, 32, 4, 2, 2, 2, 2, 4)
INSTANCES = (XDL, POINTWISE, F32, WAVELET)


@pytest.mark.compiles
def test_windows_move_on(tmp_path: Path) -> None:
    """With windows of 64 KiB instead of 1 GiB, every workgroup moves its windows several times."""
    tree = write_tree(tmp_path, INSTANCES)
    plan = source(tree, "bwd_weight_plan.cpp")
    replace_once(plan, "constexpr int64 kMaxChunkBytes = int64{1} << 30;", "constexpr int64 kMaxChunkBytes = 65536;")
    library = Library(link(tmp_path, tree))
    default = make_problem(groups=2, batch=30, k=24, c=8, filter=[3, 3], input=[9, 11], pad=1)
    pointwise = make_problem(groups=2, batch=30, k=24, c=8, filter=[1, 1], input=[9, 11])
    for instance in INSTANCES:
        for split_k in (1, 2):
            run_instance(library, instance.name, pointwise if instance is POINTWISE else default, split_k)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    return Library(link(folder, write_tree(folder, INSTANCES)))


@pytest.mark.compiles
def test_input_over_two_gigabytes(library: Library) -> None:
    """Images lie 256 MiB apart, so offsets exceed 2^31 bytes. Only the pages that hold an image are touched."""
    problem = make_problem(batch=17, k=8, c=8, filter=[3, 3], input=[6, 7], pad=1)
    distance = 1 << 27  # elements
    memory = np.empty(16 * distance + 6 * 7 * 8, np.float16)
    in_ = np.lib.stride_tricks.as_strided(memory, (17, 6, 7, 1, 8), [2 * n for n in (distance, 56, 8, 8, 1)])
    rng = np.random.default_rng(3)
    packed = rng.integers(-3, 4, in_.shape).astype(np.float16)
    in_[...] = packed
    out = rng.integers(-3, 4, problem.shape("out", LAYOUT)).astype(np.float16)
    results = []
    for tensor in (packed, in_):
        for split_k in (1, 3):
            wei = np.full(problem.shape("wei", LAYOUT), np.nan, np.float16)
            library.run(XDL.name, problem, tensor, wei, out, split_k=split_k)
            results.append(wei)
    assert np.isfinite(results[0]).all()
    for other in results[1:]:  # integers: every sum is exact
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.compiles
def test_images_over_two_gigabytes(library: Library) -> None:
    """Rows of an image lie 256 MiB apart, so that a single image spans 2 GiB; a tile still spans few of them."""
    problem = make_problem(batch=2, k=8, c=8, filter=[2, 3], input=[8, 40], pad=[0, 1])
    row = 1 << 27  # elements
    image = 8 * row
    memory = np.empty(image + 7 * row + 40 * 8, np.float16)
    in_ = np.lib.stride_tricks.as_strided(memory, (2, 8, 40, 1, 8), [2 * n for n in (image, row, 8, 8, 1)])
    rng = np.random.default_rng(4)
    packed = rng.integers(-3, 4, in_.shape).astype(np.float16)
    in_[...] = packed
    out = rng.integers(-3, 4, problem.shape("out", LAYOUT)).astype(np.float16)
    results = []
    for tensor in (packed, in_):
        wei = np.full(problem.shape("wei", LAYOUT), np.nan, np.float16)
        library.run(XDL.name, problem, tensor, wei, out)
        results.append(wei)
    assert np.isfinite(results[0]).all()
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.compiles
def test_a_tile_that_reaches_too_far_is_refused_by_name(library: Library) -> None:
    problem = make_problem(batch=64, k=8, c=1 << 14, filter=[1, 3], input=[1, 2048], dilation=[1, 1000])
    far = make_problem(batch=8, k=8, c=1 << 14, filter=[3, 1], input=[2100, 1024], dilation=[1000, 1])
    assert library.unsupported_reason(XDL.name, problem) is None
    reason = library.unsupported_reason(XDL.name, far)
    assert reason is not None and reason.startswith("[tile-reach]") and "2^30 bytes" in reason
    with pytest.raises(UnsupportedProblem, match="tile-reach"):
        library.workspace_size(XDL.name, far)


@pytest.mark.compiles
def test_portable_atom_agrees(tmp_path: Path) -> None:
    """Use the atom of architectures without MFMA on the same tiles."""
    library = Library(link(tmp_path, write_tree(tmp_path, INSTANCES), ["-DCKGEN_HOST_PORTABLE_ATOM=1"]))
    default = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 3], input=[9, 11], pad=1)
    pointwise = make_problem(batch=3, k=72, c=16, filter=[1, 1], input=[9, 11])
    for instance in INSTANCES:
        run_instance(library, instance.name, pointwise if instance is POINTWISE else default, 2)


@pytest.mark.compiles
def test_transposing_lds_agrees(tmp_path: Path) -> None:
    """Tiles are stored by rows and read transposed, as on gfx950; they are copied directly to LDS if load waves have 16
    bytes per lane. f32 and single elements stay in slots."""
    mixed = replace(XDL, a_vector=1, stages=2)
    wide = replace(XDL, n_per_block=128, b_vector=8)
    narrow = replace(XDL, m_per_block=32, math_waves=1, a_vector=8, b_vector=8)
    direct = replace(WAVELET, m_per_block=128, n_per_block=128, math_waves=4, a_vector=8, b_vector=8)
    instances = (*INSTANCES, mixed, wide, narrow, direct, replace(direct, n_per_block=256, stages=2))
    library = Library(link(tmp_path, write_tree(tmp_path, instances), ["-DCKGEN_HOST_TRANSPOSING_LDS=1"]))
    default = make_problem(groups=2, batch=3, k=24, c=16, filter=[3, 3], input=[9, 11], pad=1)
    pointwise = make_problem(batch=3, k=72, c=16, filter=[1, 1], input=[9, 11])
    for instance in instances:
        for seed in (0, 7):
            library.configure_host(seed=seed)
            run_instance(library, instance.name, pointwise if instance is POINTWISE else default, 2)


@pytest.mark.compiles
def test_a_compiler_that_fails_says_how(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"g\+\+ ended with status 1\n(.|\n)*no_such_file.cpp"):
        compile_with(tmp_path, ["-c", "no_such_file.cpp"])
    assert ending(-9).startswith("was killed by SIGKILL")
