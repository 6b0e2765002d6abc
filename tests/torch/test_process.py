"""Test ckgen.torch.enable: all backward convolutions of a process by a library, where it is faster."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.library.c_api import LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from tests.support.torch_cases import (
    BY_PYTORCH,
    DEVICE,
    SHAPES,
    TINY,
    channels_last,
    derivatives,
    expected,
    make,
    torch,
)

import ckgen.torch as ct  # isort: skip
from ckgen.torch import process, tuned  # isort: skip

pytestmark = pytest.mark.compiles
TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    yield
    ct.disable()


def gradients(input: Any, weight: Any, gradient: Any, settings: dict[str, Any], bias: bool = False) -> list[Any]:
    """The gradients of a convolution of PyTorch: input, weight and, if wanted, bias."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in (input, weight)]
    if bias:
        leaves.append(torch.zeros(weight.shape[0], dtype=weight.dtype, device=weight.device, requires_grad=True))
    out = BY_PYTORCH[weight.dim() - 2](*leaves, *([] if bias else [None]), **settings)
    return list(torch.autograd.grad(out, leaves, gradient))


@pytest.mark.parametrize("last", [True, False], ids=["channels-last", "NCHW"])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_pytorchs_in_value_and_memory_format(
    torch_library: Library, tmp_path: Path, shape: tuple[Any, ...], dtype: Any, last: bool
) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    if not last:
        input, gradient = input.contiguous(), gradient.contiguous()
    stock = gradients(input, weight, gradient, settings, bias=True)
    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path) as enabled:
        found = gradients(input, weight, gradient, settings, bias=True)
    assert not enabled.choices()
    for at in (0, 1):
        assert found[at].dtype == dtype and found[at].stride() == stock[at].stride()
        known = expected(input, weight, gradient, settings, of_input=at == 0)
        assert (found[at].double().cpu() - known).abs().max() < TOLERANCES[dtype]
    summed = gradient.double().cpu().sum((0, *range(2, gradient.dim())))
    assert (found[2].double().cpu() - summed).abs().max() < TOLERANCES[dtype]


def test_each_gradient_alone_and_both(torch_library: Library, tmp_path: Path) -> None:
    input, weight, gradient, settings = make(SHAPES[1])
    known = [expected(input, weight, gradient, settings, of_input=at == 0) for at in (0, 1)]
    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path):
        for wanted in ((True, False), (False, True), (True, True)):
            pair = [t.detach().clone().requires_grad_(want) for t, want in zip((input, weight), wanted, strict=True)]
            torch.conv2d(*pair, **settings).backward(gradient)
            for leaf, want, right in zip(pair, wanted, known, strict=True):
                assert (leaf.grad is not None) == want
                if want:
                    assert (leaf.grad.double().cpu() - right).abs().max() < 1e-4


@pytest.mark.parametrize("shape", TINY, ids=str)
def test_second_derivatives(torch_library: Library, tmp_path: Path, shape: tuple[Any, ...]) -> None:
    input, weight, _, settings = make(shape)

    def function(*pair: Any) -> Any:
        return BY_PYTORCH[weight.dim() - 2](*pair, **settings)

    leaves = [input.requires_grad_(), weight.requires_grad_()]
    known = derivatives(function, leaves, 2)
    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path):
        for one, other in zip(derivatives(function, leaves, 2), known, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_the_fastest_is_kept_for_later_processes(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With times in which the library's last candidate is the fastest, and then without any measurement."""
    input, weight, gradient, settings = make(SHAPES[1], torch.float16)
    asked: list[int] = []

    def fastest(pytorch: Any, calls: list[Any], device: Any) -> tuple[float, int, float]:
        pytorch()
        for call in calls:
            call()
        asked.append(len(calls))
        return 10.0, len(calls) - 1, 5.0

    monkeypatch.setattr(process, "fastest", fastest)
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        first = gradients(input, weight, gradient, settings)
        again = gradients(input, weight, gradient, settings)
    assert len(asked) == 2 and min(asked) > 1
    kept = list(enabled.choices().values())
    assert all(one.ours and one.name in torch_library.names for one in kept) and len(kept) == 2
    (file,) = tmp_path.iterdir()
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 2
    monkeypatch.setattr(process, "fastest", lambda *_: pytest.fail("measured again"))
    file.write_text("[1, 2\n" + file.read_text() + '["cut off')
    with ct.enable(torch_library, cache=tmp_path):
        later = gradients(input, weight, gradient, settings)
    for one, two, three in zip(first, again, later, strict=True):
        assert torch.equal(one, two) and torch.equal(one, three)


def test_slow_first_runs_end_the_search(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float16)
    tried: list[int] = []

    def fastest(pytorch: Any, calls: list[Any], device: Any) -> tuple[float, int, float]:
        tried.append(len(calls))
        return 10.0, 0, 5.0

    monkeypatch.setattr(process, "fastest", fastest)
    monkeypatch.setattr(process, "_PATIENCE_S", 0.0)
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        gradients(input, weight, gradient, settings)
    assert tried == [1, 1] and all(one.ours for one in enabled.choices().values())


def test_what_pytorch_computes_faster_stays_pytorchs(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float16)
    monkeypatch.setattr(process, "fastest", lambda pytorch, calls, device: (10.0, 0, 10.5))
    stock = gradients(input, weight, gradient, settings)
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        found = gradients(input, weight, gradient, settings)
    assert all(torch.equal(one, two) for one, two in zip(stock, found, strict=True))
    assert [one.ours for one in enabled.choices().values()] == [False, False]


@pytest.mark.parametrize(
    ("input", "weight", "both", "taken"),
    [
        ((20.0, 10.0), (20.0, 10.0), True, [True, True]),
        ((20.0, 10.0), (10.0, 18.0), True, [True, True]),  # together faster, and cheaper for the host than one by each
        ((20.0, 10.0), (10.0, 22.0), True, [False, False]),  # ten microseconds would be the host's
        ((40.0, 10.0), (10.0, 22.0), True, [True, False]),
        ((10.0, 45.0), (40.0, 10.0), True, [False, True]),
        ((10.0, 11.0), (10.0, 10.0), True, [False, False]),
        ((20.0, 15.0), None, True, [False, False]),
        ((40.0, 15.0), None, True, [True, False]),
        (None, None, True, [False, False]),
        ((20.0, 15.0), None, False, [True, False]),
        (None, (10.0, 9.9), False, [False, False]),  # within the noise of a measurement
    ],
)
def test_a_gradient_beside_pytorchs_gains_what_the_host_loses(
    input: tuple[float, float] | None, weight: tuple[float, float] | None, both: bool, taken: list[bool]
) -> None:
    """Microseconds of PyTorch and of the library."""
    kept = [None if times is None else tuned.Kept("one", 1, times[1], times[0]) for times in (input, weight)]
    assert tuned.worth(kept, both) == taken


def test_real_times(torch_library: Library, tmp_path: Path) -> None:
    input, weight, gradient, settings = make(SHAPES[1])
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        found = gradients(input, weight, gradient, settings)
    assert (found[1].double().cpu() - expected(input, weight, gradient, settings)).abs().max() < 1e-4
    assert all(one.microseconds > 0 and one.pytorch > 0 for one in enabled.choices().values())


WRONG = r"another gradient .* groups .*; 0 of \d+ elements are NaN, the others differ by a norm of 0.5 times"


def test_a_candidate_that_disagrees_with_pytorch_is_not_used(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    input, weight, gradient, settings = make(SHAPES[1])
    by_pytorch = process._by_pytorch
    monkeypatch.setattr(process, "_by_pytorch", lambda *asked: 2 * by_pytorch(*asked))
    with ct.enable(torch_library, cache=tmp_path) as enabled, pytest.warns(RuntimeWarning, match=WRONG):
        gradients(input, weight, gradient, settings)
    assert [(one.name, one.ours) for one in enabled.choices().values()] == [("", False)] * 2


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_agreement_is_rounding_and_nothing_else(dtype: Any) -> None:
    """Elements that are left out or doubled do not agree; sums whose terms cancel do."""
    torch.manual_seed(0)
    left, right = torch.randn(64, 5000, dtype=torch.float64), torch.randn(5000, 48, dtype=torch.float64)
    known = left @ right
    rounded, factors = known.to(dtype), (left.to(dtype), right.to(dtype))

    def agrees(found: Any, known: Any) -> bool:
        return tuned.agrees(found, known, tuned.apart_by_rounding(known, factors))

    assert agrees(factors[0].float() @ factors[1].float(), rounded)
    for change in (
        lambda a: a.fill_(0),
        lambda a: a[3].fill_(float("nan")),
        lambda a: a.mul_(2),
        lambda a: a[:9].zero_(),
    ):
        wrong = rounded.clone()
        change(wrong)
        assert not agrees(wrong, rounded)
    noise = torch.full((64, 48), 1e-6).to(dtype)
    assert agrees(noise, torch.zeros_like(noise))
    assert tuned.tells(rounded) and not tuned.tells(torch.zeros_like(rounded))
    assert not tuned.tells(torch.full_like(rounded, float("inf")))


def test_what_no_library_computes_is_pytorchs(torch_library: Library, tmp_path: Path) -> None:
    """Transposed convolutions, float64, empty batches, unbatched inputs of a module, and complex numbers."""
    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path):
        for make_input, layer in (
            (lambda: torch.rand(2, 4, 5, 5, device=DEVICE), torch.nn.ConvTranspose2d(4, 6, 3, stride=2)),
            (lambda: torch.rand(2, 4, 5, 5, device=DEVICE).double(), torch.nn.Conv2d(4, 6, 3).double()),
            (lambda: torch.rand(0, 4, 5, 5, device=DEVICE), torch.nn.Conv2d(4, 6, 3)),
            (lambda: torch.rand(4, 5, 5, device=DEVICE), torch.nn.Conv2d(4, 6, 3)),
        ):
            layer.to(DEVICE)
            layer(make_input()).square().sum().backward()
            assert layer.weight.grad.shape == layer.weight.shape


def test_a_gradient_that_no_instance_takes(make_stub: Any, tmp_path: Path) -> None:
    """The stand-in library knows few types."""
    if DEVICE != "cpu":
        pytest.skip("the stand-in library is for the CPU")
    input, weight, gradient, settings = make(SHAPES[1])
    none = make_stub("ALL_REFUSED")
    with ct.enable(none, fallback="error", tune="off", cache=tmp_path), pytest.raises(UnsupportedProblem):
        gradients(input, weight, gradient, settings)
    with ct.enable(none, tune="first", cache=tmp_path):
        found = gradients(input, weight, gradient, settings)
    assert all(torch.equal(a, b) for a, b in zip(found, gradients(input, weight, gradient, settings), strict=True))


def test_nested_and_disabled(torch_library: Library, tmp_path: Path) -> None:
    input, weight, gradient, settings = make(SHAPES[1])
    stock = gradients(input, weight, gradient, settings)
    outer = ct.enable(torch_library, cache=tmp_path / "outer")
    with ct.enable(torch_library, cache=tmp_path / "inner") as inner:
        gradients(input, weight, gradient, settings)
    assert inner.choices() and not outer.choices()
    gradients(input, weight, gradient, settings)
    assert outer.choices()
    ct.disable()
    found = gradients(input, weight, gradient, settings)
    assert all(torch.equal(one, two) for one, two in zip(stock, found, strict=True))
    with outer:
        gradients(channels_last(input[:1]), weight, channels_last(gradient[:1]), settings)
    assert len(outer.choices()) == 4


def test_threads_share_a_library(torch_library: Library, tmp_path: Path) -> None:
    cases = [make(shape, torch.float32) for shape in SHAPES[:3]]
    known = [expected(*case) for case in cases]
    wrong: list[int] = []

    def work(at: int) -> None:
        for _ in range(3):
            found = gradients(*cases[at])[1]
            if not (found.double().cpu() - known[at]).abs().max() < 1e-4:
                wrong.append(at)

    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path):
        threads = [threading.Thread(target=work, args=(at % 3,)) for at in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_compiled_models_and_autocast(torch_library: Library, tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 1))
    model.to(DEVICE)
    input = torch.rand(2, 8, 6, 5, device=DEVICE)

    def run(one: Any) -> list[Any]:
        model.zero_grad()
        with torch.autocast(DEVICE, torch.bfloat16):
            out = one(input)
        out.float().square().sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    stock = run(model)
    with ct.enable(torch_library, fallback="error", tune="off", cache=tmp_path):
        for one in (model, torch.compile(model, backend="aot_eager")):
            for found, known in zip(run(one), stock, strict=True):
                assert found.dtype == torch.float32
                torch.testing.assert_close(found, known, rtol=0.05, atol=0.05 * float(known.abs().max()))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"fallback": "none"}, "fallback is 'none'"), ({"tune": True}, "tune is True"), ({}, "cannot load")],
)
def test_wrong_arguments(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(LibraryError, match=words):
        ct.enable(tmp_path / "absent.so", **wrong)


class Marked(torch.autograd.Function):
    """The identity, whose node in the graph holds a mark."""

    @staticmethod
    def forward(context: Any, input: Any, mark: Any) -> Any:
        context.mark = mark
        return input * 1

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return gradient, None


class Mark:
    """Something to refer to."""


@pytest.mark.parametrize("last", [True, False], ids=["channels-last", "NCHW"])
def test_a_step_leaves_no_reference_to_its_tensors(torch_library: Library, tmp_path: Path, last: bool) -> None:
    """Without the garbage collector, which would free them later: memory that a step needs only once, and nodes of
    autograd for whose stream a CUDA graph would wait."""
    gc.collect()
    gc.disable()
    try:
        for when in ("timed", "read from the file", "known"):
            with ct.enable(torch_library, cache=tmp_path):
                for shape in SHAPES[:4]:
                    input, weight, gradient, settings = make(shape)
                    if not last:
                        input, gradient = input.contiguous(), gradient.contiguous()
                    for _ in range(2 if when == "known" else 1):
                        mark = Mark()
                        middle = Marked.apply(input.requires_grad_(), mark)
                        out = torch.conv2d(middle, weight.requires_grad_(), **settings)
                        out.backward(gradient)
                        node, values = weakref.ref(mark), weakref.ref(middle)
                        del mark, middle, out
                        assert node() is None and values() is None, (when, shape)
    finally:
        gc.enable()


@pytest.mark.skipif(DEVICE == "cpu", reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("last", [True, False], ids=["channels-last", "NCHW"])
def test_a_step_is_captured_after_steps_on_the_default_stream(
    torch_library: Library, tmp_path: Path, last: bool
) -> None:
    """A node that such a step left would make the capture wait for the default stream, which CUDA refuses."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 16, 1)).to(DEVICE)
    images = make(SHAPES[0])[0]
    if not last:
        images = images.contiguous()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        model(images).square().mean().backward()

    with ct.enable(torch_library, cache=tmp_path):
        step()
        step()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        known = [parameter.grad.clone() for parameter in model.parameters()]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
    for parameter in model.parameters():
        parameter.grad.zero_()
    graph.replay()
    for parameter, right in zip(model.parameters(), known, strict=True):
        torch.testing.assert_close(parameter.grad, right)
