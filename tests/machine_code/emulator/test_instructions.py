"""Single instructions on random registers: against numpy, and matrix instructions against AMD's published maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckgen.machine_code.emulator.launch import Emulator
from tests.machine_code.emulator.semantics import CASES, Semantics
from tests.machine_code.emulator.single import LANES, SOURCES, Case, Words, run_cases
from tests.support.host_library import ROOT

ROUNDS = 6
HANDLERS = ROOT / "build" / "ci" / "emulated" / "handlers"


def inputs(arch: str, seed: int) -> Words:
    """[lane][source]: random words, ordinary floats and halves, and special ones."""
    chance = np.random.default_rng(seed)
    shape = (LANES[arch], SOURCES)
    words = chance.integers(0, 1 << 32, shape, dtype=np.uint32)
    if seed % 3 == 1:
        words = np.ascontiguousarray(chance.normal(0, 100, shape).astype(np.float32)).view(np.uint32)
    elif seed % 3 == 2:
        pairs = chance.normal(0, 3, (*shape, 2)).astype(np.float16)
        words = np.ascontiguousarray(pairs).view(np.uint32)[..., 0]
    special = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 1, 0x7FFFFFFF, 0x7C00FC00, 0xFFFFFFFF], np.uint32)
    return np.where(chance.random(shape) < 0.1, chance.choice(special, shape), words)


def as_ordered(words: Words, float_bits: int) -> Words:
    """Words in which all NaNs are one value."""
    if float_bits == 0:
        return words
    values = words.view(np.float32 if float_bits == 32 else np.float16)
    unsigned = words.view(np.uint32 if float_bits == 32 else np.uint16)
    return np.where(np.isnan(values), unsigned.dtype.type(0x7FFF), unsigned).astype(np.int64)


@pytest.mark.compiles
@pytest.mark.parametrize("arch", LANES)
def test_instructions_mean_what_the_documents_say(arch: str, tmp_path: Path) -> None:
    chosen = [case for case in CASES if arch in case.archs]
    vcc = "vcc" if LANES[arch] == 64 else "vcc_lo"
    cases = [Case(case.text.replace("$vcc", vcc), case.results) for case in chosen]
    emulator, wrong = Emulator(HANDLERS), list[str]()
    for seed in range(ROUNDS):
        words = inputs(arch, seed)
        found = run_cases(arch, cases, words, tmp_path, emulator)
        with np.errstate(all="ignore"):
            wrong += [case.name for case, made in zip(chosen, found, strict=True) if not agrees(case, made, words)]
    assert wrong == []


def agrees(case: Semantics, made: Words, words: Words) -> bool:
    """True if a result is what the case says."""
    wanted = np.stack([np.asarray(row, np.uint32) for row in case.meaning(np.ascontiguousarray(words.T))])
    ordered = [as_ordered(np.ascontiguousarray(found), case.float_bits) for found in (made, wanted)]
    return bool(np.all(np.abs(ordered[0].astype(np.int64) - ordered[1].astype(np.int64)) <= case.ulp))
