"""Test the operators of ckgen.torch with the checks of torch.library, and compiled, traced and exported models."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from ckgen.library.library import Library
from tests.support.torch_cases import DEVICE, TINY, assert_close, channels_last, make, torch, uniform

import ckgen.torch as ct  # isort: skip

nn = torch.nn


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Reset the compiler, so that tests do not share compiled code."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("shape", TINY, ids=str)
def test_the_operators_are_sound(torch_library: Library, shape: tuple[Any, ...]) -> None:
    """Compare schema, autograd kernel, and the shapes and strides of fake and real kernel, symbolic ones included."""
    input, weight, gradient, settings = make(shape)
    ndim = weight.dim() - 2
    edges = [[value] * ndim if isinstance(value, int) else list(value) for value in list(settings.values())[:3]]
    tensors = [tensor.requires_grad_() for tensor in (gradient, input, weight)]
    rest = *edges, settings["groups"]
    opcheck = torch.library.opcheck
    for wanted in ((True, True), (True, False), (False, True)):
        operator = torch.ops.ckgen.conv_backward.default
        opcheck(operator, (*tensors, *rest, *wanted, torch_library.path, True, False))
    bias = uniform(weight.shape[0]).requires_grad_()
    for both in (False, True):
        opcheck(torch.ops.ckgen.conv.default, (*tensors[1:], bias, *rest, torch_library.path, both, False))


def model(library: Library | None, both: bool) -> Any:
    """A model without normalisation after a bias, because that bias would have a gradient of rounding errors alone."""
    torch.manual_seed(1)
    made = nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding="same"), nn.Tanh(), nn.Conv2d(4, 4, (2, 3), padding="same", groups=2)),
        *(nn.Flatten(2), nn.Conv1d(4, 2, 3, stride=2), nn.Flatten(), nn.Linear(2 * 14, 3)),
    ).to(DEVICE)
    if library:
        assert len(ct.patch(made, library, input_gradient=both)) == 3
    return made


def gradients(made: Any, run: Any, images: Any, half: bool = False) -> list[Any]:
    made.zero_grad()
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=half):
        loss = run(images).float().square().mean()
    loss.backward()
    return [parameter.grad.clone() for parameter in made.parameters()]


@pytest.mark.parametrize(
    ("backend", "half", "both"),
    [
        ("eager", False, True),
        ("eager", True, False),
        ("aot_eager", False, False),
        ("aot_eager", True, True),
        ("inductor", False, True),
        ("inductor", True, False),
    ],
)
def test_a_compiled_model_is_one_graph(torch_library: Library, backend: str, half: bool, both: bool) -> None:
    made, plain, images = model(torch_library, both), model(None, both), uniform(2, 3, 5, 6)
    found = gradients(made, torch.compile(made, backend=backend, fullgraph=True), images, half)
    assert_close(found, gradients(plain, plain, images, half), 2e-2 if half else 1e-4)


def test_a_compiled_model_with_dynamic_shapes(torch_library: Library) -> None:
    made, plain = model(torch_library, True), model(None, True)
    compiled = torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=True)
    for batch in (2, 5, 3):
        images = uniform(batch, 3, 5, 6)
        assert_close(gradients(made, compiled, images), gradients(plain, plain, images))


def test_a_compiled_backward_pass(torch_library: Library) -> None:
    """Compiled autograd also traces the backward pass, as DDP requests."""
    made, plain, images = model(torch_library, True), model(None, True), uniform(2, 3, 5, 6)
    run = torch.compile(lambda x: made(x).square().mean().backward(), backend="aot_eager")
    with torch._dynamo.config.patch(compiled_autograd=True):
        run(images)
    found = [parameter.grad for parameter in made.parameters()]
    assert_close(found, gradients(plain, plain, images))
    made.zero_grad()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)):
        made(images).square().mean().backward()
    assert_close([parameter.grad for parameter in made.parameters()], found)


def test_compiled_transforms_and_calls(torch_library: Library) -> None:
    """Compile torch.func inside a function, a library object in place of its path, and a gradient alone."""
    input, weight, gradient, settings = make(TINY[1])
    path = torch_library.path

    def loss(x: Any, w: Any) -> Any:
        return ct.conv(x, w, **settings, library=path, input_gradient=True).sin().sum()

    def known(x: Any, w: Any) -> Any:
        return torch.conv2d(x, w, **settings).sin().sum()

    def compiled(function: Any) -> Any:
        return torch.compile(function, backend="aot_eager", fullgraph=True)

    found = compiled(torch.func.grad(loss, (0, 1)))(input, weight)
    assert_close(found, torch.func.grad(known, (0, 1))(input, weight))
    out = compiled(lambda x, w: ct.conv(x, w, **settings, library=torch_library))(input, weight)
    assert_close(out, torch.conv2d(input, weight, **settings))
    for_weight = lambda g, x: ct.conv_backward_weight(g, x, weight.shape, **settings, library=path)  # noqa: E731
    assert torch.equal(compiled(for_weight)(gradient, input), for_weight(gradient, input))
    for_data = lambda g, w: ct.conv_backward_data(g, w, input.shape, **settings, library=path)  # noqa: E731
    packed = channels_last(weight)
    assert torch.equal(compiled(for_data)(gradient, packed), for_data(gradient, packed))


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_model(torch_library: Library, strict: bool) -> None:
    made, images = model(torch_library, True), uniform(2, 3, 5, 6)
    batch = {0: torch.export.Dim("batch", min=1, max=64)}
    program = torch.export.export(made, (images,), dynamic_shapes=(batch,), strict=strict)
    names = [str(node.target) for node in program.graph.nodes]
    assert names.count("ckgen.conv.default") == 3
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    back = torch.export.load(file).module()
    other = uniform(3, 3, 5, 6)
    assert_close(back(other), made(other))
    plain = model(None, True)
    (back(other).square().mean()).backward()
    known = gradients(plain, plain, other)
    found = dict(back.named_parameters())
    assert_close([found[name].grad for name, _ in plain.named_parameters()], known)


def test_traced_models(torch_library: Library) -> None:
    made, plain, images = model(torch_library, True), model(None, True), uniform(2, 3, 5, 6)
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(made, (images,))
    assert_close(gradients(traced, traced, images), gradients(plain, plain, images))
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    weight = uniform(4, 3, 2, 2).requires_grad_()
    step = lambda x, w: torch.autograd.grad(ct.conv(x, w, library=torch_library).sin().sum(), w)  # noqa: E731
    graph = make_fx(step)(images, weight)
    assert "torch.ops.ckgen.conv_backward.default" in graph.code
    assert_close(graph(images, weight), step(images, weight))


def test_meta_tensors(torch_library: Library) -> None:
    """Shapes and strides are known without a run, even for the calls for one gradient."""
    input, weight, gradient, settings = (part if isinstance(part, dict) else part.to("meta") for part in make(TINY[1]))
    pair = input.requires_grad_(), weight.requires_grad_()
    out = ct.conv(*pair, **settings, library=torch_library, input_gradient=True)
    out.backward(gradient)
    assert out.shape == gradient.shape
    assert [t.grad.shape for t in pair] == [t.shape for t in pair] and pair[0].grad.is_meta
    found = ct.conv_backward_weight(gradient, input.detach(), weight.shape, **settings, library=torch_library)
    assert found.is_meta and found.shape == weight.shape and found.movedim(1, -1).is_contiguous()
