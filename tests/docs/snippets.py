"""The snippets of a page: blocks of code, and what a comment above one says about it.

<!-- file: NAME -->     is written to this file, below the page's folder
<!-- gpu -->            needs a GPU's compiler or a GPU: its commands are only parsed
<!-- parsed -->         takes long, or changes the machine: its commands are only parsed
<!-- compiled -->       is only compiled
<!-- wheel -->          runs with an installed wheel: tests/house/test_prebuilt.py
<!-- needs: MODULE -->  runs if Python has the module
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^>]*) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Snippet:
    """One block; `mark` is one of the above or empty, `value` what follows its colon."""

    language: str
    code: str
    line: int
    mark: str = ""
    value: str = ""


def snippets(text: str) -> list[Snippet]:
    """The blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        mark, _, value = (match["mark"] or "").partition(": ")
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Snippet(match["language"], match["code"], line, mark, value))
    return found
