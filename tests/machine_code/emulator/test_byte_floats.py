"""Conversions of 8- and 16-bit floats against the package ml_dtypes: all 256 codes, and floats of every kind."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.machine_code.emulator.names import names_of
from tests.machine_code.emulator.single import LANES, SOURCES, Bench, Case, Words
from tests.machine_code.emulator.test_instructions import EMULATOR

OCP = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}
FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
TYPES = {"gfx942": FNUZ, "gfx950": OCP, "gfx1201": OCP}
ROUNDS = 24
_BYTE = {"cdna": "_sdwa v20, v10 src0_sel:BYTE_{at}", "rdna": "_e64 v20, v10 byte_sel:{at}"}


def floats(arch: str, seed: int) -> Words:
    """[lane][source]: f32 around the range of 8-bit floats, halfway cases, denormals, infinities and NaN."""
    chance = np.random.default_rng(seed)
    shape = (LANES[arch], SOURCES)
    exact = chance.integers(0, 256, shape).astype(np.uint8)
    kinds = [*OCP.values(), *FNUZ.values()]
    near = exact.view(kinds[seed % 4]).astype(np.float32).view(np.uint32)
    near = near + chance.choice(np.array([0, 1, -1, 0x80000, -0x80000, 0x80001, 0x7FFFF, 0x100000, 0xFFFFF]), shape)
    wide = np.exp2(chance.uniform(-26, 18, shape)) * chance.choice([-1, 1], shape)
    words = np.where(chance.random(shape) < 0.5, near.astype(np.uint32), wide.astype(np.float32).view(np.uint32))
    special = np.array(
        [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 1, 0x80000001, 0x7F7FFFFF], np.uint32
    )
    return np.where(chance.random(shape) < 0.1, chance.choice(special, shape), words).astype(np.uint32)


def codes(arch: str, seed: int) -> Words:
    """[lane][source]: every code once in the bytes of the first source, over four (eight) rounds of it."""
    lanes = LANES[arch]
    first = (np.arange(lanes, dtype=np.uint32) + lanes * seed) % 256
    return np.repeat((first | (255 - first) << 8 | (first ^ 0x80) << 16 | (first ^ 0x55) << 24)[:, None], SOURCES, 1)


def decoded(values: NDArray[np.uint8], kind: type) -> Words:
    """Codes as the bits of f32; all NaNs are one."""
    return canonical(values.astype(np.uint8).view(kind).astype(np.float32).view(np.uint32))


def canonical(words: Words) -> Words:
    """The bits of f32 with one NaN."""
    return np.where(np.isnan(np.ascontiguousarray(words).view(np.float32)), np.uint32(0x7FC00000), words)


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", TYPES)
def test_every_code_has_its_value(arch: str, tmp_path: Path) -> None:
    form = _BYTE["cdna" if LANES[arch] == 64 else "rdna"]
    cases, wanted = list[Case](), list[tuple[str, int]]()
    for kind in ("fp8", "bf8"):
        for at in range(4):
            cases.append(Case(f"v_cvt_f32_{kind}" + form.format(at=at)))
            wanted.append((kind, at))
        half = "_sdwa v[20:21], v10 src0_sel:WORD_1" if LANES[arch] == 64 else "_e64 v[20:21], v10 op_sel:[1,0]"
        cases.append(Case(f"v_cvt_pk_f32_{kind}{half}", 2))
        wanted.append((kind, 4))
    bench = Bench(arch, cases, tmp_path, EMULATOR)
    for number in range(256 // LANES[arch]):
        words = codes(arch, number)
        for (kind, at), made in zip(wanted, bench.run(words), strict=True):
            parts = (at,) if at < 4 else (2, 3)
            for row, byte in zip(canonical(made), parts, strict=True):
                assert np.array_equal(row, decoded(words[:, 0] >> np.uint32(8 * byte), TYPES[arch][kind])), (kind, at)


def encoded(values: NDArray[np.float32], kind: type) -> NDArray[np.uint8]:
    """Floats as codes; what is too large is as the hardware makes it without clamping: NaN or infinity."""
    with np.errstate(all="ignore"):
        return values.astype(kind).view(np.uint8)


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", TYPES)
def test_floats_are_rounded_to_bytes(arch: str, tmp_path: Path) -> None:
    texts = [f"v_cvt_pk_{kind}_f32 v20, v10, -v11{high}" for kind in OCP for high in ("", " op_sel:[0,0,1]")]
    bench = Bench(arch, [Case(text) for text in texts], tmp_path, EMULATOR)
    for seed in range(ROUNDS):
        words = floats(arch, seed)
        first, second = (np.ascontiguousarray(words[:, k]).view(np.float32) for k in (0, 1))
        for text, made in zip(texts, bench.run(words), strict=True):
            kind = TYPES[arch]["fp8" if "fp8" in text else "bf8"]
            low, high = (np.where(np.isnan(part), part, part) for part in (first, -second))
            pair = encoded(low, kind).astype(np.uint32) | encoded(high, kind).astype(np.uint32) << np.uint32(8)
            shift = np.uint32(16 if "op_sel" in text else 0)
            wanted = np.uint32(0x5A5A0000) | pair if shift == 0 else np.uint32(0x5A5A) | pair << shift
            for byte in range(4):
                places = np.uint32(8 * byte)
                ours, theirs = (each >> places & np.uint32(255) for each in (made[0], wanted))
                same = ours == theirs
                same |= np.isnan(ours.astype(np.uint8).view(kind).astype(np.float32)) & np.isnan(
                    theirs.astype(np.uint8).view(kind).astype(np.float32)
                )
                at = int(np.argmin(same))
                assert same.all(), (text, byte, hex(words[at, 0]), hex(words[at, 1]), hex(ours[at]), hex(theirs[at]))


@pytest.mark.compiles
@pytest.mark.quick
def test_floats_are_rounded_to_bf16(tmp_path: Path) -> None:
    bench = Bench("gfx950", [Case("v_cvt_pk_bf16_f32 v20, v10, v11")], tmp_path, EMULATOR)
    assert "V_CVT_PK_BF16_F32" in {name for item in bench.prepared[0].code for name in names_of(item)}
    for seed in range(ROUNDS):
        words = floats("gfx950", seed)
        words[:, 2:4] = words[:, 0:2] & np.uint32(0xFFFF0000) | np.uint32(0x8000)  # halfway cases
        for columns in ((0, 1), (2, 3)):
            given = np.ascontiguousarray(np.roll(words, -columns[0], 1))
            (made,) = bench.run(given)
            for at in (0, 1):
                value = np.ascontiguousarray(given[:, at]).view(np.float32)
                with np.errstate(all="ignore"):
                    wanted = value.astype(ml_dtypes.bfloat16).view(np.uint16)
                ours = (made[0] >> np.uint32(16 * at)).astype(np.uint16)
                both_nan = np.isnan(value) & np.isnan(ours.view(ml_dtypes.bfloat16).astype(np.float32))
                assert np.array_equal(np.where(both_nan, 0, ours), np.where(both_nan, 0, wanted))
