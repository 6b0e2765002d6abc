"""Values of a spec in the sentences of messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def describe_type(value: Any) -> str:
    """A description of the kind of a value in the file, for use in a sentence."""
    if value is None:
        return "nothing"
    names: Iterable[tuple[type, str]] = (
        (bool, "true or false"),
        (int, "a number"),
        (float, "a fraction"),
        (str, "text"),
        (dict, "a mapping"),
        (list, "a list"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a value")


def shown(value: Any) -> str:
    """A value as text, or the kind of a value that is too long for a sentence."""
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return f"`{value}`" if plain else describe_type(value)
