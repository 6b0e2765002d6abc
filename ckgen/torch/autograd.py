"""Convolutions and their gradients, with derivatives of every order.

A convolution F(x, w), the gradient of its input D(g, w) and that of its weight W(g, x) are linear in both arguments,
and the derivatives of each are the other two. ``ckgen::conv_backward`` computes D and W in one call, so its derivatives
need only F and itself. PyTorch computes F and the gradient of the bias.

The operators' autograd kernels apply the autograd functions below, which also support forward mode and the transforms
of torch.func; torch.library.register_autograd supports neither.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ckgen.library.c_api import LibraryError
from ckgen.torch.engines import engine
from ckgen.torch.operators import (
    CONV,
    CONV_BACKWARD,
    LIBRARY,
    TYPES,
    Policy,
    by_pytorch,
    cast,
    convolution,
    geometry_of,
    is_known,
)
from ckgen.torch.plain import transformed
from ckgen.torch.request import Geometry
from ckgen.torch.require import torch

forward_ad: Any = importlib.import_module("torch.autograd.forward_ad")
_single_level: Any = importlib.import_module("torch._functorch.utils").enable_single_level_autograd_function


def _keys(*names: str) -> Any:
    sets = (torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)) for name in names)
    return functools.reduce(operator.or_, sets)


_AUTOCAST = _keys("AutocastCPU", "AutocastCUDA")
_NO_MODE = _keys("BackendSelect", "ADInplaceOrView").raw_repr()
_PLAIN = frozenset(
    _keys(kind, "ADInplaceOrView", f"Autograd{kind}", f"Autocast{kind}").raw_repr() for kind in ("CPU", "CUDA")
)


def conv(input: Any, weight: Any, bias: Any, geometry: Geometry, policy: Policy) -> Any:
    """A convolution by PyTorch whose gradients are computed as the policy says."""
    if torch.compiler.is_compiling() or transformed() or torch._C._get_tracing_state():
        return CONV(input, weight, bias, *geometry, *policy)
    return _apply_conv(input, weight, bias, geometry, policy, None)  # the dispatcher would take twice as long


def conv_backward(
    grad_output: Any, input: Any, weight: Any, geometry: Geometry, wanted: tuple[bool, bool], policy: Policy
) -> tuple[Any, Any]:
    """The gradients of input and weight that are ``wanted``, computed by the library, each in the type and memory
    format of its tensor. A tensor that no wanted gradient reads only provides its shape, type and memory format."""
    if not is_known(grad_output):
        return by_pytorch(grad_output, input, weight, geometry, wanted)
    if _straight(grad_output, input, weight):
        return engine(policy.library).gradients(grad_output, input, weight, geometry, wanted, policy.fallback)
    return CONV_BACKWARD(grad_output, input, weight, *geometry, *wanted, *policy)  # type: ignore[no-any-return]


def one_gradient(
    grad_output: Any, read: Any, size: tuple[int, ...], dtype: Any, geometry: Geometry, at: int, library: str
) -> Any:
    """The gradient of an input (``at`` 0) or a weight (``at`` 1) of this size and type, channels-last. ``read`` is the
    other one of the two, which the computation reads."""
    wanted, nowhere = (at == 0, at == 1), (0,) * len(size)
    if grad_output.dtype not in TYPES:
        possible = ", ".join(sorted(str(one).removeprefix("torch.") for one in TYPES))
        raise LibraryError(f"grad_output is {str(grad_output.dtype).removeprefix('torch.')}; possible are {possible}")
    if _straight(grad_output, read):
        like: Any = size, nowhere, 0, dtype, read.device
        pair = (read, like) if at else (like, read)
        return engine(library).gradients(grad_output, *pair, geometry, wanted, False)[at]
    like = read.new_empty(1, dtype=dtype).expand(size)
    pair = (read, like) if at else (like, read)
    return CONV_BACKWARD(grad_output, *pair, *geometry, *wanted, library, at == 0, False)[at]


def _straight(*tensors: Any) -> bool:
    """True if the dispatcher would call the operator's kernel directly, which costs as much as the kernel itself:
    nothing is to be recorded, no mode is active, and no tensor is wrapped or has a pending negation."""
    return (
        not torch.compiler.is_compiling()
        and torch._C._dispatch_tls_local_include_set().raw_repr() == _NO_MODE
        and all(torch._C._dispatch_keys(tensor).raw_repr() in _PLAIN for tensor in tensors)
        and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        and forward_ad._current_level < 0
    )


def _gradients(
    grad_output: Any, input: Any, weight: Any, geometry: Geometry, wanted: tuple[bool, bool, bool], policy: Policy
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias that are ``wanted``."""
    to_input, to_weight, to_bias = wanted
    ours, data, step, bias = to_input and policy.input_gradient, None, None, None
    if to_input and not ours:
        # Request the input's gradient alone: if the bias's is requested too, PyTorch's CPU kernels also compute the
        # weight's, and in 1D with a shape that forward mode refuses.
        data, _ = by_pytorch(grad_output, input, weight, geometry, (True, False))
    if to_bias and weight.shape[1]:
        bias = grad_output.sum((0, *range(2, grad_output.dim())))
    elif to_bias:  # without input channels, PyTorch's output has no channels either
        bias = grad_output.new_zeros(weight.shape[0])
    if ours:
        data, step = conv_backward(grad_output, input, weight, geometry, (True, to_weight), policy)
    elif to_weight:
        _, step = conv_backward(grad_output, input, weight, geometry, (False, True), policy)
    return data, step, bias


def _conv_again(*given: Any) -> Any:
    """``ckgen::conv`` for a derivative: in the type of its tensors, even in an autocast region."""
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
        return CONV(*given)


class CkgenConv(torch.autograd.Function):  # type: ignore[misc]
    """``ckgen::conv``. The last argument is None or the argument of ``_below``."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any, geometry: Geometry, policy: Policy, modes: Any) -> Any:
        ctx.geometry, ctx.policy = geometry, policy
        _save(ctx, input, weight)
        if modes is None:
            return convolution(input, weight, bias, *geometry)
        with _below(modes):
            return convolution(input, weight, bias, *geometry)

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
                parts.append(_conv_again(input_t, weight, bias_t, *settings))
            if weight_t is not None:
                parts.append(_conv_again(input, weight_t, None if parts else bias_t, *settings))
            if not parts:  # the tangent is that of the bias alone
                parts.append(_conv_again(torch.zeros_like(input), weight, bias_t, *settings))
            return sum(parts[1:], parts[0])


class CkgenConvGradients(torch.autograd.Function):  # type: ignore[misc]
    """``ckgen::conv_backward``. The last argument is the argument of ``_below``."""

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
            return CONV_BACKWARD(grad_output, input, weight, *geometry, *wanted, *policy)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, to_data: Any, to_step: Any) -> tuple[Any, ...]:
        """Compute derivatives from the gradients of the two results: ``to_data`` of the input's shape, ``to_step`` of
        the weight's."""
        (grad_output, input, weight), needed, parts = ctx.saved_tensors, ctx.needs_input_grad, []
        to_step = None if to_step is None else to_step.to(grad_output.dtype)
        if needed[0] and to_data is not None:
            parts.append(_conv_again(to_data, weight, None, *ctx.geometry, *ctx.policy))
        if needed[0] and to_step is not None:
            parts.append(_conv_again(input, to_step, None, *ctx.geometry, *ctx.policy))
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


# Function.apply without the code that its Python part adds: under torch.func that code would handle all levels at once,
# but an operator is called once per level.
_apply_conv = super(torch.autograd.Function, CkgenConv).apply
_apply_gradients = super(torch.autograd.Function, CkgenConvGradients).apply


def _save(ctx: Any, *tensors: Any) -> None:
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors)


def _primals(ctx: Any) -> list[Any]:
    """The saved tensors without the tangents of this level; tangents of outer levels remain."""
    return [forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]


@contextmanager
def _below(modes: tuple[bool, bool]) -> Iterator[None]:
    """Skip the autograd kernels, in the ``modes`` (grad, forward grad) that an autograd function turns off: below a
    transform of torch.func, the next outer level must record the operations."""
    grad, forward = modes
    with torch._C._AutoDispatchBelowAutograd(), torch.set_grad_enabled(grad), forward_ad._set_fwd_grad_enabled(forward):
        yield


def _modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()


def _conv_autograd(input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    with _single_level():  # the level of the torch.func transform that calls
        return _apply_conv(input, weight, bias, geometry_of(*rest[:4]), Policy(*rest[4:]), _modes())


def _conv_autocast(input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """A graph that was traced outside an autocast region runs in one."""
    dtype = torch.get_autocast_dtype(input.device.type)
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
        return CONV(*(cast(tensor, dtype) for tensor in (input, weight, bias)), *rest)


def _conv_backward_autograd(grad_output: Any, input: Any, weight: Any, *rest: Any) -> tuple[Any, Any]:
    with _single_level():
        settings = geometry_of(*rest[:4]), rest[4:6], Policy(*rest[6:])
        return _apply_gradients(grad_output, input, weight, *settings, _modes())  # type: ignore[no-any-return]


for _kind in ("AutocastCPU", "AutocastCUDA"):
    LIBRARY.impl("conv", _conv_autocast, _kind)
LIBRARY.impl("conv", _conv_autograd, "Autograd")
LIBRARY.impl("conv_backward", _conv_backward_autograd, "Autograd")
