"""Test ckgen.torch among PyTorch's switches, modes, tensor classes and failures, and with files that cannot be used."""

from __future__ import annotations

import copy
import importlib
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.library.c_api import LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from tests.support.torch_cases import DEVICE, torch

import ckgen.torch as ct  # isort: skip
from ckgen.torch import enabled as state, patching, plan, process, tuned  # isort: skip
from ckgen.torch.operators import Policy  # isort: skip

overrides: Any = importlib.import_module("torch.overrides")

pytestmark = pytest.mark.compiles


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    yield
    ct.disable()


def conv_gradients(module: Any, input: Any, factor: float = 1.0) -> list[Any]:
    leaf = input.detach().clone().requires_grad_()
    out = module(leaf)
    return list(torch.autograd.grad((out * factor).sum(), [leaf, module.weight]))


def layer() -> Any:
    torch.manual_seed(0)
    return torch.nn.Conv2d(8, 16, 3, padding=1, device=DEVICE)


def image() -> Any:
    return torch.rand(2, 8, 6, 5, device=DEVICE)


def last() -> Any:
    return image().to(memory_format=torch.channels_last)


@pytest.mark.parametrize("switch", ["conv", "cudnn", "all"])
def test_a_precision_for_one_operator_is_no_error(torch_library: Library, tmp_path: Path, switch: str) -> None:
    """PyTorch refuses to tell by its older switch whether tf32 is allowed if operators differ in it."""
    cudnn = torch.backends.cudnn
    if not hasattr(cudnn, "conv"):
        pytest.skip("this version of PyTorch has one switch")
    at = {"conv": cudnn.conv, "cudnn": cudnn, "all": torch.backends}[switch]
    before, module = at.fp32_precision, layer()
    stock = conv_gradients(module, image().fill_(0.5))
    try:
        at.fp32_precision = "ieee"
        with ct.enable(torch_library, fallback="error", cache=tmp_path):
            found = conv_gradients(module, image().fill_(0.5))
        ct.patch(module, torch_library)
        patched = conv_gradients(module, image().fill_(0.5))
    finally:
        at.fp32_precision = before
    for one, two, three in zip(stock, found, patched, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(one, three, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("factor", [0.0, float("inf")])
def test_a_first_gradient_that_tells_nothing_is_checked_by_random_ones(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """Behind layers that begin with zeros, or in a step that a gradient scaler skips, all candidates seem right."""
    by_pytorch = process._by_pytorch
    monkeypatch.setattr(process, "_by_pytorch", lambda *asked: 2 * by_pytorch(*asked))
    with ct.enable(torch_library, cache=tmp_path) as enabled, pytest.warns(RuntimeWarning, match="another gradient"):
        conv_gradients(layer(), image().fill_(0.5), factor)
    assert [kept.name for kept in enabled.choices().values()] == ["", ""]


def test_small_gradients_of_half_precision_are_right(torch_library: Library, tmp_path: Path) -> None:
    """Without a gradient scaler, gradients of float16 are multiples of the smallest number that differ by one."""
    module, input = layer().half(), last().half()
    with ct.enable(torch_library, cache=tmp_path) as enabled, warnings.catch_warnings():
        warnings.simplefilter("error")
        for factor in (1e-7, 1e-6, 1e-5):
            conv_gradients(module, input, factor)
            input = torch.cat((input, input))
    assert all(kept.name for kept in enabled.choices().values())


def test_batched_gradients_of_zero(torch_library: Library, tmp_path: Path) -> None:
    """vmap of PyTorch's older kind, which autograd.functional uses, allows no random operations."""
    module, input = layer(), image().requires_grad_()
    out = module(input)
    zeros = torch.zeros(4, *out.shape, device=DEVICE)
    with ct.enable(torch_library, cache=tmp_path):
        found = torch.autograd.grad(out, [input, module.weight], zeros, is_grads_batched=True)
    assert all(not one.any() for one in found)


def test_threads_enable_and_end(torch_library: Library, tmp_path: Path) -> None:
    """Each thread begins and ends its own while others train."""
    module, input, faults = layer(), last(), list[BaseException]()
    stock = conv_gradients(module, input)

    def toggle(at: int) -> None:
        try:
            for _ in range(100):
                with ct.enable(torch_library, tune="off", cache=tmp_path) as enabled:
                    if at == 0:
                        torch.testing.assert_close(conv_gradients(module, input), stock, rtol=1e-3, atol=1e-3)
                    enabled.end()
        except BaseException as error:
            faults.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=toggle, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert faults == [] and state._stack == []


def test_random_numbers_have_the_strides_of_any_tensor() -> None:
    wide = torch.rand(2, 12, 5, 7)
    for tensor in (wide, wide[:, 2:9], wide.transpose(1, 3), wide[:, :1].expand(2, 12, 5, 7), wide[..., ::2]):
        state = torch.get_rng_state()
        made = tuned.random_like(tensor)
        assert (made.shape, made.stride(), made.dtype) == (tensor.shape, tensor.stride(), tensor.dtype)
        assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("kind", ["below a file", "no text", "no such folder"])
def test_choices_that_cannot_be_kept_cost_a_warning(torch_library: Library, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("")
    caches = {"below a file": tmp_path / "file", "no text": tmp_path / "cache", "no such folder": Path("/proc/none")}
    cache = caches[kind]
    module = layer()
    if kind == "no text":
        with ct.enable(torch_library, cache=cache):
            conv_gradients(module, image())
        (file,) = cache.iterdir()
        numbers = b'["one", "x", Infinity, 1, 1]\n["two", "x", 1, Infinity, 1]\n'
        file.write_bytes(b"\xff\n" + numbers + file.read_bytes())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with ct.enable(torch_library, cache=cache) as enabled:
                conv_gradients(module, image())
        assert len(enabled.choices()) == 2
        return
    with ct.enable(torch_library, cache=cache) as enabled, pytest.warns(RuntimeWarning, match="cannot be used") as told:
        conv_gradients(module, image())
        conv_gradients(module, image()[:1])
    assert len(enabled.choices()) == 4 and len(told) == 1


def test_too_little_memory_for_a_comparison_leaves_the_call_to_pytorch(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = layer()
    stock = conv_gradients(module, image().fill_(0.5))

    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("too little memory")

    with ct.enable(torch_library, cache=tmp_path) as enabled:
        with monkeypatch.context() as patch:
            patch.setattr(process, "fastest", full)
            found = conv_gradients(module, image().fill_(0.5))
        assert all(torch.equal(one, two) for one, two in zip(stock, found, strict=True))
        assert not enabled.choices()
        with monkeypatch.context() as patch:
            patch.setattr(process, "poison", full)
            conv_gradients(module, image().fill_(0.5))
        assert [kept.name for kept in enabled.choices().values()] == ["", ""]
    assert not any(file.read_text() for file in tmp_path.iterdir()), "a later process tries again"


def test_a_choice_does_not_depend_on_the_fallback(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = layer()
    stock = conv_gradients(module, image().fill_(0.5))
    monkeypatch.setattr(process, "fastest", lambda pytorch, calls, device: (10.0, 0, 20.0))
    with ct.enable(torch_library, fallback="error", cache=tmp_path):
        conv_gradients(module, image().fill_(0.5))
    with ct.enable(torch_library, cache=tmp_path):
        found = conv_gradients(module, image().fill_(0.5))
    assert all(torch.equal(one, two) for one, two in zip(stock, found, strict=True))


def test_blocks_of_one_object_nest(torch_library: Library, tmp_path: Path) -> None:
    first = ct.enable(torch_library, cache=tmp_path / "first")
    second = ct.enable(torch_library, cache=tmp_path / "second")
    with first:
        conv_gradients(layer(), image())
        assert first.choices() and not second.choices()
        with first:
            pass
        conv_gradients(layer(), image()[:1])
        assert len(first.choices()) == 4 and not second.choices()
    conv_gradients(layer(), image())
    assert len(second.choices()) == 2
    second.end()
    assert state._stack == []


def test_a_node_that_fails_early_marks_no_other(torch_library: Library) -> None:
    patched, stock = layer(), layer()
    ct.patch(patched, torch_library)
    asked: list[int] = []
    planner = state._planners[patching._marker(Policy(str(torch_library.path), False, False))[1]]
    plan = planner.plan
    planner.plan = lambda *words: asked.append(1) or plan(*words)  # type: ignore[method-assign]
    try:
        out = patched(image().requires_grad_()).sum()
        out.backward()
        with pytest.raises(RuntimeError, match="second time"):
            out.backward()
        asked.clear()
        conv_gradients(stock, image()[:1])
        assert not asked
    finally:
        del planner.plan


class Own(torch.Tensor):
    """A class that sees the functions that are called with it."""

    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(getattr(function, "__name__", ""))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_classes_with_their_own_rules_see_pytorchs_function(torch_library: Library) -> None:
    module = layer()
    ct.patch(module, torch_library)
    Own.seen.clear()
    module(image().as_subclass(Own))
    assert "conv2d" in Own.seen
    with pytest.raises(TypeError, match="conv2d"):
        module(None)
    with pytest.raises(TypeError, match="conv2d"):
        ct.conv(image().cpu().numpy(), module.weight, library=torch_library)


def test_a_default_device_leaves_patched_modules_as_they_are(torch_library: Library) -> None:
    module = layer()
    ct.patch(module, torch_library)
    with torch.device(DEVICE):
        out = module(image())
    assert out.grad_fn.name() == "ConvolutionBackward0"


def settings_of(kind: str) -> dict[str, Any]:
    """Settings that PyTorch passes on as lists of one."""
    return {"padding": "valid"} if kind == "valid" else {"padding": [1], "stride": (2,), "dilation": [1]}


@pytest.mark.parametrize("patched", [False, True], ids=["enable", "patch"])
@pytest.mark.parametrize("kind", ["valid", "lists of one"])
def test_settings_with_one_entry(torch_library: Library, tmp_path: Path, kind: str, patched: bool) -> None:
    torch.manual_seed(0)
    module, input = torch.nn.Conv2d(8, 16, 3, padding="valid", device=DEVICE), image()
    for name, value in settings_of(kind).items():
        setattr(module, name, value)
    stock = conv_gradients(module, input)
    if patched:
        ct.patch(module, torch_library, input_gradient=True)
        found = conv_gradients(module, input)
    else:
        with ct.enable(torch_library, tune="off", fallback="error", cache=tmp_path) as enabled:
            found = conv_gradients(module, input)
        assert list(enabled.planner.planned) == [(True, True)]
    for one, two in zip(stock, found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("how", ["trace", "export"])
def test_a_graph_runs_in_other_types_than_it_was_traced_with(torch_library: Library, how: str) -> None:
    stock = torch.nn.Sequential(torch.nn.ConvTranspose2d(8, 8, 2), layer()).to(DEVICE)
    patched, x = copy.deepcopy(stock), image()
    ct.patch(patched, torch_library)
    graph = torch.jit.trace(patched, x) if how == "trace" else torch.export.export(patched, (x,)).module()
    for kind in (torch.bfloat16, torch.float16):
        with torch.autocast(DEVICE, dtype=kind):
            found, known = graph(x), stock(x)
        assert found.dtype == known.dtype == kind
        torch.testing.assert_close(found, known, rtol=2e-2, atol=2e-2)
    found, known = (model.double()(x.double()) for model in (graph, stock))
    torch.testing.assert_close(found, known)
    found.sum().backward()
    known.sum().backward()
    for own, other in zip(graph.parameters(), stock.parameters(), strict=True):
        torch.testing.assert_close(own.grad, other.grad)


def test_a_mode_sees_pytorchs_function(torch_library: Library) -> None:
    class Without(overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            return out * 0 if function is torch.conv2d else out

    module = layer()
    ct.patch(module, torch_library)
    with Without():
        assert module(image()).abs().sum() == 0
        with torch.no_grad():
            assert module(image()).abs().sum() == 0
    assert module(image()).abs().sum() > 0


def test_a_refused_split_k_costs_no_other_candidate(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = plan.Described.step

    def refusing(self: Any, name: str, split_k: int) -> Any:
        if split_k > 1:
            raise UnsupportedProblem(name, "[grid-size] too large")
        return step(self, name, split_k)

    monkeypatch.setattr(plan.Described, "step", refusing)
    monkeypatch.setattr(process, "fastest", lambda pytorch, calls, device: (10.0, 0, 5.0))
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        conv_gradients(layer(), image())
    assert enabled.choices() and all(kept.name for kept in enabled.choices().values())


def test_without_fallback_no_gradient_is_silently_pytorchs(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "agrees", lambda *_: False)
    with pytest.warns(RuntimeWarning, match="another gradient"), ct.enable(torch_library, cache=tmp_path):
        conv_gradients(layer(), image())
    for _ in range(2):
        with (
            pytest.warns(RuntimeWarning, match="another gradient"),
            ct.enable(torch_library, fallback="error", cache=tmp_path),
            pytest.raises(UnsupportedProblem, match="no candidate ran"),
        ):
            conv_gradients(layer(), image())
    monkeypatch.undo()
    with ct.enable(torch_library, fallback="error", cache=tmp_path) as enabled:
        conv_gradients(layer(), image())
    assert all(kept.name for kept in enabled.choices().values())


def test_a_choice_without_all_instances_ends_with_the_process(
    torch_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.Planner, "is_whole", lambda self: False)
    with ct.enable(torch_library, cache=tmp_path) as enabled:
        conv_gradients(layer(), image())
    assert enabled.choices() and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ct.patch(layer(), unsupported="foo"), "unsupported is 'foo'"),
        (lambda: ct.enable(""), "path of the library is empty"),
        (lambda: ct.conv_backward_weight(last(), last(), (8, 8, 3, 3), padding="same", library="x"), "padding"),
    ],
    ids=["unsupported", "library", "padding"],
)
def test_wrong_words(call: Any, words: str) -> None:
    with pytest.raises((LibraryError, TypeError), match=words):
        call()
