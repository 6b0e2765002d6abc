"""CK's words for layouts and data types."""

from __future__ import annotations

from ckgen.ck.exporting import DTYPE_WORDS
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import physical_axes
from ckgen.operations.operation import OPERATIONS


def layout_of(word: str, operation: str) -> str:
    """The layout of an operation whose input has the axes `word`, as `nhwgc`; the word itself if there is none."""
    layouts = OPERATIONS[operation].layouts
    return next((layout for layout in layouts if physical_axes("in", layout) == word.upper()), word)


def dtype_of(words: str | tuple[str, ...]) -> str:
    """The data type of CK's words for input, weight and output, or of one word for all; the words themselves if there
    is none."""
    three = (words,) * 3 if isinstance(words, str) else words
    for name, dtype in DTYPES.items():
        own = (dtype.in_type, dtype.wei_type, dtype.out_type)
        if words == name or three == tuple(DTYPE_WORDS.get(element, element) for element in own):
            return name
    return "_".join(dict.fromkeys(three))
