"""Test ckgen import and ckgen export: exit codes, places, and a spec that exports the rows it was made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen.cli import main

ROWS = """\
# two rows, one of them twice, and one that no family has
DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>
DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<256, 128, 256, 32, 8, 2, Default, 32, 32, 2, 4, 8, 4, 1, 1>

DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>
DeviceGroupedConvBwdWeight_Explicit_Xdl<64, 16, 16, 32>
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_text(ROWS)
    return path


def test_each_row_says_what_it_became(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "ck", rows.name, "--json"]) == 0
    said = capsys.readouterr()
    records = json.loads(said.out)
    assert [(record["line"], record["same_as_line"]) for record in records] == [(2, None), (3, None), (5, 2), (6, None)]
    assert records[0]["keys"]["lds_write"] == {"a": 4, "b": 4}
    assert records[1]["instance"].endswith("128x256x32_w0x4_xdl32_v8x4x8_k8x2_s1")
    assert records[3]["instance"] is None and records[3]["rules"][0]["rule"] == "ck-class"
    assert "3 of 4 rows became instances" in said.err


def test_the_spec_exports_its_rows(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "ck", rows.name, "--out", "from_ck.yaml"]) == 0
    assert main(["validate", "--spec", "from_ck.yaml"]) == 0
    capsys.readouterr()
    assert main(["export", "ck", "--spec", "from_ck.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == ROWS.splitlines()[1:3]
    assert main(["import", "ck", rows.name, "--out", "from_ck.yaml"]) == 2
    assert "--force replaces it" in capsys.readouterr().err


def test_the_options_name_what_the_file_does_not(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = rows.rename("rows.conf")
    assert main(["import", "ck", other.name]) == 2
    assert "rows.conf:2:1: error[ck-row]: a type string has no layout and data type" in capsys.readouterr().err
    assert main(["import", "ck", other.name, "--layout", "gndhwc", "--dtype", "bf16"]) == 0
    assert "gndhwc_gkzyxc_gndhwk_bf16" in capsys.readouterr().out


def test_every_malformed_row_is_named_with_its_place(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows.write_text(ROWS + "  Device<1\nDeviceGroupedConvBwdWeight_Xdl_CShuffle<1, 2>\n")
    assert main(["import", "ck", rows.name]) == 2
    said = capsys.readouterr().err
    assert "nhwgc_fp16.conf:7:3: error[ck-row]: this is not Class<argument, ...>" in said
    assert "nhwgc_fp16.conf:8:1: error[ck-row]" in said and "it must have 15 or 43" in said


@pytest.mark.parametrize(("name", "text"), [("a.conf", "# nothing\n"), ("a.json", "{}"), ("a.json", "[")])
def test_a_file_without_rows_is_wrong_input(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    assert main(["import", "ck", name]) == 2
    assert f"{name}:" in capsys.readouterr().err


def test_nothing_to_export_is_an_error(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "ck", rows.name, "--out", "from_ck.yaml"]) == 0
    given = ["export", "ck", "--spec", "from_ck.yaml"]
    assert main([*given, "operation=grouped_conv_bwd_data", "--form", "serialised"]) == 2
    assert "CK has no row for any of the 1 instances" in capsys.readouterr().err
    assert main([*given, "--form", "dispatcher"]) == 2
    assert "these instances have 2" in capsys.readouterr().err


def test_a_file_that_is_given_twice_counts_once(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "ck", rows.name, rows.name, "--out", "twice.yaml"]) == 0
    assert main(["validate", "--spec", "twice.yaml"]) == 0


@pytest.mark.parametrize("option", ["--layout", "--dtype"])
def test_unknown_words_are_named_with_the_known_ones(
    option: str, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "ck", rows.name, option, "x"]) == 2
    said = capsys.readouterr().err
    assert said.count("error[ck-word]") == 1 and "`x`\n" in said and f"give {option} one of " in said


def test_unknown_words_of_a_files_name_are_told_once(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = rows.rename("my_rows.conf")
    assert main(["import", "ck", other.name]) == 2
    said = capsys.readouterr().err
    assert said.count("there is no layout `my`, which the file's name gives") == 1
    assert main(["import", "ck", other.name, "--layout", "nhwgc", "--dtype", "fp16"]) == 0
