"""Diagnostics for other programs: JSON, SARIF and GitHub's annotations; and what --brief and --exit-code change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckgen.cli import main
from ckgen.cli.common.findings import annotation
from ckgen.errors import Diagnostic, Place

RULE_BROKEN = """\
version: 1
groups:
  - name: bad
    family: xdl
    layout: NHWGC/GKYXC/NHWGK
    dtype: f16
    conv_spec: Default
    block_size: 256
    tile: 130x128
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A new folder that `ckgen init` filled, as the current one."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    capsys.readouterr()
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    capsys.readouterr()
    assert main(words) == code
    captured = capsys.readouterr()
    return captured.out


def results(log: dict[str, Any]) -> list[dict[str, Any]]:
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    found: list[dict[str, Any]] = run["results"]
    for one in found:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert rules[one["ruleIndex"]]["shortDescription"]["text"]
    return found


def test_a_bad_spec_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(RULE_BROKEN.replace("dtype: f16", "dtype: f61"))
    found = json.loads(said(capsys, "validate", "--json", code=2))
    (one,) = found["diagnostics"]
    assert (one["file"], one["line"], one["column"], one["length"]) == ("instances.yaml", 6, 12, 3)
    assert one["rule"] == "unknown-dtype" and "`f61`" in one["message"] and one["help"]
    assert json.loads(said(capsys, "check", "--json", code=2))["diagnostics"] == [one]
    (folder / "instances.yaml").unlink()
    (one,) = json.loads(said(capsys, "validate", "--json", code=2))["diagnostics"]
    assert one["line"] is None and "ckgen init" in one["help"]


def test_a_good_spec_as_json_has_no_diagnostics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(said(capsys, "validate", "--json", code=0))["diagnostics"] == []
    assert results(json.loads(said(capsys, "validate", "--format", "sarif", code=0))) == []
    assert said(capsys, "validate", "--format", "github", code=0) == ""


def test_a_broken_rule_as_sarif(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(RULE_BROKEN)
    log = json.loads(said(capsys, "validate", "--format", "sarif", code=2))
    one = results(log)[0]
    place = one["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "instances.yaml"
    assert place["region"] == {"startLine": 9, "startColumn": 11, "endColumn": 18}
    assert one["level"] == "error" and "help: " in one["message"]["text"]
    reasons = [rule["help"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert all(len(text.split()) > 3 for text in reasons), "the reason of the rule's table"


def test_an_annotation_stands_at_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "instances.yaml").write_text(RULE_BROKEN)
    lines = said(capsys, "validate", "--format", "github", code=2).splitlines()
    assert lines and all(line.startswith("::error file=instances.yaml,line=9,col=11,endColumn=18,") for line in lines)


def test_an_annotation_escapes_what_would_end_it() -> None:
    found = Diagnostic(Place("a,b:c%.yaml", 1, 2, 3), "r", "50% of x, y: z", "do it")
    assert annotation(found) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,endColumn=5,title=ckgen%3A r::50%25 of x, y: z%0Ahelp: do it"
    )
    assert annotation(Diagnostic(None, "r", "m")).startswith("::error title=ckgen%3A r::m")


def test_drift_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate"]) == 0
    header = folder / "generated/include/ckgen/types.hpp"
    header.write_text(header.read_text() + "// mine\n")
    (folder / "generated/src/stray.cpp").write_text("")
    brief = said(capsys, "check", "--brief", code=1)
    assert brief == "include/ckgen/types.hpp: changed (hand edit)\n"
    assert "-// mine" in said(capsys, "check", code=1)
    found = json.loads(said(capsys, "check", "--json", code=1))
    assert [row["path"] for row in found["drift"]] == ["include/ckgen/types.hpp"]
    assert [(one["rule"], one["severity"]) for one in found["diagnostics"]] == [
        ("drift", "error"),
        ("stray", "warning"),
    ]
    log = results(json.loads(said(capsys, "check", "--format", "sarif", code=1)))
    assert [one["level"] for one in log] == ["error", "warning"]
    lines = said(capsys, "check", "--format", "github", code=1).splitlines()
    assert lines[0].startswith("::error file=generated/include/ckgen/types.hpp,line=1,")
    assert "run: ckgen generate" in lines[0] and lines[1].startswith("::warning file=generated/src/stray.cpp,")
    assert main(["generate"]) == 0
    assert len(said(capsys, "check", "--format", "github", code=0).splitlines()) == 1, "only the warning"


def test_diff_with_an_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate"]) == 0
    assert said(capsys, "diff", "generated", "--exit-code", code=0) == ""
    spec = folder / "instances.yaml"
    spec.write_text(spec.read_text().replace("dtype: [f16, bf16]", "dtype: [f16]"))
    assert "removed" in said(capsys, "diff", "generated", code=0)
    assert "removed" in said(capsys, "diff", "generated", "--exit-code", code=1)
    assert json.loads(said(capsys, "diff", "generated", "--exit-code", "--json", code=1))["removed"]
