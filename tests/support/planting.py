"""Change a piece of C++ that is found by its structure, so that renamed variables, functions and types do not hide it.

Names in the piece to replace stand for any names, each for one name everywhere; ``...`` stands for any text. In the new
piece they stand for what they matched. Line breaks, indentation and comments do not count.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

_TOKEN = re.compile(r"\.\.\.|[A-Za-z_]\w*|\d[\w.']*|[^\w\s]")
_COMMENT = re.compile(r"//[^\n]*")
_BETWEEN = r"(?:\s|//[^\n]*\n)*"
KEYWORD = re.compile(
    "auto|bool|case|char|class|const|constexpr|continue|default|do|double|else|false|float|for|if|int|long|private|"
    "public|return|sizeof|static|static_assert|static_cast|struct|switch|template|true|typename|unsigned|using|void|"
    "while"
)


def place_of(file: Path, old: str) -> re.Match[str]:
    """The piece of C++ in a file; fails unless it occurs exactly once."""
    groups = _groups(old)
    found = list(re.finditer(_pattern(old, groups), file.read_text(), re.DOTALL))
    said = f"the text to replace is not in {file.name} exactly once but {len(found)} times: {old}"
    assert len(found) == 1, f"{said}\nName more of the code around it if its structure occurs more often."
    return found[0]


def replace_once(file: Path, old: str, new: str) -> None:
    """Replace a piece of C++ in a file; fails unless the file contains ``old`` exactly once."""
    place = place_of(file, old)
    groups, skipped = _groups(old), count()
    parts, end = [], 0
    for token in _TOKEN.finditer(new):
        name = f"_skip{next(skipped)}" if token[0] == "..." else groups.get(token[0])
        parts += [new[end : token.start()], token[0] if name is None else place[name]]
        end = token.end()
    text = "".join((*parts, new[end:])).strip()
    file.write_text(place.string[: place.start()] + text + place.string[place.end() :])


def unknown_names(old: str, new: str) -> set[str]:
    """Names in ``new`` that ``old`` does not have: renaming them in the C++ would break the change."""
    return _groups(new).keys() - _groups(old).keys()


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_COMMENT.sub("", text))


def _groups(text: str) -> dict[str, str]:
    """The name of the group of a pattern for each name of C++."""
    names = dict.fromkeys(t for t in _tokens(text) if (t[0].isalpha() or t[0] == "_") and not KEYWORD.fullmatch(t))
    return {name: f"_name{number}" for number, name in enumerate(names)}


def _pattern(old: str, groups: dict[str, str]) -> str:
    parts: list[str] = []
    seen: set[str] = set()
    skipped = count()
    for token in _tokens(old):
        if token == "...":
            parts.append(f"(?P<_skip{next(skipped)}>.*?)")
        elif token in seen:
            parts.append(rf"(?P={groups[token]})(?!\w)")
        elif token in groups:
            seen.add(token)
            parts.append(rf"(?<!\w)(?P<{groups[token]}>(?!(?:{KEYWORD.pattern})(?!\w))[A-Za-z_]\w*)(?!\w)")
        else:
            parts.append(rf"(?<!\w){re.escape(token)}(?!\w)" if token[0].isalnum() else re.escape(token))
    return _BETWEEN.join(parts)
