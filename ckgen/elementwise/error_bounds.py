"""Element-wise functions as numbers: their value in float64, and how far from it a kernel's f32 arithmetic may be.

Both are computed side by side, so that the allowance follows a function wherever it goes: an error of the convolution
grows a hundredfold in `100 * e`, vanishes where `clamp` cuts it off and may flip a comparison.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckgen.conv.dtypes import ELEMENTS, Float64
from ckgen.elementwise.language import Binary, Call, Choose, Compare, Expr, Name, Negate, Number

_F32_MAX = float(np.finfo(np.float32).max)
_F32_NORMAL = float(np.finfo(np.float32).tiny)  # what lies below may be flushed to zero

# Rounding errors in units of f32's roundoff. IEEE 754 has one for + - *, and for the others where they are rounded
# correctly; GPUs need not do that, and their exp and tanh are some units off: room, but not for a wrong formula.
_UNITS = {"+": 1, "-": 1, "*": 1, "/": 4, "sqrt": 4, "exp": 8, "sigmoid": 16, "tanh": 8}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.divide,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _sigmoid(x: Float64) -> Float64:
    return 1 / (1 + np.exp(-x))


# The functions of one argument that never fall where their argument grows.
_RISING: dict[str, Callable[[Any], Any]] = {"sqrt": np.sqrt, "exp": np.exp, "sigmoid": _sigmoid, "tanh": np.tanh}


@dataclass(frozen=True, slots=True)
class Bounded:
    """Float64 values, each with a bound on how far a kernel's may be from it; infinite where f32 overflows."""

    value: Float64
    error: Float64


def exact(value: ArrayLike) -> Bounded:
    """Values that a kernel is given and has no error of its own in."""
    array = np.asarray(value, dtype=np.float64)
    return Bounded(array, np.zeros_like(array))


def evaluate(tree: Expr, inputs: Mapping[str, ArrayLike]) -> Float64:
    """The value in float64, of the shape to which the inputs broadcast."""
    return bounded(tree, {name: exact(value) for name, value in inputs.items()}).value


def bounded(tree: Expr, inputs: Mapping[str, Bounded]) -> Bounded:
    """The value in float64 from the inputs' values, and a bound for a kernel whose inputs have these errors."""
    with np.errstate(all="ignore"):
        found = _bounded(tree, inputs)
    value, error = np.broadcast_arrays(found.value, found.error)
    return Bounded(np.array(value), np.array(error))


def _bounded(tree: Expr, inputs: Mapping[str, Bounded]) -> Bounded:
    match tree:
        case Number(value):
            return exact(value)
        case Name(name):
            return inputs[name]
        case Negate(operand):
            inner = _bounded(operand, inputs)
            return Bounded(-inner.value, inner.error)
        case Binary(sign, left, right):
            return _arithmetic(sign, _bounded(left, inputs), _bounded(right, inputs))
        case Choose(condition, then, otherwise):
            return _chosen(*_compared(condition, inputs), _bounded(then, inputs), _bounded(otherwise, inputs))
        case Call(function, arguments):
            given = [_bounded(argument, inputs) for argument in arguments]
            if function not in _RISING:
                return _chopped(function, given)
            return _risen(function, given[0], _never_negative(arguments[0]))


def _arithmetic(sign: str, a: Bounded, b: Bounded) -> Bounded:
    value = _OPERATORS[sign](a.value, b.value)
    if sign in "+-":
        error = a.error + b.error
    elif sign == "*":
        error = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error
    else:
        room = abs(b.value) - b.error  # the divisor is at least this far from zero
        error = np.where(room > 0, (a.error + abs(value) * b.error) / room, np.inf)
    return _rounded(value, error, _UNITS[sign])


def _compared(tree: Compare, inputs: Mapping[str, Bounded]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the comparison holds, and whether a kernel's might say otherwise."""
    a, b = _bounded(tree.left, inputs), _bounded(tree.right, inputs)
    doubt = a.error + b.error
    unsure = (doubt > 0) & ~(abs(a.value - b.value) > doubt)
    return np.asarray(_OPERATORS[tree.operator](a.value, b.value)), unsure


def _chosen(holds: NDArray[np.bool_], unsure: NDArray[np.bool_], then: Bounded, otherwise: Bounded) -> Bounded:
    error = np.where(holds, then.error, otherwise.error)
    either = np.maximum(then.error, otherwise.error) + abs(then.value - otherwise.value)
    return Bounded(np.where(holds, then.value, otherwise.value), np.where(unsure, either, error))


def _chopped(function: str, given: list[Bounded]) -> Bounded:
    errors = [argument.error for argument in given]
    values = [argument.value for argument in given]
    match function:
        case "abs":
            value = abs(values[0])
        case "relu":
            value = np.where(values[0] < 0, 0.0, values[0])  # of zeros the same one as in C++
        case "min":
            value = np.minimum(*values)
        case "max":
            value = np.maximum(*values)
        case _:  # clamp
            value = np.minimum(np.maximum(values[0], values[1]), values[2])
    # None of these moves further than the argument that moves furthest, and none rounds.
    return Bounded(value, np.maximum.reduce(np.broadcast_arrays(*errors)))


def _risen(function: str, x: Bounded, never_negative: bool) -> Bounded:
    """A rising function errs as far as at the ends of its argument's interval, and by its own rounding. An argument
    without a bound may be NaN, and so may its function, also where that is bounded."""
    apply = _RISING[function]
    value = apply(x.value)
    low = x.value - x.error
    low = np.maximum(low, 0) if never_negative else low  # else sqrt has no bound there
    error = np.maximum(abs(apply(x.value + x.error) - value), abs(value - apply(low)))
    error = np.where(x.error > 0, error, 0)
    return _rounded(value, np.where(np.isfinite(x.error), error, np.inf), _UNITS[function])


def _never_negative(tree: Expr) -> bool:
    """Whether an expression is at least zero however it is rounded, or NaN; no for those of which that is not plain."""
    match tree:
        case Number():
            return True
        case Binary("*", left, right) if left == right:
            return True
        case Binary("+" | "*" | "/", left, right) | Choose(_, left, right):
            return _never_negative(left) and _never_negative(right)
        case Call("min", arguments):
            return all(map(_never_negative, arguments))
        case Call("max", arguments):
            return any(map(_never_negative, arguments))
        case Call("clamp", (x, low, high)):
            return _never_negative(high) and (_never_negative(low) or _never_negative(x))
        case Call(function, _):
            return function in ("abs", "relu", "sqrt", "exp", "sigmoid")
    return False


def _rounded(value: Float64, error: Float64, units: int) -> Bounded:
    reach = abs(value) + error
    own = units * (ELEMENTS["f32"].unit_roundoff * reach + _F32_NORMAL)
    return Bounded(value, np.where(reach <= _F32_MAX, error + own, np.inf))  # for NaN too
