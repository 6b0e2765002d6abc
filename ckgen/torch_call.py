"""A convolution as PyTorch's own functions take it: what goes to the operators of ckgen and what stays PyTorch's."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Sequence
from typing import Any

from ckgen.torch_import import torch
from ckgen.torch_ops import Policy, conv
from ckgen.torch_plan import DTYPES

Edges = int | Sequence[int]

_WeakRef: Any = importlib.import_module("torch.utils.weak").TensorWeakRef
_TYPES = frozenset(getattr(torch, read) for read, _ in DTYPES)
_BY_PYTORCH = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
# By parameter and type: the parameter, its version, and its copy of that type, which lives as long as a graph needs it.
_casts: dict[tuple[int, Any], tuple[Any, int, Any]] = {}


def convolve(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Edges,
    padding: Edges | str,
    dilation: Edges,
    groups: int,
    policy: Policy,
) -> Any:
    """The convolution. PyTorch's with PyTorch's gradients for types and devices that no library has, and where its own
    function says what is wrong."""
    ndim, kind, tensors = weight.dim() - 2, input.device.type, [input, weight, bias]
    on_device = kind in ("cpu", "cuda")
    if on_device and torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        tensors = [None if tensor is None else _cast(tensor, dtype) for tensor in tensors]
    dtype = tensors[0].dtype
    fits = on_device and ndim in _BY_PYTORCH and 0 <= ndim + 2 - input.dim() <= 1 and input.layout is torch.strided
    if not fits or dtype not in _TYPES or any(tensor is not None and tensor.dtype != dtype for tensor in tensors):
        return _BY_PYTORCH.get(ndim, torch.conv2d)(input, weight, bias, stride, padding, dilation, groups)
    strides, dilations = spread(stride, ndim), spread(dilation, ndim)
    if isinstance(padding, str):
        if padding not in ("valid", "same") or (padding == "same" and any(step != 1 for step in strides)):
            return _BY_PYTORCH[ndim](input, weight, bias, stride, padding, dilation, groups)
        tensors[0], pads = _padded(tensors[0], padding, weight.shape[2:], dilations)
    else:
        pads = spread(padding, ndim)
    geometry = strides, pads, dilations, groups
    if input.dim() == ndim + 2:
        return conv(tensors[0], tensors[1], tensors[2], geometry, policy)
    return conv(tensors[0].unsqueeze(0), tensors[1], tensors[2], geometry, policy).squeeze(0)


def spread(value: Edges, ndim: int) -> tuple[int, ...]:
    """One entry a dimension, as PyTorch understands a single one."""
    if isinstance(value, int):
        return (value,) * ndim
    return tuple(value) * ndim if len(value) == 1 else tuple(value)


def _padded(input: Any, padding: str, filter: Sequence[int], dilations: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """The input and the padding of both its sides, for padding given as a word. Where the sides differ, PyTorch pads
    the end by one more."""
    if padding == "valid":
        return input, (0,) * len(filter)
    total = [(edge - 1) * dilation for edge, dilation in zip(filter, dilations, strict=True)]
    if any(pad % 2 for pad in total):
        input = torch.nn.functional.pad(input, [end for pad in reversed(total) for end in (0, pad % 2)])
    return input, tuple(pad // 2 for pad in total)


def _cast(tensor: Any, dtype: Any) -> Any:
    """What autocast makes of a tensor. As with PyTorch's own functions, a parameter that is used again is not cast
    again, so that its gradients are added up before they are cast back."""
    if tensor.dtype == dtype or tensor.dtype not in _TYPES:
        return tensor
    once = tensor.is_leaf and tensor.requires_grad and torch.is_grad_enabled() and torch.is_autocast_cache_enabled()
    if not once or torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return tensor.to(dtype)
    key = id(tensor), dtype
    known, version, copy = _casts.get(key, (None, 0, None))
    found = copy() if known is not None and known() is tensor and version == tensor._version else None
    if found is None:
        found = tensor.to(dtype)
        _casts[key] = weakref.ref(tensor, lambda _: _casts.pop(key, None)), tensor._version, _WeakRef(found)
    return found
