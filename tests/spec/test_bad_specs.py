"""Tests of every kind of broken spec against the expected output.

tests/data/bad_specs/<case>/ holds an instances.yaml and the expected stderr.txt. After a deliberate change of wording,
`python -m tests.spec.test_bad_specs` rewrites the expected files; read the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.cli import main
from ckgen.errors import CkgenError, format_diagnostics
from ckgen.families.registry import RULES
from ckgen.spec.expand import expand_document
from ckgen.text.source import load

CORPUS = Path(__file__).parents[1] / "data" / "bad_specs"
CASES = sorted(path.name for path in CORPUS.iterdir())


def stderr_of(case: str) -> str:
    """The output of the command line for a case, whose file is called `instances.yaml` in it."""
    file = CORPUS / case / "instances.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(file.parent)
        try:
            expand_document(load(file.name))
        except CkgenError as error:
            assert error.exit_code == 2
            text = file.read_text(encoding="utf-8", errors="replace")
            return format_diagnostics(error.diagnostics, {file.name: text})
    return ""


@pytest.mark.parametrize("case", CASES)
def test_a_broken_spec_says_what_is_wrong(case: str) -> None:
    expected = (CORPUS / case / "stderr.txt").read_text(encoding="utf-8")
    assert stderr_of(case) == expected
    assert expected, "a broken spec must not be accepted"


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_prints_just_that(
    case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CORPUS / case)
    assert main(["validate", "--spec", "instances.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (CORPUS / case / "stderr.txt").read_text(encoding="utf-8")
    assert captured.out == ""


def test_the_corpus_covers_every_rule_and_many_kinds() -> None:
    texts = [(CORPUS / case / "stderr.txt").read_text(encoding="utf-8") for case in CASES]
    kinds = {line.split("error[")[1].split("]")[0] for text in texts for line in text.splitlines() if "error[" in line}
    assert {rule.id for rule in RULES} <= kinds
    assert len(CASES) >= 45
    assert len(kinds - {rule.id for rule in RULES}) >= 25


@pytest.mark.parametrize("case", CASES)
def test_errors_have_a_place_inside_the_file(case: str) -> None:
    lines = (CORPUS / case / "instances.yaml").read_bytes().decode("utf-8", "replace").splitlines()
    for line in stderr_of(case).splitlines():
        if "error[" in line and not line.startswith(" "):
            file, number, column, _ = line.split(":", 3)
            assert file == "instances.yaml"
            assert 1 <= int(number) <= len(lines) + 1
            assert int(column) >= 1


def bless() -> None:
    """Write every stderr.txt with the current output."""
    for case in CASES:
        (CORPUS / case / "stderr.txt").write_text(stderr_of(case), encoding="utf-8")


if __name__ == "__main__":
    bless()
