"""Arguments of PyTorch's own convolution functions: select the calls that go to ckgen's operators and those that stay
PyTorch's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ckgen.torch.autograd import conv
from ckgen.torch.operators import TYPES, Policy, cast
from ckgen.torch.plain import has_own_rules, is_watched
from ckgen.torch.require import torch

Edges = int | Sequence[int]

_INTEGERS = int, torch.SymInt
_SEQUENCES = tuple, list, Sequence  # a check of Sequence alone would take longer
_BY_PYTORCH = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}


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
    """The convolution. PyTorch computes it with its own gradients for types and devices that no library has, for
    classes and modes with their own convolution (as those of gradients per image in one pass,
    call_for_per_sample_grads), for an export to ONNX, and if the arguments are
    wrong, so that its own function reports the error."""
    given = (input, weight) if bias is None else (input, weight, bias)
    if any(map(has_own_rules, given)) or is_watched() or torch.onnx.is_in_onnx_export():
        ndim = len(weight.shape) - 2 if isinstance(weight, torch.Tensor) else 2
        return _BY_PYTORCH.get(ndim, torch.conv2d)(input, weight, bias, stride, padding, dilation, groups)
    ndim, kind, tensors = weight.dim() - 2, input.device.type, (input, weight, bias)
    known = ndim in _BY_PYTORCH and kind in ("cpu", "cuda") and 0 <= weight.dim() - input.dim() <= 1
    if known and torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        tensors = cast(input, dtype), cast(weight, dtype), cast(bias, dtype)
    seen, other, added = tensors
    same = seen.dtype == other.dtype and (added is None or added.dtype == seen.dtype)
    pads = _pads(padding, weight, stride, dilation)
    if not known or not same or seen.dtype not in TYPES or input.layout is not torch.strided or pads is None:
        return _BY_PYTORCH.get(ndim, torch.conv2d)(input, weight, bias, stride, padding, dilation, groups)
    if any(pads[1]):  # if the two sides differ, PyTorch too pads one of them beforehand
        seen = torch.nn.functional.pad(seen, [end for more in reversed(pads[1]) for end in (0, more)])
    geometry = spread(stride, ndim), pads[0], spread(dilation, ndim), whole((groups,))[0]
    if input.dim() == ndim + 2:
        return conv(seen, other, added, geometry, policy)
    return conv(seen.unsqueeze(0), other, added, geometry, policy).squeeze(0)


def spread(value: Edges, ndim: int) -> tuple[int, ...]:
    """One entry per dimension; a single value applies to all dimensions, as in PyTorch."""
    if isinstance(value, int):
        return (value,) * ndim
    entries = whole(value if isinstance(value, _SEQUENCES) else (value,))
    return entries * ndim if len(entries) == 1 else entries


def whole(values: Sequence[int]) -> tuple[int, ...]:
    """Lengths as Python's or symbolic integers; numpy's integers and tensors of one element are converted."""
    for value in values:
        if not isinstance(value, _INTEGERS):
            return tuple(value if isinstance(value, _INTEGERS) else operator.index(value) for value in values)
    return tuple(values)


def _pads(
    padding: Edges | str, weight: Any, stride: Edges, dilation: Edges
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The padding of both sides and the additional padding at the end; None for strings that PyTorch refuses here."""
    ndim = weight.dim() - 2
    if not isinstance(padding, str):
        return spread(padding, ndim), ()
    if padding == "valid":
        return (0,) * ndim, ()
    dilations = spread(dilation, ndim)
    if padding != "same" or len(dilations) != ndim or any(step != 1 for step in spread(stride, ndim)):
        return None
    total = [(edge - 1) * reach for edge, reach in zip(weight.shape[2:], dilations, strict=True)]
    return tuple(pad // 2 for pad in total), tuple(pad % 2 for pad in total)
