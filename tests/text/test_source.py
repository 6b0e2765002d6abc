"""Reading of YAML with places; scalars that YAML versions read differently are refused.

tests/data/bad_specs has the messages.
"""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.errors import CkgenError, Place
from ckgen.text.plain_scalars import Surprise, read_plain
from ckgen.text.source import Document, load, loads

TEXT = """\
version: 1
groups:
  - name: a
    dtype: [f16, bf16]
    tile: 128x64
"""


def rules(text: str) -> list[str]:
    with pytest.raises(CkgenError) as caught:
        loads(text)
    assert caught.value.exit_code == 2
    return [diagnostic.rule for diagnostic in caught.value.diagnostics]


def test_values_and_their_places() -> None:
    document = loads(TEXT)
    assert document.root.plain() == {
        "version": 1,
        "groups": [{"name": "a", "dtype": ["f16", "bf16"], "tile": "128x64"}],
    }
    assert document.place("groups", 0, "dtype", 1) == Place("instances.yaml", 4, 18, 4)
    assert document.key_place("groups", 0, "dtype") == Place("instances.yaml", 4, 5, 5)
    assert document.place("groups", 0, "dtype") == Place("instances.yaml", 4, 12, 11)


def test_a_single_value_counts_as_a_list_of_itself() -> None:
    document = loads(TEXT)
    assert document.place("groups", 0, "tile", 0) == document.place("groups", 0, "tile")


def test_a_missing_path_gives_the_nearest_place_above_it() -> None:
    document = loads(TEXT)
    assert document.place("groups", 0, "stages", 3) == document.place("groups", 0)
    assert document.key_place("groups", 7, "name").line == 3


def test_quoted_and_block_text_is_text() -> None:
    root = loads("a: \"1e3\"\nb: 'on'\nc: |\n  08\n").root.plain()
    assert root == {"a": "1e3", "b": "on", "c": "08\n"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-3", -3), ("true", True), ("1.5", 1.5), ("~", None), ("128x64", "128x64")],
)
def test_plain_words(text: str, value: object) -> None:
    assert read_plain(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "on",
        "Off",
        "yes",
        "NO",
        "y",
        "True",
        "NULL",
        "08",
        "010",
        "0o17",
        "0x1F",
        "0b11",
        "1_000",
        "1e3",
        "1.5e3",
    ]
    + [
        "1:30",
        "+5",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
        "2001-12-14",
        "2001-12-14 21:59:43",
        "=",
        "<<",
        "9" * 19,
    ],
)
def test_words_that_yaml_versions_read_differently(text: str) -> None:
    assert isinstance(read_plain(text), Surprise)


def test_all_problems_of_a_file_at_once() -> None:
    assert rules("a: on\na: 08\nb: {c: 1, c: 2}\n1: x\n<<: {d: 1}\n") == [
        "yaml-surprise",
        "yaml-surprise",
        "duplicate-key",
        "duplicate-key",
        "yaml-key",
        "merge-key",
    ]


def test_anchors_may_be_used() -> None:
    document = loads("a: &t [f16, bf16]\nb: *t\n")
    assert document.root.plain() == {"a": ["f16", "bf16"], "b": ["f16", "bf16"]}
    assert document.place("b", 1).line == 1, "an alias has the place of its value"


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 20_000 + "x", "? " * 20_000])
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    assert rules(text) in (["nesting"], ["yaml-syntax"])


def test_a_bomb_costs_no_time() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 60)]
    assert rules("\n".join(lines)) == ["alias-bomb"]
    assert rules(f"a: [{'1, ' * 60_000}1]") == ["too-many-values"]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    with pytest.raises(CkgenError, match="cannot read"):
        load(path)
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = load(path)
    assert isinstance(document, Document)
    assert document.root.plain() == {"a": 1, "b": 2}
    assert document.place("b") == Place(str(path), 2, 4, 1)
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(CkgenError) as caught:
        load(path)
    assert caught.value.diagnostics[0].place == Place(str(path), 2, 4, 1)
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(CkgenError, match="is a mistake"):
        load(path)


def test_a_device_without_an_end_is_read_as_far_as_allowed() -> None:
    with pytest.raises(CkgenError, match="cannot read /dev/zero: it has more than 1048576 bytes"):
        load("/dev/zero")


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(CkgenError, match="it is a folder"):
        load(tmp_path)
    name = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(name))
        with pytest.raises(CkgenError, match="it is a socket"):
            load(name)
    with pytest.raises(CkgenError, match="it is not a file name"):
        load("a\0b")


def test_a_pipe_is_read_to_its_end() -> None:
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "w") as file:
            for part in TEXT.splitlines(keepends=True):
                file.write(part)
                file.flush()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert load(f"/dev/fd/{reader}").root.plain()["version"] == 1
    finally:
        thread.join()
        os.close(reader)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        document = loads(text)
    except CkgenError as error:
        assert error.diagnostics
    else:
        assert isinstance(document.root.plain(), dict)
