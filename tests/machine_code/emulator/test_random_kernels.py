"""Random kernels as machine code and natively: a hundred; `python -m tests.machine_code.emulator.compare` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.launch import Emulator
from tests.machine_code.emulator import compare
from tests.machine_code.emulator.test_instructions import HANDLERS

EACH = 20


@pytest.mark.compiles
@pytest.mark.parametrize("arch", FAMILIES)
def test_random_kernels_give_what_native_code_gives(arch: str, tmp_path: Path) -> None:
    emulator = Emulator(HANDLERS)
    first = 100 * list(FAMILIES).index(arch)
    said = [compare.difference(emulator, seed, arch, tmp_path) for seed in range(first, first + EACH)]
    assert [line for line in said if line] == []


@pytest.mark.compiles
def test_a_wrong_result_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native = compare.native
    monkeypatch.setattr(compare, "native", lambda *given: native(*given) ^ 1)
    said = compare.difference(Emulator(HANDLERS), 3, "gfx942", tmp_path)
    assert said.startswith("seed 3, gfx942: thread 0, out[0] is 0x")
