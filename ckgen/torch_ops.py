"""The operators ``ckgen::conv`` and ``ckgen::conv_backward`` and their derivatives of every order.

A convolution F(x, w), the gradient of its input D(g, w) and that of its weight W(g, x) are linear in both arguments,
and the derivatives of each are the other two. ``conv_backward`` computes D and W in one call, so that its derivatives
are F and itself. F and the gradient of the bias are PyTorch's.

The operators are registered with torch.library: the kernel, a fake kernel for tracing, a rule for vmap. Their autograd
kernels apply the functions below, which also know forward mode; torch.library.register_autograd knows neither that nor
the transforms of torch.func.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ckgen.torch_import import torch
from ckgen.torch_plan import Geometry, result_strides
from ckgen.torch_run import engine

forward_ad: Any = importlib.import_module("torch.autograd.forward_ad")
_single_level: Any = importlib.import_module("torch._functorch.utils").enable_single_level_autograd_function


class Policy(NamedTuple):
    """Who computes gradients: the ``library`` of this path those of weights and, with ``input_gradient``, of inputs;
    PyTorch the others and, with ``fallback``, what no instance of the library takes."""

    library: str
    input_gradient: bool
    fallback: bool


_ZEROS = {ndim: (0,) * ndim for ndim in (1, 2, 3)}
_SETTINGS = "int[] stride, int[] padding, int[] dilation, SymInt groups"
_POLICY = "str library, bool input_gradient, bool fallback"
_LIBRARY = torch.library.Library("ckgen", "FRAGMENT")
_LIBRARY.define(f"conv(Tensor input, Tensor weight, Tensor? bias, {_SETTINGS}, {_POLICY}) -> Tensor")
_LIBRARY.define(
    f"conv_backward(Tensor grad_output, Tensor input, Tensor weight, {_SETTINGS}, bool to_input, bool to_weight, "
    f"{_POLICY}) -> (Tensor, Tensor)"
)
_CONV, _CONV_BACKWARD = torch.ops.ckgen.conv.default, torch.ops.ckgen.conv_backward.default


def _traced() -> bool:
    """Whether something else than this call is to see the operator: the compiler or a transform of torch.func."""
    return bool(torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active())


def conv(input: Any, weight: Any, bias: Any, geometry: Geometry, policy: Policy) -> Any:
    """A convolution by PyTorch whose gradients are computed as the policy says."""
    if _traced() or torch._C._get_tracing_state():
        return _CONV(input, weight, bias, *geometry, *policy)
    return _apply_conv(input, weight, bias, geometry, policy, None)  # by the dispatcher it would take twice as long


def conv_backward(
    grad_output: Any, input: Any, weight: Any, geometry: Geometry, wanted: tuple[bool, bool], policy: Policy
) -> tuple[Any, Any]:
    """The gradients of input and weight that are ``wanted``, by the library, each in the type and memory format of its
    tensor; of a tensor that no gradient reads nothing but these and its shape counts."""
    arguments = grad_output, input, weight, *geometry, *wanted, *policy
    if torch.is_grad_enabled() or forward_ad._current_level >= 0 or _traced():
        return _CONV_BACKWARD(*arguments)  # type: ignore[no-any-return]
    with torch._C._AutoDispatchBelowAutograd():  # nothing to record: this takes the host a third of the time
        return _CONV_BACKWARD(*arguments)  # type: ignore[no-any-return]


def _gradients(
    grad_output: Any, input: Any, weight: Any, geometry: Geometry, wanted: tuple[bool, bool, bool], policy: Policy
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias that are ``wanted``."""
    to_input, to_weight, to_bias = wanted
    ours, data, step, bias = to_input and policy.input_gradient, None, None, None
    if to_input and not ours:
        stride, padding, dilation, groups = geometry
        sizes = [weight.shape[0]] if to_bias else None
        rest = sizes, stride, padding, dilation, False, _ZEROS[len(stride)], groups, [True, False, to_bias]
        data, _, bias = torch.ops.aten.convolution_backward.default(grad_output, input, weight, *rest)
    elif to_bias:
        bias = grad_output.sum((0, *range(2, grad_output.dim())))
    if ours:
        data, step = conv_backward(grad_output, input, weight, geometry, (True, to_weight), policy)
    elif to_weight:
        _, step = conv_backward(grad_output, input, weight, geometry, (False, True), policy)
    return data, step, bias


class CkgenConv(torch.autograd.Function):  # type: ignore[misc]
    """``ckgen::conv``. The last argument is None or what ``_below`` takes."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any, geometry: Geometry, policy: Policy, modes: Any) -> Any:
        ctx.geometry, ctx.policy = geometry, policy
        _save(ctx, input, weight)
        if modes is None:
            return _convolution(input, weight, bias, *geometry)
        with _below(modes):
            return _convolution(input, weight, bias, *geometry)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = None, None, None
        if grad_output is not None:
            input, weight = ctx.saved_tensors
            found = _gradients(grad_output, input, weight, ctx.geometry, ctx.needs_input_grad[:3], ctx.policy)
        return *found, None, None, None

    @staticmethod
    def jvp(ctx: Any, input_t: Any, weight_t: Any, bias_t: Any, *_: Any) -> Any:
        with forward_ad._set_fwd_grad_enabled(True):
            (input, weight), settings, parts = _primals(ctx), (*ctx.geometry, *ctx.policy), []
            if input_t is not None:
                parts.append(_CONV(input_t, weight, bias_t, *settings))
            if weight_t is not None:
                parts.append(_CONV(input, weight_t, None if parts else bias_t, *settings))
            if not parts:  # the bias alone
                parts.append(_CONV(torch.zeros_like(input), weight, bias_t, *settings))
            return sum(parts[1:], parts[0])


class CkgenConvGradients(torch.autograd.Function):  # type: ignore[misc]
    """``ckgen::conv_backward``. The last argument is what ``_below`` takes."""

    @staticmethod
    def forward(
        ctx: Any,
        grad_output: Any,
        input: Any,
        weight: Any,
        geometry: Geometry,
        wanted: tuple[bool, bool],
        policy: Policy,
        modes: tuple[bool, bool],
    ) -> tuple[Any, Any]:
        ctx.geometry, ctx.wanted, ctx.policy = geometry, wanted, policy
        _save(ctx, grad_output, input, weight)
        with _below(modes):
            return _CONV_BACKWARD(grad_output, input, weight, *geometry, *wanted, *policy)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, to_data: Any, to_step: Any) -> tuple[Any, ...]:
        """``to_data``, of the input's shape, and ``to_step``, of the weight's, are the gradients of the two results."""
        (grad_output, input, weight), needed, parts = ctx.saved_tensors, ctx.needs_input_grad, []
        to_step = None if to_step is None else to_step.to(grad_output.dtype)
        if needed[0] and to_data is not None:
            parts.append(_CONV(to_data, weight, None, *ctx.geometry, *ctx.policy))
        if needed[0] and to_step is not None:
            parts.append(_CONV(input, to_step, None, *ctx.geometry, *ctx.policy))
        wanted = needed[1] and to_step is not None, needed[2] and to_data is not None, False
        others = input if to_data is None else to_data, weight if to_step is None else to_step
        data, step, _ = _gradients(grad_output, *others, ctx.geometry, wanted, ctx.policy)
        return sum(parts[1:], parts[0]) if parts else None, data, step, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, grad_output_t: Any, input_t: Any, weight_t: Any, *_: Any) -> tuple[Any, ...]:
        with forward_ad._set_fwd_grad_enabled(True):
            (grad_output, input, weight), parts = _primals(ctx), []
            if grad_output_t is not None:
                parts.append(conv_backward(grad_output_t, input, weight, ctx.geometry, ctx.wanted, ctx.policy))
            wanted = ctx.wanted[0] and weight_t is not None, ctx.wanted[1] and input_t is not None
            if True in wanted:
                others = input if input_t is None else input_t, weight if weight_t is None else weight_t
                parts.append(conv_backward(grad_output, *others, ctx.geometry, wanted, ctx.policy))
            found = ([pair[at] for pair in parts if pair[at] is not None] for at in (0, 1))
            return tuple(sum(terms[1:], terms[0]) if terms else None for terms in found)


# Function.apply but for what its Python part adds: under torch.func it would call itself for all levels at once, and an
# operator is called at each of them.
_apply_conv = super(torch.autograd.Function, CkgenConv).apply
_apply_gradients = super(torch.autograd.Function, CkgenConvGradients).apply


def _save(ctx: Any, *tensors: Any) -> None:
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors)


def _primals(ctx: Any) -> list[Any]:
    """The saved tensors without the tangents of this level: those of outer levels remain."""
    return [forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]


@contextmanager
def _below(modes: tuple[bool, bool]) -> Iterator[None]:
    """Past the autograd kernels, in the ``modes`` (grad, forward grad) that an autograd function turns off: below a
    transform of torch.func the next level outwards is to record what happens."""
    grad, forward = modes
    with torch._C._AutoDispatchBelowAutograd(), torch.set_grad_enabled(grad), forward_ad._set_fwd_grad_enabled(forward):
        yield


def _modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()


def _conv_autograd(input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    with _single_level():  # of torch.func's transforms, the one that calls
        return _apply_conv(input, weight, bias, rest[:4], Policy(*rest[4:]), _modes())


def _conv_backward_autograd(grad_output: Any, input: Any, weight: Any, *rest: Any) -> tuple[Any, Any]:
    with _single_level():
        settings = rest[:4], rest[4:6], Policy(*rest[6:])
        return _apply_gradients(grad_output, input, weight, *settings, _modes())  # type: ignore[no-any-return]


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any, *_: object
) -> Any:
    """A convolution in the type of its tensors, also where autocast would have another."""
    arguments = input, weight, bias, stride, padding, dilation, False, _ZEROS[len(stride)], groups
    kind = input.device.type
    if kind != "meta" and torch.is_autocast_enabled(kind) and input.dtype != torch.get_autocast_dtype(kind):
        with torch.autocast(kind, enabled=False):
            return torch.convolution(*arguments)
    return torch.convolution(*arguments)


def _by_the_library(
    grad_output: Any,
    input: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    to_input: bool,
    to_weight: bool,
    library: str,
    input_gradient: bool,
    fallback: bool,
) -> tuple[Any, Any]:
    geometry = tuple(stride), tuple(padding), tuple(dilation), groups
    return engine(library).gradients(grad_output, input, weight, geometry, (to_input, to_weight), fallback)


def _fake(grad_output: Any, input: Any, weight: Any, *rest: Any) -> tuple[Any, Any]:
    wanted = zip((input, weight), rest[4:6], strict=True)
    data, step = (
        like.new_empty_strided(like.shape, result_strides(like.shape, like.stride())) if want else None
        for like, want in wanted
    )
    return data, step


def _conv_vmap(info: Any, dims: Any, input: Any, weight: Any, bias: Any, *rest: Any) -> tuple[Any, int]:
    """One weight for all: more images. Else more groups."""
    size = info.batch_size
    if dims[1] is None and dims[2] is None:
        out = _CONV(_merged(input, dims[0], 0, size), weight, bias, *rest)
        return out.unflatten(0, (size, out.shape[0] // size)), 0
    tensors = _merged(input, dims[0], 1, size), _merged(weight, dims[1], 0, size)
    bias = None if bias is None else _merged(bias, dims[2], 0, size)
    out = _CONV(*tensors, bias, *rest[:3], rest[3] * size, *rest[4:])
    return out.unflatten(1, (size, out.shape[1] // size)), 1


def _conv_backward_vmap(
    info: Any, dims: Any, grad_output: Any, input: Any, weight: Any, *rest: Any
) -> tuple[tuple[Any, Any], tuple[int | None, int | None]]:
    """As for ``ckgen::conv``; every one of a batch has its own gradient of the weight."""
    size, (to_input, to_weight) = info.batch_size, rest[4:6]
    if dims[2] is None and not to_weight:
        merged = _merged(grad_output, dims[0], 0, size), _merged(input, dims[1], 0, size)
        data, _ = _CONV_BACKWARD(*merged, weight, *rest)
        return (data.unflatten(0, (size, data.shape[0] // size)), None), (0, None)
    tensors = (
        _merged(grad_output, dims[0], 1, size),
        _merged(input, dims[1], 1, size),
        _merged(weight, dims[2], 0, size),
    )
    data, step = _CONV_BACKWARD(*tensors, *rest[:3], rest[3] * size, *rest[4:])
    data = data.unflatten(1, (size, data.shape[1] // size)) if to_input else None
    step = step.unflatten(0, (size, step.shape[0] // size)) if to_weight else None
    return (data, step), (1 if to_input else None, 0 if to_weight else None)


def _merged(tensor: Any, batch: int | None, axis: int, size: int) -> Any:
    """The batched dimension in front of ``axis`` and one with it."""
    moved = (
        tensor.unsqueeze(axis).expand(*tensor.shape[:axis], size, *tensor.shape[axis:])
        if batch is None
        else tensor.movedim(batch, axis)
    )
    return moved.flatten(axis, axis + 1)


_LIBRARY.impl("conv", _convolution, "CompositeExplicitAutograd")
_LIBRARY.impl("conv_backward", _by_the_library, "CompositeExplicitAutograd")
_LIBRARY.impl("conv", _conv_autograd, "Autograd")
_LIBRARY.impl("conv_backward", _conv_backward_autograd, "Autograd")
torch.library.register_fake("ckgen::conv", _convolution, lib=_LIBRARY)
torch.library.register_fake("ckgen::conv_backward", _fake, lib=_LIBRARY)
torch.library.register_vmap("ckgen::conv", _conv_vmap, lib=_LIBRARY)
torch.library.register_vmap("ckgen::conv_backward", _conv_backward_vmap, lib=_LIBRARY)
