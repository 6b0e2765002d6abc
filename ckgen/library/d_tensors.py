"""The D tensors of a fused instance: layouts, element types, shapes and strides, and their form in the C API.

Layouts are words like ``NHWGC`` or ``G_NHW_C``, whose letters are axes from the slowest to the fastest. A missing axis
is broadcast: its stride is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Real

from ckgen.conv.dtypes import ELEMENTS, Element, element_of
from ckgen.conv.layout import TensorName, d_layout, logical_axes
from ckgen.conv.problem import ConvProblem, Lengths
from ckgen.elementwise.function import PASS_THROUGH, Function
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CDTensor, CProblem, LibraryError
from ckgen.operations.operation import OPERATIONS

LARGEST_F32 = 2.0**128 * (1 - 2.0**-24)


@dataclass(frozen=True, slots=True)
class DSlot:
    """One D tensor that an instance takes."""

    name: str
    layout: str
    element: Element
    written: TensorName  # the result, whose shape D has

    @property
    def axes(self) -> str:
        """The axes, from the slowest to the fastest."""
        return self.layout.replace("_", "")

    def shape(self, problem: ConvProblem) -> Lengths:
        """The shape of an array that holds the tensor, axes in the layout's order."""
        sizes = dict(zip(logical_axes(self.written, problem.ndim), problem.lengths(self.written), strict=True))
        return tuple(sizes[axis] for axis in self.axes)

    def logical_strides(self, problem: ConvProblem, strides: Sequence[int] | None = None) -> Lengths:
        """Strides in elements, in logical order: those of a gap-free array, or ``strides`` converted from the layout's
        order."""
        if strides is None:
            shape = self.shape(problem)
            strides = [1] * len(shape)
            for at in range(len(shape) - 1, 0, -1):
                strides[at - 1] = strides[at] * shape[at]
        found = dict(zip(self.axes, strides, strict=True))
        return tuple(found.get(axis, 0) for axis in logical_axes(self.written, problem.ndim))


def d_slots(instance: Instance, function: Function) -> tuple[DSlot, ...]:
    """The D tensors of an instance with this function, in the function's order."""
    written = OPERATIONS[instance.operation].written
    own = element_of(instance.dtype, written)
    return tuple(
        DSlot(
            name,
            d_layout(kind.layout, instance.layout, written),
            ELEMENTS[kind.dtype] if kind.dtype else own,
            written,
        )
        for name, kind in zip(function.tensors, function.kinds, strict=True)
    )


def fuse(
    c_problem: CProblem, problem: ConvProblem, slots: Sequence[DSlot], strides: Sequence[Sequence[int] | None] = ()
) -> None:
    """Set the D tensors of a problem in C form, without addresses. ``strides`` are in the order of their layouts; a
    tensor without strides is gap-free."""
    given = strides or (None,) * len(slots)
    c_problem.set_ds(
        [
            CDTensor.make(problem.lengths(slot.written), slot.logical_strides(problem, own))
            for slot, own in zip(slots, given, strict=True)
        ]
    )


def scalar_values(function: Function, given: Mapping[str, float] | None) -> tuple[float, ...]:
    """All scalars of a function in its order, with defaults for those that ``given`` lacks; empty if ``given`` is empty
    or None. Raise LibraryError for names that the function does not have."""
    if given is not None and not isinstance(given, Mapping):
        raise LibraryError(f"scalars is of type {type(given).__name__}", "give a mapping of names to numbers")
    defaults = dict(function.scalars)
    unknown = [name for name in given or {} if name not in defaults]
    if unknown:
        known = ", ".join(defaults) or "none"
        raise LibraryError(f"{function.name} has no scalar {unknown[0]}", f"its scalars: {known}")
    values = {**defaults, **(given or {})}
    for name, value in values.items():
        if not isinstance(value, Real) or LARGEST_F32 < abs(value) < inf:
            raise LibraryError(f"scalar {name} is {value!r:.80}", "give a number that f32 holds")
    return tuple(map(float, values.values())) if given else ()


def function_named(functions: Mapping[str, Function], name: str) -> Function:
    """The function of an instance; PassThrough if it has none. Raise LibraryError for a name without a definition."""
    found = functions.get(name or PASS_THROUGH)
    if found is None:
        raise LibraryError(f"the library holds instances of a function {name} and does not say what it is")
    return found
