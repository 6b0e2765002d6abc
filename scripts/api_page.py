"""docs/api_c.md: the C interface, made from its header."""

from __future__ import annotations

import re
from pathlib import Path

_INTRO = """# C

The header `ckgen/c_api.h`, for C, ctypes and other languages. It is the library's stable interface: after it loads a
library, a program compares `ckgen_abi_version()` with `CKGEN_ABI_VERSION` and refuses another version
([Releases](releases.md)).

"""


def api_page(notice: str, header: Path) -> str:
    """The text of the page: comments as prose, declarations as code, in the header's order."""
    text = header.read_text(encoding="utf-8")
    first, body = text.split("#ifndef CKGEN_C_API_H", 1)
    begin = body.index("#endif") + len("#endif") if '#ifdef __cplusplus\nextern "C"' in body else 0
    body = body[begin:].rsplit("#ifdef __cplusplus", 1)[0]
    parts = [notice, _INTRO + _prose(first)]
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        comment, code = _divided(paragraph)
        parts += [_prose(comment)] if comment else []
        parts += [f"```text\n{code}\n```\n"] if code else []
    return "\n".join(parts)


def _divided(paragraph: str) -> tuple[str, str]:
    """The comment at the start of a paragraph, and the code after it."""
    match = re.match(r"\s*/\*.*?\*/[ \t]*\n", paragraph + "\n", re.DOTALL)
    if match is None or paragraph.lstrip().startswith("#"):
        return "", paragraph.strip("\n")
    return match[0], (paragraph + "\n")[match.end() :].strip("\n")


def _prose(comment: str) -> str:
    lines = [re.sub(r"^\s*(/\*|\*/|\*)? ?", "", line) for line in comment.strip().splitlines()]
    return re.sub(r"\s*\*/\s*$", "", "\n".join(lines)).replace("*count", r"\*count").strip() + "\n"
