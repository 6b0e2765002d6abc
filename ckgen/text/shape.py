"""Shapes of JSON that ckgen reads back, checked before anything uses the values.

A shape is one of these:

- a type (`float` also accepts whole numbers) or `None`
- a list of one shape
- `{str: shape}`: a map with any keys
- `{"key": shape, ...}`: a record, which may have further keys; a key that ends in `?` may be missing
- a tuple of alternatives

(pydantic could do this, but a machine that only measures libraries need not have it installed.)
"""

from __future__ import annotations

from typing import Any

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def misfit(value: Any, shape: Any, path: str = "") -> str:
    """Describe what is wrong with a value, as `files.a.hpp.sha256 is not text`; empty if the value has the shape."""
    if isinstance(shape, tuple):
        found = [misfit(value, one, path) for one in shape]
        return "" if "" in found else found[0]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path or 'it'} is not a list"
        return next((wrong for at, item in enumerate(value) if (wrong := misfit(item, shape[0], f"{path}[{at}]"))), "")
    if isinstance(shape, dict):
        return _misfit_of_map(value, shape, path)
    if shape is None:
        return "" if value is None else f"{path or 'it'} is not null"
    kinds = (int, float) if shape is float else shape
    fits = isinstance(value, kinds) and (shape is bool or not isinstance(value, bool))
    return "" if fits else f"{path or 'it'} is not {_NAMES[shape]}"


def _misfit_of_map(value: Any, shape: dict[Any, Any], path: str) -> str:
    if not isinstance(value, dict):
        return f"{path or 'it'} is not a map"
    dot = path + "." if path else ""
    if str in shape:
        one = shape[str]
        plain = one if isinstance(one, tuple) else (one,)  # most values are of a plain type, and there are many
        rest = ((key, item) for key, item in value.items() if type(item) not in plain)
        return next((wrong for key, item in rest if (wrong := misfit(item, one, f"{dot}{key}"))), "")
    for key, one in shape.items():
        name = key.removesuffix("?")
        if name in value:
            if wrong := misfit(value[name], one, f"{dot}{name}"):
                return wrong
        elif name == key:
            return f"{dot}{name} is missing"
    return ""
