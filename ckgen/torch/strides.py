"""Strides of PyTorch's tensors: memory formats, and the views that a library reads in place."""

from __future__ import annotations

from math import prod

Lengths = tuple[int, ...]


def same(shape: Lengths, one: Lengths, other: Lengths) -> bool:
    """True if strides agree; those of dimensions of length 1 mean nothing."""
    return all(a == b or n == 1 for n, a, b in zip(shape, one, other, strict=True))


def contiguous(shape: Lengths) -> Lengths:
    """The strides of a gap-free tensor in PyTorch's default memory format."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def packed(shape: Lengths) -> Lengths:
    """The strides of a gap-free channels-last tensor."""
    strides, step = [0] * len(shape), 1
    for axis in (1, *range(len(shape) - 1, 1, -1), 0):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def readable(shape: Lengths, stride: Lengths) -> Lengths | None:
    """The strides with which the library reads a tensor: channels last, with gaps but without overlap. None if the
    tensor must be copied. Along dimensions of length 1 PyTorch's strides are arbitrary, so they are derived from the
    others."""
    if len(shape) < 3 or shape[1] != 1 and stride[1] != 1:
        return None
    found, reach = [1] * len(shape), shape[1]
    for axis in (*range(len(shape) - 1, 1, -1), 0):
        found[axis] = reach if shape[axis] == 1 else stride[axis]
        if found[axis] < reach:
            return None
        reach = found[axis] * shape[axis]  # as the rule strides-layout counts
    return tuple(found)


def even(shape: Lengths, stride: Lengths) -> Lengths | None:
    """``readable`` for a tensor whose positions must follow each other at one distance, across rows and images: the
    output gradient of a weight's gradient."""
    view = readable(shape, stride)
    if view is None:
        return None
    following = view[-1] * shape[-1]
    for axis in (*range(len(shape) - 2, 1, -1), 0):
        if view[axis] != following:
            return None
        following *= shape[axis]
    return view


def gap_free(shape: Lengths, stride: Lengths) -> Lengths | None:
    """``readable`` for a tensor that must also have no gaps."""
    view = readable(shape, stride)
    return view if view == packed(shape) else None


def result_strides(shape: Lengths, stride: Lengths) -> Lengths:
    """The strides of a gradient: those of its tensor, so that optimizers and DDP read both in one order, or
    channels-last strides if the tensor has gaps or overlap. Lengths may be symbolic."""
    expected = 1
    for step, length in sorted((step, length) for step, length in zip(stride, shape, strict=True) if length != 1):
        if step != expected:
            return packed(shape)
        expected = step * length
    return tuple(stride)
