"""Single instructions on random registers: against numpy, and matrix instructions against AMD's published maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ckgen.machine_code.emulator.launch import Emulator
from tests.machine_code.emulator.cases import CASES
from tests.machine_code.emulator.names import names_of
from tests.machine_code.emulator.semantics import Semantics
from tests.machine_code.emulator.single import LANES, SOURCES, Bench, Case, Words
from tests.support.host_library import ROOT

ROUNDS = 12
HANDLERS = ROOT / "build" / "ci" / "emulated" / "handlers"
EMULATOR = Emulator(HANDLERS)


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


def same(made: Words, wanted: Words, float_bits: int, ulp: int) -> NDArray[np.bool_]:
    """True for each equal result; NaNs of floats are one value. A float of 64 bits takes two registers."""
    if float_bits == 64:
        pairs = [
            np.ascontiguousarray(np.stack([each[0], each[1]], -1)).view(np.uint64)[:, 0] for each in (made, wanted)
        ]
        equal = pairs[0] == pairs[1]
        equal |= np.isnan(pairs[0].view(np.float64)) & np.isnan(pairs[1].view(np.float64))
        return np.concatenate([np.stack([equal, equal]), made[2:] == wanted[2:]])
    ordered = [as_ordered(np.ascontiguousarray(each), float_bits) for each in (made, wanted)]
    distance = np.abs(ordered[0].astype(np.int64) - ordered[1].astype(np.int64)) <= ulp
    return distance.reshape(*made.shape, -1).all(axis=-1)


def as_ordered(words: Words, float_bits: int) -> NDArray[np.int64]:
    """Words in which all NaNs are one value."""
    if float_bits == 0:
        return words.astype(np.int64)
    values = words.view(np.float32 if float_bits == 32 else np.float16)
    unsigned = words.view(np.uint32 if float_bits == 32 else np.uint16)
    return np.where(np.isnan(values), unsigned.dtype.type(0x7FFF), unsigned).astype(np.int64)


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", LANES)
def test_instructions_mean_what_the_documents_say(arch: str, tmp_path: Path) -> None:
    chosen = [case for case in CASES if arch in case.archs]
    bench = Bench(arch, [Case(case.text_of(arch), case.results, case.scalar) for case in chosen], tmp_path, EMULATOR)
    missing, wrong = list[str](), dict[str, str]()
    for case, prepared in zip(chosen, bench.prepared, strict=True):
        decoded = {name for item in prepared.code for name in names_of(item)}
        missing += [name for name in case.names_of(arch) if name not in decoded]
    assert missing == []
    for seed in range(ROUNDS):
        words = inputs(arch, seed)
        with np.errstate(all="ignore"):
            for case, made in zip(chosen, bench.run(words), strict=True):
                if said := disagreement(case, arch, made, words):
                    wrong.setdefault(case.text_of(arch), said)
    assert not wrong, "\n".join(f"{text}: {said}" for text, said in wrong.items())


def disagreement(case: Semantics, arch: str, made: Words, words: Words) -> str:
    """The first lane whose result is not what the case says; empty if there is none."""
    x = np.ascontiguousarray(words.T)
    meaning = case.meaning(x)
    wanted = np.stack([np.asarray(row).astype(np.uint32) for row in meaning])
    bad = ~same(made, wanted, case.float_bits, case.ulp)
    if not bad.any():
        return ""
    register, lane = np.argwhere(bad)[0]
    given = " ".join(f"{word:08x}" for word in x[:, lane])
    return f"register {register}, lane {lane}: {made[register, lane]:08x}, not {wanted[register, lane]:08x}; {given}"
