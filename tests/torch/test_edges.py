"""Test unusual tensors and modes: ckgen.torch returns PyTorch's numbers, formats and errors, or reports a refusal."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ckgen.library.c_api import LibraryError
from ckgen.library.library import Library
from tests.conftest import StubMaker
from tests.support.torch_cases import (
    BY_PYTORCH,
    DEVICE,
    TINY,
    assert_close,
    channels_last,
    leaves,
    make,
    torch,
    uniform,
)

import ckgen.torch as ct  # isort: skip
from ckgen.torch import autograd  # isort: skip
from ckgen.torch import engines  # isort: skip
from ckgen.torch.strides import even, gap_free, packed, readable, result_strides  # isort: skip

nn = torch.nn
HALF = torch.bfloat16 if DEVICE == "cpu" else torch.float16


def both_ways(library: Library, tensors: list[Any], settings: dict[str, Any], use: Callable[[Any], Any]) -> None:
    """Compare output and gradients by the library and by PyTorch, with ``use`` of the output as the loss."""
    own, other = leaves(*tensors), leaves(*tensors)
    run = BY_PYTORCH[tensors[1].dim() - 2]
    outs = ct.conv(*own, **settings, library=library, input_gradient=True), run(*other, **settings)
    for out in outs:
        use(out).backward()
    assert outs[0].dtype == outs[1].dtype
    assert_close(outs[0], outs[1])
    assert_close([tensor.grad for tensor in own], [tensor.grad for tensor in other])


@pytest.mark.parametrize("shape", TINY, ids=str)
def test_an_empty_batch_has_gradients_of_zero(torch_library: Library, shape: tuple[Any, ...]) -> None:
    input, weight, gradient, settings = make(shape)
    bias = uniform(weight.shape[0])
    own = leaves(input[:0], weight, bias)
    out = ct.conv(*own, **settings, library=torch_library, input_gradient=True)
    (slope,) = torch.autograd.grad(out.sum(), own[1], create_graph=True, retain_graph=True)
    (out.sum() + slope.square().sum()).backward()
    assert [tensor.grad.shape for tensor in own] == [tensor.shape for tensor in own]
    assert not any(tensor.grad.any() for tensor in own)
    none = ct.conv_backward_weight(gradient[:0], input[:0], weight.shape, **settings, library=torch_library)
    assert none.shape == weight.shape and not none.any() and none.movedim(1, -1).is_contiguous()
    packed = channels_last(weight)
    none = ct.conv_backward_data(gradient[:0], packed, (0, *input.shape[1:]), **settings, library=torch_library)
    assert none.shape == input[:0].shape


@pytest.mark.parametrize("biases", [0, 1])
def test_no_input_channels(torch_library: Library, biases: int) -> None:
    tensors = [uniform(2, 0, 4, 4), uniform(3, 0, 3, 3), uniform(3)]
    both_ways(torch_library, tensors[: 2 + biases], {"padding": 1}, torch.sum)


def test_an_empty_batch_that_does_not_fit(torch_library: Library) -> None:
    input, gradient = (channels_last(uniform(0, 2, edge, edge)) for edge in (5, 3))
    assert not ct.conv_backward_weight(gradient, input, (2, 2, 3, 3), library=torch_library).any()
    full = channels_last(uniform(2, 2, 5, 5))
    for wrong, size in ((input, (2, 2, 2, 2)), (full, (2, 2, 3, 3))):
        with pytest.raises(LibraryError, match="grad_output has shape .* this convolution gives"):
            ct.conv_backward_weight(gradient, wrong, size, library=torch_library)


@pytest.mark.parametrize("shape", TINY, ids=str)
def test_an_image_without_a_batch(torch_library: Library, shape: tuple[Any, ...]) -> None:
    input, weight, _, settings = make(shape)
    both_ways(torch_library, [input[0], weight], settings, lambda out: out.square().sum())
    both_ways(torch_library, [input[0], weight, uniform(weight.shape[0])], settings, lambda out: out.square().sum())


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("filter", [(3,), (2,), (2, 3), (4, 2), (3, 3), (2, 1, 2)], ids=str)
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_padding_in_words(torch_library: Library, filter: tuple[int, ...], padding: str) -> None:
    input, weight = uniform(2, 2, *(5 + at for at in range(len(filter)))), uniform(3, 2, *filter)
    dilation = (1,) * (len(filter) - 1) + (2,) if padding == "valid" else 1
    settings = {"padding": padding, "dilation": dilation}
    both_ways(torch_library, [input, weight], settings, lambda out: out.square().sum())
    both_ways(torch_library, [input[0], weight], settings, lambda out: out.square().sum())


@pytest.mark.parametrize(
    ("shapes", "settings"),
    [
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"padding": "same", "stride": 2}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"padding": "other"}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"padding": (1, 1, 1)}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"padding": "same", "dilation": (1, 1, 1)}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"padding": -1}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"stride": 0}),
        (((2, 3, 4, 4), (4, 3, 3, 3)), {"groups": 2}),
        (((2, 3, 4, 4), (4, 2, 3, 3)), {}),
        (((2, 3, 2, 2), (4, 3, 3, 3)), {}),
        (((2, 3, 4), (4, 3, 3, 3)), {}),
        (((3, 4), (4, 3, 3, 3)), {}),
        (((2, 3), (4, 3)), {}),
    ],
)
def test_what_is_wrong_is_said_in_pytorchs_words(torch_library: Library, shapes: Any, settings: dict[str, Any]) -> None:
    tensors = [uniform(*shape) for shape in shapes]
    with pytest.raises((RuntimeError, ValueError, TypeError)) as known:
        torch.conv2d(*tensors, **settings)
    with pytest.raises(known.type) as found:
        ct.conv(*tensors, **settings, library=torch_library)
    assert str(found.value).split("\n")[0] == str(known.value).split("\n")[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
def test_types_that_no_library_has_are_pytorchs(torch_library: Library, dtype: Any) -> None:
    input, weight, _, settings = make(TINY[1], dtype)
    both_ways(torch_library, [input, weight], settings, lambda out: out.abs().square().sum())
    model = nn.Conv2d(4, 6, 3, dtype=dtype, device=DEVICE)
    ct.patch(model, torch_library, input_gradient=True)
    model(input).abs().sum().backward()
    assert model.weight.grad.dtype == dtype and torch.all(torch.isfinite(model.weight.grad.abs()))


def test_mixed_types_are_pytorchs_error(torch_library: Library) -> None:
    input, weight, *_ = make(TINY[1])
    with pytest.raises(RuntimeError, match="should be the same"):
        ct.conv(input, weight.double(), groups=2, library=torch_library)


FORMATS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda tensor: tensor.contiguous(),
    "channels_last": lambda tensor: channels_last(tensor.contiguous()),
}


@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize("input_format", FORMATS)
@pytest.mark.parametrize("sizes", [(2, 4, 3, 2), (2, 4, 1, 1), (1, 1, 3, 3), (2, 1, 1, 4)], ids=str)
def test_a_gradient_has_the_strides_of_its_tensor(
    torch_library: Library, sizes: tuple[int, ...], input_format: str, weight_format: str
) -> None:
    """Even the arbitrary strides of dimensions of length 1 must match: optimizers and DDP compare them all."""
    batch, channels, *filter = sizes
    input = FORMATS[input_format](uniform(batch, channels, *(edge + 1 for edge in filter)))
    weight = FORMATS[weight_format](uniform(4, channels, *filter))
    tensors = leaves(input, weight)
    out = ct.conv(*tensors, library=torch_library, input_gradient=True)
    found = torch.autograd.grad(out.square().sum(), tensors)
    assert [part.stride() for part in found] == [input.stride(), weight.stride()]
    known = torch.autograd.grad(torch.conv2d(*tensors).square().sum(), tensors)
    assert_close(found, known)


@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize("input_format", FORMATS)
def test_a_gradient_that_pytorch_computes_has_them_too(
    make_stub: StubMaker, input_format: str, weight_format: str
) -> None:
    """The stand-in has no instance for input gradients. PyTorch's have the strides of the kernel that computed them,
    but a compiled graph relies on the strides of the fake kernel."""
    input, weight = torch.ones(2, 4, 5, 5, dtype=torch.bfloat16), torch.ones(6, 4, 3, 3, dtype=torch.bfloat16)
    tensors = torch.ones(2, 6, 3, 3, dtype=torch.bfloat16), FORMATS[input_format](input), FORMATS[weight_format](weight)
    settings = [1, 1], [0, 0], [1, 1], 1, True, False, make_stub().path, True, True
    found, _ = torch.ops.ckgen.conv_backward(*tensors, *settings)
    assert found.stride() == tensors[1].stride()
    assert_close(found, torch.ops.aten.conv_transpose2d(tensors[0], weight))


def test_strides() -> None:
    """Check the strides of tensors read in place, of tensors copied first, and of results."""
    assert readable((2, 3, 4, 5), (60, 1, 15, 3)) == (60, 1, 15, 3)
    assert readable((2, 3, 4, 5), (600, 1, 30, 6)) == (600, 1, 30, 6), "gaps"
    assert readable((1, 3, 1, 1), (7, 1, 9, 0)) == (3, 1, 3, 3), "strides that say nothing"
    assert readable((2, 1, 4, 5), (20, 20, 5, 1)) == (20, 1, 5, 1), "one channel"
    for stride in ((60, 20, 5, 1), (0, 0, 0, 0), (60, 1, 0, 3), (12, 1, 3, 12), (60, 1, 15, 2)):
        assert readable((2, 3, 4, 5), stride) is None
    assert readable((2, 4, 5, 5), (324, 1, 72, 8)) is None, "every other row of 9, whose last rows end early"
    for stride in ((60, 1, 15, 3), (120, 1, 30, 6)):
        assert even((2, 3, 4, 5), stride) == stride
    for stride in ((600, 1, 30, 6), (120, 1, 15, 3), (60, 20, 5, 1)):
        assert even((2, 3, 4, 5), stride) is None
    assert even((1, 3, 4, 1), (7, 1, 3, 9)) == (12, 1, 3, 3), "strides that say nothing"
    assert gap_free((2, 3, 4, 5), (60, 1, 15, 3)) and not gap_free((2, 3, 4, 5), (600, 1, 30, 6))
    assert packed((2, 3, 4, 5)) == (60, 1, 15, 3) and packed((2, 3, 4)) == (12, 1, 3)
    assert result_strides((2, 3, 4, 5), (60, 20, 5, 1)) == (60, 20, 5, 1)
    assert result_strides((2, 3, 1, 5), (15, 1, 99, 3)) == (15, 1, 99, 3)
    for stride in ((120, 40, 10, 2), (0, 0, 0, 0), (20, 20, 5, 1)):
        assert result_strides((2, 3, 4, 5), stride) == (60, 1, 15, 3)


USES: dict[str, Callable[[Any], Any]] = {
    "expanded": lambda out: out.sum(),
    "expanded over channels": lambda out: out.sum(1).square().sum(),
    "strided": lambda out: out[..., ::2].square().sum(),
    "transposed": lambda out: (out.transpose(-1, -2) * uniform(*out.transpose(-1, -2).shape)).sum(),
    "summed twice": lambda out: (out + out).square().sum(),
    "negated": lambda out: torch.view_as_complex(torch.stack((out, out), -1)).conj().imag.square().sum(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("channels", [4, 1])
def test_output_gradients_of_any_strides(torch_library: Library, use: str, channels: int) -> None:
    tensors = [uniform(2, 2, 4, 4), uniform(channels, 2, 3, 3), uniform(channels)]
    for form in FORMATS.values():
        both_ways(torch_library, [form(tensors[0]), form(tensors[1]), tensors[2]], {"padding": 1}, USES[use])


def test_gradients_given_with_strides_of_zero_and_negative_bits(torch_library: Library) -> None:
    input, weight, gradient, settings = make(TINY[1])
    tensors = leaves(input, weight)
    out = ct.conv(*tensors, **settings, library=torch_library, input_gradient=True)
    known = torch.conv2d(*tensors, **settings)
    negative = torch.view_as_complex(torch.stack((gradient, gradient), -1)).conj().imag
    assert negative.is_neg()
    for given in (gradient[:1].expand_as(gradient), gradient[:, :1].expand_as(gradient), negative):
        found = torch.autograd.grad(out, tensors, given, retain_graph=True)
        assert_close(found, torch.autograd.grad(known, tensors, given, retain_graph=True))


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_and_inputs_with_gaps(torch_library: Library, groups: int) -> None:
    """The gradient of a result of cat is a part of the whole gradient; a shortcut may take every other row."""
    weight, module = uniform(8, 4 // groups, 3, 3), nn.functional.conv2d
    wide = channels_last(uniform(2, 4, 9, 9))
    for input in (wide[:, :, ::2, ::2], wide[:, :, 1:6, 2:7], wide[:, :, :5], wide[..., :7]):
        own = [tensor.detach().requires_grad_() for tensor in (input, channels_last(weight))]  # clones have no gaps
        other = leaves(input, weight)
        out = ct.conv(*own, padding=1, groups=groups, library=torch_library, input_gradient=True)
        known = module(*other, padding=1, groups=groups)
        whole = channels_last(uniform(4, 8, out.shape[2] + 3, out.shape[3] + 3))
        for given in (whole[:2, :, 3:, :-3], whole[::2, :, 1:-2, 1:-2], whole[:2, :, : out.shape[2], : out.shape[3]]):
            found = torch.autograd.grad(out, own, given, retain_graph=True)
            assert_close(found, torch.autograd.grad(known, other, given, retain_graph=True))
    with pytest.raises(LibraryError, match="grad_output is not channels-last with all positions at one distance"):
        ct.conv_backward_weight(given, input, weight.shape, padding=1, groups=groups, library=torch_library)


def test_conv_needs_a_library() -> None:
    with pytest.raises(LibraryError, match="conv needs a library"):
        ct.conv(uniform(1, 1, 3, 3), uniform(1, 1, 3, 3), library=None)


def test_what_changed_since_the_forward_pass_is_an_error(torch_library: Library) -> None:
    for changed in (0, 1):
        tensors = leaves(*make(TINY[1])[:2])
        copies = [tensor * 1 for tensor in tensors]
        out = ct.conv(*copies, **make(TINY[1])[3], library=torch_library, input_gradient=True)
        copies[changed].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
    input, weight, gradient, settings = make(TINY[1])
    gradient, input = gradient.requires_grad_(), input * 1
    found = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library)
    input.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


def test_modes_without_gradients(torch_library: Library) -> None:
    input, weight, gradient, settings = make(TINY[1])
    weight.requires_grad_()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            out = ct.conv(input, weight, **settings, library=torch_library)
            assert not out.requires_grad
            found = ct.conv_backward_weight(gradient, input, weight.shape, **settings, library=torch_library)
            assert not found.requires_grad
    assert_close(out, torch.conv2d(input, weight, **settings))
    with torch.inference_mode():
        frozen = input.clone()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        ct.conv(frozen, weight, **settings, library=torch_library)


@pytest.mark.parametrize("needed", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("both", [False, True], ids=["weight", "both"])
def test_some_need_no_gradient(torch_library: Library, needed: tuple[int, ...], both: bool) -> None:
    input, weight, gradient, settings = make(TINY[1])
    found = []
    for own in (True, False):
        tensors = [
            tensor.clone().requires_grad_(bool(need))
            for tensor, need in zip((input, weight, uniform(weight.shape[0])), needed, strict=True)
        ]
        how = {"library": torch_library, "input_gradient": both} if own else {}
        out = (ct.conv if own else torch.conv2d)(*tensors, **settings, **how)
        assert out.requires_grad == any(needed)
        if any(needed):
            out.backward(gradient)
        found.append([tensor.grad for tensor in tensors])
    assert [part is None for part in found[0]] == [not need for need in needed]
    assert_close(*([part for part in parts if part is not None] for parts in found))


def test_backward_twice_and_memory_given_back(torch_library: Library) -> None:
    tensors = leaves(*make(TINY[1])[:2])
    input = tensors[0] * 1
    kept = weakref.ref(input)
    out = ct.conv(input, tensors[1], **make(TINY[1])[3], library=torch_library, input_gradient=True)
    out.sum().backward(retain_graph=True)
    once = [tensor.grad.clone() for tensor in tensors]
    out.sum().backward()
    assert_close([tensor.grad for tensor in tensors], [2 * part for part in once])
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    del input
    gc.collect()
    assert kept() is None, "the graph is gone and so is what it saved"


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
def test_checkpointed_layers(torch_library: Library, half: bool, reentrant: bool) -> None:
    found = []
    for patched in (True, False):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 2, 3)).to(DEVICE)
        if patched:
            ct.patch(model, torch_library, input_gradient=True)
        images = uniform(2, 2, 4, 4).requires_grad_()
        with torch.autocast(DEVICE, dtype=HALF, enabled=half):
            out = torch.utils.checkpoint.checkpoint(model, images, use_reentrant=reentrant)
        out.float().square().sum().backward()
        found.append([images.grad, *(parameter.grad for parameter in model.parameters())])
    assert_close(*found, 3e-2 if half else 1e-4)


class Casts(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
    """Mode that counts conversions between types."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += function is torch.ops.aten._to_copy.default
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("cache", [True, False])
def test_a_shared_weight_under_autocast(torch_library: Library, cache: bool) -> None:
    """Types and numbers equal PyTorch's, and there are as many casts as PyTorch makes without its cache."""
    weight, bias = uniform(3, 3, 3, 3).requires_grad_(), uniform(3).requires_grad_()
    found = []
    for own in (True, False):
        how = {"library": torch_library, "input_gradient": True} if own else {}
        weight.grad = bias.grad = None
        casts, input = Casts(), uniform(2, 3, 5, 5).requires_grad_()
        for _ in range(2):
            with torch.autocast(DEVICE, dtype=HALF, cache_enabled=cache), casts:
                out = input
                for _ in range(3):
                    out = (ct.conv if own else torch.conv2d)(out, weight, bias, padding=1, **how)
                assert out.dtype == HALF
                loss = out.float().sum()
            with casts:
                loss.backward()
            weight.data *= 2  # no version counter records this change
        weight.data /= 4
        found.append((casts.count, [weight.grad, bias.grad, input.grad]))
    assert cache or found[0][0] == found[1][0]
    assert all(part.dtype == torch.float32 for part in found[0][1])
    assert_close(found[0][1], found[1][1], 3e-2)


def test_a_cast_without_a_graph_is_not_used_with_one(torch_library: Library) -> None:
    weight = uniform(3, 3, 1, 1).requires_grad_()
    input = uniform(2, 3, 4, 4)
    with torch.autocast(DEVICE, dtype=HALF):
        with torch.no_grad():
            first = ct.conv(input, weight, library=torch_library)
        second = ct.conv(input, weight, library=torch_library)
    assert not first.requires_grad and torch.equal(first, second)
    second.float().sum().backward()
    assert weight.grad is not None and weight.grad.any()


def test_double_backward_in_an_autocast_region(torch_library: Library) -> None:
    """The graph of the first order is in half precision; the computations outside of it stay in float32."""
    input, weight, _, settings = make(TINY[1])
    found = []
    for own in (True, False):
        how = {"library": torch_library, "input_gradient": True} if own else {}
        tensors = leaves(input, weight)
        with torch.autocast(DEVICE, dtype=HALF):
            out = (ct.conv if own else torch.conv2d)(*tensors, **settings, **how)
            slopes = torch.autograd.grad(out.float().square().sum(), tensors, create_graph=True)
            sum(slope.square().sum() for slope in slopes).backward()
        found.append([tensor.grad for tensor in tensors])
    assert_close(*found, 5e-2)
    tensors = leaves(input, weight)
    out = ct.conv(*tensors, **settings, library=torch_library, input_gradient=True)
    with torch.autocast(DEVICE, dtype=HALF):
        slopes = torch.autograd.grad(out.square().sum(), tensors, create_graph=True)
        loss = sum(slope.square().sum() for slope in slopes)
    assert all(slope.dtype == torch.float32 for slope in slopes)
    loss.backward()
    known = leaves(input.double(), weight.double())
    slopes = torch.autograd.grad(torch.conv2d(*known, **settings).square().sum(), known, create_graph=True)
    sum(slope.square().sum() for slope in slopes).backward()
    assert_close([tensor.grad for tensor in tensors], [tensor.grad for tensor in known])


def test_scaled_gradients_of_half_precision(torch_library: Library) -> None:
    """GradScaler with float16 under autocast skips a step with an infinity."""
    found = []
    for patched in (True, False):
        torch.manual_seed(5)
        model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 1, 2)).to(DEVICE)
        if patched:
            ct.patch(model, torch_library, input_gradient=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(DEVICE, init_scale=2.0**40, growth_interval=100)
        for _ in range(30):
            optimizer.zero_grad()
            with torch.autocast(DEVICE, dtype=torch.float16):
                loss = model(uniform(2, 2, 5, 5)).float().square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() < 2.0**40
        found.append([parameter.detach() for parameter in model.parameters()])
    assert_close(*found, 1e-2)


@pytest.fixture
def process_group() -> Iterator[None]:
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("form", FORMATS)
def test_ddp_takes_gradients_as_they_are(torch_library: Library, process_group: None, form: str) -> None:
    """DDP does not warn that strides differ from its buckets', which costs a copy of every gradient per step."""

    def build() -> Any:
        torch.manual_seed(7)
        layers = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 1, 1)
        made = nn.Sequential(*layers).to(DEVICE)
        return made.to(memory_format=torch.channels_last) if form == "channels_last" else made

    model, known = build(), build()
    ct.patch(model, torch_library, input_gradient=True)
    images = FORMATS[form](uniform(2, 3, 5, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrapped = nn.parallel.DistributedDataParallel(model)
        for _ in range(2):
            wrapped(images).square().sum().backward()
            known(images).square().sum().backward()
    for own, other in zip(model.parameters(), known.parameters(), strict=True):
        assert own.grad.stride() == own.stride()
        assert_close(own.grad, other.grad)


def test_the_plans_kept_are_bounded(torch_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PLANS", 3)
    engine = engines.Engine(torch_library)
    monkeypatch.setattr("ckgen.torch.autograd.engine", lambda path: engine)
    weight = uniform(2, 2, 1, 1).requires_grad_()
    for edge in (1, 2, 3, 4, 5, 1):
        input = uniform(1, 2, edge, edge)
        weight.grad = None
        ct.conv(input, weight, library=torch_library).sum().backward()
        assert_close(weight.grad[0, :, 0, 0], input.sum((0, 2, 3)))
    assert engine.plan.cache_info().currsize == 3 and engine.plan.cache_info().misses == 6


def test_threads_share_a_library(torch_library: Library) -> None:
    """Threads use the same problems for the first time at once, as the backward passes of several GPUs do."""
    engines.engine.cache_clear()
    input, weight, gradient, settings = make(TINY[1])
    results: list[Any] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for batch in (1, 2, 1, 2):
            found = ct.conv_backward_weight(
                gradient[:batch], input[:batch], weight.shape, **settings, library=torch_library
            )
            results.append((batch, found))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16
    known = dict(results)
    assert all(torch.equal(found, known[batch]) for batch, found in results)


def test_runs_wait_for_nothing(torch_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no synchronisation and no copy through the host, so that CUDA graphs can capture a run and streams
    overlap."""
    for name in ("synchronize", "holding", "allocated"):
        monkeypatch.setattr(f"ckgen.library.device_memory.DeviceMemory.{name}", lambda *_, **__: pytest.fail("waits"))
    seen: list[str] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function.overloadpacket.__name__)
            return function(*args, **(kwargs or {}))

    input, weight, gradient, settings = make(TINY[1])
    engine = engines.engine(torch_library.path)
    geometry = (settings["stride"], settings["padding"], settings["dilation"], settings["groups"])
    with Watch():
        for form in FORMATS.values():
            engine.gradients(form(gradient), form(input), form(weight), geometry, (True, True), False)
    assert set(seen) <= {"empty", "empty_strided", "copy_", "clone", "contiguous"}


def test_the_dispatcher_is_passed_by_only_where_it_has_nothing_to_do(torch_library: Library) -> None:
    plain, straight = uniform(2, 3), autograd._straight
    assert straight(plain, nn.Parameter(plain, requires_grad=False), channels_last(uniform(2, 2, 3, 3)))
    assert not straight(plain, plain.clone().requires_grad_())
    negative = torch.view_as_complex(uniform(3, 2)).conj().imag
    for special in (negative, torch._efficientzerotensor((2,), device=DEVICE), plain.to("meta")):
        assert not straight(plain, special)
    with torch.no_grad():
        assert straight(plain, plain.clone().requires_grad_())
    with Casts():
        assert not straight(plain)
    with torch._subclasses.fake_tensor.FakeTensorMode() as fake:
        assert not straight(plain)
    assert not straight(fake.from_tensor(plain))
    with torch.autograd.forward_ad.dual_level():
        assert not straight(plain)
    seen: list[bool] = []
    torch.func.vmap(lambda part: (seen.append(straight(part) or straight(plain)), part)[1])(plain)
    torch.func.grad(lambda part: (seen.append(straight(part) or straight(plain)), part.sum())[1])(plain)
    assert seen == [False, False]


def test_tensors_where_no_library_is_for(make_stub: Any) -> None:
    """A library for another platform than the tensors' raises an error that names both."""
    foreign = make_stub(platform="nvidia")
    if DEVICE != "cpu":
        pytest.skip("for tensors on the CPU")
    weight = uniform(2, 2, 1, 1).requires_grad_()
    out = ct.conv(uniform(1, 2, 3, 3), weight, library=foreign)
    with pytest.raises(Exception, match="the tensors are on cpu, .* is for platform nvidia"):
        out.sum().backward()


@pytest.mark.skipif(DEVICE == "cpu" or not os.environ.get("CKGEN_NVIDIA_LIBRARY"), reason="streams need a GPU")
def test_streams_and_graphs_of_a_whole_step(torch_library: Library) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 1)).to(DEVICE)
    ct.patch(model, torch_library, input_gradient=True)
    images = channels_last(uniform(2, 8, 6, 6))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            model(images).square().mean().backward()
    torch.cuda.current_stream().wait_stream(side)
    known = [parameter.grad.clone() for parameter in model.parameters()]
    graph = torch.cuda.CUDAGraph()
    model.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        model(images).square().mean().backward()
    for parameter in model.parameters():
        parameter.grad.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert_close([parameter.grad for parameter in model.parameters()], known)
