"""Requests for gradients: PyTorch's tensors as values that can be compared and hashed, and how a library reads them.

This module reads no tensor. PyTorch's types and devices are passed through unchanged, so that PyTorch need not be
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ckgen.conv.layout import TensorName
from ckgen.torch.strides import Lengths, contiguous, even, gap_free, packed, readable, same

# The selector gets an address with the tensor's alignment: this one, a multiple of every alignment that a kernel needs,
# plus the tensor's misalignment.
_SOMEWHERE = 1 << 12
# Stride, padding, dilation, groups.
Geometry = tuple[Lengths, Lengths, Lengths, int]


class Seen(NamedTuple):
    """Properties of a tensor (N, C, spatial) or (K, C/groups, filter) that a plan depends on."""

    shape: Lengths
    stride: Lengths
    misaligned: int  # the address modulo 16
    dtype: Any
    device: Any


class Read(NamedTuple):
    """Access to a tensor that is read: its strides, in the tensor itself if ``in_place``, else in a copy."""

    strides: Lengths
    address: int
    in_place: bool


class Form(NamedTuple):
    """A way to ask for a gradient: the library's names of type and layout, and how it reads output gradient, input and
    weight."""

    dtype: str
    layout: str
    reads: Sequence[Read]


class Request(NamedTuple):
    """A request to a library: the ``wanted`` gradients of input and weight, in the memory formats of these.

    ``gpu`` is the GPU to make current, None if there is no choice. With ``fallback``, gradients that no instance takes
    are left to PyTorch. With ``tf32``, float32 may be rounded to tf32 before it is multiplied.
    """

    grad_output: Seen
    input: Seen
    weight: Seen
    geometry: Geometry
    wanted: tuple[bool, bool]
    fallback: bool
    gpu: int | None
    tf32: bool = False

    def tensor(self, name: TensorName) -> Seen:
        """A tensor by the library's name; of the output, the gradient."""
        return {"in": self.input, "wei": self.weight, "out": self.grad_output}[name]


def planes_of(asked: Request) -> Sequence[Read] | None:
    """The tensors in place, if all are in PyTorch's default memory format and not in channels last as well."""
    tensors = asked.grad_output, asked.input, asked.weight
    in_format = all(same(seen.shape, seen.stride, contiguous(seen.shape)) for seen in tensors)
    if not in_format or all(readable(seen.shape, seen.stride) for seen in tensors):
        return None
    return [Read(contiguous(seen.shape), _SOMEWHERE + seen.misaligned, True) for seen in tensors]


def reads_of(asked: Request, written: TensorName) -> tuple[Read, Read, Read]:
    """Access to output gradient, input and weight for one gradient, channels last."""
    of_output = even if written == "wei" else readable
    return _read(asked.grad_output, of_output), _read(asked.input, readable), _read(asked.weight, gap_free)


def _read(seen: Seen, view: Callable[[Lengths, Lengths], Lengths | None]) -> Read:
    strides = view(seen.shape, seen.stride)
    return Read(strides, _SOMEWHERE + seen.misaligned, True) if strides else Read(packed(seen.shape), 0, False)
