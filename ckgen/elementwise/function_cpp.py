"""Element-wise functions of a spec as C++ structs, and as the JSON that a library carries."""

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
    """A function as templates see it: members with their defaults, the parameters of the call and the values that they
    have in the expression, in f32. `text` is a C++ string literal of its JSON."""

    name: str
    members: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]
    values: tuple[tuple[str, str], ...]
    expression: str
    comment: str
    text: str


def cpp_function(function: Function) -> CppFunction:
    """The C++ of a function. Parameters are the result `e` and `d0`, `d1`, ... in the order of the tensors."""
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
    """All that a spec says of a function, as JSON; `parse_function` is the inverse."""
    pairs = zip(function.tensors, function.kinds, strict=True)
    tensors = [{"name": name, "dtype": kind.dtype, "layout": kind.layout} for name, kind in pairs]
    data = {"name": function.name, "expression": function.text, "tensors": tensors, "scalars": dict(function.scalars)}
    return json.dumps(data)


def parse_function(text: str) -> Function:
    """The function of a JSON text. Raises CkgenError for a wrong function, ValueError for another text."""
    return function_of(json.loads(text))


def function_of(data: Any) -> Function:
    """The function of what `function_text` says, as json.loads gives it; errors as of `parse_function`."""
    if wrong := misfit(data, FUNCTION_SHAPE):
        raise ValueError(wrong)
    names = [tensor["name"] for tensor in data["tensors"]]
    kinds = [Kind(tensor["dtype"], tensor["layout"]) for tensor in data["tensors"]]
    return make_function(data["name"], data["expression"], names, data["scalars"], kinds)
