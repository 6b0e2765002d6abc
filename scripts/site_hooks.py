"""Hooks of MkDocs: pages link to files of the repository, which are not on the site; the search needs no server."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

WORKER = "site_worker.js"  # all pages are in one folder
_THEIRS = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)]*)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page whose links to files outside of docs/ are the names of these files."""
    return _LINK.sub(_named, markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Copy our worker for offline search into the site, in the place of the one that the theme loads from a server."""
    site = Path(config["site_dir"])
    shutil.copy(Path(__file__).with_name(WORKER), site / WORKER)
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(_THEIRS, WORKER), encoding="utf-8")


def _named(match: re.Match[str]) -> str:
    text, path = match[1], match[2]
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"
