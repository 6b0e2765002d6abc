"""The store of compiled objects returns the same objects as a compiler, and compiles only when necessary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.objects import Failed, compiled

pytestmark = pytest.mark.compiles


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source with headers beside it and below two include folders."""
    for name, text in {
        "src/a.cpp": '#include "own.hpp"\n#include "deep/b.hpp"\nint f() { return B + OWN + D; }\n',
        "src/own.hpp": "#define OWN 1\n",
        "one/other.hpp": "",
        "two/deep/b.hpp": "#define B 2\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "src/a.cpp"


def made(source: Path, *options: str) -> tuple[Path, float]:
    """Path of the object, and the time when it was compiled."""
    root = source.parent.parent
    path = compiled("g++", source, options or ("-DD=3",), [root / "one", root / "two"], root / "store").path
    return path, path.stat().st_mtime_ns


def test_the_same_again_is_not_compiled_again(source: Path, tmp_path: Path) -> None:
    first = made(source)
    assert made(source) == first
    moved = tmp_path / "moved"
    (tmp_path / "src").rename(moved)
    root = source.parent.parent
    again = compiled("g++", moved / "a.cpp", ("-DD=3",), [root / "one", root / "two"], root / "store")
    assert (again.path, again.path.stat().st_mtime_ns) == first, "where a folder lies does not matter"
    assert set(again.headers) == {moved / "own.hpp", root / "two/deep/b.hpp"}


@pytest.mark.parametrize("what", ["src/a.cpp", "src/own.hpp", "two/deep/b.hpp"])
def test_what_changed_is_compiled_again_and_what_changed_back_is_not(source: Path, tmp_path: Path, what: str) -> None:
    first = made(source)
    changed = tmp_path / what
    text = changed.read_text()
    changed.write_text(text + "// more\n")
    assert made(source) != first
    changed.write_text(text)
    assert made(source) == first


def test_options_and_headers_that_would_be_found_first_count(source: Path, tmp_path: Path) -> None:
    first = made(source)
    assert made(source, "-DD=4") != first
    (tmp_path / "one/deep").mkdir()
    (tmp_path / "one/deep/b.hpp").write_text("#define B 5\n")
    assert made(source) != first


def test_macros_of_ckgen_count_where_a_file_names_them(source: Path, tmp_path: Path) -> None:
    first = made(source, "-DD=3")
    assert made(source, "-DD=3", "-DCKGEN_OTHER=1") == first
    header = tmp_path / "two/deep/b.hpp"
    header.write_text(header.read_text() + "#if CKGEN_OTHER\n#endif\n")
    named = made(source, "-DD=3", "-DCKGEN_OTHER=1")
    assert named != first and made(source, "-DCKGEN_OTHER=1", "-DD=3") == named
    others = [made(source, "-DD=3"), made(source, "-DD=3", "-DCKGEN_OTHER=2")]
    assert len({first, named, *others}) == 4


def test_a_compiler_that_fails_is_asked_again(source: Path) -> None:
    for _ in range(2):
        with pytest.raises(Failed, match="was not declared") as raised:
            made(source, "-DE=1")
        assert raised.value.status == 1
    made(source)
