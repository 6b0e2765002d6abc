"""Families of vector instructions in numpy: sums with carries, logic, shifts, comparisons, minima, halves, doubles.

Names differ between architectures: "CDNA|RDNA" or "CDNA|gfx11|gfx12", with "-" where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tests.machine_code.emulator.semantics import (
    ALL,
    CDNA,
    Semantics,
    Values,
    bits,
    exact_sum,
    f32,
    f64,
    fma,
    half,
    packed,
    saturated,
    u64,
    words64,
)
from tests.machine_code.emulator.single import Words

U, I = np.uint32, np.int32  # noqa: E741
Meaning = Callable[[Words], list[Values]]


def named(names: str, operands: str, meaning: Meaning, results: int = 1, **more: object) -> Iterator[Semantics]:
    """One instruction under each architecture's name."""
    given = names.split("|")
    each = [given[0]] * 3 + ([given[-1]] * 2 if len(given) < 3 else given[1:])
    for name in dict.fromkeys(each):
        if name != "-":
            archs = tuple(arch for arch, other in zip(ALL, each, strict=True) if other == name)
            title = f"{name} {operands}"
            text = operands if "$i" in operands else f"$i {operands}"
            yield Semantics(title, text, meaning, archs, results, own=(name,), **more)  # type: ignore[arg-type]


def signed(words: Values) -> Values:
    return words.view(I)


def i16(words: Values) -> Values:
    return (words & U(0xFFFF)).astype(np.uint16).view(np.int16)


def u16(words: Values) -> Values:
    return (words & U(0xFFFF)).astype(np.uint16)


def wide(x: Words, at: int) -> Values:
    """Registers `at` and `at + 1` as one number."""
    return u64(x[at], x[at + 1])


def i64(x: Words, at: int) -> Values:
    return wide(x, at).view(np.int64)


def double(x: Words, at: int) -> Values:
    return np.ascontiguousarray(wide(x, at)).view(np.float64)


def carry_in(x: Words) -> Values:
    """VCC, which the harness sets."""
    return (x[7] < 1 << 31).astype(np.uint64)


def low16(values: Values) -> list[Values]:
    """Halves as words, whose high halves are 0."""
    return [np.ascontiguousarray(values).view(np.uint16).astype(U)]


def kept16(values: Values) -> list[Values]:
    """Halves in words whose high halves keep what was there."""
    return [low16(values)[0] | U(0x5A5A0000)]


def _carries() -> Iterator[Semantics]:
    show = "\n\tv_cndmask_b32 v21, 0, 1, $vcc"

    def both(of: Callable[[Values, Values, Values], Values]) -> Meaning:
        def meaning(x: Words) -> list[Values]:
            total = of(x[0].astype(np.int64), x[1].astype(np.int64), carry_in(x).astype(np.int64))
            return [(total & 0xFFFFFFFF).astype(U), ((total < 0) | (total >> 32 != 0)).astype(U)]

        return meaning

    plain = "$i v20, $vcc, v10, v11" + show
    yield from named("V_ADD_CO_U32", plain, both(lambda a, b, c: a + b), 2)
    yield from named("V_SUB_CO_U32", plain, both(lambda a, b, c: a - b), 2)
    yield from named("V_SUBREV_CO_U32", plain, both(lambda a, b, c: b - a), 2)
    chained = "$i v20, $vcc, v10, v11, $vcc" + show
    yield from named("V_ADDC_CO_U32|V_ADD_CO_CI_U32", chained, both(lambda a, b, c: a + b + c), 2)
    yield from named("V_SUBB_CO_U32|V_SUB_CO_CI_U32", chained, both(lambda a, b, c: a - b - c), 2)
    yield from named("V_SUBBREV_CO_U32|V_SUBREV_CO_CI_U32", chained, both(lambda a, b, c: b - a - c), 2)


def _integers() -> Iterator[Semantics]:
    two = "v20, v10, v11"
    yield from named("V_ADD_U32|V_ADD_NC_U32", two, lambda x: [x[0] + x[1]])
    yield from named("V_SUB_U32|V_SUB_NC_U32", two, lambda x: [x[0] - x[1]])
    yield from named("V_SUBREV_U32|V_SUBREV_NC_U32", two, lambda x: [x[1] - x[0]])
    most = np.uint64(0xFFFFFFFF)
    clamped = "v20, v10, v11 clamp"
    yield from named("V_ADD_U32|V_ADD_NC_U32", clamped, lambda x: [np.minimum(x[0].astype(np.uint64) + x[1], most)])
    yield from named("V_SUB_U32|V_SUB_NC_U32", clamped, lambda x: [np.where(x[0] > x[1], x[0] - x[1], U(0))])
    yield from named("V_AND_B32", two, lambda x: [x[0] & x[1]])
    yield from named("V_OR_B32", two, lambda x: [x[0] | x[1]])
    yield from named("V_XOR_B32", two, lambda x: [x[0] ^ x[1]])
    yield from named("V_XNOR_B32", two, lambda x: [~(x[0] ^ x[1])])
    yield from named("V_NOT_B32", "v20, v10", lambda x: [~x[0]])
    yield from named("V_MOV_B32", "v20, v10", lambda x: [x[0]])
    yield from named("V_LSHLREV_B32", two, lambda x: [x[1] << (x[0] & U(31))])
    yield from named("V_LSHRREV_B32", two, lambda x: [x[1] >> (x[0] & U(31))])
    yield from named("V_ASHRREV_I32", two, lambda x: [(signed(x[1]) >> (x[0] & U(31)).astype(I)).view(U)])
    for name, of in (("MIN", np.minimum), ("MAX", np.maximum)):
        yield from named(f"V_{name}_I32", two, lambda x, of=of: [of(signed(x[0]), signed(x[1])).view(U)])
        yield from named(f"V_{name}_U32", two, lambda x, of=of: [of(x[0], x[1])])
        three = "v20, v10, v11, v12"
        yield from named(f"V_{name}3_I32", three, lambda x, of=of: [of(of(*signed(x[:2])), signed(x[2])).view(U)])
        yield from named(f"V_{name}3_U32", three, lambda x, of=of: [of(of(x[0], x[1]), x[2])])
    yield from named("V_MED3_I32", "v20, v10, v11, v12", lambda x: [np.sort(signed(x[:3]), 0)[1].view(U)])
    yield from named("V_MED3_U32", "v20, v10, v11, v12", lambda x: [np.sort(x[:3], 0)[1]])
    yield from named("V_MUL_HI_I32", two, lambda x: [_product(x)[1]])
    yield from named("V_MUL_HI_U32_U24", two, lambda x: [words64(wide24(x, 0) * wide24(x, 1))[1]])
    yield from named("V_BCNT_U32_B32", two, lambda x: [_count(x[0]) + x[1]])
    yield from named("V_FFBH_U32|V_CLZ_I32_U32", "v20, v10", lambda x: [_leading(x[0])])
    yield from named("V_FFBL_B32|V_CTZ_I32_B32", "v20, v10", lambda x: [_trailing(x[0])])
    yield from named("V_BFM_B32", two, lambda x: [((U(1) << (x[0] & U(31))) - U(1)) << (x[1] & U(31))])
    yield from named("V_ALIGNBYTE_B32", "v20, v10, v11, v12", lambda x: [words64(_aligned(x))[0]])
    yield from named("V_SAD_U32", "v20, v10, v11, v12", lambda x: [np.maximum(*x[:2]) - np.minimum(*x[:2]) + x[2]])
    yield from named("V_MAD_I32_I24", "v20, v10, v11, v12", lambda x: [(_s24(x[0]) * _s24(x[1])).astype(U) + x[2]])


def wide24(x: Words, at: int) -> Values:
    return (x[at] & U(0xFFFFFF)).astype(np.uint64)


def _s24(words: Values) -> Values:
    return ((words << U(8)).view(I) >> 8).astype(np.int64)


def _aligned(x: Words) -> Values:
    return u64(x[1], x[0]) >> (x[2] & U(3)).astype(np.uint64) * np.uint64(8)


def _product(x: Words) -> list[Values]:
    return words64(signed(x[0]).astype(np.int64) * signed(x[1]))


def _count(words: Values) -> Values:
    return np.array([bin(int(word)).count("1") for word in words], U)


def _leading(words: Values) -> Values:
    return np.array([32 - int(word).bit_length() if word else 0xFFFFFFFF for word in words], U)


def _trailing(words: Values) -> Values:
    return np.array([(int(word) & -int(word)).bit_length() - 1 if word else 0xFFFFFFFF for word in words], U)


def _wide_integers() -> Iterator[Semantics]:
    shift = "v[20:21], v10, v[12:13]"
    amount = np.uint64(63)
    left, right = "V_LSHLREV_B64", "V_LSHRREV_B64"
    yield from named(left, shift, lambda x: words64(wide(x, 2) << (x[0].astype(np.uint64) & amount)), 2)
    yield from named(right, shift, lambda x: words64(wide(x, 2) >> (x[0].astype(np.uint64) & amount)), 2)
    yield from named("V_ASHRREV_I64", shift, lambda x: words64(i64(x, 2) >> (x[0].astype(np.int64) & np.int64(63))), 2)
    yield Semantics("V_MOV_B64", "v_mov_b64 v[20:21], v[10:11]", lambda x: [x[0], x[1]], ("gfx942", "gfx950"), 2)
    multiply = "v[20:21], s[8:9], v10, v11, v[14:15]"
    for names, of in (
        ("-|V_MAD_U64_U32|V_MAD_CO_U64_U32", lambda x: x[0].astype(np.uint64) * x[1] + wide(x, 4)),
        ("-|V_MAD_I64_I32|V_MAD_CO_I64_I32", lambda x: signed(x[0]).astype(np.int64) * signed(x[1]) + i64(x, 4)),
    ):
        yield from named(names, multiply.replace("s[8:9]", "s8"), lambda x, of=of: words64(of(x)), 2)
    yield Semantics(
        "V_ACCVGPR_WRITE", "v_accvgpr_write_b32 a9, v11\n\tv_accvgpr_read_b32 v20, a9", lambda x: [x[1]], CDNA
    )


_COMPARED: dict[str, Callable[[Words], tuple[Values, Values]]] = {
    "i16": lambda x: (i16(x[0]), i16(x[1])),
    "u16": lambda x: (u16(x[0]), u16(x[1])),
    "i32": lambda x: (signed(x[0]), signed(x[1])),
    "u32": lambda x: (x[0], x[1]),
    "i64": lambda x: (i64(x, 0), i64(x, 2)),
    "u64": lambda x: (wide(x, 0), wide(x, 2)),
    "f16": lambda x: (half(x[0], 0), half(x[1], 0)),
    "f32": lambda x: (f32(x[0]), f32(x[1])),
    "f64": lambda x: (double(x, 0), double(x, 2)),
}
_ORDERS: dict[str, Callable[[Values, Values], Values]] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_MORE = {
    "lg": lambda a, b: (a < b) | (a > b),
    "nlt": lambda a, b: ~(a < b),
    "nle": lambda a, b: ~(a <= b),
    "ngt": lambda a, b: ~(a > b),
    "nge": lambda a, b: ~(a >= b),
    "neq": lambda a, b: ~(a == b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "o": lambda a, b: ~np.isnan(a) & ~np.isnan(b),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
}


def _comparisons() -> Iterator[Semantics]:
    for kind, values in _COMPARED.items():
        orders = _ORDERS | (_MORE if kind[0] == "f" else {"ne": np.not_equal})
        sources = "v[10:11], v[12:13]" if kind.endswith("64") else "v10, v11"
        for order, of in orders.items():
            name = f"V_CMP_{order}_{kind}".upper()

            def meaning(
                x: Words, of: Callable[..., Values] = of, values: Callable[..., object] = values
            ) -> list[Values]:
                return [of(*values(x)).astype(U)]  # type: ignore[misc]

            yield from named(name, f"$i $vcc, {sources}\n\tv_cndmask_b32 v20, 0, 1, $vcc", meaning)
            cdna = "s_mov_b64 s[20:21], exec\n\t$i $vcc, SRC\n\tv_mov_b32 v20, 1\n\ts_mov_b64 exec, s[20:21]"
            rdna = "s_mov_b32 s20, exec_lo\n\t$i SRC\n\tv_mov_b32 v20, 1\n\ts_mov_b32 exec_lo, s20"
            exec_name = name.replace("CMP", "CMPX")

            def active(x: Words, meaning: Meaning = meaning) -> list[Values]:
                return [np.where(meaning(x)[0] == 1, U(1), U(0x5A5A5A5A))]

            yield from named(f"{exec_name}|-", cdna.replace("SRC", sources), active)
            yield from named(f"-|{exec_name}", rdna.replace("SRC", sources), active)


def _sixteen() -> Iterator[Semantics]:
    two = "v20, v10, v11"
    integer: list[tuple[str, Meaning]] = [
        ("V_ADD_U16|V_ADD_NC_U16", lambda x: [x[0] + x[1] & U(0xFFFF)]),
        ("V_SUB_U16|V_SUB_NC_U16", lambda x: [x[0] - x[1] & U(0xFFFF)]),
        ("V_MUL_LO_U16", lambda x: [x[0] * x[1] & U(0xFFFF)]),
        ("V_LSHLREV_B16", lambda x: [x[1] << (x[0] & U(15)) & U(0xFFFF)]),
        ("V_LSHRREV_B16", lambda x: [(x[1] & U(0xFFFF)) >> (x[0] & U(15))]),
        ("V_ASHRREV_I16", lambda x: low16(i16(x[1]) >> (x[0] & U(15)).astype(np.int16))),
        ("V_MAX_I16", lambda x: low16(np.maximum(i16(x[0]), i16(x[1])))),
        ("V_MIN_I16", lambda x: low16(np.minimum(i16(x[0]), i16(x[1])))),
        ("V_MAX_U16", lambda x: low16(np.maximum(u16(x[0]), u16(x[1])))),
        ("V_MIN_U16", lambda x: low16(np.minimum(u16(x[0]), u16(x[1])))),
    ]
    for names, meaning in integer:
        cdna, rdna = names.split("|") if "|" in names else (names, names)
        yield from named(f"{cdna}|-", two, meaning)
        yield from named(f"-|{rdna}", two, lambda x, of=meaning: [of(x)[0] | U(0x5A5A0000)])
    floats: list[tuple[str, Meaning]] = [
        ("V_ADD_F16", lambda x: low16(half(x[0], 0) + half(x[1], 0))),
        ("V_SUB_F16", lambda x: low16(half(x[0], 0) - half(x[1], 0))),
        ("V_MUL_F16", lambda x: low16(half(x[0], 0) * half(x[1], 0))),
        ("V_CVT_F16_F32", lambda x: low16(f32(x[0]).astype(np.float16))),
        ("V_CVT_F16_U16", lambda x: low16(u16(x[0]).astype(np.float16))),
        ("V_CVT_F16_I16", lambda x: low16(i16(x[0]).astype(np.float16))),
        ("V_TRUNC_F16", lambda x: low16(np.trunc(half(x[0], 0)))),
        ("V_FLOOR_F16", lambda x: low16(np.floor(half(x[0], 0)))),
        ("V_CEIL_F16", lambda x: low16(np.ceil(half(x[0], 0)))),
        ("V_RNDNE_F16", lambda x: low16(np.rint(half(x[0], 0)))),
    ]
    for name, meaning in floats:
        operands = two if name.split("_")[1] in ("ADD", "SUB", "MUL") else "v20, v10"
        yield from named(f"{name}|-", operands, meaning, float_bits=16)
        yield from named(f"-|{name}", operands, lambda x, of=meaning: [of(x)[0] | U(0x5A5A0000)], float_bits=16)
    fused = lambda x: fma16(half(x[0], 0), half(x[1], 0), half(x[2], 0))  # noqa: E731
    yield from named("V_FMA_F16|-", "v20, v10, v11, v12", lambda x: low16(fused(x)), float_bits=16)
    yield from named("-|V_FMA_F16", "v20, v10, v11, v12", lambda x: kept16(fused(x)), float_bits=16)


def fma16(a: Values, b: Values, c: Values) -> Values:
    """An FMA of f16: one rounding, from a sum that is exact in extended precision."""
    return exact_sum(a.astype(np.longdouble) * b.astype(np.longdouble), c).astype(np.float16)


def _packed_sixteen() -> Iterator[Semantics]:
    two = "v20, v10, v11"

    def each(of: Callable[..., Values], view: Callable[[Values], Values]) -> Meaning:
        def meaning(x: Words) -> list[Values]:
            low, high = (of(*(view(x[k] >> U(shift)) for k in range(3))) for shift in (0, 16))
            return [low16(low)[0] | low16(high)[0] << U(16)]

        return meaning

    yield from named("V_PK_ADD_U16", two, each(lambda a, b, c: a + b, u16))
    yield from named("V_PK_SUB_I16", two, each(lambda a, b, c: a - b, i16))
    yield from named("V_PK_MUL_LO_U16", two, each(lambda a, b, c: a * b, u16))
    yield from named("V_PK_MAD_U16", two + ", v12", each(lambda a, b, c: a * b + c, u16))
    yield from named("V_PK_LSHLREV_B16", two, each(lambda a, b, c: b << (a & np.uint16(15)), u16))
    yield from named("V_PK_LSHRREV_B16", two, each(lambda a, b, c: b >> (a & np.uint16(15)), u16))
    yield from named("V_PK_ASHRREV_I16", two, each(lambda a, b, c: b >> (a & np.int16(15)), i16))
    yield from named("V_PK_MAX_I16", two, each(lambda a, b, c: np.maximum(a, b), i16))
    yield from named("V_PK_MIN_I16", two, each(lambda a, b, c: np.minimum(a, b), i16))
    yield from named("V_PK_MAX_U16", two, each(lambda a, b, c: np.maximum(a, b), u16))
    yield from named("V_PK_MIN_U16", two, each(lambda a, b, c: np.minimum(a, b), u16))
    halves = lambda words: half(words, 0)  # noqa: E731
    yield from named("V_PK_FMA_F16", two + ", v12", each(fma16, halves), float_bits=16)


def _floats() -> Iterator[Semantics]:
    two, three = "v20, v10, v11", "v20, v10, v11, v12"
    same: dict[str, object] = {"float_bits": 32}
    yield from named("V_SUB_F32", two, lambda x: bits(f32(x[0]) - f32(x[1])), **same)
    yield from named("V_SUBREV_F32", two, lambda x: bits(f32(x[1]) - f32(x[0])), **same)
    yield from named("V_FMAC_F32", "v20, v10, v11", lambda x: bits(fma(f32(x[0]), f32(x[1]), _start(x))), **same)
    yield from named(
        "-|V_FMAMK_F32", "v20, v10, 0x41c80000, v12", lambda x: bits(fma(f32(x[0]), _all(x, 25), f32(x[2]))), **same
    )
    yield from named(
        "-|V_FMAAK_F32", "v20, v10, v11, 0x41c80000", lambda x: bits(fma(f32(x[0]), f32(x[1]), _all(x, 25))), **same
    )
    later = ("gfx942", "gfx950")
    for name, text, of in (
        ("FMAMK", "v20, v10, 0x41c80000, v12", lambda x: fma(f32(x[0]), _all(x, 25), f32(x[2]))),
        ("FMAAK", "v20, v10, v11, 0x41c80000", lambda x: fma(f32(x[0]), f32(x[1]), _all(x, 25))),
    ):
        yield Semantics(f"V_{name}_F32 literal", f"$i {text}", lambda x, of=of: bits(of(x)), later, float_bits=32)
    old = ("gfx90a",)
    yield Semantics(
        "V_MAD_F32", f"v_mad_f32 {three}", lambda x: bits(f32(x[0]) * f32(x[1]) + f32(x[2])), old, float_bits=32
    )
    yield Semantics(
        "V_MADMK_F32",
        "v_madmk_f32 v20, v10, 0x41c80000, v12",
        lambda x: bits(f32(x[0]) * _all(x, 25) + f32(x[2])),
        old,
        float_bits=32,
    )
    yield Semantics(
        "V_MADAK_F32",
        "v_madak_f32 v20, v10, v11, 0x41c80000",
        lambda x: bits(f32(x[0]) * f32(x[1]) + _all(x, 25)),
        old,
        float_bits=32,
    )
    for name, of in (("FLOOR", np.floor), ("CEIL", np.ceil), ("RNDNE", np.rint)):
        yield from named(f"V_{name}_F32", "v20, v10", lambda x, of=of: bits(of(f32(x[0]))), **same)
    yield from named("V_SQRT_F32", "v20, v10", lambda x: bits(np.sqrt(f32(x[0]))), ulp=1, **same)
    yield from named("V_CVT_F32_I32", "v20, v10", lambda x: bits(signed(x[0]).astype(np.float32)), **same)
    for byte in range(4):
        yield from named(
            f"V_CVT_F32_UBYTE{byte}",
            "v20, v10",
            lambda x, at=8 * byte: bits((x[0] >> U(at) & U(255)).astype(np.float32)),
        )
    for width, view in ((16, lambda x, at: half(x[at], 0)), (32, lambda x, at: f32(x[at]))):
        for name, sign in (("MIN", 1), ("MAX", -1)):
            for ieee, names in (
                (True, f"V_{name}_F{width}|V_{name}_F{width}|-"),
                (False, f"-|-|V_{name}_NUM_F{width}"),
            ):

                def meaning(x: Words, view=view, sign=sign, ieee=ieee, width=width) -> list[Values]:  # type: ignore[no-untyped-def]
                    made = extreme(view(x, 0), view(x, 1), sign, ieee)
                    return bits(made) if width == 32 else low16(made)

                for case in named(names, two, meaning, float_bits=width):
                    old = tuple(arch for arch in case.archs if arch in CDNA)
                    new = tuple(arch for arch in case.archs if arch not in CDNA)
                    if old:
                        yield replace(case, archs=old)
                    if new:
                        yield replace(case, archs=new) if width == 32 else _kept(replace(case, archs=new))


def _kept(case: Semantics) -> Semantics:
    """RDNA's results of 16 bits keep the high half."""
    return replace(case, meaning=lambda x: [case.meaning(x)[0] | U(0x5A5A0000)])


def signalling(values: Values) -> Values:
    """True for values that are signalling NaNs."""
    word = np.ascontiguousarray(values).view({2: np.uint16, 4: U}[values.itemsize])
    return np.isnan(values) & (word & word.dtype.type(1 << (9 if values.itemsize == 2 else 22)) == 0)


def extreme(a: Values, b: Values, sign: int, ieee: bool) -> Values:
    """The smaller (sign 1) or larger (-1) number, where -0 is below +0; a signalling NaN stays a NaN in IEEE mode."""
    below = (sign * a < sign * b) | ((a == b) & (np.signbit(a) if sign == 1 else ~np.signbit(a)))
    out = np.where(np.isnan(a), b, np.where(np.isnan(b) | below, a, b))
    return np.where(signalling(a) | signalling(b), a.dtype.type(np.nan), out) if ieee else out


def _start(x: Words) -> Values:
    return f32(np.full_like(x[0], 0x5A5A5A5A))


def _all(x: Words, value: float) -> Values:
    return np.full(x[0].shape, value, np.float32)


def _doubles() -> Iterator[Semantics]:
    two = "v[20:21], v[10:11], v[12:13]"
    same: dict[str, object] = {"results": 2, "float_bits": 64}
    add, multiply = "V_ADD_F64|V_ADD_F64|V_ADD_F64", "V_MUL_F64|V_MUL_F64|V_MUL_F64"
    yield from named(add, two, lambda x: words64(double(x, 0) + double(x, 2)), **same)
    yield from named(multiply, two, lambda x: words64(double(x, 0) * double(x, 2)), **same)
    for name, of in (("TRUNC", np.trunc), ("FLOOR", np.floor), ("CEIL", np.ceil), ("RNDNE", np.rint)):
        yield from named(f"V_{name}_F64", "v[20:21], v[10:11]", lambda x, of=of: words64(of(double(x, 0))), **same)
    yield from named("V_CVT_F64_F32", "v[20:21], v10", lambda x: words64(f64(x[0])), **same)
    yield from named("V_CVT_F64_I32", "v[20:21], v10", lambda x: words64(signed(x[0]).astype(np.float64)), **same)
    yield from named("V_CVT_F64_U32", "v[20:21], v10", lambda x: words64(x[0].astype(np.float64)), **same)
    yield from named("V_CVT_F32_F64", "v20, v[10:11]", lambda x: bits(double(x, 0).astype(np.float32)), float_bits=32)
    most = (2**31 - 1, 2**32 - 1)
    yield from named("V_CVT_I32_F64", "v20, v[10:11]", lambda x: [saturated(double(x, 0), -(2**31), most[0])])
    yield from named("V_CVT_U32_F64", "v20, v[10:11]", lambda x: [saturated(double(x, 0), 0, most[1])])


# A dual instruction has one source of each in another bank of registers, and results of different parity.
_DUAL: dict[str, tuple[str, Callable[[Words, int, int], Values], int]] = {
    "V_DUAL_MOV_B32": ("$d, $0", lambda x, a, b: x[a], 0),
    "V_DUAL_ADD_F32": ("$d, $0, $1", lambda x, a, b: bits(f32(x[a]) + f32(x[b]))[0], 32),
    "V_DUAL_SUB_F32": ("$d, $0, $1", lambda x, a, b: bits(f32(x[a]) - f32(x[b]))[0], 32),
    "V_DUAL_MUL_F32": ("$d, $0, $1", lambda x, a, b: bits(f32(x[a]) * f32(x[b]))[0], 32),
    "V_DUAL_FMAC_F32": ("$d, $0, $1", lambda x, a, b: bits(fma(f32(x[a]), f32(x[b]), _start(x)))[0], 32),
    "V_DUAL_CNDMASK_B32": ("$d, $0, $1", lambda x, a, b: np.where(carry_in(x) == 1, x[b], x[a]), 0),
    "V_DUAL_FMAMK_F32": ("$d, $0, 0x41c80000, $1", lambda x, a, b: bits(fma(f32(x[a]), _all(x, 25), f32(x[b])))[0], 32),
    "V_DUAL_FMAAK_F32": ("$d, $0, $1, 0x41c80000", lambda x, a, b: bits(fma(f32(x[a]), f32(x[b]), _all(x, 25)))[0], 32),
    "V_DUAL_MIN_F32": ("$d, $0, $1", lambda x, a, b: bits(extreme(f32(x[a]), f32(x[b]), 1, True))[0], 32),
    "V_DUAL_MAX_F32": ("$d, $0, $1", lambda x, a, b: bits(extreme(f32(x[a]), f32(x[b]), -1, True))[0], 32),
    "V_DUAL_ADD_NC_U32": ("$d, $0, $1", lambda x, a, b: x[a] + x[b], 0),
    "V_DUAL_LSHLREV_B32": ("$d, $0, $1", lambda x, a, b: x[b] << (x[a] & U(31)), 0),
    "V_DUAL_AND_B32": ("$d, $0, $1", lambda x, a, b: x[a] & x[b], 0),
}
_SECOND_ONLY = ("V_DUAL_ADD_NC_U32", "V_DUAL_LSHLREV_B32", "V_DUAL_AND_B32")


def _dual() -> Iterator[Semantics]:
    for first, second in [(a, b) for a in _DUAL for b in _DUAL if a not in _SECOND_ONLY]:
        x_text, x_of, x_bits = _DUAL[first]
        y_text, y_of, y_bits = _DUAL[second]
        banks = {first, second} == {"V_DUAL_FMAC_F32", "V_DUAL_FMAMK_F32"}  # their third sources share a bank
        if x_bits != y_bits or banks:  # results are compared either as floats or as words
            continue
        parts = [
            f"{name.lower()} {text.replace('$d', d).replace('$0', a).replace('$1', b)}"
            for name, text, d, a, b in ((first, x_text, "v20", "v10", "v11"), (second, y_text, "v21", "v13", "v12"))
        ]

        def meaning(x: Words, x_of: Callable[..., Values] = x_of, y_of: Callable[..., Values] = y_of) -> list[Values]:
            return [x_of(x, 0, 1), y_of(x, 3, 2)]

        text = " :: ".join(parts)
        archs = ALL[3:4] if {first, second} & {"V_DUAL_MIN_F32", "V_DUAL_MAX_F32"} else ALL[3:]
        yield Semantics(text, text, meaning, archs, 2, x_bits, own=(first, second))


def cases() -> Iterator[Semantics]:
    """All of them."""
    for family in (_carries, _integers, _wide_integers, _comparisons, _sixteen, _packed_sixteen, _floats, _doubles):
        yield from family()
    yield from _dual()
    yield Semantics(
        "V_DUAL_MUL_F32 that both read first",
        "v_mov_b32 v20, v10\n\tv_mov_b32 v21, v11\n\tv_dual_mul_f32 v20, v20, v21 :: v_dual_add_f32 v21, v21, v20",
        lambda x: [*bits(f32(x[0]) * f32(x[1])), *bits(f32(x[0]) + f32(x[1]))],
        ALL[3:],
        2,
        32,
        own=("V_DUAL_MUL_F32", "V_DUAL_ADD_F32"),
    )
    yield Semantics(
        "V_SWAP_B32",
        "v_mov_b32 v20, v10\n\tv_mov_b32 v21, v11\n\ts_mov_b32 exec_lo, 0xffff\n\tv_swap_b32 v20, v21\n\t"
        "s_mov_b32 exec_lo, -1",
        lambda x: [
            np.where((at := np.arange(x.shape[1])) < 16, x[1], np.where(at < 32, x[0], x[1])),
            np.where(at < 16, x[0], np.where(at < 32, x[1], x[0])),
        ],
        results=2,
    )
    yield Semantics(
        "packed",
        "v_pack_b32_f16 v20, v10, v11",
        lambda x: [packed(half(x[0], 0), half(x[1], 0))],
        ALL,
        1,
        16,
        own=("V_PACK_B32_F16",),
    )
