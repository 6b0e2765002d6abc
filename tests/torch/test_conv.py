"""Compare ckgen.torch with PyTorch's own gradients: on the CPU with the host library, on a GPU with the library that
CKGEN_NVIDIA_LIBRARY names.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckgen.conv.problem import ProblemError
from ckgen.errors import CkgenError
from ckgen.library.c_api import LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from tests.conftest import StubMaker
from tests.support.torch_cases import BY_PYTORCH, DEVICE, SHAPES, channels_last, expected, make, torch

import ckgen.torch as ct  # isort: skip
from ckgen.torch import engines, patching  # isort: skip

ROOT = Path(__file__).resolve().parents[2]
TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_gradient_is_pytorchs(torch_library: Library, shape: tuple[Any, ...], dtype: Any) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    found = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library)
    assert found.shape == weight.shape and found.dtype == dtype and found.device == input.device
    assert found.movedim(1, -1).is_contiguous()
    difference = (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max()
    assert difference < TOLERANCES[dtype]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_input_gradient_is_pytorchs(torch_library: Library, shape: tuple[Any, ...], dtype: Any) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    packed = channels_last(weight)
    found = ct.conv_backward_data(gradient, packed, input.shape, **settings, library=torch_library)
    assert found.shape == input.shape and found.dtype == dtype and found.device == input.device
    assert found.movedim(1, -1).is_contiguous()
    difference = (found.double().cpu() - expected(input, weight, gradient, settings, of_input=True)).abs().max()
    assert difference < TOLERANCES[dtype]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, w, s: (g, w.contiguous(), s), r"weight is not channels-last"),
        (lambda g, w, s: (g, channels_last(torch.cat((w, w), 1))[:, :4], s), r"weight is not channels-last and gap"),
        (lambda g, w, s: (g, w.half(), s), r"grad_output is torch.float32, weight torch.float16"),
        (lambda g, w, s: (g, w, (2, 31, 9, 8)), r"do not fit an input of shape"),
        (lambda g, w, s: (g, w, (2, 32, 30, 8)), r"grad_output has shape .* this convolution gives"),
        (lambda g, w, s: (g, w, (2, 32)), r"do not fit an input of shape"),
    ],
)
def test_what_does_not_fit_an_input_gradient_is_refused_in_words(
    torch_library: Library, change: Any, words: str
) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    grad_output, seen, size = change(gradient, channels_last(weight), tuple(input.shape))
    with pytest.raises(LibraryError, match=words):
        ct.conv_backward_data(grad_output, seen, size, **settings, library=torch_library)


def test_bfloat16_can_give_float32(torch_library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.bfloat16)
    found = ct.conv_backward_weight(
        gradient, input, weight.shape, **settings, library=torch_library, weight_dtype=torch.float32
    )
    assert found.dtype == torch.float32
    assert (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max() < 1e-4


def test_strides_that_skip_are_taken_as_they_are(torch_library: Library) -> None:
    """Use half of the channels of a wider tensor: the distance between positions exceeds their length."""
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    wide = channels_last(torch.cat((input, input + 1), 1))
    part = wide[:, : input.shape[1]]
    assert part.data_ptr() == wide.data_ptr() and part.stride() != input.stride()
    found = ct.conv_backward_weight(gradient, part, weight.shape, **settings, library=torch_library)
    assert torch.equal(found, ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library))


def test_addresses_of_any_alignment_are_taken(torch_library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[0], torch.float16)
    shifted = torch.empty(input.numel() + 1, dtype=input.dtype, device=input.device)[1:]
    odd = shifted.as_strided(input.shape, input.stride()).copy_(input)
    assert odd.data_ptr() % 4
    found = ct.conv_backward_weight(gradient, odd, weight.shape, **settings, library=torch_library)
    assert (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max() < 1e-2


def test_a_problem_is_prepared_once(torch_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """One preparation serves one combination of shapes, strides, alignment and types."""
    c, k, groups, filter, _, *rest = SHAPES[0]
    input, weight, gradient, settings = make((c, k, groups, filter, (5, 4), *rest))  # of a size that no other test uses
    calls: list[int] = []
    real = Library.candidates_for
    monkeypatch.setattr(Library, "candidates_for", lambda self, *a, **k: calls.append(1) or real(self, *a, **k))

    def run(gradient: Any, input: Any, size: Any) -> Any:
        return ct.conv_backward_weight(gradient, input, size, **settings, library=torch_library)

    first = run(gradient, input, list(weight.shape))
    assert torch.equal(run(gradient, input, weight.shape), first)
    assert len(calls) == 1
    run(gradient[:1], input[:1], weight.shape)
    assert len(calls) == 2
    # The strides of an image of length 1 are derived, whatever stride PyTorch reports for that length.
    run(gradient[:1].as_strided((1, *gradient.shape[1:]), (7, *gradient.stride()[1:])), input[:1], weight.shape)
    run(gradient[:1], input[:1], weight.shape)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, x, s: (g, x.contiguous(), s), r"input is not channels-last.*strides"),
        (lambda g, x, s: (g.contiguous(), x, s), r"grad_output is not channels-last"),
        (lambda g, x, s: (g[:, :, :2], x, s), r"grad_output is not channels-last with all positions at one distance"),
        (lambda g, x, s: (g, x.half(), s), r"grad_output is torch.float32, input torch.float16"),
        (lambda g, x, s: (g.double(), x.double(), s), r"float64"),
        (lambda g, x, s: (g[:1], x, s), r"grad_output has shape .* this convolution gives"),
        (lambda g, x, s: (g, x, (32, 5, 3, 3)), r"do not fit an input of shape"),
        (lambda g, x, s: (g, x, (32, 4, 3)), r"do not fit an input of shape"),
        (lambda g, x, s: (g, x, (32, 4, 30, 3)), r"dilated filter spans"),
        (lambda g, x, s: (g[0, 0], x[0, 0], s), r"1 to 3 dimensions\) is possible"),
        (lambda g, x, s: (g.cpu().numpy(), x, s), r"grad_output is ndarray; a PyTorch tensor"),
        (lambda g, x, s: (g, x.to_sparse(), s), r"input is torch.sparse_coo; a PyTorch tensor"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(torch_library: Library, change: Any, words: str) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    grad_output, seen, size = change(gradient, input, tuple(weight.shape))
    with pytest.raises(CkgenError, match=words) as raised:
        ct.conv_backward_weight(grad_output, seen, size, **settings, library=torch_library)
    assert isinstance(raised.value, LibraryError | ProblemError)


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A small ResNeXt block: 1x1, grouped 3x3 with the stride, 1x1, and a shortcut that is added."""

    def __init__(self, channels: int, outputs: int, stride: int) -> None:
        super().__init__()
        nn, width = torch.nn, outputs // 2
        self.body = nn.Sequential(
            *(nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, stride, 1, groups=8, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.shortcut = nn.Identity()
        if stride > 1 or channels != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, images: Any) -> Any:
        return torch.relu(self.body(images) + self.shortcut(images))


def classifier(*layers: Callable[[], Any], features: int) -> Any:
    """The layers followed by a classifier; the same weights each time."""
    nn = torch.nn
    torch.manual_seed(5)
    model = nn.Sequential(*(make() for make in layers), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 10))
    return model.to(DEVICE).to(memory_format=torch.channels_last)


def block() -> Any:
    return classifier(lambda: Block(32, 64, 2), features=64)


def resnext() -> Any:
    """A stem and four blocks, two of which halve the image."""
    stem = (lambda: torch.nn.Conv2d(3, 32, 3, 1, 1, bias=False), lambda: torch.nn.BatchNorm2d(32), torch.nn.ReLU)
    sizes = ((32, 64, 1), (64, 64, 1), (64, 64, 2), (64, 128, 2))
    return classifier(*stem, *(functools.partial(Block, *size) for size in sizes), features=128)


def losses(model: Any, half: bool, steps: int = 6, rate: float = 0.2) -> list[float]:
    """The losses of a few training steps, under autocast if `half`."""
    channels = next(model.parameters()).shape[1]
    images = torch.rand(4, channels, 8, 8, generator=torch.Generator().manual_seed(7)).to(DEVICE)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.arange(4, device=DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    kind = torch.bfloat16 if DEVICE == "cpu" else torch.float16
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(DEVICE, dtype=kind, enabled=half):
            loss = torch.nn.functional.cross_entropy(model(images).float(), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instances prepared while a test runs; plans of earlier tests are not reused."""
    names: list[str] = []
    real = Library.prepare
    monkeypatch.setattr(Library, "prepare", lambda self, name, *rest: names.append(name) or real(self, name, *rest))
    engines.engine.cache_clear()
    patching._marker.cache_clear()
    return names


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
def test_a_resnext_block_trains_as_with_pytorch_alone(
    torch_library: Library, chosen: list[str], half: bool, both: bool
) -> None:
    """The reference is cuDNN on a GPU and PyTorch's own kernels on the CPU; the library computes the weight gradients,
    or all."""
    model = block()
    assert len(ct.patch(model, torch_library, input_gradient=both)) == 4
    found, known = losses(model, half), losses(block(), half)
    assert len(chosen) == 4 + 2 * both, "nobody needs the gradient of the images"
    assert any("_bwd_data_" in name for name in chosen) == both
    assert known[-1] < known[0] / 2, "it learns"
    assert found == pytest.approx(known, rel=0.05 if half else 1e-3, abs=0.02 if half else 1e-4)


@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
def test_a_small_resnext_trains_with_both_gradients_as_with_pytorch_alone(
    torch_library: Library, chosen: list[str], half: bool
) -> None:
    """Compare the loss of every step. The library computes all gradients of all convolutions, except that of the
    images."""
    model = resnext()
    assert len(ct.patch(model, torch_library, input_gradient=True)) == 1 + 4 * 3 + 3
    found, known = (losses(one, half, rate=0.02) for one in (model, resnext()))
    assert sum("_bwd_weight_" in name for name in chosen) > 8 < sum("_bwd_data_" in name for name in chosen)
    assert known[-1] < known[0] / 2, "it learns"
    assert found == pytest.approx(known, rel=0.05 if half else 1e-3, abs=0.02 if half else 1e-4)


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_conv_gives_all_gradients_also_of_tensors_that_are_not_channels_last(
    torch_library: Library, shape: tuple[Any, ...], both: bool
) -> None:
    input, weight, gradient, settings = make(shape, torch.float32)
    bias = torch.linspace(-1, 1, weight.shape[0], device=DEVICE)
    own = [tensor.clone().contiguous().requires_grad_() for tensor in (input, weight, bias)]
    other = [tensor.detach().clone().requires_grad_() for tensor in own]
    out = ct.conv(*own, **settings, library=torch_library, input_gradient=both)
    out.backward(gradient.contiguous())
    run = BY_PYTORCH[weight.dim() - 2]
    known = run(*other, **settings)
    known.backward(gradient)
    assert torch.allclose(out, known, atol=1e-5)
    for one, two in zip(own, other, strict=True):
        assert torch.allclose(one.grad, two.grad, atol=1e-4), one.shape


def test_the_example_of_the_documentation_gives_both_gradients(torch_library: Library) -> None:
    page = (ROOT / "docs/nvidia.md").read_text(encoding="utf-8").split("## PyTorch")[1]
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    path = "build/ci/host/libckgen_conv.so"
    assert block is not None and path in block[1]
    names: dict[str, Any] = {}
    with torch.device(DEVICE):
        exec(compile(block[1].replace(path, str(torch_library.path)), "docs/nvidia.md", "exec"), names)
    x, weight, y = names["x"], names["weight"], names["y"].detach()
    settings = {"stride": 2, "padding": 1, "groups": 32}
    for found, of_input in ((x.grad, True), (weight.grad, False)):
        known = expected(x.detach(), weight.detach(), 2 * y, settings, of_input=of_input)
        assert torch.allclose(found.double().cpu(), known, rtol=1e-4, atol=1e-3)


def test_a_library_without_the_operation_says_so(make_stub: StubMaker) -> None:
    """It has only weight gradients. A request for an input gradient is an error with advice."""
    torch_library = make_stub()
    input, weight, gradient, settings = (
        part if isinstance(part, dict) else part.cpu() for part in make(SHAPES[1], torch.float32)
    )
    with pytest.raises(UnsupportedProblem, match="f32 on host that does grouped_conv_bwd_data"):
        ct.conv_backward_data(gradient, channels_last(weight), input.shape, **settings, library=torch_library)
    pair = input.requires_grad_(), weight.requires_grad_()
    with pytest.raises(UnsupportedProblem, match="that does grouped_conv_bwd_data") as raised:
        ct.conv(*pair, **settings, library=torch_library, input_gradient=True).backward(gradient)
    assert '= help: unsupported="pytorch" of conv and patch leaves such a gradient to PyTorch' in str(raised.value)
    assert pair[0].grad is None and pair[1].grad is None
    ct.conv(*pair, **settings, library=torch_library).backward(gradient)
    for found, of_input in ((pair[0].grad, True), (pair[1].grad, False)):
        known = expected(input.detach(), weight.detach(), gradient, settings, of_input=of_input)
        assert torch.allclose(found, known.float(), atol=1e-4)


def test_gradients_that_nobody_needs_are_not_computed(torch_library: Library, chosen: list[str]) -> None:
    input, weight, gradient, settings = make(SHAPES[0])
    bias = torch.zeros(weight.shape[0], device=DEVICE, requires_grad=True)
    input.requires_grad_()
    ct.conv(input, weight, bias, **settings, library=torch_library).backward(gradient)
    assert input.grad is not None and bias.grad is not None and not chosen
    ct.conv(input, weight, bias, **settings, library=torch_library, input_gradient=True).backward(gradient)
    assert [name.split("_xdl_")[0].split("_bwd_")[1][:4] for name in chosen] == ["data"]


def test_input_and_weight_gradients_come_from_one_call(torch_library: Library) -> None:
    """The host does half the work of two calls: the operator runs once in a backward pass."""
    input, weight, gradient, settings = make(SHAPES[1])
    calls = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(str(function))
            return function(*args, **(kwargs or {}))

    out = ct.conv(
        input.requires_grad_(), weight.requires_grad_(), **settings, library=torch_library, input_gradient=True
    )
    with Watch():
        out.backward(gradient)
    assert [name for name in calls if "ckgen" in name] == ["ckgen.conv_backward.default"]
    assert not [name for name in calls if "convolution_backward" in name]


@pytest.mark.skipif(DEVICE == "cpu", reason="CUDA graphs need a GPU: CKGEN_NVIDIA_LIBRARY names no library for one")
def test_a_cuda_graph_captures_a_call(torch_library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float16)
    known = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library).clone()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library)
    found.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found, known)


def test_ckgen_alone_does_not_import_torch() -> None:
    program = "import sys, ckgen, ckgen.library; assert 'torch' not in sys.modules; ckgen.torch.conv; print(1)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
