"""Element-wise functions as C++: an f32 expression made from the tree, never from the text.

The expression uses the names that `cpp_name` gives and functions of namespace ckgen::math, which have the meaning that
MATH_FUNCTIONS says, on every platform.
"""

from __future__ import annotations

from ckgen.elementwise.language import Binary, Call, Choose, Compare, Expr, Name, Negate, Number, nearest_f32

# Each takes and returns float. A NaN among the arguments is the result: clipping must not hide a gradient that blew up.
# (fmin and fmax, and the min and max instructions of GPUs, drop it.)
MATH_FUNCTIONS = {
    "min": "a where a < b or a is NaN, else b",
    "max": "a where a > b or a is NaN, else b",
    "abs": "x without its sign",
    "sqrt": "the square root, NaN below zero",
    "exp": "e to the x",
    "clamp": "min(max(x, lo), hi)",
    "relu": "0 where x < 0, else x",
    "sigmoid": "1 / (1 + exp(-x))",
    "tanh": "the hyperbolic tangent",
}


def cpp_name(name: str) -> str:
    """The C++ name of an input. With the underscore no keyword, macro or type can be meant, and parameters of CK's
    functors have their own names: ``alpha_``, ``scale_``."""
    return name + "_"


def cpp_number(value: float) -> str:
    """The shortest literal of an f32 value: ``0.1f``, ``-2.0f``, ``1e-10f``."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))  # nine tell all f32 values apart
    return next(f"{float(text)!r}f" for text in texts if nearest_f32(float(text)) == value)


def cpp_expression(tree: Expr) -> str:
    """A C++ expression of type float with parentheses around every operation."""
    match tree:
        case Number(value):
            return cpp_number(value)
        case Name(name):
            return cpp_name(name)
        case Negate(operand):
            return f"(-{cpp_expression(operand)})"
        case Binary(operator, left, right):
            return f"({cpp_expression(left)} {operator} {cpp_expression(right)})"
        case Choose(condition, then, otherwise):
            return f"({_condition(condition)} ? {cpp_expression(then)} : {cpp_expression(otherwise)})"
        case Call(function, arguments):
            return f"ckgen::math::{function}({', '.join(map(cpp_expression, arguments))})"


def _condition(tree: Compare) -> str:
    return f"({cpp_expression(tree.left)} {tree.operator} {cpp_expression(tree.right)})"
