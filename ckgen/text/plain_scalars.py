"""Values of unquoted YAML words. Words that YAML 1.1 and 1.2 loaders read differently are refused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_NUMBER_LIKE = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0b[01_]+|[0-9][0-9_]*(:[0-5]?[0-9])+"
    r"|\.?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))|\.(nan|NaN|NAN)"
)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ].*)?")
_BOOLEAN_LIKE = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_MAX_DIGITS = 18  # so that every integer fits 64 bits

Scalar = None | bool | int | float | str


@dataclass(frozen=True, slots=True)
class Surprise:
    """The reason why a word is refused, and what to write instead."""

    message: str
    help: str


def read_plain(text: str) -> Scalar | Surprise:
    """Return the value of a plain scalar, or a Surprise if YAML versions read it differently."""
    if text in ("true", "false"):
        return text == "true"
    if text in ("", "~", "null"):
        return None
    if _INTEGER.fullmatch(text):
        if len(text) > _MAX_DIGITS:
            return Surprise(f"{text[:_MAX_DIGITS]}... is too large a number", "")
        return int(text)
    if _FLOAT.fullmatch(text):
        if math.isinf(float(text)):
            return Surprise(f"{text[:_MAX_DIGITS]}... is too large a number", "")
        return float(text)
    if text.lower() in _BOOLEAN_LIKE:
        what = "empty" if text.lower() == "null" else "a boolean"
        return Surprise(
            f"`{text}` is {what} to some YAML versions and text to others", f'write true, false or "{text}"'
        )
    if _NUMBER_LIKE.fullmatch(text):
        advice = "a list such as [4, 2]" if ":" in text else "plain decimal digits"
        return Surprise(
            f"`{text}` is one number to some YAML versions, another or text to others",
            f'write {advice} or "{text}"',
        )
    if _DATE.fullmatch(text) or text in ("=", "<<"):
        return Surprise(f"`{text}` is text to some YAML versions only", f'write "{text}"')
    return text
