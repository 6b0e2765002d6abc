"""The input gradient of a grouped convolution in float64, a function of it and of D tensors, and how far from that a
kernel may be.

The gradient is independent of every kernel and of ckgen.conv.sub_gemms: no tiles, no sub-GEMMs, one matrix product per
filter tap and group. The allowance is that of reference.py, carried through the function by
ckgen.elementwise.error_bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen.conv.dtypes import ELEMENTS, Array, Element, Float64, decode
from ckgen.conv.layout import logical_axes
from ckgen.conv.problem import ConvProblem, Lengths
from ckgen.conv.sub_gemms import decompose
from ckgen.elementwise.error_bounds import Bounded, bounded, exact
from ckgen.elementwise.function import RESULT, Function
from ckgen.verify.reference import rounding_allowance

# CK's layouts of D. Those with underscores have a stride of their own between the parts; as arrays they have the axes
# of the packed ones. GC and G_C hold one value a channel, for every image and position.
D_LAYOUTS = {
    1: ("NWGC", "GNWC", "NGCW", "G_NW_C", "GC", "G_C"),
    2: ("NHWGC", "GNHWC", "NGCHW", "G_NHW_C", "GC", "G_C"),
    3: ("NDHWGC", "GNDHWC", "NGCDHW", "G_NDHW_C", "GC", "G_C"),
}


@dataclass(frozen=True, slots=True)
class DTensor:
    """A D tensor as a kernel reads it: a storage array of element type ``dtype`` (a key of ELEMENTS of
    ckgen.conv.dtypes), the axes in the order of ``layout``."""

    array: Array
    dtype: str
    layout: str


def backward_data(problem: ConvProblem, out: Array, wei: Array) -> Float64:
    """The gradient of the input, float64, logical shape (G, N, C, input), channels fastest in memory.

    ``out`` (G, N, K, output, the gradient of the convolution's output) and ``wei`` (G, K, C, filter) are real arrays in
    logical order; views with any strides will do. Each element is

        in[g, n, c, i] = sum over k, x, o with i = o * stride + x * dilation - pad of out[g, n, k, o] * wei[g, k, c, x]

    which is 0 where no tap ever saw the position. Raises ValueError when a shape is not the problem's.
    """
    if out.shape != problem.lengths("out") or wei.shape != problem.lengths("wei"):
        needed = problem.lengths("out"), problem.lengths("wei")
        raise ValueError(f"out and wei have shapes {out.shape} and {wei.shape}, the problem needs {needed}")
    pads = tuple(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = tuple(edge + left + right for edge, (left, right) in zip(problem.input, pads, strict=True))
    gradient = np.moveaxis(out, 2, -1).reshape(problem.groups, -1, problem.k).astype(np.float64)
    in_ = np.zeros((problem.groups, problem.batch, *padded, problem.c))
    axes = tuple(zip(problem.dilations, problem.output, problem.strides, strict=True))
    for tap in np.ndindex(*problem.filter):
        window = tuple(
            slice(x * dilation, x * dilation + (edge - 1) * stride + 1, stride)
            for x, (dilation, edge, stride) in zip(tap, axes, strict=True)
        )
        seen = gradient @ wei[(slice(None), slice(None), slice(None), *tap)].astype(np.float64)
        here = (slice(None), slice(None), *window)
        in_[here] += seen.reshape(problem.groups, problem.batch, *problem.output, problem.c)
    image = tuple(slice(left, left + edge) for edge, (left, _) in zip(problem.input, pads, strict=True))
    return np.moveaxis(in_[(slice(None), slice(None), *image)], -1, 2)


def accumulations(problem: ConvProblem) -> int:
    """The largest number of products summed into one element of the input gradient."""
    return problem.k * decompose(problem).most_taps


def fused(
    gradient: Float64,
    summing_error: float,
    function: Function,
    tensors: Mapping[str, DTensor],
    scalars: Mapping[str, float] | None = None,
) -> Bounded:
    """``function`` of a gradient of logical shape (G, N, C, input), of the D tensors and of scalars, both by name;
    scalars that are not given keep their defaults.

    The bound is that of a kernel whose f32 sum may be wrong by ``summing_error`` (see summing_allowance) and that
    computes the function in f32. Raises ValueError for a missing tensor, for tensors and scalars that the function does
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
    """How far each element of a kernel's result of type ``element`` may lie from ``result``."""
    return rounding_allowance(element, result.value, result.error)


def logical_view(name: str, tensor: DTensor, lengths: Lengths) -> Float64:
    """The values of a D tensor, float64, broadcast to the logical lengths (G, N, C, input). Raises ValueError when it
    does not fit them; ``name`` is what the error calls it."""
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
