"""Instructions with their meaning in numpy, written from AMD's instruction set documents, not from the pseudocode.

Sources are v10 to v17, results v20 and on. `x` is [source][lane]; a function returns the registers of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.machine_code.emulator.single import LANES, Words

Values = NDArray[np.generic]
CDNA, RDNA = ("gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1201")
ALL = tuple(LANES)


@dataclass(frozen=True)
class Semantics:
    """One instruction. `float_bits`: results are floats of this width, whose NaNs are equal; 0: compare all bits.
    `ulp`: the difference that the documents allow."""

    name: str
    text: str
    meaning: Callable[[Words], list[Values]]
    archs: tuple[str, ...] = ALL
    results: int = 1
    float_bits: int = 0
    ulp: int = 0
    scalar: bool = False
    own: tuple[str, ...] = ()  # the names of the instructions that it checks, if the title does not say it

    def text_of(self, arch: str) -> str:
        """The assembly for an architecture; $i is the instruction's name."""
        return self.text.replace("$i", self.names_of(arch)[0].lower())

    def names_of(self, arch: str) -> tuple[str, ...]:
        """The names of the instructions that it checks."""
        name = self.name.partition(" ")[0]
        if arch in CDNA:  # the decoder's name of the same number
            name = name.replace("V_FMA_MIX", "V_MAD_MIX")
        return self.own or (name,)


def f32(words: Values) -> NDArray[np.float32]:
    """Words as f32."""
    return np.ascontiguousarray(words).view(np.float32)


def f64(words: Values) -> NDArray[np.float64]:
    """Words as f32, exact in f64."""
    return f32(words).astype(np.float64)


def half(words: Values, high: int) -> NDArray[np.float16]:
    """The low (0) or high (1) halves of words as f16."""
    return (words >> (16 * high)).astype(np.uint16).view(np.float16)


def packed(low: Values, high: Values) -> Words:
    """Two f16 per word."""
    parts = (np.ascontiguousarray(part.astype(np.float16)).view(np.uint16).astype(np.uint32) for part in (low, high))
    first, second = parts
    return first | second << 16


def words64(values: Values) -> list[Values]:
    """A 64-bit result as two registers."""
    wide = np.ascontiguousarray(values).view(np.uint64)
    return [(wide & 0xFFFFFFFF).astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)]


def u64(low: Values, high: Values) -> NDArray[np.uint64]:
    """Two registers as one number."""
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def fma(a: Values, b: Values, c: Values) -> NDArray[np.float32]:
    """An f32 FMA: the exact product, a sum in extended precision rounded to odd, and one rounding."""
    return exact_sum(a.astype(np.longdouble) * b.astype(np.longdouble), c).astype(np.float32)


def exact_sum(product: NDArray[np.longdouble], c: Values) -> NDArray[np.longdouble]:
    """A sum whose last bit says that it is not exact, so that the next rounding is right."""
    third = c.astype(np.longdouble)
    total = product + third
    part = total - product
    error = (product - (total - part)) + (third - part)
    mantissa = np.frexp(np.where(np.isfinite(total), total, 0))[0] * np.longdouble(2) ** 64
    even = np.floor(mantissa / 2) * 2 == mantissa
    towards = np.nextafter(total, np.where(error > 0, np.longdouble(np.inf), -np.longdouble(np.inf)))
    return np.where(np.isfinite(total) & (error != 0) & even, towards, total)


def saturated(values: NDArray[np.float64], low: int, high: int) -> NDArray[np.int64]:
    """Towards zero, saturated; NaN is 0."""
    cut = np.trunc(np.where(np.isnan(values), 0, values))
    return np.clip(cut, low, high).astype(np.int64)


def bits(values: Values) -> list[Values]:
    """A float result as one register."""
    return [np.ascontiguousarray(values).view(np.uint32)]


def _perm(x: Words) -> list[Values]:
    data = np.stack([x[1] >> 8 * k & 255 for k in range(4)] + [x[0] >> 8 * k & 255 for k in range(4)])
    out = np.zeros_like(x[0])
    for byte in range(4):
        selector = x[2] >> (8 * byte) & 255
        value = np.take_along_axis(data, (selector % 8)[None].astype(np.intp), 0)[0]
        for code, source in ((8, 1), (9, 3), (10, 5), (11, 7)):
            value = np.where(selector == code, np.where(data[source] >> 7, 255, 0), value)
        value = np.where(selector == 12, 0, np.where(selector > 12, 255, value))
        out |= (value.astype(np.uint32) & 255) << (8 * byte)
    return [out]


def _sext(values: Values, width: int) -> NDArray[np.int32]:
    return (values.astype(np.uint32) << np.uint32(32 - width)).view(np.int32) >> np.int32(32 - width)


def _dot4(x: Words, signed: tuple[bool, bool]) -> list[Values]:
    """The sum of four products of bytes and of x[2], modulo 2^32."""
    total = x[2].view(np.int32).astype(np.int64)
    for at in range(4):
        a, b = ((word >> U(8 * at) & U(255)).astype(np.int64) for word in x[:2])
        a, b = (v - 256 * (v >> 7) if sign else v for v, sign in zip((a, b), signed, strict=True))
        total = total + a * b
    return [total.astype(np.uint64).astype(U)]


U = np.uint32
INTEGER = [
    *(
        Semantics(
            f"V_DOT4_I32_IU8 {int(a)}{int(b)}",
            f"v_dot4_i32_iu8 v20, v10, v11, v12 neg_lo:[{int(a)},{int(b)},0]",
            lambda x, a=a, b=b: _dot4(x, (a, b)),  # type: ignore[misc]
            RDNA,
        )
        for a in (False, True)
        for b in (False, True)
    ),
    Semantics("V_PERM_B32", "v_perm_b32 v20, v10, v11, v12", _perm),
    Semantics(
        "V_ALIGNBIT_B32",
        "v_alignbit_b32 v20, v10, v11, v12",
        lambda x: [(u64(x[1], x[0]) >> (x[2] & 31).astype(np.uint64)).astype(U)],
    ),
    Semantics("V_BFE_U32", "v_bfe_u32 v20, v10, 5, v12", lambda x: [x[0] >> U(5) & ((U(1) << (x[2] & 31)) - U(1))]),
    Semantics("V_BFE_I32", "v_bfe_i32 v20, v10, 3, 9", lambda x: [_sext(x[0] >> U(3) & U(511), 9).view(U)]),
    Semantics("V_BFI_B32", "v_bfi_b32 v20, v10, v11, v12", lambda x: [(x[0] & x[1]) | (~x[0] & x[2])]),
    Semantics("V_AND_OR_B32", "v_and_or_b32 v20, v10, v11, v12", lambda x: [(x[0] & x[1]) | x[2]]),
    Semantics("V_OR3_B32", "v_or3_b32 v20, v10, v11, v12", lambda x: [x[0] | x[1] | x[2]]),
    Semantics("V_XAD_U32", "v_xad_u32 v20, v10, v11, v12", lambda x: [(x[0] ^ x[1]) + x[2]]),
    Semantics("V_ADD3_U32", "v_add3_u32 v20, v10, v11, v12", lambda x: [x[0] + x[1] + x[2]]),
    Semantics("V_LSHL_ADD_U32", "v_lshl_add_u32 v20, v10, v11, v12", lambda x: [(x[0] << (x[1] & 31)) + x[2]]),
    Semantics("V_ADD_LSHL_U32", "v_add_lshl_u32 v20, v10, v11, v12", lambda x: [(x[0] + x[1]) << (x[2] & 31)]),
    Semantics("V_LSHL_OR_B32", "v_lshl_or_b32 v20, v10, v11, v12", lambda x: [(x[0] << (x[1] & 31)) | x[2]]),
    Semantics(
        "V_LSHL_ADD_U64",
        "v_lshl_add_u64 v[20:21], v[10:11], 3, v[14:15]",
        lambda x: words64((u64(x[0], x[1]) << np.uint64(3)) + u64(x[4], x[5])),
        ("gfx942", "gfx950"),
        2,
    ),
    Semantics("V_MUL_HI_U32", "v_mul_hi_u32 v20, v10, v11", lambda x: [words64(u64(x[0], x[0] * 0) * x[1])[1]]),
    Semantics("V_MUL_LO_U32", "v_mul_lo_u32 v20, v10, v11", lambda x: [x[0] * x[1]]),
    Semantics(
        "V_MUL_I32_I24",
        "v_mul_i32_i24 v20, v10, v11",
        lambda x: [(_sext(x[0], 24).astype(np.int64) * _sext(x[1], 24)).astype(U)],
    ),
    Semantics("V_MUL_U32_U24", "v_mul_u32_u24 v20, v10, v11", lambda x: [(x[0] & U(0xFFFFFF)) * (x[1] & U(0xFFFFFF))]),
    Semantics(
        "V_MAD_U32_U24",
        "v_mad_u32_u24 v20, v10, v11, v12",
        lambda x: [(x[0] & U(0xFFFFFF)) * (x[1] & U(0xFFFFFF)) + x[2]],
    ),
    Semantics(
        "V_MAD_U64_U32",
        "v_mad_u64_u32 v[20:21], vcc, v10, v11, v[14:15]",
        lambda x: words64(x[0].astype(np.uint64) * x[1] + u64(x[4], x[5])),
        CDNA,
        2,
    ),
    Semantics(
        "V_MAD_I64_I32",
        "v_mad_i64_i32 v[20:21], vcc, v10, v11, v[14:15]",
        lambda x: words64(x[0].view(np.int32).astype(np.int64) * x[1].view(np.int32) + u64(x[4], x[5]).view(np.int64)),
        CDNA,
        2,
    ),
    Semantics("V_BFREV_B32", "v_bfrev_b32 v20, v10", lambda x: [_reversed(x[0])]),
    Semantics("V_CNDMASK_B32", "v_cndmask_b32 v20, v10, v11, $vcc", lambda x: [np.where(x[7] < 1 << 31, x[1], x[0])]),
    Semantics(
        "V_BITOP3_B32",
        "v_bitop3_b32 v20, v10, v11, v12 bitop3:0x6a",
        lambda x: [(x[0] & x[1]) ^ x[2]],
        ("gfx950",),
    ),
    Semantics(
        "V_ADDC_CO_U32", "v_addc_co_u32 v20, vcc, v10, v11, vcc", lambda x: [x[0] + x[1] + (x[7] < 1 << 31)], CDNA
    ),
    Semantics(
        "V_SUBB_CO_U32", "v_subb_co_u32 v20, vcc, v10, v11, vcc", lambda x: [x[0] - x[1] - (x[7] < 1 << 31)], CDNA
    ),
    Semantics(
        "V_OR_B32 sdwa",
        "v_or_b32_sdwa v20, v10, v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_2",
        lambda x: [(x[0] >> U(16)) | (x[1] >> U(16) & U(255))],
        CDNA,
    ),
    Semantics(
        "V_ADD_U32 sdwa",
        "v_add_u32_sdwa v20, sext(v10), v11 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:WORD_0",
        lambda x: [U(0x5A5A) | (_sext(x[0] >> U(8), 8).view(U) + (x[1] & U(0xFFFF))) << U(16)],
        CDNA,
    ),
    Semantics(
        "V_LSHRREV_B16",
        "v_lshrrev_b16 v20, 3, v10",
        lambda x: [(x[0] & U(0xFFFF)) >> U(3)],
        CDNA,
    ),
    Semantics("V_ADD_U16", "v_add_u16 v20, v10, v11", lambda x: [(x[0] + x[1]) & U(0xFFFF)], CDNA),
    Semantics(
        "V_ASHRREV_I16", "v_ashrrev_i16 v20, 2, v10", lambda x: [(_sext(x[0], 16) >> 2).view(U) & U(0xFFFF)], CDNA
    ),
    Semantics("DS_BPERMUTE_B32", "ds_bpermute_b32 v20, v10, v11", lambda x: [x[1][x[0] // U(4) % U(x.shape[1])]]),
    Semantics(
        "V_READFIRSTLANE_B32", "v_readfirstlane_b32 s9, v10\n\tv_mov_b32 v20, s9", lambda x: [x[0] * 0 + x[0][0]]
    ),
    Semantics("V_READLANE_B32", "v_readlane_b32 s9, v10, 7\n\tv_mov_b32 v20, s9", lambda x: [x[0] * 0 + x[0][7]]),
    Semantics(
        "V_WRITELANE_B32",
        "v_mov_b32 v20, v10\n\ts_movk_i32 s9, 0x123\n\tv_writelane_b32 v20, s9, 5",
        lambda x: [np.where(np.arange(x.shape[1]) == 5, U(0x123), x[0])],
    ),
    Semantics(
        "V_PK_MOV_B32", "v_pk_mov_b32 v[20:21], v[10:11], v[14:15] op_sel:[1,0]", lambda x: [x[1], x[4]], CDNA, 2
    ),
    Semantics("V_ACCVGPR_READ", "v_accvgpr_read_b32 v20, a3", lambda x: [x[3]], CDNA),
]


def _reversed(words: Words) -> Words:
    out = np.zeros_like(words)
    for at in range(32):
        out |= (words >> U(at) & U(1)) << U(31 - at)
    return out


def _mix(x: Words) -> list[Values]:  # op_sel_hi:[1,1,0]: halves and an f32; the second one's high half, negated
    return bits(fma(half(x[0], 0).astype(np.float32), -half(x[1], 1).astype(np.float32), f32(x[2])))


def _pair(x: Words, function: Callable[[Values, Values, Values], Values]) -> list[Values]:
    return [function(f32(x[k]), f32(x[2 + k]), f32(x[4 + k])).astype(np.float32).view(U) for k in (0, 1)]


FLOAT = [
    Semantics("V_ADD_F32", "v_add_f32 v20, v10, v11", lambda x: bits(f32(x[0]) + f32(x[1])), float_bits=32),
    Semantics("V_MUL_F32", "v_mul_f32 v20, v10, v11", lambda x: bits(f32(x[0]) * f32(x[1])), float_bits=32),
    Semantics(
        "V_MUL_F32 modified",
        "v_mul_f32 v20, -|v10|, v11 clamp",
        lambda x: bits(np.clip(np.nan_to_num(-np.abs(f32(x[0])) * f32(x[1]), nan=0), 0, 1).astype(np.float32) + 0),
        float_bits=32,
    ),
    Semantics("V_FMA_F32", "v_fma_f32 v20, v10, v11, v12", lambda x: bits(fma(*map(f32, x[:3]))), float_bits=32),
    Semantics("V_TRUNC_F32", "v_trunc_f32 v20, v10", lambda x: bits(np.trunc(f32(x[0]))), float_bits=32),
    Semantics("V_RCP_F32", "v_rcp_f32 v20, v10", lambda x: bits(np.float32(1) / f32(x[0])), float_bits=32, ulp=1),
    Semantics(
        "V_RCP_IFLAG_F32", "v_rcp_iflag_f32 v20, v10", lambda x: bits(np.float32(1) / f32(x[0])), float_bits=32, ulp=1
    ),
    Semantics("V_CVT_F32_U32", "v_cvt_f32_u32 v20, v10", lambda x: bits(x[0].astype(np.float32)), float_bits=32),
    Semantics("V_CVT_U32_F32", "v_cvt_u32_f32 v20, v10", lambda x: [saturated(f64(x[0]), 0, 2**32 - 1).astype(U)]),
    Semantics(
        "V_CVT_I32_F32", "v_cvt_i32_f32 v20, v10", lambda x: [saturated(f64(x[0]), -(2**31), 2**31 - 1).astype(U)]
    ),
    Semantics(
        "V_CVT_F32_F16", "v_cvt_f32_f16 v20, v10", lambda x: bits(half(x[0], 0).astype(np.float32)), float_bits=32
    ),
    Semantics(
        "V_CVT_F16_F32",
        "v_cvt_f16_f32 v20, v10",
        lambda x: [f32(x[0]).astype(np.float16).view(np.uint16).astype(U)],
        CDNA,
        float_bits=16,
    ),
    Semantics(
        "V_CVT_F32_F16 sdwa",
        "v_cvt_f32_f16_sdwa v20, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        lambda x: bits(half(x[0], 1).astype(np.float32)),
        CDNA,
        float_bits=32,
    ),
    Semantics(
        "V_CVT_PK_F16_F32",
        "v_cvt_pk_f16_f32 v20, v10, v11",
        lambda x: [packed(f32(x[0]), f32(x[1]))],
        ("gfx950",),
        float_bits=16,
    ),
    Semantics(
        "V_PACK_B32_F16", "v_pack_b32_f16 v20, v10, v11", lambda x: [(x[0] & U(0xFFFF)) | x[1] << U(16)], float_bits=16
    ),
    Semantics(
        "V_PK_ADD_F16",
        "v_pk_add_f16 v20, v10, v11",
        lambda x: [packed(half(x[0], 0) + half(x[1], 0), half(x[0], 1) + half(x[1], 1))],
        float_bits=16,
    ),
    Semantics(
        "V_PK_MUL_F16 swapped",
        "v_pk_mul_f16 v20, v10, v11 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]",
        lambda x: [packed(half(x[0], 1) * -half(x[1], 0), half(x[0], 0) * half(x[1], 1))],
        float_bits=16,
    ),
    Semantics(
        "V_PK_FMA_F32",
        "v_pk_fma_f32 v[20:21], v[10:11], v[12:13], v[14:15]",
        lambda x: _pair(x, fma),
        CDNA,
        2,
        32,
    ),
    Semantics(
        "V_PK_ADD_F32",
        "v_pk_add_f32 v[20:21], v[10:11], v[12:13]",
        lambda x: _pair(x, lambda a, b, c: a + b),
        CDNA,
        2,
        32,
    ),
    Semantics(
        "V_PK_MUL_F32",
        "v_pk_mul_f32 v[20:21], v[10:11], v[12:13]",
        lambda x: _pair(x, lambda a, b, c: a * b),
        CDNA,
        2,
        32,
    ),
    Semantics(
        "V_FMA_MIX_F32",
        "v_fma_mix_f32 v20, v10, -v11, v12 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
        _mix,
        float_bits=32,
    ),
    Semantics(
        "V_FMA_MIXLO_F16",
        "v_fma_mixlo_f16 v20, v10, v11, v12",
        lambda x: [U(0x5A5A0000) | _rounded_fma(x)],
        float_bits=16,
    ),
    Semantics(
        "V_FMA_MIXHI_F16",
        "v_fma_mixhi_f16 v20, v10, v11, v12",
        lambda x: [U(0x5A5A) | _rounded_fma(x) << U(16)],
        float_bits=16,
    ),
]


def _rounded_fma(x: Words) -> Words:
    return fma(*map(f32, x[:3])).astype(np.float16).view(np.uint16).astype(U)


CASES = [*INTEGER, *FLOAT]
