"""The vocabulary: this repository keeps its budget of words to replace, and the check finds each kind of them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
check_words = importlib.import_module("check_words")
ENTRIES = yaml.safe_load((ROOT / "scripts" / "words.yaml").read_text(encoding="utf-8"))["words"]
TABLE = check_words.words()
PER = [word for word in TABLE if word[1] == "per"]


def found(path: str, source: str, table: list[object] = TABLE) -> list[tuple[int, str]]:
    return [(line, text) for _, line, text, _, _ in check_words.hits_of(path, source, table)]


@pytest.mark.parametrize(("entry", "word"), list(zip(ENTRIES, TABLE, strict=True)), ids=lambda entry: str(entry)[:40])
def test_each_entry_finds_what_is_bad_and_nothing_else(entry: dict[str, str], word: object) -> None:
    path, note = ("x.cpp", "{}") if entry.get("in") == "names" else ("x.py", "# {}")
    assert found(path, note.format(entry["bad"]), [word])
    assert not found(path, note.format(entry["good"]), [word])


@pytest.mark.parametrize(
    ("path", "source", "hits"),
    [
        ("x.py", '"""Sizes.\n\n8 bytes\nPER lane."""\n', [(3, "bytes")]),
        ("x.py", "x = 1\n# 8 bytes\n# PER lane\n", [(2, "bytes #")]),
        ("x.py", 'f(help="8 bytes PER lane")\n', [(1, "bytes")]),
        ("x.py", "bytes_PER_lane = 1\n", []),
        ("x.hpp", '// "8 bytes\n// PER lane\n', [(1, "bytes //")]),
        ("x.hpp", 'f("http://bytes PER lane");  /* rows PER tile */\n', [(1, "rows")]),
        ("x.hpp", "int bytes; PER lane;\n", []),
        (
            "x.md",
            "8 bytes PER lane, `8 bytes PER lane`\n\n```\nrows PER tile\n```\n\n    rows PER tile\n",
            [(1, "bytes")],
        ),
        ("x.md", "<!-- begin:t -->\n8 bytes PER lane\n<!-- end:t -->\n\nrows PER tile\n", [(5, "rows")]),
        ("x.md", "<!-- Written by scripts/docs.py -->\n8 bytes PER lane\n", []),
        ("x.yaml", "a: 8 bytes PER lane  # rows PER tile\n", [(1, "rows")]),
    ],
)
def test_reads_prose_and_nothing_else(path: str, source: str, hits: list[tuple[int, str]]) -> None:
    assert [(line, text.split(" a ")[0]) for line, text in found(path, source.replace("PER", "a"), PER)] == hits


def test_the_repository_keeps_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_words.main([]) == 0, capsys.readouterr().out


def test_a_new_hit_is_over_the_budget_and_shrink_never_raises_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    budget = tmp_path / "scripts" / "words_budget.txt"
    (tmp_path / "docs").mkdir()
    budget.parent.mkdir()
    budget.write_text("1 docs prose\n")
    (tmp_path / "docs" / "a.md").write_text("8 bytes PER lane, 8 rows PER tile\n".replace("PER", "a"))
    assert check_words.main([], tmp_path) == 1
    assert capsys.readouterr().out.startswith("docs prose: 2 hits, 1 allowed: run check_words.py docs\n")
    assert check_words.main(["--shrink"], tmp_path) == 1
    assert budget.read_text() == "1 docs prose\n"
    (tmp_path / "docs" / "a.md").write_text("8 bytes per lane\n")
    assert check_words.main(["--shrink"], tmp_path) == 0
    assert budget.read_text() == ""
    assert check_words.main(["docs"], tmp_path) == 0
