"""Test a library for platform nvidia on an NVIDIA GPU: set `ci` is correct, tensors are not copied, faults are
reported.

Needs a GPU and a built library, `build/ci/nvidia/libckgen_conv.so` or the one that CKGEN_NVIDIA_LIBRARY names;
otherwise every test is skipped with a message. Needs no pydantic, so that it runs on a machine with only the packages
of a GPU job.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.conv.dtypes import ELEMENTS
from ckgen.conv.encoding import encode
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError
from ckgen.library.library import Library, LibraryError
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.problems.sets import load_problems
from ckgen.verify.plan import make_plan
from ckgen.verify.reference import tolerance
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import run_plan

ROOT = Path(__file__).resolve().parents[2]
PATH = Path(os.environ.get("CKGEN_NVIDIA_LIBRARY", ROOT / "build" / "ci" / "nvidia" / "libckgen_conv.so"))
PLANE = make_problem(groups=2, batch=4, k=32, c=32, filter=(3, 3), input=(14, 13), stride=(2, 1), pad=1)
LAYOUT = "NHWGC/GKYXC/NHWGK"
FAULT = """
import sys
from ckgen.library.library import Library, LibraryError
from tests.gpu.test_nvidia import PLANE, first_of
library = Library(sys.argv[1])
try:
    library.run(first_of(library, "f16"), PLANE, 1 << 20, 1 << 21, 1 << 22, synchronize=True)
except LibraryError as error:
    sys.exit(f"raised: {error}")
"""


@pytest.fixture(scope="module")
def library() -> Library:
    if not PATH.is_file():
        pytest.skip(f"there is no {PATH}: ckgen build --platform nvidia --set ci")
    loaded = Library(PATH)
    try:
        with loaded.memory.allocated(16):
            return loaded
    except LibraryError as error:
        pytest.skip(f"no NVIDIA GPU answers here: {error}")


def names_of(library: Library, dtype: str) -> list[str]:
    """Instances of backward weight in layout NHWGC that take PLANE with any split-K factor."""
    takers = [library.instance(name) for name in library.supporting(PLANE)]
    return [instance.name for instance in takers if (instance.dtype, instance.layout) == (dtype, LAYOUT)]


def first_of(library: Library, dtype: str) -> str:
    """The first of ``names_of``; skips the test if a library of few instances has none."""
    names = names_of(library, dtype)
    return names[0] if names else pytest.skip(f"{PATH} has no {dtype} instance in {LAYOUT}")


def arrays_of(problem: ConvProblem, dtype: str) -> dict[str, Any]:
    data = make_data(problem, dtype, 3)
    return {
        "in": np.ascontiguousarray(data.in_.transpose(1, 3, 4, 0, 2)),
        "out": np.ascontiguousarray(data.out.transpose(1, 3, 4, 0, 2)),
        "wei": data.expected.transpose(0, 1, 3, 4, 2),
    }


@pytest.mark.parametrize("problems", ["ck_bwd_weight", "retinanet", "tiny"])
def test_every_instance_is_right_on_small_problems(library: Library, problems: str) -> None:
    named = [problem.fitted(2_000_000) for problem in load_problems(problems)]
    ndims = {problem.problem.ndim for problem in named}
    kinds = {each.name: [i.name for i in library.instances if i.operation in each.operations] for each in named}
    takers = {name for each in named for name in library.supporting(each.problem, kinds[each.name])}
    names = [instance.name for instance in library.instances if instance.ndim in ndims and instance.name in takers]
    if not any(kinds.values()):
        pytest.skip(f"{PATH} has no instance of the operation that {problems} is for")
    if problems == "tiny":
        assert len(names) == len(library.names), "the smallest set has a problem for every instance"
    generic = {(instance.ndim, instance.dtype) for instance in library.instances if instance.generic}
    complete = {(ndim, instance.dtype) for ndim in ndims for instance in library.instances} <= generic
    rows = list(run_plan(library, make_plan(library, named, names=names, cover_problems=complete), seed=1))
    assert rows and not [row for row in rows if not row.ok]
    assert {row.instance for row in rows} == set(names)


@pytest.mark.parametrize("split_k", [-1, 1, 3])
def test_numpy_arrays_are_copied_there_and_back(library: Library, split_k: int) -> None:
    arrays = arrays_of(PLANE, "f32")
    for name in names_of(library, "f32"):
        wei = np.full(PLANE.shape("wei", LAYOUT), np.nan, np.float32)
        library.run(name, PLANE, arrays["in"], wei, arrays["out"], split_k=split_k)
        assert np.abs(wei - arrays["wei"]).max() < 1e-3


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_pytorch_tensors_run_where_they_lie(library: Library, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    arrays = arrays_of(PLANE, "f32")
    to_gpu = {t: torch.from_numpy(arrays[t]).to(device="cuda", dtype=kind) for t in ("in", "out")}
    # As autograd creates them: channels last in memory, G * C second in shape.
    seen = {t: tensor.flatten(3).permute(0, 3, 1, 2) for t, tensor in to_gpu.items()}
    shape = (PLANE.groups * PLANE.k, PLANE.c, *PLANE.filter)
    expected = torch.nn.grad.conv2d_weight(
        seen["in"].float(),
        shape,
        seen["out"].float(),
        stride=PLANE.strides,
        padding=PLANE.left_pads,
        groups=PLANE.groups,
    )
    expected = expected.unflatten(0, (PLANE.groups, PLANE.k)).permute(0, 1, 3, 4, 2)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    for name in names_of(library, dtype):
        wei = torch.full(PLANE.shape("wei", LAYOUT), torch.nan, device="cuda", dtype=kind)
        torch.cuda.synchronize()
        scratch = torch.empty(library.workspace_size(name, PLANE, split_k=2), device="cuda", dtype=torch.uint8)
        library.run(
            name, PLANE, to_gpu["in"], wei, to_gpu["out"], split_k=2, workspace=scratch, stream=stream.cuda_stream
        )
        stream.synchronize()
        assert torch.allclose(wei.float(), expected, rtol=0.02, atol=0.3), name


class ByDLPack:
    """A PyTorch tensor that supports only DLPack."""

    def __init__(self, tensor: Any) -> None:
        self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__


def test_dlpack_tensors_run_where_they_lie(library: Library) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    arrays = arrays_of(PLANE, "f32")
    in_, out = (torch.from_numpy(arrays[t]).cuda() for t in ("in", "out"))
    wei = torch.full(PLANE.shape("wei", LAYOUT), torch.nan, device="cuda")
    name = first_of(library, "f32")
    library.run(name, PLANE, ByDLPack(in_), ByDLPack(wei), ByDLPack(out), synchronize=True)
    assert np.abs(wei.cpu().numpy() - arrays["wei"]).max() < 1e-3


def test_a_kernel_that_faults_is_told(library: Library) -> None:
    """Runs in a separate process, because a fault destroys the process's GPU context."""
    first_of(library, "f16")  # skips if there is none
    command = [sys.executable, "-c", FAULT, str(PATH)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "raised: " in done.stderr, done.stderr
    assert "illegal memory access" in done.stderr


COPIED = [
    make_problem(batch=8, k=819, c=64, filter=(3, 3), input=(13, 13), pad=1),
    make_problem(batch=8, k=36, c=128, filter=(3, 3), input=(7, 7), pad=1),
    make_problem(groups=3, batch=4, k=21, c=64, filter=(1, 3), input=(9, 8), stride=(2, 1), pad=(0, 1)),
    make_problem(batch=1, k=5, c=64, filter=(1, 1), input=(1, 1)),
]


@pytest.mark.parametrize("problem", COPIED, ids=str)
@pytest.mark.parametrize("split_k", [1, 3])
def test_outputs_whose_rows_tma_cannot_read(library: Library, problem: ConvProblem, split_k: int) -> None:
    """They are copied to the workspace first; with split_k the workspace also holds the partials."""
    takers = library.supporting(problem, split_k=split_k)
    copying = [i for i in library.instances if i.uses_tma and i.dtype == "f16" and i.name in takers]
    names = [i.name for i in copying if i.operation == BWD_WEIGHT]
    if not names:
        pytest.skip(f"{PATH} has no f16 instance of a TMA family for 2D")
    data = make_data(problem, "f16", 5)
    in_, out = (np.ascontiguousarray(array.transpose(1, 3, 4, 0, 2)) for array in (data.in_, data.out))
    positions = problem.batch * problem.output[0] * problem.output[1]
    for name in names:
        size = library.workspace_size(name, problem, split_k=split_k)
        partials = split_k * 4 * data.expected.size if split_k > 1 else 0
        if library.instance(name).family == "wavelet_tma":  # halo has a tile that reads such rows directly
            assert size >= partials + positions * problem.groups * problem.k * 2
        wei = np.full(problem.shape("wei", LAYOUT), np.nan, np.float16)
        library.run(name, problem, in_, wei, out, split_k=split_k)
        error = np.abs(wei.astype(np.float64) - data.expected.transpose(0, 1, 3, 4, 2))
        assert (error <= tolerance("f16", problem.gemm[2], data.scale, data.expected.transpose(0, 1, 3, 4, 2))).all()


DATA_PROBLEMS = [
    make_problem(batch=3, k=36, c=64, filter=(3, 3), input=(13, 12), pad=1),
    make_problem(batch=2, k=200, c=136, filter=(3, 3), input=(25, 24), pad=1),
    make_problem(groups=3, batch=2, k=48, c=72, filter=(2, 3), input=(7, 9), stride=(2, 1), pad=(1, 0)),
    make_problem(batch=2, k=64, c=64, filter=(1, 1), input=(11, 12), stride=2),
    make_problem(batch=2, k=24, c=8, filter=(3, 2), input=(13, 9), stride=(4, 2), dilation=2, pad=(2, 3)),
]


@pytest.mark.parametrize("problem", DATA_PROBLEMS, ids=str)
@pytest.mark.parametrize("split_k", [1, 3, 9, -1])
def test_backward_data_with_tma(library: Library, problem: ConvProblem, split_k: int) -> None:
    """The problems cover copied outputs, tiles that workgroups share, groups, positions without taps, and an input
    traversed in another order than the output."""
    takers = library.supporting(problem, split_k=split_k)
    copying = [i for i in library.instances if i.uses_tma and i.operation == BWD_DATA and i.name in takers]
    plain = [i for i in copying if i.dtype == "f16" and i.function == PASS_THROUGH]
    if not plain:
        pytest.skip(f"{PATH} has no f16 backward-data instance of a TMA family for 2D")
    data = make_data(problem, "f16", 5, BWD_DATA)
    out = np.ascontiguousarray(data.tensors["out"].transpose(1, 3, 4, 0, 2))
    wei = np.ascontiguousarray(data.tensors["wei"].transpose(0, 1, 3, 4, 2))
    expected, allowed = (a.transpose(1, 3, 4, 0, 2) for a in (data.expected, data.allowance(ELEMENTS["f16"])))
    for instance in plain:
        in_ = np.full(problem.shape("in", instance.layout), np.nan, np.float16)
        library.run(instance.name, problem, in_, wei, out, split_k=split_k)
        assert (np.abs(in_.astype(np.float64) - expected) <= allowed).all(), instance.name


def test_a_kernel_for_another_architecture_is_refused_by_name() -> None:
    """The library that CKGEN_NVIDIA_FOREIGN_LIBRARY names must hold machine code for another architecture than the
    GPU's, and no PTX."""
    path = os.environ.get("CKGEN_NVIDIA_FOREIGN_LIBRARY")
    if path is None:
        pytest.skip("CKGEN_NVIDIA_FOREIGN_LIBRARY does not name a library for another architecture")
    foreign = Library(path)
    with foreign.memory.allocated(16):
        reasons = {foreign.unsupported_reason(name, PLANE) for name in foreign.names}
    assert any(
        reason and reason.startswith("[arch] the kernel was not compiled for device 0 (sm_") for reason in reasons
    )


def test_memory_that_the_gpu_does_not_have_is_refused_in_words(library: Library) -> None:
    with pytest.raises(CkgenError, match="device malloc: cudaMalloc: out of memory"), library.memory.allocated(1 << 50):
        pass


def test_bfloat16_travels_as_uint16_in_numpy(library: Library) -> None:
    arrays = arrays_of(PLANE, "bf16")
    name = first_of(library, "bf16")
    wei = encode(np.full(PLANE.shape("wei", LAYOUT), np.nan), _bf16())
    library.run(name, PLANE, arrays["in"], wei, arrays["out"])
    got = (wei.astype(np.uint32) << 16).view(np.float32)
    assert np.abs(got - arrays["wei"]).max() < 0.3


def _bf16() -> Any:
    return ELEMENTS["bf16"]
