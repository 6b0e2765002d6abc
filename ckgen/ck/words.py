"""CK's words for layouts and data types."""

from __future__ import annotations

from ckgen.ck.exporting import DTYPE_WORDS
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import physical_axes
from ckgen.errors import Diagnostic
from ckgen.operations.operation import LAYOUTS, OPERATIONS

LAYOUT_WORDS = tuple(sorted({physical_axes("in", layout).lower() for layout in LAYOUTS}))


def unknown_words(layout: str, dtype: str, source: str = "") -> list[Diagnostic]:
    """A diagnostic for each of these words that is neither empty nor a layout or data type in any operation; `source`
    says where it comes from if not from the command line."""
    found: list[tuple[str, str, str, tuple[str, ...]]] = []
    if layout and layout.lower() not in LAYOUT_WORDS and layout.upper().replace("_", "/") not in LAYOUTS:
        found.append(("layout", "--layout", layout, LAYOUT_WORDS))
    elements = tuple(DTYPE_WORDS.values())
    if dtype and dtype not in DTYPES and not set(dtype.split("_")) <= {*elements}:
        found.append(("data type", "--dtype", dtype, elements))
    return [
        Diagnostic(None, "ck-word", f"there is no {what} `{word}`{source}", f"give {option} one of {', '.join(known)}")
        for what, option, word, known in found
    ]


def layout_of(word: str, operation: str) -> str:
    """The layout of an operation whose input has the axes `word`, as `nhwgc`, or whose name it is, as
    `ngchw_gkcyx_ngkhw`; the word itself if there is none."""
    layouts, name = OPERATIONS[operation].layouts, word.upper().replace("_", "/")
    return (
        name
        if name in layouts
        else next((layout for layout in layouts if physical_axes("in", layout) == word.upper()), word)
    )


def dtype_of(words: str | tuple[str, ...], compute: tuple[str, str] | None = None) -> str:
    """The data type of CK's words for input, weight and output, or of one word for all, and of those for the operands A
    and B, by default the tensors' own; the words themselves if there is none."""
    three = words
    if isinstance(words, str):
        three = tuple(words.split("_")) if words.count("_") == 2 else (words,) * 3
    for name, dtype in DTYPES.items():
        own = (dtype.in_type, dtype.wei_type, dtype.out_type)
        multiplied = tuple(DTYPE_WORDS[dtype.compute(operand).name] for operand in "ab")
        same = dtype.as_stored if compute is None else compute == multiplied
        if words == name or (same and three == tuple(DTYPE_WORDS.get(element, element) for element in own)):
            return name
    return "_".join(dict.fromkeys(three))
