"""Random kernels as machine code and natively; `python scripts/emulator_trust.py` runs thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.launch import Emulator
from tests.machine_code.emulator import compare
from tests.machine_code.emulator.test_instructions import EMULATOR

EACH = 24


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", FAMILIES)
def test_random_kernels_give_what_native_code_gives(arch: str, tmp_path: Path) -> None:
    first = 100 * list(FAMILIES).index(arch)
    ((_, result),) = compare.compare(EMULATOR, range(first, first + EACH), [arch], tmp_path)
    assert result.said == result.refused == []
    assert result.kernels["S_ENDPGM"] == EACH


@pytest.mark.compiles
def test_a_wrong_result_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = compare.Native.run
    monkeypatch.setattr(compare.Native, "run", lambda *given: run(*given) ^ 1)
    ((_, result),) = compare.compare(EMULATOR, [3], ["gfx942"], tmp_path)
    assert result.said[0].startswith("seed 3, gfx942: thread 0, out[0] is 0x") and not result.kernels


@pytest.mark.compiles
def test_a_wrong_instruction_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shift by one bit too many, as the handler of one instruction: kernels that use it differ."""
    from ckgen.machine_code.emulator import vector

    text_of = vector.text_of
    wrong = "D0.u32 = (S1.u32 << S0[4 : 0].u32) << 1U"
    monkeypatch.setattr(vector, "text_of", lambda raw, arch: wrong if "LSHLREV_B32" in raw.name else text_of(raw, arch))
    emulator = Emulator(tmp_path / "handlers")
    ((_, result),) = compare.compare(emulator, range(4), ["gfx942"], tmp_path)
    assert len(result.said) == 4
