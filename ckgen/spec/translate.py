"""Translation of pydantic's errors to diagnostics with ckgen's rule names, places in the file and nearest words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ckgen.errors import Diagnostic, Place, did_you_mean
from ckgen.spec.shown import describe_type
from ckgen.text.source import Document, Key, Node

Path = tuple[Key, ...]
Models = Mapping[str, type[BaseModel]]

# The expected kind of value, by pydantic's error type.
_EXPECTED = {
    "string_type": "text",
    "int_type": "a number",
    "int_from_float": "a number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_WRONG_VALUE = {
    "greater_than_equal": "`{name}` is {value}, it must be at least {ge}",
    "less_than_equal": "`{name}` is {value}, it must be at most {le}",
    "literal_error": "`{name}` is {value}, it must be {expected}",
    "string_pattern_mismatch": "`{value}` is not a valid name: "
    "use 1 to 64 letters, digits, `-`, `_` and `.`, a letter first",
}


def translate(error: ValidationError, document: Document, models: Models) -> list[Diagnostic]:
    """Every problem of a validation as a diagnostic.

    `models` maps the key of a mapping (`groups`, `tile`, "" for the file) to its model.
    """
    found = dict.fromkeys(_translate(detail, document, models) for detail in error.errors(include_url=False))
    return list(found)


def find_place(document: Document, path: Path) -> Place:
    """The place of the value under a path; the pair `wave_ratio: [4, 2]` counts as a list of one pair."""
    if len(path) > 1 and path[-2] == "wave_ratio":
        first = document.node(*path[:-1], 0)
        if first is not None and isinstance(first.value, int):
            return document.place(*path[:-1])
    return document.place(*path)


def empty_values(node: Node, path: Path = ()) -> Iterator[tuple[Path, Diagnostic]]:
    """Every key or list item without a value, with its path. Such a value is YAML's null, often left by mistake."""
    children: list[tuple[Key, Node]] = []
    if isinstance(node.value, dict):
        children = list(node.value.items())
    elif isinstance(node.value, list):
        children = list(enumerate(node.value))
    for key, child in children:
        here = (*path, key)
        if child.value is None:
            place = node.keys[key] if isinstance(key, str) else child.place
            message = f"`{_key_name(here)}` has no value"
            yield here, Diagnostic(place, "empty-value", message, "give it a value or remove it")
        yield from empty_values(child, here)


def _translate(detail: ErrorDetails, document: Document, models: Models) -> Diagnostic:
    path: Path = detail["loc"]
    kind = detail["type"]
    value = detail["input"]
    context: dict[str, Any] = detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path, document, models)
    if kind == "missing":
        message = f"`{path[-1]}` is missing"
        return Diagnostic(document.place(*path[:-1]), "missing-field", message, f"add `{path[-1]}:`")
    place = find_place(document, path)
    name = _key_name(path)
    if kind in _EXPECTED:
        message = f"`{name}` must be {_EXPECTED[kind]}, this is {describe_type(value)}"
        return Diagnostic(place, "wrong-type", message)
    if kind in _WRONG_VALUE:
        shown = f"the text '{value}'" if kind == "literal_error" and _is_written(value) else value
        message = _WRONG_VALUE[kind].format(name=name, value=shown, **context)
        return Diagnostic(place, "wrong-value", message)
    if "message" in context:
        known = partial(did_you_mean, value, context["known"]) if "known" in context else None
        return Diagnostic(place, kind, context["message"], context["help"], find_help=known)
    return Diagnostic(place, "wrong-value", f"`{name}`: {detail['msg']}")


def _is_written(value: object) -> bool:
    """True for a text that would be a number without its quotes: `is 1, it must be 1` says nothing."""
    return isinstance(value, str) and value.lstrip("-").isdigit()


def _unknown_key(path: Path, document: Document, models: Models) -> Diagnostic:
    parent = next((key for key in reversed(path[:-1]) if isinstance(key, str)), "")
    model = models.get(parent)
    known = tuple(model.model_fields) if model else ()
    key = str(path[-1])
    message = f"unknown key `{key}`" + (f" in `{parent}`" if parent else "")
    find_help = partial(did_you_mean, key, known)
    return Diagnostic(document.key_place(*path), "unknown-key", message, find_help=find_help)


def _key_name(path: Path) -> str:
    """The last key of a path; elements of a list have the name of the list's key."""
    return next((key for key in reversed(path) if isinstance(key, str)), "the file")
