"""Element-wise functions as separate PyTorch operations: the reference that fused kernels are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ckgen.bench.torch_tensors import TorchData
from ckgen.elementwise.function import PASS_THROUGH, RESULT
from ckgen.elementwise.language import Binary, Call, Choose, Compare, Expr, Name, Negate, Number

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def fused(torch: Any, gradient: Callable[[], Any], data: TorchData) -> Callable[[], Any]:
    """A function that computes a gradient of shape (N, G*C, input) and applies the element-wise function to it."""
    if data.function.name == PASS_THROUGH:
        return gradient
    scalars: dict[str, Any] = dict(data.function.scalars)
    tensors = dict(zip(data.function.tensors, data.d_like_torch(), strict=True))
    return lambda: evaluate(torch, data.function.tree, {**scalars, **tensors, RESULT: gradient()})


def evaluate(torch: Any, tree: Expr, inputs: Mapping[str, Any]) -> Any:
    """The value of an expression of tensors and numbers, computed in their own types."""

    def value(part: Expr) -> Any:
        return evaluate(torch, part, inputs)

    match tree:
        case Number(number):
            return number
        case Name(name):
            return inputs[name]
        case Negate(operand):
            return -value(operand)
        case Binary(operator, left, right):
            return _BINARY[operator](value(left), value(right))
        case Choose(condition, then, otherwise):
            like = inputs[RESULT]
            parts = (torch.as_tensor(value(p), dtype=like.dtype, device=like.device) for p in (then, otherwise))
            return torch.where(_compared(torch, condition, inputs), *parts)
        case Call(function, arguments):
            return _called(torch, function, [value(argument) for argument in arguments], inputs[RESULT])


def _compared(torch: Any, tree: Compare, inputs: Mapping[str, Any]) -> Any:
    left, right = (evaluate(torch, part, inputs) for part in (tree.left, tree.right))
    return torch.as_tensor(_COMPARE[tree.operator](left, right), device=inputs[RESULT].device)


def _called(torch: Any, function: str, arguments: list[Any], like: Any) -> Any:
    given = [torch.as_tensor(value, dtype=like.dtype, device=like.device) for value in arguments]
    if function == "clamp":
        return torch.minimum(torch.maximum(given[0], given[1]), given[2])
    return getattr(torch, {"min": "minimum", "max": "maximum"}.get(function, function))(*given)
