"""Test ckgen.torch.enable and patch without a library: what problems need is built on first use."""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.build.toolchain import HELP, Toolchain
from ckgen.cache.entries import BUILT, Cache
from ckgen.jit import instances
from ckgen.library.c_api import LibraryError
from tests.support.fake_tools import FakeTools
from tests.support.torch_cases import BY_PYTORCH, DEVICE, SHAPES, assert_close, channels_last, expected, make, torch

import ckgen.torch as ct  # isort: skip
from ckgen.torch import demand  # isort: skip

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.compiles,
    pytest.mark.skipif(DEVICE != "cpu", reason="the tests compile for the host"),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's cache of most tests here, so that each instance is compiled once."""
    return tmp_path_factory.mktemp("user")


@pytest.fixture(autouse=True)
def few(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A library has few instances, and no test leaves anything enabled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    monkeypatch.setattr(instances, "MOST", 1)
    yield
    ct.disable()


def gradients(input: Any, weight: Any, gradient: Any, settings: dict[str, Any]) -> list[Any]:
    leaves = [tensor.detach().clone().requires_grad_() for tensor in (input, weight)]
    out = BY_PYTORCH[weight.dim() - 2](*leaves, **settings)
    return list(torch.autograd.grad(out, leaves, gradient))


def equal(found: list[Any], known: list[Any]) -> bool:
    return all(torch.equal(one, two) for one, two in zip(found, known, strict=True))


def right(found: list[Any], case: tuple[Any, ...]) -> None:
    for at in (0, 1):
        assert_close(found[at], expected(*case, of_input=at == 0))


def by_ckgen(enabled: ct.Enabled) -> list[tuple[bool, bool]]:
    """For each plan so far, whether ckgen computes the gradient of the input and of the weight."""
    return list(enabled.planner.planned.elements())


def test_pytorch_computes_until_the_library_is_ready() -> None:
    case = make(SHAPES[0])
    stock = gradients(*case)
    with ct.enable(tune="off", quiet=True) as enabled:
        assert equal(gradients(*case), stock) and by_ckgen(enabled) == []
        found = gradients(*case) if enabled.wait() else []
        assert by_ckgen(enabled) == [(True, True)]
        right(found, case)
    assert equal(gradients(*case), stock) and len(by_ckgen(enabled)) == 1, "ended with the block"
    ct.enable(tune="off", quiet=True)
    ct.disable()
    assert equal(gradients(*case), stock)


def test_a_second_process_compiles_nothing(kept: Path) -> None:
    """It ends if it starts a builder; its gradients are right."""
    case = make(SHAPES[0])
    with ct.enable(tune="off", fallback="error", quiet=True):
        right(gradients(*case), case)
    built = sorted(entry.path for entry in Cache(kept / "ckgen" / BUILT).entries())
    code = """
from ckgen.jit.background import Background
from tests.torch.test_demand import *
instances.MOST = 1
Background._build = lambda *_: sys.exit("it builds")
case = make(SHAPES[0])
with ct.enable(tune="off", fallback="error") as enabled:
    right(gradients(*case), case)
assert by_ckgen(enabled) == [(True, True)]
print("right")
"""
    words = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == "right\n", done.stderr
    assert sorted(entry.path for entry in Cache(kept / "ckgen" / BUILT).entries()) == built


def test_random_problems() -> None:
    """Problems that nobody chose, in 1 to 3 dimensions, with groups, strides, dilations and pads."""
    draw, cases = random.Random(20261122), []
    for ndim in (1, 1, 1, 2, 2, 2, 2, 3, 3, 3):
        groups, filter = draw.choice((1, 2, 3)), [draw.randint(1, 3) for _ in range(ndim)]
        dilation, padding = [draw.randint(1, 2) for _ in range(ndim)], [draw.randint(0, 2) for _ in range(ndim)]
        edges = [draw.randint(1, 6) + (size - 1) * step for size, step in zip(filter, dilation, strict=True)]
        stride = [draw.randint(1, 3) for _ in range(ndim)]
        sizes = draw.randint(1, 9) * groups, draw.randint(1, 9) * groups, groups
        cases.append(make((*sizes, tuple(filter), tuple(edges), tuple(stride), tuple(padding), tuple(dilation))))
    with ct.enable(tune="off", fallback="error", quiet=True) as enabled:
        for case in cases:
            right(gradients(*case), case)
    assert set(by_ckgen(enabled)) == {(True, True)} and len(by_ckgen(enabled)) == len(cases)


def test_times_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates of several libraries are timed; the choice is kept for the same libraries."""
    case = make(SHAPES[0])
    monkeypatch.setattr("ckgen.torch.process.fastest", lambda pytorch, calls, device: (10.0, len(calls) - 1, 5.0))
    with ct.enable(fallback="error", cache=tmp_path, quiet=True) as enabled:
        right(gradients(*case), case)
    names = {choice.name for choice in enabled.choices().values()}
    assert len(names) == 2 and all(choice.ours for choice in enabled.choices().values())
    monkeypatch.setattr("ckgen.torch.process.fastest", lambda *_: pytest.fail("measured again"))
    with ct.enable(fallback="error", cache=tmp_path, quiet=True):
        right(gradients(*case), case)


def test_a_patched_model() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 1), torch.nn.ReLU(), torch.nn.Conv2d(32, 16, 1, groups=1))
    input = channels_last(torch.rand(2, 16, 7, 6))

    def run(one: Any) -> list[Any]:
        one.zero_grad()
        one(input).square().sum().backward()
        return [parameter.grad.clone() for parameter in one.parameters()]

    stock = run(model)
    assert len(ct.patch(model, unsupported="error")) == 2, "it waits"
    assert not equal(run(model)[:1], stock[:1]), "another order of sums"
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for found, known in zip(run(one), stock, strict=True):
            assert_close(found, known)
    for found, known in zip(run(torch.compile(model, backend="eager")), stock, strict=True):
        assert_close(found, known)
    assert ct.unpatch(model) == 2 and equal(run(model), stock)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning with the words of the doctor, and PyTorch's gradients."""
    monkeypatch.setattr(demand, "find_toolchain", lambda: Toolchain(*(None for _ in range(9))))
    case = make(SHAPES[0])
    stock = gradients(*case)
    with pytest.warns(RuntimeWarning, match="no C\\+\\+ compiler here") as said, ct.enable() as enabled:
        assert equal(gradients(*case), stock) and enabled.wait() is enabled and not enabled.choices()
    assert len(said) == 1 and HELP["host_cxx"] in str(said[0].message)
    ct.disable()
    model = torch.nn.Conv2d(4, 4, 3)
    with pytest.warns(RuntimeWarning, match="no C\\+\\+ compiler here"):
        assert len(ct.patch(model, input_gradient=True)) == 1
        model(torch.rand(1, 4, 5, 5)).sum().backward()
    with pytest.raises(LibraryError, match="no C\\+\\+ compiler"):
        ct.enable(fallback="error")


def test_a_broken_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning with the path of the log, and PyTorch's gradients."""
    tools = FakeTools(tmp_path / "tools")
    tools.break_compilers()
    with ct.enable(tune="off", quiet=True) as enabled:  # the binding is there
        monkeypatch.setenv("PATH", f"{tools.folder}{os.pathsep}{os.environ['PATH']}")
        cases = [make(shape) for shape in SHAPES[:2]]
        stock = [gradients(*case) for case in cases]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            enabled.wait()
        for case, known in zip(cases, stock, strict=True):
            assert equal(gradients(*case), known)
        assert set(by_ckgen(enabled)) == {(False, False)}
    (message,) = [str(one.message) for one in said if one.category is RuntimeWarning]
    assert "no such type; log: " in message and message.endswith("PyTorch computes these gradients.")


def test_a_damaged_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has files of build tools that compile nothing, which cannot be loaded."""
    tools = FakeTools(tmp_path / "tools")
    with ct.enable(tune="off", quiet=True) as enabled:
        monkeypatch.setenv("PATH", f"{tools.folder}{os.pathsep}{os.environ['PATH']}")
        case = make(SHAPES[0])
        stock = gradients(*case)
        enabled.wait()
        with pytest.warns(RuntimeWarning, match="cannot be used"):
            assert equal(gradients(*case), stock)
        assert by_ckgen(enabled) == [(False, False)] and tools.built


@pytest.mark.parametrize(
    ("hip", "reported", "words"),
    [(None, (9, 0), "sm_90a"), (None, (8, 0), "sm_80"), ("6.2", "gfx942:sramecc+:xnack-", "gfx942")],
)
def test_the_target_of_a_gpu(monkeypatch: pytest.MonkeyPatch, hip: Any, reported: Any, words: str) -> None:
    gpu(monkeypatch, hip, reported)
    assert demand.current_target().arch == words


def test_a_gpu_without_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, None, (7, 0))
    with pytest.warns(RuntimeWarning, match="no instance is for this GPU, which reports sm_70"):
        ct.enable()


def gpu(monkeypatch: pytest.MonkeyPatch, hip: Any, reported: Any) -> None:
    """Let PyTorch report a GPU, and every compiler be there."""
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: reported)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: type("", (), {"gcnArchName": reported}))
    monkeypatch.setattr(demand, "find_toolchain", lambda: Toolchain(*([("x",)] * 8), None))
