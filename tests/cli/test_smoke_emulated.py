"""`ckgen smoke --platform amd --emulate`: wrong use, and what is missing."""

from __future__ import annotations

import importlib.util

import pytest

from ckgen.cli import main
from ckgen.cli.run.smoke_run import nearest_misses
from ckgen.verify.smoke import Row


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--emulate",), "add --platform amd"),
        (("--platform", "amd", "--emulate", "--library", "x.so"), "does not take --library"),
        (("--platform", "amd", "--emulate", "--arch", "gfx906"), "the emulator does not know gfx906; it knows gfx90a"),
    ],
)
def test_wrong_use_is_said_before_anything_is_built(
    asked: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["smoke", *asked]) == 2
    assert said in capsys.readouterr().err


def test_the_missing_package_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["smoke", "--platform", "amd", "--emulate"]) == 2
    assert "pip install 'ckgen[emulator]'" in capsys.readouterr().err


def test_brief_has_a_row_per_architecture() -> None:
    rows = [Row("a", arch, "p", 1, 1, error, 1.0, "ok") for arch in ("gfx942", "gfx1201") for error in (0.1, 0.5)]
    assert [(row.platform, row.max_error) for row in nearest_misses(rows)] == [("gfx942", 0.5), ("gfx1201", 0.5)]
