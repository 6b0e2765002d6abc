"""The text of a problem, as ``str(ConvProblem)`` writes it, back to its fields.

    G32 N32 K8 C8 3x3 on 100x100 s2 p1

Groups, images, output and input channels per group (in any order), filter, input; then stride, dilation, pads on the
left and, after a colon, on the right where they differ. One number stands for all dimensions.
"""

from __future__ import annotations

import re
from typing import Any

from ckgen.errors import CkgenError, Diagnostic

_NUMBER = r"\d{1,18}"  # what fits 64 bits
_EDGES = rf"{_NUMBER}(?:x{_NUMBER})*"
_PROBLEM = re.compile(
    rf"(?P<sizes>(?:[GNKC]{_NUMBER} )+)(?P<filter>{_EDGES}) on (?P<input>{_EDGES})"
    rf"(?: s(?P<strides>{_EDGES}))?(?: d(?P<dilations>{_EDGES}))?"
    rf"(?: p(?P<left_pads>{_EDGES})(?::(?P<right_pads>{_EDGES}))?)?",
    re.ASCII,
)
EXAMPLE = "G32 N32 K8 C8 3x3 on 100x100 s2 p1"


def problem_fields(text: str) -> dict[str, Any]:
    """The fields of the ConvProblem that ``text`` stands for: integers and tuples of them.

    One group, one image, stride and dilation 1 and no pads may be left out. CkgenError for a text of another form.
    """
    match = _PROBLEM.fullmatch(" ".join(text.split()))
    words = match["sizes"].split() if match else []
    sizes = {word[0]: int(word[1:]) for word in words}
    if match is None or len(sizes) < len(words) or not {"K", "C"} <= sizes.keys():
        message = f"{text!r} is not the text of a problem"
        raise CkgenError((Diagnostic(None, "problem-text", message, f"write it as `{EXAMPLE}`"),))
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


def _edges(text: str, count: int) -> tuple[int, ...]:
    """The numbers of a text; a single one ``count`` times."""
    numbers = tuple(map(int, text.split("x")))
    return numbers * count if len(numbers) == 1 else numbers
