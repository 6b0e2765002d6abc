"""A JSON Schema validator for the keywords that ckgen's schema uses; any other keyword is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any, Any, dict[str, Any]], bool]
_NOTES = {"$schema", "$defs", "title", "description", "default", "examples"}
_KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """True if a value is valid."""
    return _valid(schema, value, schema["$defs"])


def _valid(schema: dict[str, Any], value: Any, defs: dict[str, Any]) -> bool:
    for key, wanted in schema.items():
        if key in _NOTES:
            continue
        if key in _MAPPING:
            sound = not isinstance(value, dict) or _MAPPING[key](wanted, value, schema | {"$defs": defs})
        elif key in _LIST:
            sound = not isinstance(value, list) or _LIST[key](wanted, value, defs)
        elif key in _NUMBER:
            sound = type(value) is not int or _NUMBER[key](wanted, value, defs)
        else:
            sound = _ANY[key](wanted, value, defs)
        if not sound:
            return False
    return True


def _declared(name: str, schema: dict[str, Any]) -> bool:
    patterns = schema.get("patternProperties", {})
    return name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns)


_ANY: dict[str, Check] = {
    "$ref": lambda wanted, value, defs: _valid(defs[wanted.rsplit("/", 1)[1]], value, defs),
    "anyOf": lambda wanted, value, defs: any(_valid(option, value, defs) for option in wanted),
    "type": lambda wanted, value, defs: (
        isinstance(value, _KINDS[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
    ),
    "enum": lambda wanted, value, defs: value in wanted,
    "const": lambda wanted, value, defs: bool(value == wanted),
    "pattern": lambda wanted, value, defs: not isinstance(value, str) or bool(re.search(wanted, value)),
}
_MAPPING: dict[str, Check] = {
    "required": lambda wanted, value, schema: set(wanted) <= set(value),
    "properties": lambda wanted, value, schema: all(
        _valid(wanted[name], item, schema["$defs"]) for name, item in value.items() if name in wanted
    ),
    "patternProperties": lambda wanted, value, schema: all(
        _valid(inner, item, schema["$defs"])
        for pattern, inner in wanted.items()
        for name, item in value.items()
        if re.search(pattern, name)
    ),
    "additionalProperties": lambda wanted, value, schema: all(
        wanted is not False and _valid(wanted, item, schema["$defs"])
        for name, item in value.items()
        if not _declared(name, schema)
    ),
}
_LIST: dict[str, Check] = {
    "items": lambda wanted, value, defs: all(_valid(wanted, item, defs) for item in value),
    "minItems": lambda wanted, value, defs: len(value) >= wanted,
    "maxItems": lambda wanted, value, defs: len(value) <= wanted,
    "uniqueItems": lambda wanted, value, defs: all(value.count(item) == 1 for item in value),
}
_NUMBER: dict[str, Check] = {
    "minimum": lambda wanted, value, defs: bool(value >= wanted),
    "maximum": lambda wanted, value, defs: bool(value <= wanted),
    "multipleOf": lambda wanted, value, defs: value % wanted == 0,
}
