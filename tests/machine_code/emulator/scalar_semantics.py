"""Scalar instructions in numpy: registers s10 to s17 hold x, SCC is bit 31 of x[7], VCC is not 0 if x[6] has bit 16."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.machine_code.emulator.semantics import ALL, CDNA, RDNA, Semantics, Values, bits, f32, fma, saturated, words64
from tests.machine_code.emulator.single import LANES, Words
from tests.machine_code.emulator.vector_semantics import i16, i64, signed, wide

U, I = np.uint32, np.int32  # noqa: E741
Meaning = Callable[[Words], list[Values]]


def scc(x: Words) -> Values:
    return x[7] >> U(31)


def same_scc(of: Callable[[Words], Values]) -> Meaning:
    """The instruction leaves SCC alone."""
    return lambda x: [of(x), scc(x)]


def not_zero(of: Callable[[Words], Values]) -> Meaning:
    """SCC says whether the result is not 0."""

    def meaning(x: Words) -> list[Values]:
        value = of(x)
        return [value, (value != 0).astype(U)]

    return meaning


def not_zero64(of: Callable[[Words], Values]) -> Meaning:
    def meaning(x: Words) -> list[Values]:
        value = of(x)
        return [*words64(value), (value != 0).astype(U)]

    return meaning


def scalar(
    names: str, operands: str, meaning: Meaning, results: int = 2, archs: tuple[str, ...] = ALL, **more: object
) -> Iterator[Semantics]:
    """One instruction: "all", "CDNA|RDNA" or "CDNA|gfx11|gfx12"; - where there is none."""
    given = names.split("|")
    each = [given[0]] * 3 + ([given[-1]] * 2 if len(given) < 3 else given[1:])
    for name in dict.fromkeys(each):
        chosen = tuple(arch for arch, other in zip(ALL, each, strict=True) if other == name and arch in archs)
        if name != "-" and chosen:
            text = operands if "$i" in operands else f"$i {operands}"
            yield Semantics(f"{name} {operands}", text, meaning, chosen, results, scalar=True, own=(name,), **more)  # type: ignore[arg-type]


def _sums() -> Iterator[Semantics]:
    two = "s20, s10, s11"

    def unsigned(of: Callable[[Values, Values, Values], Values]) -> Meaning:
        def meaning(x: Words) -> list[Values]:
            total = of(x[0].astype(np.int64), x[1].astype(np.int64), scc(x).astype(np.int64))
            return [(total & 0xFFFFFFFF).astype(U), ((total < 0) | (total >> 32 != 0)).astype(U)]

        return meaning

    def overflow(of: Callable[[Values, Values], Values]) -> Meaning:
        def meaning(x: Words) -> list[Values]:
            total = of(signed(x[0]).astype(np.int64), signed(x[1]).astype(np.int64))
            return [(total & 0xFFFFFFFF).astype(U), (total != total.astype(I)).astype(U)]

        return meaning

    yield from scalar("S_ADD_U32|S_ADD_U32|S_ADD_CO_U32", two, unsigned(lambda a, b, c: a + b))
    yield from scalar("S_SUB_U32|S_SUB_U32|S_SUB_CO_U32", two, unsigned(lambda a, b, c: a - b))
    yield from scalar("S_ADDC_U32|S_ADDC_U32|S_ADD_CO_CI_U32", two, unsigned(lambda a, b, c: a + b + c))
    yield from scalar("S_SUBB_U32|S_SUBB_U32|S_SUB_CO_CI_U32", two, unsigned(lambda a, b, c: a - b - c))
    yield from scalar("S_ADD_I32|S_ADD_I32|S_ADD_CO_I32", two, overflow(lambda a, b: a + b))
    yield from scalar("S_SUB_I32|S_SUB_I32|S_SUB_CO_I32", two, overflow(lambda a, b: a - b))
    add = lambda x: signed(x[0]).astype(np.int64) - 1234  # noqa: E731
    yield from scalar(
        "S_ADDK_I32|S_ADDK_I32|S_ADDK_CO_I32",
        "s_mov_b32 s20, s10\n\ts_bitcmp1_b32 s17, 31\n\t$i s20, 0xfb2e",
        lambda x: [(add(x) & 0xFFFFFFFF).astype(U), (add(x) != add(x).astype(I)).astype(U)],
    )
    yield from scalar(
        "-|-|S_ADD_NC_U64", "s[20:21], s[10:11], s[12:13]", _wide_same(lambda x: wide(x, 0) + wide(x, 2)), 3
    )
    yield from scalar(
        "-|-|S_SUB_NC_U64", "s[20:21], s[10:11], s[12:13]", _wide_same(lambda x: wide(x, 0) - wide(x, 2)), 3
    )
    yield from scalar("-|-|S_MUL_U64", "s[20:21], s[10:11], s[12:13]", _wide_same(lambda x: wide(x, 0) * wide(x, 2)), 3)
    yield from scalar("S_MUL_I32", two, same_scc(lambda x: x[0] * x[1]))
    yield from scalar("S_MUL_HI_U32", two, same_scc(lambda x: words64(x[0].astype(np.uint64) * x[1])[1]))
    yield from scalar("S_MUL_HI_I32", two, same_scc(lambda x: words64(signed(x[0]).astype(np.int64) * signed(x[1]))[1]))
    yield from scalar("S_MULK_I32", "s_mov_b32 s20, s10\n\t$i s20, 0xfb2e", same_scc(lambda x: x[0] * U(0xFFFFFB2E)))


def _wide_same(of: Callable[[Words], Values]) -> Meaning:
    return lambda x: [*words64(of(x)), scc(x)]


_LOGIC: dict[str, Callable[[Values, Values], Values]] = {
    "S_AND": lambda a, b: a & b,
    "S_OR": lambda a, b: a | b,
    "S_XOR": lambda a, b: a ^ b,
    "S_NAND": lambda a, b: ~(a & b),
    "S_NOR": lambda a, b: ~(a | b),
    "S_XNOR": lambda a, b: ~(a ^ b),
    "S_ANDN2|S_AND_NOT1": lambda a, b: a & ~b,
    "S_ORN2|S_OR_NOT1": lambda a, b: a | ~b,
}


def _logic() -> Iterator[Semantics]:
    for names, of in _LOGIC.items():
        for width in (32, 64):
            full = "|".join(f"{name}_B{width}" for name in names.split("|"))
            if width == 32:
                yield from scalar(full, "s20, s10, s11", not_zero(lambda x, of=of: of(x[0], x[1])))
            else:
                meaning = not_zero64(lambda x, of=of: of(wide(x, 0), wide(x, 2)))
                yield from scalar(full, "s[20:21], s[10:11], s[12:13]", meaning, 3)
    yield from scalar("S_NOT_B32", "s20, s10", not_zero(lambda x: ~x[0]))
    yield from scalar("S_NOT_B64", "s[20:21], s[10:11]", not_zero64(lambda x: ~wide(x, 0)), 3)
    yield from _saved()


def _saved() -> Iterator[Semantics]:
    """D = EXEC; EXEC = S op EXEC; SCC = EXEC != 0. EXEC is x[2] (and x[3]) before."""
    logic = {"S_AND_SAVEEXEC": (0, "S_AND"), "S_OR_SAVEEXEC": (0, "S_OR"), "S_XOR_SAVEEXEC": (0, "S_XOR")}
    logic |= {"S_ANDN2_SAVEEXEC|S_AND_NOT1_SAVEEXEC": (0, "S_ANDN2|S_AND_NOT1")}
    logic |= {"S_ORN2_SAVEEXEC|S_OR_NOT1_SAVEEXEC": (0, "S_ORN2|S_OR_NOT1")}
    for names, (_, like) in logic.items():
        of = _LOGIC[like]
        text = "s_mov_b64 s[30:31], exec\n\ts_mov_b64 exec, s[12:13]\n\t$i s[20:21], s[10:11]\n\t"
        text += "s_mov_b64 s[22:23], exec\n\ts_mov_b64 exec, s[30:31]"

        def wide_meaning(x: Words, of: Callable[..., Values] = of) -> list[Values]:
            made = of(wide(x, 0), wide(x, 2))
            return [x[2], x[3], *words64(made), (made != 0).astype(U)]

        yield from scalar("|".join(f"{name}_B64" for name in names.split("|")), text, wide_meaning, 5, CDNA)
        text = "s_mov_b32 s30, exec_lo\n\ts_mov_b32 exec_lo, s12\n\t$i s20, s10\n\ts_mov_b32 s21, exec_lo\n\t"
        text += "s_mov_b32 exec_lo, s30"

        def meaning(x: Words, of: Callable[..., Values] = of) -> list[Values]:
            made = of(x[0], x[2])
            return [x[2], made, (made != 0).astype(U)]

        yield from scalar("|".join(f"{name}_B32" for name in names.split("|")), text, meaning, 3, RDNA)


def _shifts() -> Iterator[Semantics]:
    two, amount, wide_amount = "s20, s10, s11", U(31), np.uint64(63)
    yield from scalar("S_LSHL_B32", two, not_zero(lambda x: x[0] << (x[1] & amount)))
    yield from scalar("S_LSHR_B32", two, not_zero(lambda x: x[0] >> (x[1] & amount)))
    yield from scalar("S_ASHR_I32", two, not_zero(lambda x: (signed(x[0]) >> (x[1] & amount).astype(I)).view(U)))
    pair = "s[20:21], s[10:11], s12"
    yield from scalar("S_LSHL_B64", pair, not_zero64(lambda x: wide(x, 0) << (x[2].astype(np.uint64) & wide_amount)), 3)
    yield from scalar("S_LSHR_B64", pair, not_zero64(lambda x: wide(x, 0) >> (x[2].astype(np.uint64) & wide_amount)), 3)
    yield from scalar(
        "S_ASHR_I64", pair, not_zero64(lambda x: (i64(x, 0) >> (x[2].astype(np.int64) & 63)).view(np.uint64)), 3
    )
    yield from scalar("S_BFE_U32", two, not_zero(_field))
    yield from scalar("S_BFE_I32", two, not_zero(_signed_field))
    yield from scalar("S_BFM_B32", two, same_scc(lambda x: ((U(1) << (x[0] & amount)) - U(1)) << (x[1] & amount)))
    yield from scalar("S_BREV_B32", "s20, s10", same_scc(lambda x: _words(x[0], lambda v: int(f"{v:032b}"[::-1], 2))))
    yield from scalar("S_BCNT1_I32_B32", "s20, s10", not_zero(lambda x: _words(x[0], lambda v: bin(v).count("1"))))
    lead = lambda v: 32 - v.bit_length() if v else 0xFFFFFFFF  # noqa: E731
    trail = lambda v: (v & -v).bit_length() - 1 if v else 0xFFFFFFFF  # noqa: E731
    yield from scalar("S_FLBIT_I32_B32|S_CLZ_I32_U32", "s20, s10", same_scc(lambda x: _words(x[0], lead)))
    yield from scalar("S_FF1_I32_B32|S_CTZ_I32_B32", "s20, s10", same_scc(lambda x: _words(x[0], trail)))
    for count in range(1, 5):
        yield from _shifted_sum(count)


def _shifted_sum(count: int) -> Iterator[Semantics]:
    def meaning(x: Words) -> list[Values]:
        total = (x[0].astype(np.uint64) << np.uint64(count)) + x[1]
        return [total.astype(U), (total >> np.uint64(32) != 0).astype(U)]

    yield from scalar(f"S_LSHL{count}_ADD_U32", "s20, s10, s11", meaning)


def _words(words: Values, of: Callable[[int], int]) -> Values:
    return np.array([of(int(word)) for word in words], U)


def _field(x: Words) -> Values:
    low, count = x[1] & U(31), (x[1] >> U(16) & U(127)).astype(np.uint64)
    mask = np.where(count >= 32, 0xFFFFFFFF, (np.uint64(1) << np.minimum(count, 32)) - np.uint64(1)).astype(U)
    return x[0] >> low & mask


def _signed_field(x: Words) -> Values:
    out = []
    for value, control in zip(x[0].tolist(), x[1].tolist(), strict=True):
        low, count = control & 31, min(control >> 16 & 127, 32)
        shifted = (value - (1 << 32) if value >> 31 else value) >> low
        part = shifted & (1 << count) - 1
        out.append(part - (1 << count) & 0xFFFFFFFF if count and part >> count - 1 else part)
    return np.array(out, U)


def _comparisons() -> Iterator[Semantics]:
    orders: dict[str, Callable[[Values, Values], Values]] = {
        "EQ": np.equal,
        "LG": np.not_equal,
        "GT": np.greater,
        "GE": np.greater_equal,
        "LT": np.less,
        "LE": np.less_equal,
    }
    for order, of in orders.items():
        yield from scalar(
            f"S_CMP_{order}_I32", "s10, s11", lambda x, of=of: [of(signed(x[0]), signed(x[1])).astype(U)], 1
        )
        yield from scalar(f"S_CMP_{order}_U32", "s10, s11", lambda x, of=of: [of(x[0], x[1]).astype(U)], 1)
        if order in ("EQ", "LG"):
            yield from scalar(
                f"S_CMP_{order}_U64",
                "s[10:11], s[12:13]",
                lambda x, of=of: [of(wide(x, 0), wide(x, 2)).astype(U)],
                1,
            )
        old = ("gfx90a", "gfx942", "gfx950", "gfx1100")
        yield from scalar(
            f"S_CMPK_{order}_I32", "s10, 0xfff0", lambda x, of=of: [of(signed(x[0]), -16).astype(U)], 1, old
        )
        yield from scalar(f"S_CMPK_{order}_U32", "s10, 0xfff0", lambda x, of=of: [of(x[0], 0xFFF0).astype(U)], 1, old)
    bit = lambda x: x[0] >> (x[1] & U(31)) & U(1)  # noqa: E731
    yield from scalar("S_BITCMP1_B32", "s10, s11", lambda x: [bit(x)], 1)
    yield from scalar("S_BITCMP0_B32", "s10, s11", lambda x: [U(1) - bit(x)], 1)
    for name, extreme in (("MIN", np.less), ("MAX", np.greater_equal)):
        yield from scalar(f"S_{name}_I32", "s20, s10, s11", lambda x, of=extreme: _extreme(x, of, signed))
        yield from scalar(f"S_{name}_U32", "s20, s10, s11", lambda x, of=extreme: _extreme(x, of, lambda v: v))


def _extreme(x: Words, of: Callable[[Values, Values], Values], view: Callable[[Values], Values]) -> list[Values]:
    """SCC says whether the first source is the result."""
    first = of(view(x[0]), view(x[1]))
    return [np.where(first, x[0], x[1]), first.astype(U)]


def _moves() -> Iterator[Semantics]:
    yield from scalar("S_MOV_B32", "s20, s10", same_scc(lambda x: x[0]))
    yield from scalar("S_MOV_B64", "s[20:21], s[10:11]", lambda x: [x[0], x[1], scc(x)], 3)
    yield from scalar("S_MOVK_I32", "s20, 0x8123", same_scc(lambda x: x[0] * U(0) + U(0xFFFF8123)))
    yield from scalar("S_CMOV_B32", "s20, s10", same_scc(lambda x: np.where(scc(x) == 1, x[0], U(0x5A5A5A5A))))
    yield from scalar("S_CSELECT_B32", "s20, s10, s11", same_scc(lambda x: np.where(scc(x) == 1, x[0], x[1])))
    chosen = _wide_same(lambda x: np.where(scc(x) == 1, wide(x, 0), wide(x, 2)))
    yield from scalar("S_CSELECT_B64", "s[20:21], s[10:11], s[12:13]", chosen, 3)
    yield from scalar("S_SEXT_I32_I16", "s20, s10", same_scc(lambda x: i16(x[0]).astype(I).view(U)))
    byte = lambda x: (x[0] & U(255)).astype(np.uint8).view(np.int8).astype(I).view(U)  # noqa: E731
    yield from scalar("S_SEXT_I32_I8", "s20, s10", same_scc(byte))
    size = lambda x: np.where(x[0] >> U(31) == 1, U(0) - x[0], x[0])  # noqa: E731
    yield from scalar("S_ABS_I32", "s20, s10", not_zero(size))
    yield from scalar("S_PACK_LL_B32_B16", "s20, s10, s11", same_scc(lambda x: (x[0] & U(0xFFFF)) | x[1] << U(16)))
    yield from scalar("S_PACK_LH_B32_B16", "s20, s10, s11", same_scc(lambda x: x[0] & U(0xFFFF) | x[1] & U(0xFFFF0000)))
    yield from scalar("S_PACK_HH_B32_B16", "s20, s10, s11", same_scc(lambda x: x[0] >> U(16) | x[1] & U(0xFFFF0000)))
    jump = "s_mov_b32 s20, 1\n\t%s\n\ts_mov_b32 s20, 2\n.Lskip$n:"
    taken: dict[str, tuple[str, Callable[[Words], Values]]] = {
        "S_BRANCH": ("$i .Lskip$n", lambda x: x[0] == x[0]),
        "S_CBRANCH_SCC0": ("$i .Lskip$n", lambda x: scc(x) == 0),
        "S_CBRANCH_SCC1": ("$i .Lskip$n", lambda x: scc(x) == 1),
        "S_CBRANCH_VCCZ": ("$i .Lskip$n", lambda x: x[6] >> U(16) & U(1) == 0),
        "S_CBRANCH_VCCNZ": ("$i .Lskip$n", lambda x: x[6] >> U(16) & U(1) == 1),
    }
    for name, (text, when) in taken.items():
        yield from scalar(name, jump % text, lambda x, when=when: [np.where(when(x), U(1), U(2)), scc(x)])
    for name, when_zero in (("S_CBRANCH_EXECZ", True), ("S_CBRANCH_EXECNZ", False)):
        for wave in (64, 32):
            yield from _exec_branch(name, when_zero, wave)


def _exec_branch(name: str, when_zero: bool, wave: int) -> Iterator[Semantics]:
    move, register, mask = ("s_mov_b64", "exec", "s[30:31]") if wave == 64 else ("s_mov_b32", "exec_lo", "s30")
    given = "vcc" if wave == 64 else "vcc_lo"
    text = f"{move} {mask}, {register}\n\t{move} {register}, {given}\n\ts_mov_b32 s20, 1\n\t$i .Lskip$n\n\t"
    text += f"s_mov_b32 s20, 2\n.Lskip$n:\n\t{move} {register}, {mask}"

    def meaning(x: Words) -> list[Values]:
        jumps = (x[6] >> U(16) & U(1) == 0) == when_zero
        return [np.where(jumps, U(1), U(2)), scc(x)]

    yield from scalar(name, text, meaning, 2, CDNA if wave == 64 else RDNA)


def _floats() -> Iterator[Semantics]:
    """gfx12's scalar floats."""
    new = ("gfx1201",)
    as_float: list[tuple[str, str, Callable[[Words], Values]]] = [
        ("S_CVT_F32_I32", "s20, s10", lambda x: signed(x[0]).astype(np.float32)),
        ("S_CVT_F32_U32", "s20, s10", lambda x: x[0].astype(np.float32)),
        ("S_TRUNC_F32", "s20, s10", lambda x: np.trunc(f32(x[0]))),
        ("S_FLOOR_F32", "s20, s10", lambda x: np.floor(f32(x[0]))),
        ("S_ADD_F32", "s20, s10, s11", lambda x: f32(x[0]) + f32(x[1])),
        ("S_SUB_F32", "s20, s10, s11", lambda x: f32(x[0]) - f32(x[1])),
        ("S_MUL_F32", "s20, s10, s11", lambda x: f32(x[0]) * f32(x[1])),
        ("S_FMAMK_F32", "s20, s10, 0x41c80000, s12", lambda x: fma(f32(x[0]), np.float32(25), f32(x[2]))),
        ("S_FMAAK_F32", "s20, s10, s11, 0x41c80000", lambda x: fma(f32(x[0]), f32(x[1]), np.float32(25))),
        ("S_FMAC_F32", "s_mov_b32 s20, s12\n\t$i s20, s10, s11", lambda x: fma(*map(f32, x[:3]))),
    ]
    for name, operands, of in as_float:
        meaning = lambda x, of=of: [*bits(of(x).astype(np.float32)), scc(x)]  # noqa: E731
        yield from scalar(f"-|-|{name}", operands, meaning, 2, new, float_bits=32)
    limits = {"S_CVT_U32_F32": (0, 2**32 - 1), "S_CVT_I32_F32": (-(2**31), 2**31 - 1)}
    for name, (low, high) in limits.items():
        whole = same_scc(lambda x, low=low, high=high: saturated(f32(x[0]).astype(np.float64), low, high))
        yield from scalar(f"-|-|{name}", "s20, s10", whole, 2, new)
    inverse = lambda x: [*bits(np.float32(1) / f32(x[0])), scc(x)]  # noqa: E731
    yield from scalar("-|-|V_S_RCP_F32", "s20, s10", inverse, 2, new, float_bits=32, ulp=1)
    root = lambda x: [*bits(np.sqrt(np.abs(f32(x[0])))), scc(x)]  # noqa: E731
    yield from scalar("-|-|V_S_SQRT_F32", "s20, |s10|", root, 2, new, float_bits=32, ulp=1)


def cases() -> Iterator[Semantics]:
    """All of them."""
    assert set(LANES) == set(ALL)
    for family in (_sums, _logic, _shifts, _comparisons, _moves, _floats):
        yield from family()
