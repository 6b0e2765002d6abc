"""ckgen.torch against PyTorch's own gradients: on the CPU with the host library, on a GPU where CKGEN_NVIDIA_LIBRARY
names a library for it."""

from __future__ import annotations

import copy
import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ckgen.c_api import LibraryError, UnsupportedProblem
from ckgen.errors import CkgenError
from ckgen.library import Library
from ckgen.problem import ProblemError
from tests.conftest import StubMaker

torch = pytest.importorskip("torch", reason="PyTorch is not installed; ckgen.torch is for its tensors")

import ckgen.torch as ct  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
NVIDIA = os.environ.get("CKGEN_NVIDIA_LIBRARY")
DEVICE = "cuda" if NVIDIA else "cpu"
# Channels in and out, groups, filter, input, stride, padding, dilation.
SHAPES = [
    (16, 32, 1, (1, 1), (7, 6), 1, 0, 1),
    (32, 32, 8, (3, 3), (9, 8), 2, 1, 1),
    (6, 9, 3, (3, 2), (8, 9), (1, 2), (1, 0), (2, 1)),
    (8, 8, 8, (3, 3), (6, 6), 1, 1, 1),
    (16, 8, 2, (3,), (17,), 2, 1, 1),
    (8, 16, 2, (3, 1, 2), (5, 4, 6), 1, (1, 0, 1), 1),
]
TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@pytest.fixture(scope="module")
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    if not NVIDIA:
        yield request.getfixturevalue("host_library")
    elif not torch.cuda.is_available():
        pytest.skip(f"CKGEN_NVIDIA_LIBRARY is {NVIDIA}, but PyTorch sees no GPU")
    else:
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        yield Library(NVIDIA)


def make(shape: tuple[Any, ...], dtype: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Channels-last input and gradient, a weight of the size in question, the settings."""
    c, k, groups, filter, edges, stride, padding, dilation = shape
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    generator = torch.Generator().manual_seed(3)
    input = torch.rand(2, c, *edges, generator=generator) - 0.5
    weight = torch.rand(k, c // groups, *filter, generator=generator) - 0.5
    run = (torch.conv1d, torch.conv2d, torch.conv3d)[len(edges) - 1]
    gradient = torch.rand(run(input, weight, **settings).shape, generator=generator) - 0.5
    placed = (tensor.to(device=DEVICE, dtype=dtype) for tensor in (input, weight, gradient))
    input, weight, gradient = placed
    return ct.channels_last(input), weight, ct.channels_last(gradient), settings


def expected(input: Any, weight: Any, gradient: Any, settings: dict[str, Any], *, of_input: bool = False) -> Any:
    """PyTorch's own gradient in double precision, the weight's or the input's."""
    pair = [tensor.double().cpu().requires_grad_() for tensor in (input, weight)]
    run = (torch.conv1d, torch.conv2d, torch.conv3d)[weight.dim() - 3]
    run(*pair, **settings).backward(gradient.double().cpu())
    return pair[0 if of_input else 1].grad


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_gradient_is_pytorchs(library: Library, shape: tuple[Any, ...], dtype: Any) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    found = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=library)
    assert found.shape == weight.shape and found.dtype == dtype and found.device == input.device
    assert found.movedim(1, -1).is_contiguous()
    difference = (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max()
    assert difference < TOLERANCES[dtype]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_input_gradient_is_pytorchs(library: Library, shape: tuple[Any, ...], dtype: Any) -> None:
    input, weight, gradient, settings = make(shape, dtype)
    packed = ct.channels_last(weight)
    found = ct.conv_backward_data(gradient, packed, input.shape, **settings, library=library)
    assert found.shape == input.shape and found.dtype == dtype and found.device == input.device
    assert found.movedim(1, -1).is_contiguous()
    difference = (found.double().cpu() - expected(input, weight, gradient, settings, of_input=True)).abs().max()
    assert difference < TOLERANCES[dtype]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, w, s: (g, w.contiguous(), s), r"weight is not channels-last"),
        (lambda g, w, s: (g, ct.channels_last(torch.cat((w, w), 1))[:, :4], s), r"weight is not channels-last and gap"),
        (lambda g, w, s: (g, w.half(), s), r"grad_output is torch.float32, weight torch.float16"),
        (lambda g, w, s: (g, w, (2, 31, 9, 8)), r"do not fit an input of shape"),
        (lambda g, w, s: (g, w, (2, 32, 30, 8)), r"grad_output has shape .* this convolution gives"),
        (lambda g, w, s: (g, w, (2, 32)), r"do not fit an input of shape"),
    ],
)
def test_what_does_not_fit_an_input_gradient_is_refused_in_words(library: Library, change: Any, words: str) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    grad_output, seen, size = change(gradient, ct.channels_last(weight), tuple(input.shape))
    with pytest.raises(LibraryError, match=words):
        ct.conv_backward_data(grad_output, seen, size, **settings, library=library)


def test_bfloat16_can_give_float32(library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.bfloat16)
    found = ct.conv_backward_weight(
        gradient, input, weight.shape, **settings, library=library, weight_dtype=torch.float32
    )
    assert found.dtype == torch.float32
    assert (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max() < 1e-4


def test_strides_that_skip_are_taken_as_they_are(library: Library) -> None:
    """Half of the channels of a wider tensor: positions are further apart than they are long."""
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    wide = ct.channels_last(torch.cat((input, input + 1), 1))
    part = wide[:, : input.shape[1]]
    assert part.data_ptr() == wide.data_ptr() and part.stride() != input.stride()
    found = ct.conv_backward_weight(gradient, part, weight.shape, **settings, library=library)
    assert torch.equal(found, ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=library))


def test_addresses_of_any_alignment_are_taken(library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[0], torch.float16)
    shifted = torch.empty(input.numel() + 1, dtype=input.dtype, device=input.device)[1:]
    odd = shifted.as_strided(input.shape, input.stride()).copy_(input)
    assert odd.data_ptr() % 4
    found = ct.conv_backward_weight(gradient, odd, weight.shape, **settings, library=library)
    assert (found.double().cpu() - expected(input, weight, gradient, settings)).abs().max() < 1e-2


def test_a_problem_is_prepared_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    input, weight, gradient, settings = make(SHAPES[0], torch.float32)
    engine = ct.ConvGradients(library)
    calls = []
    real = library.candidates_for
    monkeypatch.setattr(Library, "candidates_for", lambda self, *a, **k: calls.append(1) or real(*a, **k))
    first = engine.weight(gradient, input, list(weight.shape), **settings)
    assert torch.equal(engine.weight(gradient, input, weight.shape, **settings), first)
    assert len(calls) == 1
    engine.weight(gradient[:1], input[:1], weight.shape, **settings)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, x, s: (g, x.contiguous(), s), r"input is not channels-last.*strides"),
        (lambda g, x, s: (g.contiguous(), x, s), r"grad_output is not channels-last"),
        (lambda g, x, s: (g, x.half(), s), r"grad_output is torch.float32, input torch.float16"),
        (lambda g, x, s: (g.double(), x.double(), s), r"float64"),
        (lambda g, x, s: (g[:, :, :2], x, s), r"grad_output has shape .* this convolution gives"),
        (lambda g, x, s: (g, x, (32, 5, 3, 3)), r"do not fit an input of shape"),
        (lambda g, x, s: (g, x, (32, 4, 3)), r"do not fit an input of shape"),
        (lambda g, x, s: (g, x, (32, 4, 30, 3)), r"dilated filter spans"),
        (lambda g, x, s: (g[0, 0], x[0, 0], s), r"1 to 3 dimensions\) is possible"),
        (lambda g, x, s: (g.to("meta"), x.to("meta"), s), r"the tensors are on meta"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(library: Library, change: Any, words: str) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float32)
    grad_output, seen, size = change(gradient, input, tuple(weight.shape))
    with pytest.raises(CkgenError, match=words) as raised:
        ct.conv_backward_weight(grad_output, seen, size, **settings, library=library)
    assert isinstance(raised.value, LibraryError | ProblemError)


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    """ResNeXt's, in small: 1x1, grouped 3x3 with the stride, 1x1, and a shortcut that is added."""

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
    """The layers with a classifier behind them; the same weights each time."""
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
    """The losses of a few steps of training, under autocast if `half`."""
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


def plans_of(model: Any) -> list[str]:
    """The instances that a patched model's gradients were planned for."""
    engines = [module.forward.args[1] for module in model.modules() if isinstance(module, torch.nn.Conv2d)]
    assert len({id(engine) for engine in engines}) == 1, "one engine a model"
    return [plan.choice.name for plan in engines[0]._plans.values()]


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
def test_a_resnext_block_trains_as_with_pytorch_alone(library: Library, half: bool, both: bool) -> None:
    """cuDNN on a GPU, PyTorch's own kernels on the CPU; the library's weight gradients, or all."""
    model = block()
    assert ct.patch(model, library, input_gradient=both) == 4
    found, known = losses(model, half), losses(block(), half)
    assert any("_bwd_data_" in name for name in plans_of(model)) == both
    assert known[-1] < known[0] / 2, "it learns"
    assert found == pytest.approx(known, rel=0.05 if half else 1e-3, abs=0.02 if half else 1e-4)


@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
def test_a_small_resnext_trains_with_both_gradients_as_with_pytorch_alone(library: Library, half: bool) -> None:
    """The loss of every step; all gradients of all convolutions but that of the images, which nobody needs."""
    model = resnext()
    assert ct.patch(model, library, input_gradient=True) == 1 + 4 * 3 + 3
    found, known = (losses(one, half, rate=0.02) for one in (model, resnext()))
    names = plans_of(model)
    assert sum("_bwd_weight_" in name for name in names) > 8 < sum("_bwd_data_" in name for name in names)
    assert known[-1] < known[0] / 2, "it learns"
    assert found == pytest.approx(known, rel=0.05 if half else 1e-3, abs=0.02 if half else 1e-4)


def test_patched_modules_use_the_library_and_unpatched_ones_do_not(library: Library) -> None:
    model = block()
    ct.patch(model, library)
    engine = model[0].body[0].forward.args[1]
    losses(model, False, steps=1)
    assert len(engine._plans) == 4
    twin = copy.deepcopy(model)
    assert twin[0].body[0].forward.args[0] is twin[0].body[0] and twin[0].body[0].forward.args[1] is engine
    assert ct.unpatch(model) == 4
    engine._plans.clear()
    losses(model, False, steps=1)
    assert not engine._plans
    assert model.state_dict().keys() == block().state_dict().keys()


def test_modules_that_pad_otherwise_stay_pytorchs(library: Library) -> None:
    nn = torch.nn
    kept = [nn.Conv2d(4, 4, 3, padding="same"), nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")]
    assert ct.patch(nn.Sequential(*kept, nn.ConvTranspose2d(4, 4, 3), nn.Linear(4, 4)), library) == 0


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_conv_gives_all_gradients_also_of_tensors_that_are_not_channels_last(
    library: Library, shape: tuple[Any, ...], both: bool
) -> None:
    input, weight, gradient, settings = make(shape, torch.float32)
    bias = torch.linspace(-1, 1, weight.shape[0], device=DEVICE)
    own = [tensor.clone().contiguous().requires_grad_() for tensor in (input, weight, bias)]
    other = [tensor.detach().clone().requires_grad_() for tensor in own]
    out = ct.conv(*own, **settings, library=library, input_gradient=both)
    out.backward(gradient.contiguous())
    run = (torch.conv1d, torch.conv2d, torch.conv3d)[weight.dim() - 3]
    known = run(*other, **settings)
    known.backward(gradient)
    assert torch.allclose(out, known, atol=1e-5)
    for one, two in zip(own, other, strict=True):
        assert torch.allclose(one.grad, two.grad, atol=1e-4), one.shape


def test_the_example_of_the_documentation_gives_both_gradients(library: Library) -> None:
    page = (ROOT / "docs/nvidia.md").read_text(encoding="utf-8").split("## PyTorch")[1]
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    path = "build/ci/host/libckgen_conv.so"
    assert block is not None and path in block[1]
    names: dict[str, Any] = {}
    with torch.device(DEVICE):
        exec(compile(block[1].replace(path, str(library.path)), "docs/nvidia.md", "exec"), names)
    x, weight, y = names["x"], names["weight"], names["y"].detach()
    settings = {"stride": 2, "padding": 1, "groups": 32}
    for found, of_input in ((x.grad, True), (weight.grad, False)):
        known = expected(x.detach(), weight.detach(), 2 * y, settings, of_input=of_input)
        assert torch.allclose(found.double().cpu(), known, rtol=1e-4, atol=1e-3)


def test_a_library_without_the_operation_says_so(make_stub: StubMaker) -> None:
    """It has weight gradients alone. An input gradient asked of it is an error that says what to do instead."""
    library = make_stub()
    input, weight, gradient, settings = (
        part if isinstance(part, dict) else part.cpu() for part in make(SHAPES[1], torch.float32)
    )
    with pytest.raises(UnsupportedProblem, match="f32 on host that does grouped_conv_bwd_data"):
        ct.conv_backward_data(gradient, ct.channels_last(weight), input.shape, **settings, library=library)
    pair = input.requires_grad_(), weight.requires_grad_()
    with pytest.raises(UnsupportedProblem, match="that does grouped_conv_bwd_data") as raised:
        ct.conv(*pair, **settings, library=library, input_gradient=True).backward(gradient)
    assert "= help: input_gradient=False leaves it to PyTorch" in str(raised.value)
    assert pair[0].grad is None and pair[1].grad is None
    ct.conv(*pair, **settings, library=library).backward(gradient)
    for found, of_input in ((pair[0].grad, True), (pair[1].grad, False)):
        known = expected(input.detach(), weight.detach(), gradient, settings, of_input=of_input)
        assert torch.allclose(found, known.float(), atol=1e-4)


def test_gradients_that_nobody_needs_are_not_computed(library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[0], torch.float32)
    engine = ct.ConvGradients(library)
    input.requires_grad_()
    ct.conv(input, weight, None, **settings, library=engine).backward(gradient)
    assert input.grad is not None and not engine._plans


def test_a_compiled_model_steps_out_of_its_graph(library: Library) -> None:
    model = block()
    ct.patch(model, library)
    compiled = torch.compile(model, backend="eager")
    assert losses(compiled, False, steps=2) == pytest.approx(losses(block(), False, steps=2), rel=1e-4)


@pytest.mark.skipif(DEVICE == "cpu", reason="CUDA graphs need a GPU: CKGEN_NVIDIA_LIBRARY names no library for one")
def test_a_cuda_graph_captures_a_call(library: Library) -> None:
    input, weight, gradient, settings = make(SHAPES[1], torch.float16)
    engine = ct.ConvGradients(library)
    known = engine.weight(gradient, input, weight.shape, **settings).clone()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = engine.weight(gradient, input, weight.shape, **settings)
    found.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found, known)


def test_ckgen_alone_does_not_import_torch() -> None:
    program = "import sys, ckgen, ckgen.library; assert 'torch' not in sys.modules; ckgen.torch.conv; print(1)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
