"""Element-wise functions of a spec as C++ structs, and as the JSON text that a library contains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ckgen.elementwise.cpp import cpp_expression, cpp_name, cpp_number
from ckgen.elementwise.function import RESULT, Function, Kind, make_function
from ckgen.text.shape import misfit

FUNCTION_SHAPE = {
    "name": str,
    "expression": str,
    "tensors": [{"name": str, "dtype": (str, None), "layout": (str, None)}],
    "scalars": {str: float},
}


@dataclass(frozen=True, slots=True)
class CppFunction:
    """A function as templates see it: members with their defaults, parameters of the call, and pairs of a name in the
    f32 expression and the parameter that it stands for. `text` is a C++ string literal of the function's JSON."""

    name: str
    members: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]
    values: tuple[tuple[str, str], ...]
    expression: str
    comment: str
    text: str


def cpp_function(function: Function) -> CppFunction:
    """Return the C++ form of a function. Its parameters are the result `e` and the tensors `d0`, `d1`, ... in order."""
    parameters = tuple(f"d{at}" for at in range(len(function.tensors)))
    inputs = zip((RESULT, *function.tensors), (RESULT, *parameters), strict=True)
    return CppFunction(
        function.name,
        tuple((cpp_name(name), cpp_number(value)) for name, value in function.scalars),
        parameters,
        tuple((cpp_name(name), parameter) for name, parameter in inputs),
        cpp_expression(function.tree),
        " ".join(function.text.split()),
        json.dumps(function_text(function)),
    )


def function_text(function: Function) -> str:
    """Return a function's entry of the spec as JSON; `parse_function` is the inverse."""
    pairs = zip(function.tensors, function.kinds, strict=True)
    tensors = [{"name": name, "dtype": kind.dtype, "layout": kind.layout} for name, kind in pairs]
    data = {"name": function.name, "expression": function.text, "tensors": tensors, "scalars": dict(function.scalars)}
    return json.dumps(data)


def parse_function(text: str) -> Function:
    """Parse a function from JSON. Raises CkgenError for an invalid function, ValueError for any other text."""
    return function_of(json.loads(text))


def function_of(data: Any) -> Function:
    """Make a function from the parsed JSON of `function_text`. Raises as `parse_function` does."""
    if wrong := misfit(data, FUNCTION_SHAPE):
        raise ValueError(wrong)
    names = [tensor["name"] for tensor in data["tensors"]]
    kinds = [Kind(tensor["dtype"], tensor["layout"]) for tensor in data["tensors"]]
    return make_function(data["name"], data["expression"], names, data["scalars"], kinds)
