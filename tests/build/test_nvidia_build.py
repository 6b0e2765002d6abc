"""Test platform nvidia without a GPU: the tree compiles without warnings, and a library plans and reports why it cannot
run.
"""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.build.cmake import build
from ckgen.build.toolchain import find_toolchain
from ckgen.cli import main
from ckgen.conv.problem import make_problem
from ckgen.errors import CkgenError
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.instance.instance import Instance
from ckgen.library.library import Library, LibraryError, UnsupportedProblem
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from tests.build.test_cmake import CLIENT, cmake
from tests.support.sweep.sampled import every_third
from tests.support.trees import GENERIC, TMA, WAVELET, XDL, context

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
FAKE_DRIVER = ROOT / "tests" / "data" / "fake_driver" / "main.cpp"
TOOLS = find_toolchain()
NEEDS_NVCC = "nvcc is not on PATH, so nothing can be compiled for NVIDIA GPUs"
PLANE = make_problem(batch=8, k=64, c=64, filter=(3, 3), input=(14, 14), pad=1)
WARNINGS = {
    "CMAKE_CXX_FLAGS": "-Wall -Wextra -Werror",
    "CMAKE_CUDA_FLAGS": "-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror",
}
TURNS = replace(TMA, operation=BWD_DATA, layout="NHWGK/GKYXC/NHWGC", n_per_block=128, m_per_xdl=128, stages=6)
TURNS = replace(TURNS, b_vector=8, c_vector=8)
XDL_DATA = replace(XDL, operation=BWD_DATA, layout="NHWGK/GKYXC/NHWGC")
TF32 = replace(TURNS, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4, c_vector=4)
STATIONARY = replace(TURNS, family="stationary", m_per_block=64, n_per_block=256, m_per_xdl=64)
PLANES = replace(TURNS, layout="NGKHW/GKCYX/NGCHW", conv_spec="Filter1x1Stride1Pad0", m_per_xdl=64)
# Two workgroups per multiprocessor would have too few registers.
PLANES_TF32 = replace(PLANES, dtype="f32_comp_tf32", k_per_block=32, a_vector=4, b_vector=4, c_vector=4, stages=2)
ANY_PLANES = replace(PLANES, a_vector=1, c_vector=1, stages=4)
WORD_PLANES = replace(PLANES_TF32, a_vector=1, c_vector=1)
WORDS_ONLY = replace(WORD_PLANES, b_vector=1)
WORD_WEIGHT = replace(WORD_PLANES, operation=BWD_WEIGHT, layout="NGCHW/GKCYX/NGKHW", b_vector=1)
F32 = replace(TF32, dtype="f32", m_per_xdl=64, stages=4)
F32_WEIGHT = replace(F32, operation=BWD_WEIGHT, layout="NHWGC/GKYXC/NHWGK", c_vector=2)
WGMMA = (
    *(replace(TMA, dtype=dtype) for dtype in ("f16", "bf16_f32_bf16")),
    F32_WEIGHT,
    F32,
    TURNS,
    TF32,
    STATIONARY,
    PLANES,
    PLANES_TF32,
    ANY_PLANES,
    WORD_PLANES,
    WORDS_ONLY,
    WORD_WEIGHT,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if TOOLS.nvcc is None:
        pytest.skip(NEEDS_NVCC)
    made = tmp_path_factory.mktemp("nvidia")
    writer.apply(render_tree((WAVELET, XDL, GENERIC, TMA, XDL_DATA), context()), made / "tree")
    options = {**WARNINGS, "CKGEN_BUILD_EXAMPLES": "ON", "CKGEN_EXAMPLES_DIR": str(ROOT / "examples")}
    options["CMAKE_CXX_FLAGS_RELEASE"] = "-O0"  # of the examples: objects of the library have their own level
    result = build(made / "tree", "nvidia", made / "build", archs=("sm_80", "sm_90a"), options=options)
    assert result.library == made / "build" / "libckgen_conv.so"
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return Library(folder / "build" / "libckgen_conv.so")


@pytest.mark.parametrize(
    "instance", every_third(WGMMA), ids=lambda i: f"{i.operation}-{i.family}-{i.layout[:3]}-{i.dtype}-{i.a_vector}"
)
def test_products_of_one_warpgroup_follow_each_other(tmp_path: Path, instance: Instance) -> None:
    """ptxas reports if it must wait for each wgmma before the next, which halves the speed; nvcc does not warn. Eight
    spilled bytes cost 6 percent."""
    if TOOLS.nvcc is None:
        pytest.skip(NEEDS_NVCC)
    writer.apply(render_tree((instance,), context()), tmp_path / "tree")
    (tmp_path / "ckgen").mkdir()
    (tmp_path / "ckgen" / "config.h").write_text("#define CKGEN_PLATFORM_NVIDIA 1\n")
    source = next((tmp_path / "tree").rglob(f"{instance.name}.cpp"))
    flags = ["-std=c++17", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-x", "cu", "-Xptxas", "-v"]
    flags += WARNINGS["CMAKE_CUDA_FLAGS"].split()
    command = [*TOOLS.nvcc, *flags, f"-I{tmp_path}", f"-I{tmp_path / 'tree' / 'include'}", "-c", str(source)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{instance.name}_kernel" in done.stderr and "warpgroup.arrive is injected" not in done.stderr, done.stderr
    assert "serialized" not in done.stderr, done.stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr, done.stderr


def test_the_library_plans_without_a_gpu(library: Library) -> None:
    assert library.platform == "nvidia"
    assert set(library.names) == {WAVELET.name, XDL.name, GENERIC.name, TMA.name, XDL_DATA.name}
    assert library.supporting(PLANE) == (XDL_DATA.name, WAVELET.name, TMA.name, XDL.name)
    assert library.unsupported_reason(GENERIC.name, PLANE) == "ndim: the instance is for 3D, the problem is 2D"
    assert library.split_k(XDL.name, PLANE) > 1
    assert library.workspace_size(XDL.name, PLANE, split_k=3) == 3 * 64 * 64 * 9 * 4
    assert library.type_string(WAVELET.name).startswith("DeviceGroupedConvBwdWeight_Xdl_WaveletModel_CShuffle<")


def test_kernels_get_the_arguments_that_they_get_on_the_host(library: Library, quick_library: Library) -> None:
    """nvcc once compiled a copy of the argument into a copy of a copy, and the kernels of backward data got zeros."""
    volume = make_problem(batch=2, k=40, c=24, filter=(3, 3, 3), input=(6, 7, 8), pad=1)
    for name, problem in ((XDL_DATA.name, PLANE), (GENERIC.name, volume)):
        for split_k in (1, 3):
            described, at = library.describe(name, problem, split_k=split_k), (1 << 40, 2 << 40, 3 << 40, 4 << 40)
            argument, blocks, threads = library.planned(name, described, at)
            assert any(argument) and threads == XDL.launch_threads
            assert (argument, blocks, threads) == quick_library.planned(name, described, at)


def test_outputs_whose_rows_tma_cannot_read_are_repacked(library: Library) -> None:
    """Rows of 819 elements become 832; partials precede them, and ckgen_plan cannot see all of this."""
    odd = make_problem(batch=8, k=819, c=64, filter=(3, 3), input=(14, 14), pad=1)
    copy, partials = 8 * 14 * 14 * 832 * 2, 3 * (7 * 3) * 128 * 256 * 4  # whole tiles
    assert library.unsupported_reason(TMA.name, odd) is None
    assert library.workspace_size(TMA.name, odd) == copy
    assert library.workspace_size(TMA.name, odd, split_k=3) == -(-partials // 256) * 256 + copy
    assert library.workspace_size(TMA.name, PLANE) == 0
    reason = library.unsupported_reason(TMA.name, make_problem(batch=8, k=64, c=68, filter=(3, 3), input=(14, 14)))
    assert reason == "[b-vector] C 68 is not a multiple of the vector 8"
    with pytest.raises(UnsupportedProblem, match=r"\[plan\] the kernel takes tensor maps"):
        library.planned(TMA.name, library.describe(TMA.name, odd), (0,) * 4)
    _, _, threads = library.planned(XDL.name, library.describe(XDL.name, PLANE), (0,) * 4)
    assert threads == XDL.launch_threads


def test_long_sums_are_cut(library: Library) -> None:
    """Tensor cores round toward zero, so split_k -1 cuts 320,000 terms into 7 or more splits, even if one split would
    fill the GPU. A TMA kernel cuts inside a split and needs partials for that."""
    long = make_problem(batch=32, k=2048, c=2048, filter=(1, 1), input=(100, 100))
    assert library.split_k(XDL.name, long) == 7
    assert library.workspace_size(TMA.name, long, split_k=1) == 132 * 128 * 256 * 4  # one tile per multiprocessor


def test_every_architecture_has_every_kernel(folder: Path) -> None:
    """The fat binary names its architectures in its headers; the kernels' host symbols come from nvcc."""
    data = (folder / "build" / "libckgen_conv.so").read_bytes()
    for instance in (WAVELET, XDL, GENERIC, TMA):
        assert f"{instance.name}_kernel".encode() in data
    assert b"sm_80" in data and b"sm_90a" in data


def test_the_cuda_runtime_is_inside_and_hidden(folder: Path) -> None:
    library = str(folder / "build" / "libckgen_conv.so")
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "libcudart" not in needed
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert " T ckgen_device_synchronize\n" in symbols
    assert " cuda" not in symbols


def test_what_a_machine_without_a_gpu_cannot_do_is_said(library: Library) -> None:
    try:
        with library.memory.allocated(16):
            pytest.skip("this machine has a GPU; tests/gpu/test_nvidia.py runs the library")
    except LibraryError as error:
        assert "cudaMalloc: " in str(error)
    arrays = [np.zeros(PLANE.shape(t, XDL.layout), np.float16) for t in ("in", "wei", "out")]
    with pytest.raises(LibraryError, match="device malloc: cudaMalloc: "):
        library.run(XDL.name, PLANE, *arrays)


def test_bench_says_at_once_that_there_is_no_gpu(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(LibraryError):
        library.memory.synchronize()
        pytest.skip("this machine has a GPU")
    asked = ["--library", library.path, "--platform", "nvidia", "--problems", "retinanet", "--batch", "32"]
    assert main(["bench", *asked, "--store", str(tmp_path / "rows.sqlite"), "dtype=f16"]) == 1
    assert "device synchronize: " in capsys.readouterr().err


def test_host_sources_compile_as_cuda_too(folder: Path) -> None:
    """Clients may have .cu sources, which include the library's headers in a device pass."""
    assert TOOLS.nvcc is not None
    tree, include = folder / "tree", folder / "build" / "include"
    flags = ["-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", f"-I{include}", f"-I{tree / 'include'}"]
    flags += ["-O0", "-Xcicc", "-O0", "-Xptxas", "-O0"]
    warnings = WARNINGS["CMAKE_CUDA_FLAGS"].split()
    sources = [path for room in ("kernels", "op", "plan") for path in sorted((tree / "src" / room).glob("[br]*.cpp"))]
    sources.append(tree / "src/library/c_api.cpp")
    for data in (False, True):  # both operations' sources have helpers of the same names
        chosen = [path for path in sources if path.name.startswith("bwd_data") == data]
        source = folder / "all.cu"
        source.write_text(
            "".join(f'#include "{path}"\n' for path in chosen)
            + '#include "ckgen/instance/grouped_convolution_backward_weight.hpp"\n'
        )
        command = [*TOOLS.nvcc, *flags, *warnings, "-c", str(source), "-o", str(folder / "all.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_client_of_an_installed_library(folder: Path, tmp_path: Path) -> None:
    cmake("--install", folder / "build", "--prefix", tmp_path / "prefix")
    cmake("-S", CLIENT, "-B", tmp_path / "client", "-DUSE=installed", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    cmake("--build", tmp_path / "client")
    done = subprocess.run([tmp_path / "client" / "count_instances"], capture_output=True, text=True, check=True)
    assert done.stdout == "nvidia 5\n"


@pytest.mark.parametrize("arch", ["sm_75", "gfx90a", "90a"])
def test_architectures_that_are_none_are_refused(folder: Path, tmp_path: Path, arch: str) -> None:
    with pytest.raises(CkgenError, match=f'GPU_TARGETS has "{arch}"'):
        build(folder / "tree", "nvidia", tmp_path, archs=(arch,))


def test_what_no_target_can_run_is_left_out(folder: Path, tmp_path: Path) -> None:
    """Configure only, because configuring already selects the sources of a library."""
    said = cmake("-S", folder / "tree", "-B", tmp_path, "-DCKGEN_PLATFORM=nvidia", "-DGPU_TARGETS=sm_80")
    assert "left out: 1 instances that are for sm_90a alone" in said
    assert "CKGEN_HAS_SM_90A" not in (tmp_path / "include" / "ckgen" / "contents.h").read_text()
    assert "#define CKGEN_HAS_SM_90A 1" in (folder / "build" / "include" / "ckgen" / "contents.h").read_text()


@pytest.fixture(scope="module")
def fake_driver(folder: Path) -> Path:
    assert TOOLS.nvcc is not None
    program = folder / "fake_driver"
    include = (f"-I{folder / 'build' / 'include'}", f"-I{folder / 'tree' / 'include'}")
    flags = ("-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", "-cudart=none", "-x=cu", *include)
    subprocess.run([*TOOLS.nvcc, *flags, str(FAKE_DRIVER), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize(
    ("status", "capability", "said"),
    [
        (0, 9, "encoded"),
        (1, 9, "refused: cuTensorMapEncodeTiled: CUDA driver error 1"),
        (700, 9, "failed: cuTensorMapEncodeTiled: CUDA driver error 700"),
        (1, 8, "not asked"),
    ],
)
def test_a_fault_is_no_refusal_of_a_tensor_map(fake_driver: Path, status: int, capability: int, said: str) -> None:
    """The driver reports the fault of a kernel (700) in whatever call comes next; treated as a refusal, it would select
    another instance. With no context on the calling thread (201), the driver encodes nothing."""
    done = subprocess.run([fake_driver, str(status), str(capability)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{said}\n"
