"""What JSON that is read back must look like, said once and checked before anything uses it.

A shape is a type (`float` takes whole numbers too), `None`, a list of one shape, a dict of one shape under `str` for a
map of any keys, a dict of shapes under its keys for a record, which may have more keys, or a tuple of alternatives. A
key of a record that may be missing ends in `?`. (pydantic does this and more; where libraries are measured it need not
be installed.)
"""

from __future__ import annotations

from typing import Any

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def misfit(value: Any, shape: Any, path: str = "") -> str:
    """What is wrong with a value, as `files.a.hpp.sha256 is no text`; empty where it has the shape."""
    if isinstance(shape, tuple):
        found = [misfit(value, one, path) for one in shape]
        return "" if "" in found else found[0]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path or 'it'} is no list"
        return next((wrong for at, item in enumerate(value) if (wrong := misfit(item, shape[0], f"{path}[{at}]"))), "")
    if isinstance(shape, dict):
        return _misfit_of_map(value, shape, path)
    if shape is None:
        return "" if value is None else f"{path or 'it'} is not null"
    kinds = (int, float) if shape is float else shape
    fits = isinstance(value, kinds) and (shape is bool or not isinstance(value, bool))
    return "" if fits else f"{path or 'it'} is no {_NAMES[shape]}".replace("no a ", "no ")


def _misfit_of_map(value: Any, shape: dict[Any, Any], path: str) -> str:
    if not isinstance(value, dict):
        return f"{path or 'it'} is no map"
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
