"""Values of element-wise functions in float64, each with a bound on the error of a kernel that computes in f32.

Value and bound are computed together, because each function changes the bound: an error of the convolution grows a
hundredfold in `100 * e`, vanishes where `clamp` cuts it off and may flip a comparison.
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
_F32_NORMAL = float(np.finfo(np.float32).tiny)  # smaller values may be flushed to zero

# Rounding errors in units of f32's roundoff. IEEE 754 allows one unit per correctly rounded operation, as + - * are.
# GPUs may round the others less exactly, exp and tanh by several units. These bounds allow for that, but not for a
# wrong formula.
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


# Monotonically increasing functions of one argument.
_RISING: dict[str, Callable[[Any], Any]] = {"sqrt": np.sqrt, "exp": np.exp, "sigmoid": _sigmoid, "tanh": np.tanh}


@dataclass(frozen=True, slots=True)
class Bounded:
    """Float64 values, each with a bound on a kernel's deviation from it; the bound is infinite where f32 overflows."""

    value: Float64
    error: Float64


def exact(value: ArrayLike) -> Bounded:
    """Bound the error of a kernel's inputs: they are exact."""
    array = np.asarray(value, dtype=np.float64)
    return Bounded(array, np.zeros_like(array))


def evaluate(tree: Expr, inputs: Mapping[str, ArrayLike]) -> Float64:
    """Compute the value in float64, in the shape to which the inputs broadcast."""
    return bounded(tree, {name: exact(value) for name, value in inputs.items()}).value


def bounded(tree: Expr, inputs: Mapping[str, Bounded]) -> Bounded:
    """Compute the value in float64 from the inputs' values, and its error bound from theirs."""
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
    """Return two masks: the comparison holds; a kernel's comparison may have the opposite result."""
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
            value = np.where(values[0] < 0, 0.0, values[0])  # keeps -0.0, as the C++ function does
        case "min":
            value = np.minimum(*values)
        case "max":
            value = np.maximum(*values)
        case _:  # clamp
            value = np.minimum(np.maximum(values[0], values[1]), values[2])
    # The result changes by at most the largest change of an argument, and none of these functions rounds.
    return Bounded(value, np.maximum.reduce(np.broadcast_arrays(*errors)))


def _risen(function: str, x: Bounded, never_negative: bool) -> Bounded:
    """Bound an increasing function: its error is largest at an end of its argument's interval, plus its own rounding.
    If the argument's error is unbounded, a kernel's argument may be NaN, so the result's error is unbounded too."""
    apply = _RISING[function]
    value = apply(x.value)
    low = x.value - x.error
    low = np.maximum(low, 0) if never_negative else low  # below zero sqrt would be NaN and have no bound
    error = np.maximum(abs(apply(x.value + x.error) - value), abs(value - apply(low)))
    error = np.where(x.error > 0, error, 0)
    return _rounded(value, np.where(np.isfinite(x.error), error, np.inf), _UNITS[function])


def _never_negative(tree: Expr) -> bool:
    """True if an expression is at least zero (or NaN) however it is rounded; False if that cannot be proved here."""
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
    return Bounded(value, np.where(reach <= _F32_MAX, error + own, np.inf))  # NaN compares false: infinite too
