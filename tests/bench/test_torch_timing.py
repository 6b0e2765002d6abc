"""Test measuring with PyTorch on addresses of CPU tensors, which the stand-in library treats as GPU addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckgen.bench.job import INEXACT, OK, WRONG, Job, Settings
from ckgen.bench.plan import make_jobs
from ckgen.conv.layout import CHANNELS_LAST, to_logical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.elementwise.function import BUILTINS
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.sets import NamedProblem
from tests.conftest import StubMaker
from tests.library.test_library import F32
from tests.support.trees import XDL

torch = pytest.importorskip("torch", reason="PyTorch is not installed; it is only needed to measure on a GPU")

from ckgen.bench.torch_functions import fused  # noqa: E402
from ckgen.bench.torch_reference import gradient_launcher  # noqa: E402
from ckgen.bench.torch_reference import to_logical as gradient_to_logical  # noqa: E402
from ckgen.bench.torch_tensors import TorchData, judge  # noqa: E402
from ckgen.bench.torch_timing import TorchBench  # noqa: E402
from ckgen.operations.bwd_weight import backward_weight, torch_backward_weight  # noqa: E402

PROBLEMS = [
    make_problem(groups=2, batch=2, k=8, c=8, filter=(3, 3), input=(6, 5), pad=1, stride=2),
    make_problem(batch=2, k=16, c=8, filter=(1, 1), input=(6, 5)),
    make_problem(groups=2, batch=3, k=3, c=5, filter=(3,), input=(9,), pad=1, dilation=2),
    make_problem(groups=2, batch=3, k=3, c=5, filter=(3, 2, 1), input=(5, 4, 3), dilation=(2, 1, 1), pad=(1, 0, 2)),
]
NAMED = [NamedProblem(str(problem), problem) for problem in PROBLEMS]
QUICK = Settings(min_samples=2, max_samples=4)


def bench(make_stub: StubMaker, bug: str = "NONE", settings: Settings = QUICK) -> TorchBench:
    return TorchBench(torch, make_stub(bug, platform="nvidia"), settings, "cpu")


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_the_float64_gradient_is_that_of_numpy(problem: ConvProblem) -> None:
    data = TorchData(torch, "cpu", problem, "f32", 1)
    home = CHANNELS_LAST[problem.ndim]
    arrays = [data.in_layout(t, home).numpy().transpose(to_logical(t, home)) for t in ("in", "out")]  # type: ignore[arg-type]
    expected = backward_weight(problem, *arrays)
    assert np.allclose(data.expected.numpy(), expected, rtol=1e-12, atol=1e-12)
    again = torch_backward_weight(torch, problem, *(torch.from_numpy(np.ascontiguousarray(a)) for a in arrays))
    assert np.allclose(again.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_the_library_reference_is_the_same_gradient(problem: ConvProblem) -> None:
    data = TorchData(torch, "cpu", problem, "f32", 1)
    home = CHANNELS_LAST[problem.ndim]
    launch = gradient_launcher(torch, problem, {name: data.in_layout(name, home) for name in data.read})
    found = judge(torch, data, gradient_to_logical(problem, launch()), "f32")
    assert found.verdict == OK, found


@pytest.mark.parametrize("cache", ["flush", "warm"])
def test_every_instance_and_reference_is_right_and_timed(make_stub: StubMaker, cache: str) -> None:
    library = make_stub(platform="nvidia")
    runner = bench(make_stub, settings=Settings(min_samples=2, max_samples=4, cache=cache))  # type: ignore[arg-type]
    jobs = make_jobs(library, NAMED, names=library.names, split_ks=(1, 3), references=runner.references)
    assert {job.name for job in jobs if job.kind == "reference"} == {"cudnn"}
    for job in jobs:
        outcome = runner.measure(job, None)
        # PyTorch's CPU kernels may round half-precision sums more than once.
        half = job.kind == "reference" and job.dtype != "f32"
        assert outcome.verdict in ((OK, INEXACT) if half else (OK,)), (job, outcome)
        assert outcome.ms and outcome.samples >= 2 and outcome.max_error is not None


@pytest.mark.parametrize(
    ("bug", "split_k", "words"),
    [
        ("NULL_KERNEL", 1, "elements were never written"),
        ("ZERO_KERNEL", 1, "is more than"),
        ("OVERRUN", 1, "2 bytes written before or after it"),
        ("UNDERRUN", 1, "2 bytes written before or after it"),
        ("UNINITIALISED_WORKSPACE", 3, "elements are not finite"),
        ("NOT_REPRODUCIBLE", 3, "a later run gave other bits"),
        ("INPUT_CHANGED", 1, ""),
    ],
)
def test_planted_bugs_are_found(make_stub: StubMaker, bug: str, split_k: int, words: str) -> None:
    if bug in ("OVERRUN", "UNDERRUN"):
        words = words.replace("2 bytes", "4 bytes")
    deep = NamedProblem("deep", make_problem(batch=9, k=8, c=4, filter=(3, 3), input=(9, 9), pad=1))
    # Every third run of the stand-in gives the same bits, so the number of samples must not depend on time.
    runner = bench(make_stub, bug, Settings(min_samples=3, max_samples=3))
    outcome = runner.measure(Job("instance", F32, "f32", deep, split_k), None)
    assert outcome.verdict == WRONG
    assert words in outcome.message
    right = bench(make_stub).measure(Job("instance", F32, "f32", deep, split_k), None)
    assert right.verdict == OK


def test_an_inexact_reference_is_said_to_be(make_stub: StubMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckgen.bench import torch_timing as bench_torch

    def doubled(problem: ConvProblem, found: Any, operation: str) -> Any:
        return 2 * found.reshape(problem.lengths("wei"))

    monkeypatch.setattr(bench_torch, "gradient_to_logical", doubled)
    outcome = bench(make_stub).measure(Job("reference", "cudnn", "f16", NAMED[1]), None)
    assert outcome.verdict == INEXACT and outcome.ms


def test_ceilings_and_origin(make_stub: StubMaker) -> None:
    runner = bench(make_stub)
    ceilings = runner.ceilings(["f16", "bf16_f32_bf16"])
    assert ceilings.keys() == {"f16", "bf16_f32_bf16", "bytes"} and min(ceilings.values()) > 0
    assert runner.origin()["software"].startswith("torch ")


def test_a_type_that_pytorch_cannot_multiply_has_no_ceiling(
    make_stub: StubMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    multiply = torch.mm

    def mm(a: Any, b: Any, out: Any) -> Any:
        if a.dtype == torch.int8:  # as on CUDA
            raise RuntimeError("not implemented for 'Char'")
        return multiply(a, b, out=out)

    monkeypatch.setattr(torch, "mm", mm)
    assert bench(make_stub).ceilings(["i8", "f16"]).keys() == {"f16", "bytes"}


def test_types_that_read_the_same_elements_do_not_share_a_result(make_stub: StubMaker) -> None:
    """f32_comp_tf32 has the operands of f32, but rounds them before it multiplies."""
    runner, jobs = bench(make_stub), [Job("reference", "cudnn", dtype, NAMED[1]) for dtype in ("f32", "f32_comp_tf32")]
    after = [runner.measure(job, None) for job in jobs][1]
    alone = bench(make_stub).measure(jobs[1], None)
    assert (after.max_error, after.tolerance) == (alone.max_error, alone.tolerance)


class ByteLibrary:
    """A library of an i8 instance that writes the sums of ones."""

    functions: Any = {}

    def instance(self, name: str) -> Any:
        return replace(XDL, dtype="i8")

    def workspace_size(self, *given: Any, **more: Any) -> int:
        return 0

    def launcher(self, name: str, problem: ConvProblem, addresses: Any, **more: Any) -> Callable[[], None]:
        return lambda: ctypes.memset(addresses[1], 1, problem.elements("wei")) and None


def test_results_of_single_bytes_are_compared_between_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of an odd number of bytes cannot be seen as elements of two bytes."""
    odd = NamedProblem("odd", make_problem(k=3, c=3, filter=(1, 1), input=(1, 1)))
    runner = TorchBench(torch, ByteLibrary(), QUICK, "cpu")  # type: ignore[arg-type]
    data = TorchData(torch, "cpu", odd.problem, "i8", 1)
    data.expected = torch.ones_like(data.expected)
    outcome = runner._instance(Job("instance", XDL.name, "i8", odd, 1), data, None)
    assert outcome.verdict == OK and outcome.ms, outcome


@pytest.mark.parametrize(("dtype", "rounds"), [("f32", False), ("f32_comp_tf32", True)])
def test_the_reference_rounds_where_instances_do(
    make_stub: StubMaker, monkeypatch: pytest.MonkeyPatch, dtype: str, rounds: bool
) -> None:
    from ckgen.bench import torch_timing as bench_torch

    seen = set()

    def launcher(*given: Any) -> Any:
        launch = gradient_launcher(*given)

        def watched() -> Any:
            seen.add((torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32))
            return launch()

        return watched

    monkeypatch.setattr(bench_torch, "gradient_launcher", launcher)
    runner = bench(make_stub)
    assert runner.measure(Job("reference", "cudnn", dtype, NAMED[1]), None).ms
    assert seen == {(rounds, rounds)} and not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("function", ["PassThrough", "Bilinear", "AddRelu", "ReluGradient", "Clip"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_library_reference_of_functions(problem: ConvProblem, function: str, operation: str) -> None:
    """PyTorch's gradient, followed by separate element-wise operations, matches float64 within its bound."""
    data = TorchData(torch, "cpu", problem, "f32", 1, operation, BUILTINS[function])
    home, record = CHANNELS_LAST[problem.ndim], OPERATIONS[operation]
    tensors = {name: data.in_layout(name, home) for name in data.read}
    if function == "PassThrough":
        arrays = {name: tensor.numpy().transpose(to_logical(name, home)) for name, tensor in tensors.items()}
        expected = record.reference(problem, arrays)
        assert np.allclose(data.expected.numpy(), expected, rtol=1e-12, atol=1e-12)
    launch = fused(torch, gradient_launcher(torch, problem, tensors, operation), data)
    found = judge(torch, data, gradient_to_logical(problem, launch(), operation), "f32")
    assert found.verdict == OK, found


def test_backward_data_of_the_real_library_is_right_and_timed(host_library: Library) -> None:
    names = [i.name for i in host_library.instances if i.a_k_major and i.dtype == "f16" and i.ndim == 2]
    wide = NamedProblem("wide", make_problem(batch=2, k=16, c=16, filter=(3, 3), input=(6, 5), pad=1, stride=2))
    jobs = make_jobs(host_library, [wide], names=names, split_ks=(1,), references=("cudnn",))
    functions = {"PassThrough", "Bilinear", "Scale", "AddResidual"}
    assert {job.function for job in jobs if job.kind == "reference"} == functions
    runner = TorchBench(torch, host_library, QUICK, "cpu")
    for job in jobs:
        outcome = runner.measure(job, None)
        assert outcome.verdict == OK or (job.kind == "reference" and outcome.verdict == INEXACT), (job, outcome)
        assert outcome.ms
    fused_job = next(job for job in jobs if job.function == "AddResidual")
    assert fused_job.d_bytes == 2 * wide.problem.elements("in")
