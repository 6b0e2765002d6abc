"""The YAML form of a problem set, checked by hand.

A benchmark machine may have Python and a built library but no pydantic, and must still read its problems. This module
therefore needs only PyYAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ckgen.errors import CkgenError, Diagnostic, did_you_mean, one_of
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.text.source import Document, Key

CHANNELS = ("total", "per_group")
COUNTS = ("groups", "batch", "out_channels", "in_channels")
EDGES = ("filter", "input", "stride", "dilation", "pad", "right_pad", "output")
FACTORS = ("published_wavelet_uplift",)

_FIELDS = dict.fromkeys(COUNTS, "a number") | dict.fromkeys(EDGES, "a number or a list of numbers")
_FACTOR = "a factor from 0.001 to 1000"
_FIELDS |= dict.fromkeys(FACTORS, _FACTOR)
_FILE = {"channels": "text", "operation": "text", "defaults": "a mapping", "problems": "a list", "models": "a list"}
_MODEL = {
    "name": "text",
    "domain": "text",
    "source": "text",
    "held_out": "true or false",
    "transposed": "a number",
    "batches": "a list of numbers",
    "images": "a list",
    "convolutions": "a mapping",
}


def entries(document: Document) -> tuple[str, tuple[str, ...], list[dict[str, Any]]]:
    """Return the value of `channels`, the operations that the problems are for, and the entries with defaults filled
    in. Edges are lists of integers.

    Raises CkgenError with the place of every unknown or missing key and of every value of a wrong type.
    """
    root = document.root.plain()
    found = list(_mapping(document, (), _FILE, required=("channels", *(() if "models" in root else ("problems",)))))
    root.setdefault("problems", [])
    if not found:
        found += _one_of(document, "channels", root["channels"], CHANNELS)
        found += _one_of(document, "operation", root.get("operation", DEFAULT_OPERATION), tuple(OPERATIONS))
        found += _mapping(document, ("defaults",), _FIELDS) if "defaults" in root else ()
        if not root["problems"] and not root.get("models"):
            found.append(Diagnostic(document.place("problems"), "wrong-value", "`problems` is empty"))
        kinds = {"name": "text", **_FIELDS}
        for index in range(len(root["problems"])):
            found += _mapping(document, ("problems", index), kinds, required=("name",))
        for index in range(len(root.get("models", ()))):
            found += _model(document, index)
    if found:
        raise CkgenError(found)
    defaults = root.get("defaults", {})
    operations = (root["operation"],) if "operation" in root else tuple(OPERATIONS)
    return root["channels"], operations, [_with_lists(defaults | entry) for entry in root["problems"]]


def _with_lists(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: [value] if key in EDGES and _is(value, "a number") else value for key, value in entry.items()}


def _one_of(document: Document, key: str, value: str, known: tuple[str, ...]) -> Iterator[Diagnostic]:
    if value not in known:
        message = f"`{key}` is {value}, it must be {' or '.join(map(repr, known))}"
        yield Diagnostic(document.place(key), "wrong-value", message, f"write {one_of(known)}")


def _model(document: Document, index: int) -> Iterator[Diagnostic]:
    path = ("models", index)
    yield from _mapping(document, path, _MODEL, required=tuple(key for key in _MODEL if key != "transposed"))
    for key in ("batches", "images", "convolutions"):
        yield from _distinct(document, (*path, key))
    rows = document.node(*path, "convolutions")
    for row, count in rows.value.items() if rows and isinstance(rows.value, dict) else ():
        if not _is(count.value, "a number") or count.plain() < 1:
            message = f"`{row}` must have a number of at least 1, the number of its occurrences"
            yield Diagnostic(count.place, "wrong-type", message)


def _distinct(document: Document, path: tuple[Key, ...]) -> Iterator[Diagnostic]:
    """Yield an error if the list or mapping at ``path`` is empty, or has an entry twice: it would count twice."""
    node = document.node(*path)
    value = node.plain() if node else None
    if isinstance(value, list | dict):
        words = [str(one) for one in value]
        twice = next((word for at, word in enumerate(words) if word in words[:at]), None)
        if not words or twice is not None:
            fault = f"has {twice} twice" if words else "is empty"
            yield Diagnostic(document.place(*path), "wrong-value", f"`{path[-1]}` {fault}", "name each once")


def _mapping(
    document: Document, path: tuple[Key, ...], kinds: dict[str, str], required: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """Yield an error for each wrong key or value of the mapping at ``path``."""
    node = document.node(*path)
    value = node.plain() if node else None
    if not isinstance(value, dict):
        name = next((key for key in reversed(path) if isinstance(key, str)), "the file")
        message = f"`{name}` must be a mapping, this is {_kind(value)}"
        yield Diagnostic(document.place(*path), "wrong-type", message)
        return
    for key in required:
        if key not in value:
            yield Diagnostic(document.place(*path), "missing-field", f"`{key}` is missing", f"add `{key}:`")
    for key, given in value.items():
        if key not in kinds:
            find_help = partial(did_you_mean, key, tuple(kinds))
            place = document.key_place(*path, key)
            yield Diagnostic(place, "unknown-key", f"unknown key `{key}`", find_help=find_help)
        elif not _is(given, kinds[key]):
            message = f"`{key}` must be {kinds[key]}, this is {_kind(given)}"
            yield Diagnostic(document.place(*path, key), "wrong-type", message)


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool) or kind == "true or false":
        return isinstance(value, bool) and kind == "true or false"
    if value is None:
        return False
    if kind == _FACTOR:
        return isinstance(value, int | float) and 0.001 <= value <= 1000
    if kind == "a list of numbers":
        return isinstance(value, list) and all(_is(number, "a number") for number in value)
    if kind == "a number or a list of numbers":
        numbers = value if isinstance(value, list) else [value]
        return bool(numbers) and all(_is(number, "a number") for number in numbers)
    types: dict[str, type] = {
        "text": str,
        "a number": int,
        "a mapping": dict,
        "a list": list,
    }
    return isinstance(value, types[kind])


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return next(kind for kind in ("text", "a mapping", "a list") if _is(value, kind))
