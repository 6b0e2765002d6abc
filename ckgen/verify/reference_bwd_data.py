"""The input gradient of a grouped convolution in float64, an element-wise function of it and of D tensors, and the
allowed error of a kernel's result.

The gradient is independent of every kernel and of ckgen.conv.sub_gemms: no tiles, no sub-GEMMs, one matrix product per
filter tap and group. The allowance is that of reference.py, propagated through the function by
ckgen.elementwise.error_bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen.conv.dtypes import ELEMENTS, Array, Element, Float64
from ckgen.conv.encoding import decode
from ckgen.conv.layout import CHANNELS_LAST, LAYOUTS, OWN_LAYOUTS, d_layout, logical_axes
from ckgen.conv.problem import Lengths
from ckgen.elementwise.error_bounds import Bounded, bounded, exact
from ckgen.elementwise.function import RESULT, Function
from ckgen.verify.reference import rounding_allowance

# CK's layouts of D. Those with underscores have a separate stride between the parts; as arrays they have the axes of
# the packed ones. GC and G_C hold one value per channel, for every image and position.
D_LAYOUTS: dict[int, tuple[str, ...]] = {
    home.ndim: tuple(
        dict.fromkeys(
            [d_layout(None, row.name) for row in LAYOUTS.values() if row.ndim == home.ndim]
            + [d_layout(own, home.name) for own in OWN_LAYOUTS]
        )
    )
    for home in (LAYOUTS[name] for name in CHANNELS_LAST.values())
}


@dataclass(frozen=True, slots=True)
class DTensor:
    """A D tensor as a kernel reads it: a storage array of element type ``dtype`` (a key of ELEMENTS of
    ckgen.conv.dtypes), the axes in the order of ``layout``."""

    array: Array
    dtype: str
    layout: str


def fused(
    gradient: Float64,
    summing_error: float,
    function: Function,
    tensors: Mapping[str, DTensor],
    scalars: Mapping[str, float] | None = None,
) -> Bounded:
    """``function`` of a gradient of logical shape (G, N, C, input), of the D tensors and of scalars, both by name;
    scalars that are not given keep their defaults.

    The error bound is that of a kernel whose f32 sum may be off by ``summing_error`` (see summing_allowance) and that
    computes the function in f32. Raise ValueError for a missing tensor, for tensors and scalars that the function does
    not have, and for tensors that do not fit.
    """
    scalars = scalars or {}
    defaults = dict(function.scalars)
    if set(tensors) != set(function.tensors):
        raise ValueError(f"{function.name} has tensors {list(function.tensors)}, these are {list(tensors)}")
    if not set(scalars) <= set(defaults):
        raise ValueError(f"{function.name} has scalars {list(defaults)}, these are {list(scalars)}")
    inputs = {name: exact(logical_view(name, tensor, gradient.shape)) for name, tensor in tensors.items()}
    inputs |= {name: exact(np.float32(value)) for name, value in {**defaults, **scalars}.items()}
    inputs[RESULT] = Bounded(gradient, np.full_like(gradient, summing_error))
    return bounded(function.tree, inputs)


def allowance(element: Element, result: Bounded) -> Float64:
    """Largest allowed distance of each element of a kernel's result of type ``element`` from ``result``."""
    return rounding_allowance(element, result.value, result.error)


def logical_view(name: str, tensor: DTensor, lengths: Lengths) -> Float64:
    """The values of a D tensor, float64, broadcast to the logical lengths (G, N, C, input). Raise ValueError when it
    does not fit them; ``name`` is the tensor's name in the error."""
    ndim = len(lengths) - 3
    if tensor.layout not in D_LAYOUTS[ndim]:
        raise ValueError(f"{name} has layout {tensor.layout}; in {ndim} dimensions D has one of {D_LAYOUTS[ndim]}")
    axes = tensor.layout.replace("_", "")
    sizes = dict(zip(logical_axes("in", ndim), lengths, strict=True))
    needed = tuple(sizes[axis] for axis in axes)
    if tensor.array.shape != needed:
        raise ValueError(f"{name} has shape {tensor.array.shape}, {tensor.layout} of this problem is {needed}")
    kept = [axis for axis in sizes if axis in axes]
    values = decode(tensor.array, ELEMENTS[tensor.dtype]).transpose([axes.index(axis) for axis in kept])
    shape = [size if axis in axes else 1 for axis, size in sizes.items()]
    return np.broadcast_to(values.reshape(shape), lengths)
