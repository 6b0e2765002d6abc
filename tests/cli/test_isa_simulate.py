"""`ckgen isa --simulate` from the command line: the tables, JSON, the pictures, and refusals."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ckgen.cli import main
from ckgen.machine_code.cycles.table import read_cycles
from tests.support.specs import WAVELET, spec_text

NAME = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v4x4x2_s2"

DEPTHWISE = {
    **{"name": "d", "family": "depthwise", "layout": "NHWGC/GKYXC/NHWGK", "dtype": "f16", "conv_spec": "Default"},
    **{"block_size": 256, "vector": {"a": 1, "b": 1, "c": 1}, "tile": "3x64", "k_per_block": 16},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec of one wavelet instance."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances.yaml").write_text(spec_text(WAVELET))
    return tmp_path


@pytest.mark.compiles
def test_tables_json_and_pictures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "--simulate", "--timeline", "pictures"]) == 0
    captured = capsys.readouterr()
    steps, places = (text.splitlines() for text in captured.out.split("\n\n"))
    assert steps[0].split()[:4] == ["instance", "arch", "inputs", "workgroups"]
    rows = [line.split() for line in steps[1:]]
    assert [(row[0], row[2], row[9]) for row in rows] == [
        (NAME, source, role) for source in ("L2", "memory") for role in ("load", "math")
    ]
    assert "barrier" in "\n".join(places) and "mfma.hpp:" in "\n".join(places)
    assert "docs/simulator.md" in captured.err

    for source in ("l2", "memory"):
        root = ElementTree.parse(folder / f"pictures/{NAME}_gfx942_{source}.svg").getroot()
        texts = [item.text or "" for item in root.iter("{http://www.w3.org/2000/svg}text")]
        assert f"inputs from {'L2' if source == 'l2' else source}" in texts[0]
        assert sum(text.endswith(", load") for text in texts) == sum(text.endswith(", math") for text in texts) > 0
        assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 100

    assert main(["isa", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    math = next(loop for loop in report["loops"] if loop["role"] == "math")
    assert main(["isa", "--simulate", "--json", "--arch", "gfx942"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["name"], record["matrix_bound"]) == (NAME, 512)
    near, far = record["results"]["L2"], record["results"]["memory"]
    assert 512 <= near["cycles_per_tile"] <= far["cycles_per_tile"] < 3000
    for result in (near, far):
        assert result["matrix_busy"] == pytest.approx(512 / result["cycles_per_tile"], rel=0.05)
        assert result["cycles_per_step"] == pytest.approx(result["workgroups"] * result["cycles_per_tile"])
        for role in result["roles"]:
            # Nothing is lost: a wave's step is its instructions and its waits.
            whole = role["issuing"] + sum(role["stalls"].values())
            assert whole == pytest.approx(result["cycles_per_step"], rel=0.02), role
        (simulated,) = (role for role in result["roles"] if role["role"] == "math")
        assert simulated["instructions"] == pytest.approx(math["hot"]["total"] / math["tiles"], rel=0.1)
        assert all(place["line"] and place["cycles"] > 0 for place in result["places"])


@pytest.mark.compiles
def test_tables_of_cycles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row is simulated once for its code; --check finds rows of other code."""
    write = ["isa", "--arch", "gfx942", "--tables", "isa", "--write"]
    assert main(write) == 0 and main([*write, "--simulate"]) == 0
    assert "1 of 1 instances are to be simulated" in capsys.readouterr().err
    path = folder / "isa/cycles/gfx942.csv"
    table = read_cycles(path)
    assert list(table.rows) == [NAME] and 512 <= table.rows[NAME].l2 <= table.rows[NAME].memory < 3000
    before = path.read_text()
    assert main([*write, "--simulate"]) == 0
    assert "0 of 1 instances are to be simulated" in capsys.readouterr().err
    assert path.read_text() == before
    assert main(["isa", "--tables", "isa", "--check"]) == 0
    path.write_text(before.replace(table.rows[NAME].code, "0" * 12))
    assert main(["isa", "--tables", "isa", "--check"]) == 1
    assert f"{NAME}: simulated with other code" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--timeline", "x"), "add --simulate"),
        (("--simulate", "--write", "--json"), "leave --timeline and --json out"),
        (("--simulate", "--check"), "does not go with --check"),
        (("--simulate", "--loops"), "does not go with --check or --loops"),
    ],
)
def test_wrong_use_is_said(folder: Path, asked: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", *asked]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.compiles
def test_a_family_without_a_main_loop_is_refused_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(spec_text(DEPTHWISE))
    assert main(["isa", "--simulate"]) != 0
    assert "cannot be simulated: its family has no main loop" in capsys.readouterr().err


@pytest.mark.compiles
def test_the_missing_package_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tinygrad" else find(name))
    assert main(["isa", "--simulate"]) == 2
    assert "pip install 'ckgen[emulator]'" in capsys.readouterr().err
