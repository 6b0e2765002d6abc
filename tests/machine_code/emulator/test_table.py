"""Every instruction of the kernels has a check, and the page that says so is that of the checks."""

from __future__ import annotations

import pytest

from ckgen.machine_code.emulator.decode import FAMILIES
from tests.machine_code.emulator import checks
from tests.support.host_library import ROOT


def test_every_instruction_of_the_kernels_has_a_check() -> None:
    assert checks.unchecked() == []
    assert all(len(names) > 120 for names in checks.used_names().values())
    assert set(checks.used_names()) == set(FAMILIES)


def test_an_instruction_without_a_check_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "used_names", lambda: {"gfx942": ["V_ADD_F32", "V_UNHEARD_OF"]})
    assert checks.unchecked() == [("gfx942", "V_UNHEARD_OF")]
    assert "| v_unheard_of |  | none |" in checks.page()


def test_the_page_is_that_of_the_checks() -> None:
    said = "docs/emulator_instructions.md is old: run python scripts/emulator_table.py"
    assert (ROOT / "docs" / "emulator_instructions.md").read_text(encoding="utf-8") == checks.page(), said
