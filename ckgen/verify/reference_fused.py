"""An element-wise function of a gradient and of D tensors in float64, and the allowed error of a kernel's result.

The allowance is that of reference.py, propagated through the function by ckgen.elementwise.error_bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen.conv.dtypes import ELEMENTS, Array, Element, Float64
from ckgen.conv.encoding import decode
from ckgen.conv.layout import CHANNELS_LAST, LAYOUTS, TensorName, d_layout, logical_axes
from ckgen.conv.problem import Lengths
from ckgen.elementwise.error_bounds import Bounded, bounded, exact
from ckgen.elementwise.function import RESULT, Function
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.reference import rounding_allowance

# CK's layouts of D. Those with underscores have a separate stride between the parts; as arrays they have the axes of
# the packed ones. GC and G_C hold one value per channel, for every image and position.
D_LAYOUTS: dict[tuple[TensorName, int], tuple[str, ...]] = {
    (operation.written, home.ndim): tuple(
        dict.fromkeys(
            [row.axes(operation.written) for row in LAYOUTS.values() if row.ndim == home.ndim]
            + [d_layout(own, home.name) for own in operation.own_d_layouts]
        )
    )
    for operation in OPERATIONS.values()
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
    written: TensorName = "in",
) -> Bounded:
    """``function`` of the gradient of the tensor ``written`` in logical order, of the D tensors and of scalars, both by
    name; scalars that are not given keep their defaults.

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
    inputs = {name: exact(logical_view(name, tensor, gradient.shape, written)) for name, tensor in tensors.items()}
    inputs |= {name: exact(np.float32(value)) for name, value in {**defaults, **scalars}.items()}
    inputs[RESULT] = Bounded(gradient, np.full_like(gradient, summing_error))
    return bounded(function.tree, inputs)


def allowance(element: Element, result: Bounded) -> Float64:
    """Largest allowed distance of each element of a kernel's result of type ``element`` from ``result``."""
    return rounding_allowance(element, result.value, result.error)


def logical_view(name: str, tensor: DTensor, lengths: Lengths, written: TensorName = "in") -> Float64:
    """The values of a D tensor, float64, broadcast to the logical lengths of ``written``. Raise ValueError when it
    does not fit them; ``name`` is the tensor's name in the error."""
    ndim = len(lengths) - 3
    known = D_LAYOUTS[written, ndim]
    if tensor.layout not in known:
        raise ValueError(f"{name} has layout {tensor.layout}; in {ndim} dimensions D has one of {known}")
    axes = tensor.layout.replace("_", "")
    sizes = dict(zip(logical_axes(written, ndim), lengths, strict=True))
    needed = tuple(sizes[axis] for axis in axes)
    if tensor.array.shape != needed:
        raise ValueError(f"{name} has shape {tensor.array.shape}, {tensor.layout} of this problem is {needed}")
    kept = [axis for axis in sizes if axis in axes]
    values = decode(tensor.array, ELEMENTS[tensor.dtype]).transpose([axes.index(axis) for axis in kept])
    shape = [size if axis in axes else 1 for axis, size in sizes.items()]
    return np.broadcast_to(values.reshape(shape), lengths)
