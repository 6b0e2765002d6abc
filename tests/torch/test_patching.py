"""Test ``ckgen.torch.patch``: patched modules, skipped modules and the reasons, copied and saved models."""

from __future__ import annotations

import copy
import importlib
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ckgen.library.c_api import LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from tests.conftest import StubMaker
from tests.support.torch_cases import DEVICE, assert_close, derivatives, leaves, torch, uniform

import ckgen.torch as ct  # isort: skip
from ckgen.torch import patching  # isort: skip

nn = torch.nn
ROOT = Path(__file__).resolve().parents[2]


class Own(nn.Conv2d):  # type: ignore[misc, name-defined]
    """A convolution with its own forward."""

    def forward(self, input: Any) -> Any:
        return 2 * super().forward(input)


def model() -> Any:
    """A model with two convolutions that can be patched, and one of every kind that cannot."""
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, (2, 3), padding="same", groups=2)),
        Own(4, 4, 1),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.ConvTranspose2d(4, 4, 2),
        nn.Conv2d(4, 2, 2),
    ).to(DEVICE)


def gradients(made: Any) -> list[Any]:
    made.zero_grad()
    made(uniform(2, 3, 5, 6)).square().mean().backward()
    return [parameter.grad.clone() for parameter in made.parameters()]


def replaced(made: Any) -> list[str]:
    """The modules whose computation differs from that of their class."""
    return [name for name, module in made.named_modules() if {"forward", "_conv_forward"} & vars(module).keys()]


def test_the_answer_names_what_is_patched_and_why_the_rest_is_not(torch_library: Library) -> None:
    made = model()
    state = {name: value.clone() for name, value in made.state_dict().items()}
    answer = ct.patch(made, torch_library)
    assert answer.patched == ("0", "1.1", "5") and len(answer) == 3
    assert list(answer.left) == ["2", "3", "4"]
    words = [
        "tests.torch.test_patching.Own is a class of its own",
        "padding_mode is 'reflect'",
        "ConvTranspose2d is a trans",
    ]
    assert all(said.startswith(word) for said, word in zip(answer.left.values(), words, strict=True))
    assert str(answer).splitlines()[0] == "3 convolutions patched, 3 left to PyTorch"
    assert "  left    3: padding_mode is 'reflect'" in str(answer).splitlines()
    assert made.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[name]) for name, value in made.state_dict().items())
    assert_close(gradients(made), gradients(model()))


def test_names_choose(torch_library: Library) -> None:
    made = model()
    answer = ct.patch(made, torch_library, include=("?", "1.*"), exclude="5")
    assert answer.patched == ("0", "1.1") and answer.left["5"] == "excluded"
    assert ct.patch(model(), torch_library, include="5").left["0"] == "not included"
    assert_close(gradients(made), gradients(model()))
    with pytest.raises(LibraryError, match="no convolution is named like 'layer1.*'"):
        ct.patch(made, torch_library, include="layer1.*")
    assert ct.patch(nn.Conv2d(2, 2, 1), torch_library).patched == ("",)


def test_patching_twice_and_undoing_it(torch_library: Library, make_stub: StubMaker) -> None:
    """The last call applies; unpatch reverts only the changes of patch."""
    made = model()
    ct.patch(made, torch_library)
    ct.patch(made, make_stub(), include="0")
    policies = [made[at]._conv_forward.args[1].library for at in (0, 5)]
    assert policies == [os.path.abspath(make_stub().path), os.path.abspath(torch_library.path)]
    other = made[3].forward
    made[3].forward = lambda input: other(input)
    assert ct.patch(made, torch_library).left["3"] == "padding_mode is 'reflect'"
    made[5].__dict__.pop("_conv_forward")
    made[5].forward = own = lambda input: input
    assert ct.patch(made, torch_library).left["5"] == "its forward has been replaced"
    assert ct.unpatch(made) == 2
    assert replaced(made) == ["3", "5"] and made[5].forward is own
    assert ct.unpatch(made) == 0


def tiled(module: Any) -> None:
    """Make the padding of a module wrap around its images, as image generators do for seamless ones."""

    def _conv_forward(input: Any, weight: Any, bias: Any) -> Any:
        sides = module._reversed_padding_repeated_twice
        return torch.conv2d(nn.functional.pad(input, sides, mode="circular"), weight, bias)

    module._conv_forward = _conv_forward


def wrapped(module: Any) -> None:
    """Wrap the forward of a module, as the hooks of frameworks do."""
    forward = module.forward
    module.forward = lambda input: 3 * forward(input + 1)


def other_padding(module: Any) -> None:
    module.padding_mode = "circular"


@pytest.mark.parametrize("change", [tiled, wrapped, other_padding])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_modules_that_others_change(torch_library: Library, change: Any, before: bool) -> None:
    """A change before patching leaves the module to PyTorch; a change after patching takes effect."""
    made, known = model(), model()
    change(known[0])
    if before:
        change(made[0])
    answer = ct.patch(made, torch_library)
    assert ("0" in answer.left) == before
    if not before:
        change(made[0])
    assert_close(made(uniform(2, 3, 5, 6)), known(uniform(2, 3, 5, 6)))
    assert_close(gradients(made), gradients(known))


def test_unpatched_models_do_not_use_the_library(torch_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    made = model()
    ct.patch(made, torch_library)
    ct.unpatch(made)
    monkeypatch.setattr("ckgen.torch.engines.Engine.gradients", lambda *_: pytest.fail("the library was used"))
    assert_close(gradients(made), gradients(model()))


def test_copies_and_pickles_are_patched_too(torch_library: Library) -> None:
    made, known = model(), gradients(model())
    ct.patch(made, torch_library, input_gradient=True)
    twin = copy.deepcopy(made)
    assert twin[0]._conv_forward.args[0] is twin[0]
    with torch.no_grad():
        twin[0].weight += 1
    assert_close(gradients(made), known)
    assert not torch.allclose(gradients(twin)[0], known[0])
    back = pickle.loads(pickle.dumps(made))
    assert replaced(back) == replaced(made)
    assert_close(gradients(back), known)
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert_close(gradients(torch.load(file, weights_only=False)), known)


def test_tools_that_replace_the_convolution(torch_library: Library) -> None:
    """TorchScript, and weights that collect a gradient per image, use PyTorch's own gradients and are still correct."""
    made = nn.Conv2d(3, 4, 3, padding=1).to(DEVICE)
    known: list[list[Any]] = []
    images, tool = uniform(2, 3, 5, 5), importlib.import_module("torch.nn.utils._per_sample_grad")
    for patched in (False, True):
        if patched:
            ct.patch(made, torch_library, input_gradient=True)
        tool.call_for_per_sample_grads(made)(images).square().sum().backward()
        found = [parameter.grad_sample for parameter in made.parameters()]
        for parameter in made.parameters():
            del parameter.grad_sample
        scripted = torch.jit.script(made)(images).square().sum()
        known.append(found + [*torch.autograd.grad(scripted, list(made.parameters()))])
    assert_close(known[1], known[0])
    assert_close([part.sum(0) for part in known[1][:2]], known[1][2:])


def test_replicas_of_data_parallel_have_weights_of_their_own(torch_library: Library) -> None:
    made = nn.Conv2d(3, 4, 3).to(DEVICE)
    ct.patch(made, torch_library)
    replica = made._replicate_for_data_parallel()
    replica.weight, replica.bias = torch.ones_like(made.weight), torch.zeros_like(made.bias)
    images = uniform(1, 3, 4, 4)
    assert_close(replica(images), torch.conv2d(images, replica.weight))
    assert_close(made(images), torch.conv2d(images, made.weight, made.bias))


def test_a_saved_model_opens_its_library_when_it_needs_it(torch_library: Library, tmp_path: Path) -> None:
    """In another process, inference needs no library, and a backward pass without it names the missing file."""
    made = model()
    ct.patch(made, torch_library)
    torch.save(made, tmp_path / "model.pt")
    program = """if True:
        import sys, torch
        sys.path.insert(0, sys.argv[3])
        model = torch.load(sys.argv[1], weights_only=False)
        if sys.argv[2] != "-":
            for module in model:
                if own := vars(module).get("_conv_forward"):
                    policy = own.args[1]._replace(library=sys.argv[2])
                    module._conv_forward = type(own)(own.func, module, policy)
        device = next(model.parameters()).device
        with torch.no_grad():
            model(torch.ones(1, 3, 5, 6, device=device))
        try:
            model(torch.ones(1, 3, 5, 6, device=device)).sum().backward()
            print("trained", bool(model[0].weight.grad.abs().sum()))
        except Exception as error:
            print(type(error).__name__, error)
    """
    for library, words in (
        ("-", "trained True"),
        ("/nowhere/lib.so", "LibraryError error[library]: cannot load /nowhere"),
    ):
        command = [sys.executable, "-c", program, str(tmp_path / "model.pt"), library, str(ROOT)]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
        )
        assert done.stdout.startswith(words), done.stdout + done.stderr


def test_a_library_that_cannot_be_loaded_is_said_at_once(tmp_path: Path) -> None:
    made = model()
    with pytest.raises(LibraryError, match="cannot load"):
        ct.patch(made, tmp_path / "libmissing.so")
    assert not replaced(made)


def test_parametrized_and_normed_modules(torch_library: Library) -> None:
    """Their weights are computed from other tensors; they are patched before or afterwards."""
    utils = nn.utils

    def build(first: bool) -> Any:
        torch.manual_seed(6)
        made = nn.Sequential(*(nn.Conv2d(3, 3, 3, padding=1) for _ in range(4))).to(DEVICE)
        if first:
            ct.patch(made, torch_library, input_gradient=True)
        utils.parametrizations.spectral_norm(made[0])
        utils.parametrizations.weight_norm(made[1])
        utils.spectral_norm(made[2])
        utils.parametrize.register_parametrization(made[3], "weight", nn.Tanh())
        return made

    def trained(made: Any) -> list[Any]:
        torch.manual_seed(7)
        return gradients(made)

    known, before, after = build(False), build(True), build(False)
    assert len(ct.patch(after, torch_library, input_gradient=True)) == 4
    assert replaced(before) == ["0", "1", "2", "3"]
    found = trained(known)
    assert_close(trained(before), found)
    assert_close(trained(after), found)


def test_lazy_modules(torch_library: Library) -> None:
    found = []
    for patched in (True, False):
        torch.manual_seed(8)
        made = nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.ReLU(), nn.LazyConv2d(2, 2, stride=2)).to(DEVICE)
        if patched:
            assert len(ct.patch(made, torch_library)) == 2
        made(uniform(2, 3, 5, 6))
        assert type(made[0]) is nn.Conv2d and made[0].weight.shape == (4, 3, 3, 3)
        found.append(gradients(made))
    assert_close(*found)


def test_modules_used_twice_and_weights_shared(torch_library: Library) -> None:
    def build() -> Any:
        torch.manual_seed(9)
        one, two = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        two.weight = one.weight
        return nn.Sequential(one, nn.Tanh(), one, nn.Tanh(), two).to(DEVICE)

    made = build()
    assert ct.patch(made, torch_library, input_gradient=True).patched == ("0", "4")
    assert_close(gradients(made), gradients(build()))


@pytest.mark.parametrize("unsupported", ["error", "pytorch", "ignore"])
def test_what_no_instance_takes(make_stub: StubMaker, unsupported: Any) -> None:
    """The stand-in has no instance for input gradients, nor for 1D in half precision."""
    made, known = nn.Conv2d(2, 2, 3), nn.Conv2d(2, 2, 3)
    known.load_state_dict(made.state_dict())
    if unsupported == "ignore":
        with pytest.raises(LibraryError, match='unsupported is .ignore.\n = help: it may be "error" or "pytorch"'):
            ct.patch(made, make_stub(), unsupported=unsupported)
        return
    ct.patch(made, make_stub(), input_gradient=True, unsupported=unsupported)
    images = torch.rand(2, 2, 5, 5)
    found, other = images.clone().requires_grad_(), images.clone().requires_grad_()
    known(other).sum().backward()
    if unsupported == "error":
        with pytest.raises(UnsupportedProblem, match="that does grouped_conv_bwd_data") as raised:
            made(found).sum().backward()
        assert 'help: unsupported="pytorch" of conv and patch' in str(raised.value)
        return
    made(found).sum().backward()
    assert_close([found.grad, made.weight.grad], [other.grad, known.weight.grad])
    pairs = [(run, leaves(images, made.weight, made.bias)) for run in (ct.conv, torch.conv2d)]
    how: dict[str, Any] = {"library": make_stub(), "input_gradient": True, "unsupported": unsupported}
    second = [derivatives(lambda *t, f=run: f(*t, **(how if f is ct.conv else {})), ts, 2) for run, ts in pairs]
    assert_close(*second)
    line = nn.Conv1d(2, 2, 3).half()
    ct.patch(line, make_stub(), unsupported="pytorch")
    line(torch.ones(1, 2, 5).half()).sum().backward()
    assert line.weight.grad is not None and torch.all(line.weight.grad == 3)


def test_without_the_binding(torch_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that cannot build it warns once, and computes the same gradients."""

    def fail() -> None:
        raise LibraryError("the binding cannot be built")

    patching._marker.cache_clear()
    monkeypatch.setattr("ckgen.torch.enabled.binding", fail)
    made = model()
    known = gradients(copy.deepcopy(made))
    ct.patch(made, torch_library, input_gradient=True)
    with pytest.warns(UserWarning, match="more host time: .*the binding cannot be built"):
        found = gradients(made)
    assert_close(found, known)
    patching._marker.cache_clear()
