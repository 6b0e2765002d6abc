"""Test that derivatives of every order through ckgen.torch equal PyTorch's: in reverse mode, forward mode and
torch.func.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ckgen.library.library import Library
from tests.support.torch_cases import (
    BY_PYTORCH,
    DEVICE,
    SHAPES,
    TINY,
    assert_close,
    channels_last,
    derivatives,
    expected,
    leaves,
    make,
    torch,
    uniform,
)

import ckgen.torch as ct  # isort: skip

func = torch.func


def pair(
    library: Library, shape: tuple[Any, ...], both: bool
) -> tuple[Callable[..., Any], Callable[..., Any], list[Any]]:
    """A scalar function of input, weight and bias by the library, the same by PyTorch alone, and its arguments."""
    input, weight, gradient, settings = make(shape)

    def own(x: Any, w: Any, b: Any) -> Any:
        return (ct.conv(x, w, b, **settings, library=library, input_gradient=both).sin() * gradient).sum()

    def pytorchs(x: Any, w: Any, b: Any) -> Any:
        return (BY_PYTORCH[w.dim() - 2](x, w, b, **settings).sin() * gradient).sum()

    return own, pytorchs, [input, weight, uniform(weight.shape[0])]


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("shape", TINY, ids=str)
def test_three_orders_backwards(torch_library: Library, shape: tuple[Any, ...], both: bool) -> None:
    own, pytorchs, tensors = pair(torch_library, shape, both)
    found = derivatives(own, leaves(*tensors), 3)
    assert_close(found, derivatives(pytorchs, leaves(*(tensor.double() for tensor in tensors)), 3), 2e-4)


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
def test_products_with_the_hessian(torch_library: Library, both: bool) -> None:
    own, pytorchs, tensors = pair(torch_library, TINY[1], both)
    directions = tuple(torch.cos(tensor) for tensor in tensors)
    for product in (torch.autograd.functional.hvp, torch.autograd.functional.vhp):
        found, known = (product(f, tuple(tensors), directions)[1] for f in (own, pytorchs))
        assert_close(found, known)


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
def test_a_gradient_penalty_trains_all_weights(torch_library: Library, both: bool) -> None:
    """Train as the critic of a Wasserstein GAN is trained: the loss contains the norm of the gradient of the input."""

    def losses(patched: bool) -> list[Any]:
        torch.manual_seed(4)
        nn = torch.nn
        critic = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Tanh(), nn.Conv2d(4, 4, 2), nn.Tanh(), nn.Flatten())
        critic = critic.to(DEVICE)
        if patched:
            assert len(ct.patch(critic, torch_library, input_gradient=both)) == 2
        images = uniform(2, 3, 6, 6).requires_grad_()
        scores = critic(images)
        (slope,) = torch.autograd.grad(scores.sum(), images, create_graph=True)
        (scores.mean() + (slope.flatten(1).norm(dim=1) - 1).square().mean()).backward()
        return [images.grad, *(parameter.grad for parameter in critic.parameters())]

    assert_close(losses(True), losses(False))


def test_a_loss_of_the_gradient_of_a_gradient_call(torch_library: Library) -> None:
    """conv_backward_weight and conv_backward_data are themselves twice differentiable."""
    for shape in TINY:
        input, weight, gradient, settings = make(shape)
        weight = channels_last(weight)

        def by_weight(g: Any, x: Any, size: Any = weight.shape, settings: Any = settings) -> Any:
            return ct.conv_backward_weight(g, x, size, **settings, library=torch_library)

        def by_data(g: Any, w: Any, size: Any = input.shape, settings: Any = settings) -> Any:
            return ct.conv_backward_data(g, w, size, **settings, library=torch_library)

        def known(of_input: bool, g: Any, t: Any, settings: Any = settings, pair: Any = (input, weight)) -> Any:
            given = [(pair[0].detach().double() if of_input else t), (t if of_input else pair[1].detach().double())]
            given = [part if part is t else part.requires_grad_() for part in given]
            out = BY_PYTORCH[t.dim() - 2](*given, **settings)
            return torch.autograd.grad(out, given[0 if of_input else 1], g, create_graph=True)[0]

        for own, tensors, of_input in ((by_weight, (gradient, input), False), (by_data, (gradient, weight), True)):
            found = derivatives(own, leaves(*tensors), 2)
            doubles = leaves(*(tensor.double() for tensor in tensors))
            assert_close(found, derivatives(lambda g, t, o=of_input: known(o, g, t), doubles, 2), 2e-4)


def test_a_gradient_in_another_type_is_differentiable(torch_library: Library) -> None:
    input, weight, gradient, settings = make(TINY[1], torch.bfloat16)
    tensors = leaves(gradient, input)
    size = weight.shape
    found = ct.conv_backward_weight(*tensors, size, **settings, library=torch_library, weight_dtype=torch.float32)
    assert found.dtype == torch.float32
    found.sum().backward()
    ones = torch.ones_like(weight)
    assert_close(tensors[0].grad, BY_PYTORCH[2](input.double(), ones.double(), **settings), 1e-2)
    assert_close(tensors[1].grad, expected(input, ones, gradient, settings, of_input=True), 2e-2)


TRANSFORMS: dict[str, Callable[[Callable[..., Any], list[Any]], Any]] = {
    "grad": lambda f, t: func.grad(f, (0, 1, 2))(*t),
    "vjp": lambda f, t: func.vjp(f, *t)[1](torch.ones((), device=DEVICE)),
    "jvp": lambda f, t: func.jvp(f, tuple(t), tuple(torch.cos(part) for part in t))[1],
    "jvp of a bias": lambda f, t: func.jvp(lambda b: f(t[0], t[1], b), (t[2],), (torch.cos(t[2]),))[1],
    "jacrev": lambda f, t: func.jacrev(f, (0, 1))(*t),
    "jacfwd": lambda f, t: func.jacfwd(f, (1, 2))(*t),
    "forward over reverse": lambda f, t: func.jvp(func.grad(f, (0, 1)), tuple(t), tuple(torch.cos(p) for p in t))[1],
    "reverse over forward": lambda f, t: func.grad(
        lambda *a: func.jvp(f, a, tuple(torch.cos(p) for p in t))[1], (0, 1)
    )(*t),
    "reverse over reverse": lambda f, t: func.jacrev(func.grad(f, 1), 0)(*t),
    "forward over forward": lambda f, t: func.jvp(
        lambda *a: func.jvp(f, a, tuple(torch.cos(p) for p in t))[1], tuple(t), tuple(torch.sin(p) for p in t)
    )[1],
    "hessian": lambda f, t: func.hessian(f, 2)(*t),
    "forward over reverse over reverse": lambda f, t: func.jvp(
        func.grad(lambda *a: func.grad(f, 1)(*a).square().sum(), (0, 1)), tuple(t), tuple(torch.cos(p) for p in t)
    )[1],
    "gradients of each image": lambda f, t: func.vmap(func.grad(f, (0, 1, 2)), (0, None, None))(
        torch.stack((t[0], t[0].cos())), t[1], t[2]
    ),
    "gradients of each weight": lambda f, t: func.vmap(func.grad(f, (0, 1)), (None, 2, None))(
        t[0], torch.stack((t[1], t[1].cos()), 2), t[2]
    ),
    "gradients of each input alone": lambda f, t: func.vmap(func.grad(f, 0), (1, None, None))(
        torch.stack((t[0], t[0].cos()), 1), t[1], t[2]
    ),
    "gradients of each bias": lambda f, t: func.vmap(func.grad(f, (1, 2)), (None, None, 0))(
        t[0], t[1], torch.stack((t[2], t[2].cos()))
    ),
    "vmap of vmap": lambda f, t: func.vmap(func.vmap(func.grad(f, 1), (0, None, None)), (None, 0, None))(
        torch.stack((t[0], t[0].cos())), torch.stack((t[1], t[1].cos())), t[2]
    ),
}


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_of_torch_func(torch_library: Library, transform: str, both: bool) -> None:
    own, pytorchs, tensors = pair(torch_library, TINY[1], both)
    found, known = (TRANSFORMS[transform](f, tensors) for f in (own, pytorchs))
    assert_close(found, known)


@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
@pytest.mark.parametrize("shape", TINY, ids=str)
def test_forward_over_reverse_of_all_tensors(torch_library: Library, shape: tuple[Any, ...], both: bool) -> None:
    """Compute the gradients of input, weight and bias together, and without the weight's, in each number of
    dimensions."""
    own, pytorchs, tensors = pair(torch_library, shape, both)
    tangents = tuple(torch.cos(part) for part in tensors)
    for of in ((0, 1, 2), (0, 2)):
        found = func.jvp(func.grad(own, of), tuple(tensors), tangents)
        doubles = tuple(part.double() for part in tensors), tuple(part.double() for part in tangents)
        known = func.jvp(func.grad(pytorchs, (0, 1, 2)), *doubles)  # PyTorch itself refuses (0, 2) in 1D
        for one, two in zip(found, known, strict=True):
            assert_close(list(one), [two[at] for at in of])


def test_dual_tensors_without_torch_func(torch_library: Library) -> None:
    """Use forward mode over a backward pass that records nothing."""
    own, pytorchs, tensors = pair(torch_library, TINY[1], True)
    forward_ad = torch.autograd.forward_ad
    found = []
    for function in (own, pytorchs):
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t.clone().requires_grad_(), torch.cos(t)) for t in tensors]
            value = function(*duals)
            gradients = torch.autograd.grad(value, duals)
            found.append([forward_ad.unpack_dual(part).tangent for part in (value, *gradients)])
    assert_close(*found)


def test_batched_gradients_of_autograd(torch_library: Library) -> None:
    input, weight, gradient, settings = make(TINY[1])
    found = []
    for run in (lambda x, w: ct.conv(x, w, **settings, library=torch_library, input_gradient=True), torch.conv2d):
        tensors = leaves(input, weight)
        out = run(*tensors) if run is not torch.conv2d else run(*tensors, **settings)
        many = torch.stack((gradient, gradient.cos()))
        found.append(torch.autograd.grad(out, tensors, many, is_grads_batched=True))
    assert_close(*found)


def test_functional_calls_of_a_patched_model(torch_library: Library) -> None:
    """Compute gradients of all parameters per batch entry."""
    torch.manual_seed(3)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 2), nn.Flatten()).to(DEVICE)
    parameters, images = dict(model.named_parameters()), uniform(3, 3, 4, 4)

    def gradients() -> Any:
        loss = lambda p, image: func.functional_call(model, p, (image[None],)).square().sum()  # noqa: E731
        return func.vmap(func.grad(loss), (None, 0))({name: p.detach() for name, p in parameters.items()}, images)

    known = gradients()
    ct.patch(model, torch_library, input_gradient=True)
    found = gradients()
    assert_close([found[name] for name in known], list(known.values()))


def random_case(seed: int) -> tuple[Any, ...]:
    """A convolution of a few hundred products, with random settings."""
    rng = random.Random(seed)
    ndim, groups = rng.choice((1, 2, 2, 3)), rng.choice((1, 1, 2, 3))
    each = lambda *options: tuple(rng.choice(options) for _ in range(ndim))  # noqa: E731
    filter, stride, dilation, padding = each(1, 2, 3), each(1, 1, 2), each(1, 1, 2), each(0, 0, 1, 2)
    reach = [(f - 1) * d + 1 - 2 * p for f, d, p in zip(filter, dilation, padding, strict=True)]
    edges = tuple(max(1, least) + rng.randrange(3) for least in reach)
    channels = rng.choice((1, 2, 3)) * groups, rng.choice((1, 2, 4)) * groups
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return rng, (rng.choice((1, 2)), channels[0], *edges), (channels[1], channels[0] // groups, *filter), settings


def placed(tensor: Any, rng: random.Random) -> Any:
    """The tensor's values in a random memory format, which may have gaps, an offset, or an arbitrary stride for length
    1."""
    kind = rng.randrange(4) if tensor.dim() > 2 else 0
    if kind == 0:
        return tensor
    if kind == 1:
        return channels_last(tensor)
    if kind == 2:
        wide = torch.zeros(*tensor.shape[:-1], 2 * tensor.shape[-1] + 1, dtype=tensor.dtype, device=tensor.device)
        return wide[..., 1::2].copy_(tensor)
    order = rng.sample(range(tensor.dim()), tensor.dim())
    back = [order.index(axis) for axis in range(tensor.dim())]
    return tensor.permute(order).contiguous().permute(back)


@pytest.mark.parametrize("seed", range(60))
def test_random_convolutions_in_any_memory_format(torch_library: Library, seed: int) -> None:
    """Compare two orders of derivatives of the tensors that need a gradient; the first order also in half precision."""
    rng, in_shape, wei_shape, settings = random_case(seed)
    dtype = rng.choice((torch.float32, torch.float32, torch.float16, torch.bfloat16))
    base = [uniform(*shape, dtype=dtype) for shape in (in_shape, wei_shape, wei_shape[:1])]
    tensors = [placed(tensor, rng).detach() for tensor in base]
    wanted = rng.choice(((1, 1, 1), (1, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 1), (0, 0, 1)))
    both, order = rng.random() < 0.7, 2 if dtype == torch.float32 else 1

    def run(function: Callable[..., Any], values: list[Any]) -> list[Any]:
        values = [value.requires_grad_() if need else value for value, need in zip(values, wanted, strict=True)]
        needed = [value for value in values if value.requires_grad]
        return derivatives(lambda *_: function(*values, **settings), needed, order)

    found = run(lambda *a, **s: ct.conv(*a, **s, library=torch_library, input_gradient=both), tensors)
    known = run(BY_PYTORCH[len(in_shape) - 2], [tensor.detach().cpu().double() for tensor in base])
    assert_close(found, known, {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}[dtype])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_family_of_the_library_is_differentiable(torch_library: Library, shape: tuple[Any, ...]) -> None:
    """On a GPU these are the tuned instances, on the host the generic ones."""
    own, pytorchs, tensors = pair(torch_library, shape, True)
    found = derivatives(own, leaves(*tensors), 2)
    assert_close(found, derivatives(pytorchs, leaves(*(tensor.double() for tensor in tensors)), 2), 5e-4)
