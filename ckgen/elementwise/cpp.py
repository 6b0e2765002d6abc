"""Element-wise functions as C++: an f32 expression, rendered from the syntax tree and never from the text.

The expression uses the names that `cpp_name` returns and functions of namespace ckgen::math. On every platform these
compute what MATH_FUNCTIONS documents.
"""

from __future__ import annotations

from ckgen.elementwise.language import Binary, Call, Choose, Compare, Expr, Name, Negate, Number, nearest_f32

# Each takes and returns float, and returns NaN if an argument is NaN: clipping must not hide a gradient that
# overflowed. (fmin and fmax, and the min and max instructions of GPUs, return the other argument.)
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
    """Return the C++ name of an input, ``alpha_`` for alpha. With the underscore it cannot collide with a keyword, a
    macro or a type, and parameters of CK's functors have the names that they have in CK."""
    return name + "_"


def cpp_number(value: float) -> str:
    """Return the shortest literal of an f32 value: ``0.1f``, ``-2.0f``, ``1e-10f``."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))  # nine digits identify every f32 value
    return next(f"{float(text)!r}f" for text in texts if nearest_f32(float(text)) == value)


def cpp_expression(tree: Expr) -> str:
    """Return a C++ expression of type float with parentheses around every operation."""
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
