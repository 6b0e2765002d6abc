"""Fail when the words of scripts/words.yaml are used more often than scripts/words_budget.txt allows.

Usage: python scripts/check_words.py            exit 1 names every top-level folder over its budget
       python scripts/check_words.py PATH...    list each hit in these files and folders, with the words to use
       python scripts/check_words.py --shrink   lower the budget to the number of hits

Reads comments, docstrings, strings of three words or more (help texts, messages) and Markdown outside code; searches
names in all code. Finds a phrase across line breaks. Skips generated/, recorded outputs, and what scripts/docs.py
writes, whose sentences count in the file that they come from.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TABLE, BUDGET = ROOT / "scripts/words.yaml", "scripts/words_budget.txt"
SKIPPED = ("generated/", "tests/data/bad_specs/", "tests/data/golden/")
READ = re.compile(r"\.(py|hpp|cpp|h|in|j2|md|ya?ml|toml|sh|cmake)$|(^|/)(Makefile|CMakeLists\.txt|run)$")
CODE = re.compile(r"\.(py|hpp|cpp|h|in|j2)$")

GAP = r"(?:\s+(?:(?:///?|\#|\*)\s*)?)"  # a space of a pattern: also a line break inside a comment
CPP = re.compile(r"""'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*"|//[^\n]*(?:\n\s*//[^\n]*)*|/\*.*?\*/|\{\#.*?\#\}""", re.S)
HASH = re.compile(r"(?:^|(?<=\s))#[^\n]*(?:\n\s*#[^\n]*)*")
DERIVED = r"\A<!-- Written by scripts/docs\.py.*|<!-- begin:(\S+) -->.*?<!-- end:\1 -->|<!--.*?-->"
FENCE = re.compile(DERIVED + r"|^(?P<fence>```+|~~~+).*?^(?P=fence)|^(?: {4}|\t)[^\n]*$", re.M | re.S)
QUOTED = re.compile(r"``[^`]+``|`[^`]+`|https?://\S+|\]\([^)\s]*\)")  # names and addresses inside a sentence

Text = tuple[int, str, bool]  # first line; text; is it a comment or docstring, which `opening` patterns apply to
Word = tuple[re.Pattern[str], str, str]  # pattern; what to write instead; prose, opening or names
Hit = tuple[str, int, str, str, str]  # path; line; found; what to write instead; the budget that it counts for


def words() -> list[Word]:
    """Entries of the table, with {lists} inserted and each space widened to any gap between words."""
    data, table = yaml.safe_load(TABLE.read_text(encoding="utf-8")), []
    for entry in data["words"]:
        pattern, scope = entry["not"], entry.get("in", "prose")
        for name, items in data["lists"].items():
            pattern = pattern.replace(f"{{{name}}}", "(?:" + "|".join(items.split()) + ")")
        pattern = (r"\A\W*(?:%s)" if scope == "opening" else "%s") % pattern.replace(" ", GAP)
        table.append((re.compile(pattern), entry["write"], scope))
    return table


def prose_of(path: str, source: str) -> list[Text]:
    """Comments, docstrings and longer strings of a source file, or the sentences of a page, without inline code."""
    if path.endswith(".py"):
        found = _python(source)
    elif path.endswith((".md", ".html.j2")):
        found = [(1, FENCE.sub(_blank, source), False)]
    else:
        found = _matches(CPP if CODE.search(path) else HASH, source)
    return [(line, QUOTED.sub(_blank, text), note) for line, text, note in found if note or len(text.split()) > 2]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "\N{BULLET}", match[0])


def _matches(pattern: re.Pattern[str], source: str) -> list[Text]:
    return [(source.count("\n", 0, m.start()) + 1, m[0], m[0][0] not in "\"'") for m in pattern.finditer(source)]


def _python(source: str) -> list[Text]:
    comments = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        comments[token.start[0] - 1] += token.string if token.type == tokenize.COMMENT else ""
    nodes = list(ast.walk(ast.parse(source)))
    bodies = (node.body[:1] for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    docstrings = {first.value for body in bodies for first in body if isinstance(first, ast.Expr)}
    strings = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found: list[Text] = [(node.lineno, str(node.value), node in docstrings) for node in strings]
    return found + _matches(HASH, "\n".join(comments))


def hits_of(path: str, source: str, table: list[Word]) -> Iterator[Hit]:
    """Phrases and names to replace in one file."""
    prose, code = prose_of(path, source), [(1, source, False)] if CODE.search(path) else []
    for pattern, advice, scope in table:
        budget = f"{path.split('/')[0]} {'names' if scope == 'names' else 'prose'}"
        for first, text, note in code if scope == "names" else prose:
            for match in pattern.finditer(text) if note or scope != "opening" else ():
                yield path, first + text.count("\n", 0, match.start()), " ".join(match[0].split()), advice, budget


def hits(root: Path, *places: str) -> list[Hit]:
    """Phrases and names to replace under `places` (everywhere if empty) of the git repository at `root`."""
    git = ["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *places]
    listed = subprocess.run(git, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [p for p in set(listed) if READ.search(p) and not p.startswith(SKIPPED) and (root / p).is_file()]
    table = words()
    return sorted(hit for p in paths for hit in hits_of(p, (root / p).read_text(encoding="utf-8"), table))


def main(arguments: list[str], root: Path = ROOT) -> int:
    """List the hits of the named files and folders, or compare all with the budget."""
    shrink = arguments == ["--shrink"]
    found = hits(root, *([] if shrink else arguments))
    if arguments and not shrink:
        print(*(f"{path}:{line}: {text!r}: write {advice}" for path, line, text, advice, _ in found), sep="\n")
        return 0
    rows = (line.split(" ", 1) for line in (root / BUDGET).read_text(encoding="utf-8").splitlines())
    allowed, counts = {key: int(number) for number, key in rows}, Counter(hit[-1] for hit in found)
    if shrink:
        allowed = {key: min(number, counts[key]) for key, number in allowed.items() if counts[key]}
        (root / BUDGET).write_text("".join(f"{number} {key}\n" for key, number in allowed.items()), encoding="utf-8")
    over = [key for key, count in counts.items() if count > allowed.get(key, 0)]
    for key in over:
        print(f"{key}: {counts[key]} hits, {allowed.get(key, 0)} allowed: run check_words.py {key.split()[0]}")
    print(f"words: {counts.total()} to replace, {sum(allowed.values())} allowed")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
