"""Random tensors for a run of an operation, and the float64 result that follows from them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckgen.conv.dtypes import DTYPES, ELEMENTS, Array, DType, Element, Float64, element_of
from ckgen.conv.encoding import as_multiplied, decode, encode
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
    codes: str = "ocp",
) -> Data:
    """Uniform random numbers in (-1, 1), or integers, rounded to the types of ``dtype``; equal arguments give equal
    data. Scalars keep their defaults for every other problem. ``codes`` is the device's encoding of 8-bit floating
    point (``ocp`` or ``fnuz``), to which operands are rounded if the data type says so."""
    digest = zlib.crc32(str(problem).encode())
    random = np.random.default_rng([seed, digest])
    record = OPERATIONS[operation]
    read = record.read
    elements = {name: element_of(dtype, name) for name in read}
    terms = record.accumulations(problem)
    drawn = {name: _draw(random, problem.lengths(name), elements[name], terms) for name in read}
    tensors = {name: _without_ties(values, DTYPES[dtype]) for name, values in drawn.items()}
    seen = {
        name: as_multiplied(
            decode(tensors[name], elements[name]), DTYPES[dtype], "a" if name == record.a else "b", codes
        )
        for name in read
    }
    scale = float(np.prod([np.abs(values).max() for values in seen.values()]))
    gradient = record.reference(problem, seen)
    error = summing_allowance(terms, scale, dtype)
    written = element_of(dtype, record.written)
    if not record.has_function(function.name):
        return Data(tensors, (), None, written.in_range(gradient), error, scale)
    kinds = function.kinds
    ds = tuple(_d_tensor(problem, record.written, each.layout, each.dtype or written.name, random) for each in kinds)
    values = {name: nearest_f32(float(random.uniform(-2, 2))) or 0.0 for name, _ in function.scalars}
    scalars = values if values and digest % 2 else None
    result = fused(gradient, error, function, dict(zip(function.tensors, ds, strict=True)), scalars, record.written)
    return Data(tensors, ds, scalars, written.in_range(result.value), result.error, scale)


def _draw(random: np.random.Generator, shape: tuple[int, ...], element: Element, terms: int) -> Array:
    """Random elements. Integers are such that most sums of ``terms`` products fit the type: -1, 0 and 1, and here and
    there any number of the type."""
    if not element.integer:
        return encode(random.uniform(-1, 1, shape), element)
    small, large = random.integers(-1, 2, shape), np.round(random.uniform(-1, 1, shape) * 2**element.precision)
    return encode(np.where(random.random(shape) < 1 / max(1, terms), large, small), element)


def _without_ties(values: Array, dtype: DType) -> Array:
    """The values; if kernels round them to tf32, with the lowest bit set, so that none is halfway between two numbers
    of tf32: TMA rounds such a value to the even one, other kernels round it away from zero."""
    if not dtype.multiplies_tf32:
        return values
    odd: Array = (values.view(np.uint32) | np.uint32(1)).view(values.dtype)
    return odd


def _d_tensor(
    problem: ConvProblem, written: TensorName, layout: str | None, dtype: str, random: np.random.Generator
) -> DTensor:
    logical = logical_axes(written, problem.ndim)
    sizes = dict(zip(logical, problem.lengths(written), strict=True))
    axes = layout if layout in ("GC", "G_C") else logical[:2] + logical[3:] + logical[2]
    values = random.uniform(-1, 1, [sizes[axis] for axis in axes.replace("_", "")])
    return DTensor(encode(values, ELEMENTS[dtype]), dtype, axes)
