"""Instructions whose pseudocode the translator does not take, or that AMD describes in words: written again here.

Each has the meaning that its AMD instruction set document gives; names are those of the pseudocode.
"""

from __future__ import annotations

import re

_PERMUTED = "permuted_byte({ S0.u32, S1.u32 }, S2.u32[%d : %d])"
_MIX = "fma(S0.f32, S1.f32, S2.f32)"  # mixed sources arrive as f32: see sources.py
_MIX_LOW = f"D0[15 : 0].f16 = f32_to_f16({_MIX})"
_MIX_HIGH = f"D0[31 : 16].f16 = f32_to_f16({_MIX})"

TEXTS = {
    "V_PERM_B32": ";\n".join(f"D0[{low + 7} : {low}] = {_PERMUTED % (low + 7, low)}" for low in (0, 8, 16, 24)),
    "V_CVT_PK_F16_F32": "D0[15 : 0].f16 = f32_to_f16(S0.f32);\nD0[31 : 16].f16 = f32_to_f16(S1.f32)",
    "V_FMA_MIX_F32": f"D0.f32 = {_MIX}",
    "V_FMA_MIXLO_F16": _MIX_LOW,
    "V_FMA_MIXHI_F16": _MIX_HIGH,
    "V_MAD_MIX_F32": f"D0.f32 = {_MIX}",
    "V_MAD_MIXLO_F16": _MIX_LOW,
    "V_MAD_MIXHI_F16": _MIX_HIGH,
    "V_ACCVGPR_READ": "D0.b32 = S0.b32",
    "V_ACCVGPR_WRITE": "D0.b32 = S0.b32",
    "V_ACCVGPR_MOV_B32": "D0.b32 = S0.b32",
    "V_PK_MOV_B32": "D0[31 : 0] = S0[OPSEL[0].i32 * 32 + 31 : OPSEL[0].i32 * 32];\n"
    "D0[63 : 32] = S1[OPSEL[1].i32 * 32 + 31 : OPSEL[1].i32 * 32]",
    "V_NOP": "",
    "V_MAD_LEGACY_U16": "D0.u32 = 32'U(S0.u16 * S1.u16 + S2.u16) & 0xffffU",  # the high half becomes 0
    "V_MAD_LEGACY_I16": "D0.u32 = 32'U(S0.i16 * S1.i16 + S2.i16) & 0xffffU",
    "V_SAD_U32": "D0.u32 = (S0.u32 > S1.u32 ? S0.u32 - S1.u32 : S1.u32 - S0.u32) + S2.u32",
    # "RDNA3 ISA" and "RDNA4 ISA", V_DOT4_I32_IU8: NEG says which of A and B are signed.
    "V_DOT4_I32_IU8": ";\n".join(
        [
            "tmp = S2.i32",
            *(
                f"tmp += (NEG[0].i32 != 0 ? i8_to_i32(S0[{k + 7} : {k}].i8) : 32'I(u8_to_u32(S0[{k + 7} : {k}].u8)))"
                f" * (NEG[1].i32 != 0 ? i8_to_i32(S1[{k + 7} : {k}].i8) : 32'I(u8_to_u32(S1[{k + 7} : {k}].u8)))"
                for k in (0, 8, 16, 24)
            ),
            "D0.i32 = tmp",
        ]
    ),
    # "CDNA3 ISA", V_DIV_FIXUP_F32: the quotient S0 with the special cases of the numerator S2 and denominator S1.
    "V_DIV_FIXUP_F32": """
        sign_out = (sign(S1.f32) ^ sign(S2.f32));
        if isNAN(64'F(S2.f32)) then D0.f32 = S2.f32
        elsif isNAN(64'F(S1.f32)) then D0.f32 = S1.f32
        elsif ((64'F(S1.f32) == 0.0) && (64'F(S2.f32) == 0.0)) then D0.u32 = 0xffc00000
        elsif (isINF(S1.f32) && isINF(S2.f32)) then D0.u32 = 0xffc00000
        elsif ((64'F(S1.f32) == 0.0) || isINF(S2.f32)) then D0.f32 = sign_out != 0 ? -INF : INF
        elsif (isINF(S1.f32) || (64'F(S2.f32) == 0.0)) then D0.f32 = sign_out != 0 ? -0.0F : 0.0F
        else D0.f32 = sign_out != 0 ? -abs(S0.f32) : abs(S0.f32)
        endif""",
}
# Sums and differences of unsigned numbers with the modifier clamp.
SATURATED: dict[str, str] = {}
for _bits in (16, 32):
    _sum = f"64'U(S0.u{_bits}) + 64'U(S1.u{_bits})"
    _most = f"{(1 << _bits) - 1}ULL"
    SATURATED |= dict.fromkeys(
        (f"V_ADD_U{_bits}", f"V_ADD_NC_U{_bits}"), f"D0.u{_bits} = {_bits}'U({_sum} > {_most} ? {_most} : {_sum})"
    )
    _less = f"S0.u{_bits} > S1.u{_bits} ? S0.u{_bits} - S1.u{_bits} : {_bits}'U(0)"
    SATURATED |= dict.fromkeys((f"V_SUB_U{_bits}", f"V_SUB_NC_U{_bits}"), f"D0.u{_bits} = {_less}")
# C++ bodies of instructions that read or write other lanes. They take all lanes, active or not.
_FIRST = "const u64 exec = w.exec();\nconst int lane = exec == 0 ? 0 : __builtin_ctzll(exec);\n"
_LANE = "const int lane = int(scalar32(w, i, 1)) & (w.size - 1);\n"
_READ = "write32(w, i.d0, source(w, i, 0, space)[lane]);"
_SPACE = "u32 space[kLanes];\n"
BODIES = {
    "V_READFIRSTLANE_B32": _FIRST + _SPACE + _READ,
    "V_READLANE_B32": _LANE + _SPACE + _READ,
    "V_WRITELANE_B32": _LANE + "w.v[i.d0][lane] = scalar32(w, i, 0);",
}
SWAP = """u32* d = w.v[i.d0]; u32* e = w.v[i.d1];
for(int lane = 0; lane < kWave; ++lane)
    if(w.lane_mask[lane])
        std::swap(d[lane], e[lane]);"""
# gfx90a's names at numbers at which later CDNA has other instructions; the decoder knows the later ones.
GFX90A_NAMES = {"V_FMAMK_F32": "V_MADMK_F32", "V_FMAAK_F32": "V_MADAK_F32"}
GFX90A_TEXTS = {
    "V_MAD_F32": "D0.f32 = S0.f32 * S1.f32 + S2.f32",
    "V_MADMK_F32": "D0.f32 = S0.f32 * SIMM32.f32 + S1.f32",
    "V_MADAK_F32": "D0.f32 = S0.f32 * S1.f32 + SIMM32.f32",
}
# gfx90a's instructions at numbers that later CDNA lacks or uses for others: they are decoded as later ones that have
# the same fields.
GFX90A_NUMBERS = {
    0xD1C1: (0xD1CB, "V_MAD_F32"),
    0xD3D4: (0xD3D6, "V_MFMA_I32_32X32X8_I8"),
    0xD3D5: (0xD3D7, "V_MFMA_I32_16X16X16_I8"),
    0xD3E6: (0xD3CC, "V_MFMA_F32_32X32X8_BF16"),
    0xD3E7: (0xD3CD, "V_MFMA_F32_16X16X16_BF16"),
}
MIXED = re.compile(r"V_(FMA|MAD)_MIX")
