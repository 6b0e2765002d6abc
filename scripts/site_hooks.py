"""Hooks of MkDocs: pages link to files of the repository, which are not on the site."""

from __future__ import annotations

import re
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)]*)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page whose links to files outside of docs/ are the names of these files."""
    return _LINK.sub(_named, markdown)


def _named(match: re.Match[str]) -> str:
    text, path = match[1], match[2]
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"
