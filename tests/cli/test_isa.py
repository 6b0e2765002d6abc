"""ckgen isa from the command line: the table, its check, limits and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen.cli import main
from tests.support.specs import TMA, WAVELET, spec_text

NAME = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v4x4x2_s2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec of one wavelet instance."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances.yaml").write_text(spec_text(WAVELET))
    return tmp_path


@pytest.mark.compiles
def test_one_line_an_instance(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa"]) == 0
    captured = capsys.readouterr()
    head, line = captured.out.splitlines()
    assert line.split()[:2] == [NAME, "gfx942"]
    assert head.split()[:4] == ["instance", "arch", "vgpr", "agpr"]
    assert "gfx942: 1 instances, " in captured.err
    assert (folder / "build/default/isa/gfx942" / f"{NAME}.s").exists()


@pytest.mark.compiles
def test_json_and_loops(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "--json", "--arch", "gfx90a"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["name"] == NAME and record["arch"] == "gfx90a" and "clang" in record["compiler"]
    assert [loop["role"] for loop in record["loops"]] == ["math", "load"]
    assert 0 < record["bound"]["fraction"] <= 1
    assert main(["isa", "--loops"]) == 0
    rows = [line.split()[2:4] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["math", "hot"], ["load", "hot"], ["load", "whole"]]


@pytest.mark.compiles
def test_the_table_is_checked_where_the_compiler_is_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = ["isa", "--check"]
    assert main(["isa", "--write", "--arch", "gfx942"]) == 0
    assert main(check) == 0
    assert "1 code objects: 0 broken limits, 0 rows that differ" in capsys.readouterr().out
    table = folder / "docs/isa/gfx942.csv"
    text = table.read_text()
    head, columns, row = text.splitlines()
    name, registers, *others = row.split(",")
    table.write_text("\n".join([head, columns, ",".join([name, str(int(registers) + 8), *others]), ""]))
    assert main(check) == 1
    assert f"gfx942 {NAME}: vgprs {int(registers) + 8} -> {registers}" in capsys.readouterr().out
    table.write_text(table.read_text().replace(head, "# gfx942, clang 1.0"))
    assert main(check) == 0
    assert "the table is made with clang 1.0" in capsys.readouterr().err


@pytest.mark.compiles
def test_filters_say_which_rows_are_compared_and_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(spec_text({**WAVELET, "dtype": ["f16", "bf16"]}))
    asked = ["isa", "dtype=f16", "--arch", "gfx942"]
    table = folder / "docs/isa/gfx942.csv"
    assert main(["isa", "--write", "--arch", "gfx942"]) == 0
    whole = table.read_text()
    assert main([*asked, "--check"]) == 0
    assert "1 code objects: 0 broken limits, 0 rows that differ" in capsys.readouterr().out
    table.write_text("\n".join(whole.splitlines()[:2]) + "\n")
    assert main([*asked, "--check"]) == 1, "a row that was asked for and is not there differs"
    table.write_text(whole)
    assert main([*asked, "--write"]) == 0
    assert table.read_text() == whole, "the rows of other instances stay"
    table.write_text(whole.replace("# gfx942, ", "# gfx942, another "))
    assert main([*asked, "--write"]) == 2
    assert "single rows cannot be replaced" in capsys.readouterr().err


@pytest.mark.compiles
def test_a_broken_limit_fails_with_or_without_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(spec_text({**WAVELET, "limits": {"vgprs": 8, "load": {"valu_per_tile": 1}}}))
    assert main(["isa", "--check", "--arch", "gfx942"]) == 1
    captured = capsys.readouterr()
    assert "only the limits are checked" in captured.err
    assert captured.err.count("error[isa-limit]") == 2 and "valu_per_tile: 1" in captured.err
    assert "1 code objects: 2 broken limits" in captured.out


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "--arch", "gfx9"]) == 2
    assert "there is no architecture `gfx9`" in capsys.readouterr().err
    for archs in (("gfx1100",), ("gfx942", "gfx1100")):
        assert main(["isa", *(word for arch in archs for word in ("--arch", arch))]) == 2
        said = capsys.readouterr().err
        assert "none of the 1 chosen instances is for gfx1100" in said and "for gfx908, gfx90a, gfx942, gfx950;" in said
    assert main(["isa", "--compiler", "g++"]) == 2
    assert "is not a clang" in capsys.readouterr().err
    (folder / "instances.yaml").write_text(spec_text(TMA))
    assert main(["isa"]) == 2


@pytest.mark.compiles
def test_explain_quotes_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", NAME]) == 0
    assert "machine code" not in capsys.readouterr().out
    assert main(["isa", "--write", "--arch", "gfx942"]) == 0
    assert main(["explain", NAME]) == 0
    shown = capsys.readouterr().out
    assert "machine code" in shown and "VALU per matrix instruction" in shown and "% of the matrix peak" in shown
