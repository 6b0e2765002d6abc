"""The operators ``ckgen::conv``, a convolution by PyTorch, and ``ckgen::conv_backward``, its gradients by a library.

This module has their kernels, fake kernels for tracing and rules for vmap; ckgen.torch.autograd has their derivatives.
The library is a path, so that graphs and pickles can hold it.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from ckgen.conv.dtypes import DTYPES
from ckgen.torch.engines import engine
from ckgen.torch.request import Geometry
from ckgen.torch.require import torch
from ckgen.torch.strides import result_strides

_flops: Any = importlib.import_module("torch.utils.flop_counter")


class Policy(NamedTuple):
    """Assignment of gradients: the ``library`` at this path computes those of weights and, with ``input_gradient``,
    those of inputs. PyTorch computes the others and, with ``fallback``, those that no instance of the library takes."""

    library: str
    input_gradient: bool
    fallback: bool


_SETTINGS = "int[] stride, int[] padding, int[] dilation, SymInt groups"
_POLICY = "str library, bool input_gradient, bool fallback"
LIBRARY = torch.library.Library("ckgen", "FRAGMENT")
LIBRARY.define(f"conv(Tensor input, Tensor weight, Tensor? bias, {_SETTINGS}, {_POLICY}) -> Tensor")
LIBRARY.define(
    f"conv_backward(Tensor grad_output, Tensor input, Tensor weight, {_SETTINGS}, bool to_input, bool to_weight, "
    f"{_POLICY}) -> (Tensor, Tensor)"
)
CONV, CONV_BACKWARD = torch.ops.ckgen.conv.default, torch.ops.ckgen.conv_backward.default


# The types that a library may have; PyTorch computes all others.
TYPES = frozenset(
    getattr(torch, dtype.element("out").torch) for dtype in DTYPES.values() if not dtype.element("out").integer
)


def is_known(tensor: Any) -> bool:
    """False for types and devices that no library has. Graphs may be converted after they were traced."""
    return tensor.dtype in TYPES and tensor.device.type in ("cpu", "cuda")


def by_pytorch(
    grad_output: Any, input: Any, weight: Any, geometry: Geometry, wanted: tuple[bool, bool]
) -> tuple[Any, Any]:
    """PyTorch's own gradients of input and weight."""
    stride, padding, dilation, groups = geometry
    rest = stride, padding, dilation, False, (0,) * len(stride), groups, (*wanted, False)
    data, step, _ = torch.ops.aten.convolution_backward.default(grad_output, input, weight, None, *rest)
    return data, step


def cast(tensor: Any, dtype: Any) -> Any:
    """The tensor (or None) as autocast converts it. PyTorch caches its casts of parameters until the region ends, but
    the cache is not accessible here; a parameter that several calls use is cast in each."""
    return tensor if tensor is None or tensor.dtype not in TYPES else tensor.to(dtype)


def geometry_of(stride: Any, padding: Any, dilation: Any, groups: int) -> Geometry:
    """The geometry as tuples; the dispatcher converts tuples to lists."""
    return tuple(stride), tuple(padding), tuple(dilation), groups


def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any, *_: object
) -> Any:
    """A convolution in the type of its tensors, even under autocast."""
    arguments = input, weight, bias, stride, padding, dilation, False, (0,) * len(stride), groups
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
    geometry = geometry_of(stride, padding, dilation, groups)
    if not is_known(grad_output):
        return by_pytorch(grad_output, input, weight, geometry, (to_input, to_weight))
    return engine(library).gradients(grad_output, input, weight, geometry, (to_input, to_weight), fallback)


def _fake(grad_output: Any, input: Any, weight: Any, *rest: Any) -> tuple[Any, Any]:
    wanted = zip((input, weight), rest[4:6], strict=True)
    data, step = (
        like.new_empty_strided(like.shape, result_strides(like.shape, like.stride())) if want else None
        for like, want in wanted
    )
    return data, step


def _conv_vmap(info: Any, dims: Any, input: Any, weight: Any, bias: Any, *rest: Any) -> tuple[Any, int]:
    """Merge the batch: into the images if all share one weight, else into the groups."""
    size = info.batch_size
    if dims[1] is None and dims[2] is None:
        out = CONV(_merged(input, dims[0], 0, size), weight, bias, *rest)
        return out.unflatten(0, (size, out.shape[0] // size)), 0
    tensors = _merged(input, dims[0], 1, size), _merged(weight, dims[1], 0, size)
    bias = None if bias is None else _merged(bias, dims[2], 0, size)
    out = CONV(*tensors, bias, *rest[:3], rest[3] * size, *rest[4:])
    return out.unflatten(1, (size, out.shape[1] // size)), 1


def _conv_backward_vmap(
    info: Any, dims: Any, grad_output: Any, input: Any, weight: Any, *rest: Any
) -> tuple[tuple[Any, Any], tuple[int | None, int | None]]:
    """Merge the batch as for ``ckgen::conv``; if the weight's gradient is wanted, always into the groups, because each
    batch entry has its own gradient."""
    size, (to_input, to_weight) = info.batch_size, rest[4:6]
    if dims[2] is None and not to_weight:
        merged = _merged(grad_output, dims[0], 0, size), _merged(input, dims[1], 0, size)
        data, _ = CONV_BACKWARD(*merged, weight, *rest)
        return (data.unflatten(0, (size, data.shape[0] // size)), None), (0, None)
    tensors = (
        _merged(grad_output, dims[0], 1, size),
        _merged(input, dims[1], 1, size),
        _merged(weight, dims[2], 0, size),
    )
    data, step = CONV_BACKWARD(*tensors, *rest[:3], rest[3] * size, *rest[4:])
    data = data.unflatten(1, (size, data.shape[1] // size)) if to_input else None
    step = step.unflatten(0, (size, step.shape[0] // size)) if to_weight else None
    return (data, step), (1 if to_input else None, 0 if to_weight else None)


def _merged(tensor: Any, batch: int | None, axis: int, size: int) -> Any:
    """The tensor with its batch dimension merged into ``axis``; a tensor without one is repeated ``size`` times."""
    moved = (
        tensor.unsqueeze(axis).expand(*tensor.shape[:axis], size, *tensor.shape[axis:])
        if batch is None
        else tensor.movedim(batch, axis)
    )
    return moved.flatten(axis, axis + 1)


def _conv_flops(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, *_: Any, **out: Any
) -> Any:
    """The count of PyTorch's FlopCounterMode for its own convolution."""
    known = _flops.flop_registry[torch.ops.aten.convolution]
    return known(input, weight, bias, stride, padding, dilation, False, **out)


def _conv_backward_flops(*given: Any, **out: Any) -> Any:
    """The count of PyTorch's FlopCounterMode for its own gradients."""
    *tensors, stride, padding, dilation, groups, to_input, to_weight = given[:9]
    rest = stride, padding, dilation, False, (0,) * len(stride), groups, (to_input, to_weight, False)
    return _flops.flop_registry[torch.ops.aten.convolution_backward](*tensors, None, *rest, **out)


_flops.register_flop_formula(torch.ops.ckgen.conv, get_raw=True)(_conv_flops)
_flops.register_flop_formula(torch.ops.ckgen.conv_backward, get_raw=True)(_conv_backward_flops)
LIBRARY.impl("conv", convolution, "CompositeExplicitAutograd")
LIBRARY.impl("conv_backward", _by_the_library, "CompositeExplicitAutograd")
torch.library.register_fake("ckgen::conv", convolution, lib=LIBRARY)
torch.library.register_fake("ckgen::conv_backward", _fake, lib=LIBRARY)
torch.library.register_vmap("ckgen::conv", _conv_vmap, lib=LIBRARY)
torch.library.register_vmap("ckgen::conv_backward", _conv_backward_vmap, lib=LIBRARY)
