"""Random tensors for a run of an operation, and the float64 result that follows from them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckgen.conv.dtypes import DTYPES, ELEMENTS, Array, Element, Float64, decode, element_of, encode
from ckgen.conv.layout import TensorName, logical_axes
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import BUILTINS, PASS_THROUGH, Function
from ckgen.elementwise.language import nearest_f32
from ckgen.library.d_tensors import DSlot
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.verify.reference import rounding_allowance, summing_allowance
from ckgen.verify.reference_fused import DTensor, fused


@dataclass(frozen=True, slots=True)
class Data:
    """Operands of a kernel and its expected result.

    ``tensors`` are the operands, in logical order; ``ds`` the function's D tensors with the result's axes, C last, or
    G, C; ``scalars`` its scalars, None for the defaults. ``expected`` is the float64 result in logical order; a
    kernel's result may differ by ``error`` before it is rounded. ``scale`` is the largest magnitude a single product
    can have.
    """

    tensors: Mapping[TensorName, Array]
    ds: tuple[DTensor, ...]
    scalars: Mapping[str, float] | None
    expected: Float64
    error: Any
    scale: float

    @property
    def in_(self) -> Array:
        """The input, for operations that read it."""
        return self.tensors["in"]

    @property
    def out(self) -> Array:
        """The gradient of the output."""
        return self.tensors["out"]

    def allowance(self, element: Element) -> Float64:
        """Largest allowed error of each element of a result of type ``element``, in logical order."""
        limit: Float64 = rounding_allowance(element, self.expected, self.error)
        return limit

    def d_array(self, at: int, slot: DSlot) -> Array:
        """D tensor number ``at`` with its axes in the order of ``slot``'s layout."""
        given = self.ds[at].layout.replace("_", "")
        return self.ds[at].array.transpose([given.index(axis) for axis in slot.axes])


def make_data(
    problem: ConvProblem,
    dtype: str,
    seed: int,
    operation: str = DEFAULT_OPERATION,
    function: Function = BUILTINS[PASS_THROUGH],
) -> Data:
    """Uniform random numbers in (-1, 1), rounded to the types of ``dtype``; equal arguments give equal data. Scalars
    keep their defaults for every other problem."""
    digest = zlib.crc32(str(problem).encode())
    random = np.random.default_rng([seed, digest])
    read = OPERATIONS[operation].read
    elements = {name: element_of(dtype, name) for name in read}
    tensors = {name: encode(random.uniform(-1, 1, problem.lengths(name)), elements[name]) for name in read}
    seen = {name: decode(tensors[name], elements[name]) for name in read}
    scale = float(np.prod([np.abs(values).max() for values in seen.values()]))
    gradient = OPERATIONS[operation].reference(problem, seen)
    error = summing_allowance(OPERATIONS[operation].accumulations(problem), scale, DTYPES[dtype].accumulator)
    written = OPERATIONS[operation].written
    own = element_of(dtype, written).name
    ds = tuple(_d_tensor(problem, written, kind.layout, kind.dtype or own, random) for kind in function.kinds)
    values = {name: nearest_f32(float(random.uniform(-2, 2))) or 0.0 for name, _ in function.scalars}
    scalars = values if values and digest % 2 else None
    result = fused(gradient, error, function, dict(zip(function.tensors, ds, strict=True)), scalars, written)
    return Data(tensors, ds, scalars, result.value, result.error, scale)


def _d_tensor(
    problem: ConvProblem, written: TensorName, layout: str | None, dtype: str, random: np.random.Generator
) -> DTensor:
    logical = logical_axes(written, problem.ndim)
    sizes = dict(zip(logical, problem.lengths(written), strict=True))
    axes = layout if layout in ("GC", "G_C") else logical[:2] + logical[3:] + logical[2]
    values = random.uniform(-1, 1, [sizes[axis] for axis in axes.replace("_", "")])
    return DTensor(encode(values, ELEMENTS[dtype]), dtype, axes)
