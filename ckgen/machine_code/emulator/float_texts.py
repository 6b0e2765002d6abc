"""Pseudocode of floating point instructions that AMD describes in words or with a mode: minima and maxima, roundings,
conversions with a rounding of their own, 8-bit floats. Their functions are those of native/floats.hpp."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

_HALVES = ("15 : 0", "31 : 16")
# Quieting of signalling NaNs is that of a kernel in IEEE mode, as all compiled kernels are before gfx12; gfx12's
# instructions with NUM in the name ignore a signalling NaN as they do a quiet one.
_ENDS = (("", ""), ("_NUM", "_num"))
BYTE_FLOATS = ("FP8", "BF8")
# Architectures whose 8-bit floats have a bias larger by one and a single NaN, the code of -0.
_FNUZ = ("gfx942",)


def byte_format(kind: str, arch: str) -> int:
    """The number of an 8-bit type in native/floats.hpp."""
    return BYTE_FLOATS.index(kind) + (2 if arch in _FNUZ else 0)


@cache
def float_texts(arch: str) -> dict[str, str]:
    """Pseudocode by name."""
    return dict([*_extremes(), *_roundings(), *_bytes(arch)])


def _extremes() -> Iterator[tuple[str, str]]:
    for name, of in (("MIN", "least"), ("MAX", "most")):
        for end, suffix in _ENDS:
            for kind in ("f16", "f32", "f64"):
                two = f"{of}{suffix}(S0.{kind}, S1.{kind})"
                yield f"V_{name}{end}_{kind.upper()}", f"D0.{kind} = {two}"
                yield f"V_{name}3{end}_{kind.upper()}", f"D0.{kind} = {of}{suffix}({two}, S2.{kind})"
            packed = (f"D0[{part}].f16 = {of}{suffix}(S0[{part}].f16, S1[{part}].f16)" for part in _HALVES)
            yield f"V_PK_{name}{end}_F16", ";\n".join(packed)
        for kind in ("i16", "u16", "i32", "u32"):
            yield f"V_{name}3_{kind.upper()}", f"D0.{kind} = {of}({of}(S0.{kind}, S1.{kind}), S2.{kind})"
    for kind in ("i16", "u16", "i32", "u32", "f16", "f32"):
        yield f"V_MED3_{kind.upper()}", f"D0.{kind} = middle(S0.{kind}, S1.{kind}, S2.{kind})"
    for kind in ("f16", "f32"):
        yield f"V_MED3_NUM_{kind.upper()}", f"D0.{kind} = middle_num(S0.{kind}, S1.{kind}, S2.{kind})"


def _roundings() -> Iterator[tuple[str, str]]:
    for kind in ("f16", "f32", "f64"):
        for name in ("RNDNE", "CEIL", "FLOOR"):
            yield f"V_{name}_{kind.upper()}", f"D0.{kind} = {name.lower()}(S0.{kind})"
        yield f"V_FREXP_MANT_{kind.upper()}", f"D0.{kind} = fraction_of(S0.{kind})"
        whole = "D0.i16 = 16'I" if kind == "f16" else "D0.i32 = 32'I"
        yield f"V_FREXP_EXP_{'I16' if kind == 'f16' else 'I32'}_{kind.upper()}", f"{whole}(exponent_of(S0.{kind}))"
        exponent = "32'I(S1.i16)" if kind == "f16" else "S1.i32"
        yield f"V_LDEXP_{kind.upper()}", f"D0.{kind} = ldexp(S0.{kind}, {exponent})"
    cut = "D0[15 : 0].f16 = f32_cut_to_f16(S0.f32);\nD0[31 : 16].f16 = f32_cut_to_f16(S1.f32)"
    yield from dict.fromkeys(("V_CVT_PKRTZ_F16_F32", "V_CVT_PK_RTZ_F16_F32"), cut).items()
    yield "V_CVT_PK_BF16_F32", "D0[15 : 0].bf16 = f32_to_bf16(S0.f32);\nD0[31 : 16].bf16 = f32_to_bf16(S1.f32)"


def _bytes(arch: str) -> Iterator[tuple[str, str]]:
    """Byte and half of a source are chosen by SDWA (sources.py) or, on gfx12, by OPSEL, whose bits are reversed."""
    low = "(OPSEL[0].i32 * 16 + OPSEL[1].i32 * 8)" if arch.startswith("gfx12") else "0"
    for kind in BYTE_FLOATS:
        number = byte_format(kind, arch)
        yield f"V_CVT_F32_{kind}", f"D0.f32 = byte_to_f32(S0[{low} + 7 : {low}], {number}U)"
        pair = (
            f"D0[31 : 0].f32 = byte_to_f32(S0[7 : 0], {number}U);\nD0[63 : 32].f32 = byte_to_f32(S0[15 : 8], {number}U)"
        )
        yield f"V_CVT_PK_F32_{kind}", pair
        parts = (f"D0[{k + 7} : {k}] = f32_to_byte(S{k // 8}.f32, {number}U)" for k in (0, 8))
        yield f"V_CVT_PK_{kind}_F32", ";\n".join(parts)
