"""Parser of the text that ``str(ConvProblem)`` writes for a problem.

    G32 N32 K8 C8 3x3 on 100x100 s2 p1

The text lists groups, images, output channels and input channels per group (in any order), then the filter and the
input size, then stride, dilation and pads. Left pads come first; right pads follow after a colon where they differ. One
number stands for all dimensions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ckgen.errors import CkgenError, Diagnostic

_NUMBER = r"\d{1,18}"  # fits 64 bits
_EDGES = rf"{_NUMBER}(?:x{_NUMBER})*"
_PROBLEM = re.compile(
    rf"(?P<sizes>(?:[GNKC]{_NUMBER} )+)(?P<filter>{_EDGES}) on (?P<input>{_EDGES})"
    rf"(?: s(?P<strides>{_EDGES}))?(?: d(?P<dilations>{_EDGES}))?"
    rf"(?: p(?P<left_pads>{_EDGES})(?::(?P<right_pads>{_EDGES}))?)?",
    re.ASCII,
)
EXAMPLE = "G32 N32 K8 C8 3x3 on 100x100 s2 p1"
FORM = f"`{EXAMPLE}`: G, N, K, C, the filter, `on`, the input, then s (stride), d (dilation), p (pads) in this order"
_WORD = re.compile(rf"[GNKC]{_NUMBER}|[sd]?{_EDGES}|on|p{_EDGES}(?::{_EDGES})?", re.ASCII)


def problem_fields(text: str) -> dict[str, Any]:
    """The fields of the ConvProblem that ``text`` describes: integers and tuples of integers.

    G1, N1, stride 1, dilation 1 and zero pads may be omitted. Raises CkgenError for any other form of text.
    """
    match = _PROBLEM.fullmatch(" ".join(text.split()))
    words = match["sizes"].split() if match else []
    sizes = {word[0]: int(word[1:]) for word in words}
    if match is None or len(sizes) < len(words) or not {"K", "C"} <= sizes.keys():
        message = f"{text!r} is not the text of a problem{_fault(text.split())}"
        raise CkgenError((Diagnostic(None, "problem-text", message, f"write it as {FORM}"),))
    ndim = match["input"].count("x") + 1
    left = _edges(match["left_pads"] or "0", ndim)
    return {
        "groups": sizes.get("G", 1),
        "batch": sizes.get("N", 1),
        "k": sizes["K"],
        "c": sizes["C"],
        "filter": _edges(match["filter"], 1),
        "input": _edges(match["input"], 1),
        "strides": _edges(match["strides"] or "1", ndim),
        "dilations": _edges(match["dilations"] or "1", ndim),
        "left_pads": left,
        "right_pads": _edges(match["right_pads"], ndim) if match["right_pads"] else left,
    }


def _fault(words: Sequence[str]) -> str:
    """The first thing that is wrong with the words of a text, as the end of a sentence; "" if it is their order."""
    if wrong := next((word for word in words if not _WORD.fullmatch(word)), None):
        return f": `{wrong}` has no meaning in one"
    found = Counter(word[0] for word in words)
    if twice := [name for name in "GNKCsdp" if found[name] > 1]:
        return f": {twice[0]} is there twice"
    missing = [name for name in "KC" if not found[name]]
    return f": there is no {' and no '.join(missing)}" if missing else ""


def _edges(text: str, count: int) -> tuple[int, ...]:
    """The numbers in a text such as ``3x3``; a single number is repeated ``count`` times."""
    numbers = tuple(map(int, text.split("x")))
    return numbers * count if len(numbers) == 1 else numbers
