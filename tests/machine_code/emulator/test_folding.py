"""LLVM's results at compile time against the emulator's: an expression of constants, which LLVM folds, and the same
expression of loaded values, whose instruction the emulator runs.

Only what LLVM's output shows as a number counts as folded.
"""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ckgen.build.cmake import DEVICE_FLAGS
from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.launch import Memory, Schedule
from tests.machine_code.emulator.names import names_of
from tests.machine_code.emulator.single import LANES
from tests.machine_code.emulator.test_instructions import EMULATOR

Words = NDArray[np.uint32]
COUNT = 128  # sets of constants for each expression
CDNA, RDNA, GFX12 = ("gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1201"), ("gfx1201",)
_HEADER = """
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef long long i64; typedef _Float16 f16;
typedef unsigned short u16; typedef short i16; typedef float f32; typedef double f64; typedef __bf16 bf16;
typedef f16 f16x2 __attribute__((ext_vector_type(2))); typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef __fp16 fp16x2 __attribute__((ext_vector_type(2)));
#define INLINE static inline __attribute__((device, always_inline))
#pragma clang fp contract(off)
template <class T, class F> INLINE T bits(F from) { return __builtin_bit_cast(T, from); }
INLINE f32 F(u32 raw) { return bits<f32>(raw); }
INLINE f16 H(u32 raw) { return bits<f16>((u16)raw); }
INLINE f64 D(u32 low, u32 high) { return bits<f64>((u64)high << 32 | low); }
INLINE f16x2 P(u32 raw) { return bits<f16x2>(raw); }
INLINE u32 W(f32 value) { return value != value ? 0x7fc00000u : bits<u32>(value); }
INLINE u32 W(f16 value) { return value != value ? 0x7e00u : (u32)bits<u16>(value); }
INLINE u32 W(f64 value) { return value != value ? 1u : (u32)(bits<u64>(value) ^ bits<u64>(value) >> 32); }
"""


@dataclass(frozen=True)
class Folded:
    """An expression of u32 a, b, c and the instructions that one of must be in its code, "" for any."""

    text: str
    names: tuple[str, ...]
    archs: tuple[str, ...] = tuple(FAMILIES)
    must_fold: bool = True


CASES = [
    # clang 19 folds a NaN as the third source to the larger of the others; clang 22 and AMD's documents to the smaller.
    Folded("W(__builtin_amdgcn_fmed3f(F(a), F(b), F(c) == F(c) ? F(c) : 1.0f))", ("V_MED3_F32", "V_MED3_NUM_F32")),
    Folded("bits<u32>(__builtin_amdgcn_cvt_pkrtz(F(a), F(b)))", ("V_CVT_PKRTZ_F16_F32", "V_CVT_PK_RTZ_F16_F32")),
    Folded("__builtin_amdgcn_ubfe(a, b, c)", ("V_BFE_U32",)),
    Folded("__builtin_amdgcn_sbfe(a, b, c)", ("V_BFE_I32",)),
    Folded("W(__builtin_amdgcn_frexp_mantf(F(a)))", ("V_FREXP_MANT_F32",)),
    Folded("__builtin_amdgcn_frexp_expf(F(a))", ("V_FREXP_EXP_I32_F32",)),
    Folded("W(__builtin_ldexpf(F(a), (i32)(b % 400u) - 200))", ("V_LDEXP_F32",)),
    Folded("__builtin_amdgcn_perm(a, b, c)", ("V_PERM_B32",)),
    Folded("__builtin_amdgcn_alignbit(a, b, c)", ("V_ALIGNBIT_B32",)),
    Folded("(u32)__builtin_amdgcn_classf(F(a), 0x263)", ("V_CMP_CLASS_F32",)),
    Folded("(u32)__builtin_amdgcn_classf(F(a), 0x19c)", ("V_CMP_CLASS_F32",)),
    Folded("W(__builtin_amdgcn_rcpf(bits<f32>(a << 23 & 0x3f800000u | 0x20000000u)))", ("V_RCP_F32",)),
    Folded("W(__builtin_fmaf(F(a), F(b), F(c)))", ("V_FMA_F32", "V_FMAC_F32")),
    Folded("W(__builtin_fma(D(a, b), D(c, a), D(b, c)))", ("V_FMA_F64", "V_FMAC_F64")),
    Folded("W(__builtin_fmaf16(H(a), H(b), H(c)))", ("V_FMA_F16", "V_FMAC_F16")),
    Folded("W(F(a) + F(b))", ("V_ADD_F32",)),
    Folded("W(F(a) * F(b))", ("V_MUL_F32",)),
    Folded("W(D(a, b) + D(c, a))", ("V_ADD_F64",)),
    Folded("W(D(a, b) * D(c, a))", ("V_MUL_F64",)),
    Folded("W(H(a) + H(b))", ("V_ADD_F16",)),
    Folded("W(H(a) * H(b))", ("V_MUL_F16",)),
    Folded("W((f16)F(a))", ("V_CVT_F16_F32",)),
    Folded("W((f32)H(a))", ("V_CVT_F32_F16",)),
    Folded("W((f64)F(a))", ("V_CVT_F64_F32",)),
    Folded("W((f32)D(a, b))", ("V_CVT_F32_F64",)),
    Folded("W((f32)(i32)a)", ("V_CVT_F32_I32",)),
    Folded("W((f32)a)", ("V_CVT_F32_U32",)),
    Folded("W((f64)(i32)a)", ("V_CVT_F64_I32",)),
    Folded("W((f64)a)", ("V_CVT_F64_U32",)),
    Folded("W((f32)(i64)((u64)a << 32 | b))", ("V_LDEXP_F32", "V_CVT_F32_U32", "V_CVT_F32_I32")),
    Folded("W((f32)((u64)a << 32 | b))", ("V_LDEXP_F32", "V_CVT_F32_U32")),
    Folded("bits<u16>((bf16)F(a)) == bits<u16>((bf16)F(a)) ? F(a) != F(a) ? 1u : (u32)bits<u16>((bf16)F(a)) : 2u", ()),
    Folded("W(__builtin_floorf(F(a)))", ("V_FLOOR_F32",)),
    Folded("W(__builtin_ceilf(F(a)))", ("V_CEIL_F32",)),
    Folded("W(__builtin_truncf(F(a)))", ("V_TRUNC_F32",)),
    Folded("W(__builtin_rintf(F(a)))", ("V_RNDNE_F32",)),
    Folded("W(__builtin_floor(D(a, b)))", ("V_FLOOR_F64",)),
    Folded("W(__builtin_rint(D(a, b)))", ("V_RNDNE_F64",)),
    Folded("W((f16)__builtin_rintf16(H(a)))", ("V_RNDNE_F16",)),
    Folded("__builtin_elementwise_max((i32)a, (i32)b)", ("V_MAX_I32",)),
    Folded("__builtin_elementwise_min(a, b)", ("V_MIN_U32",)),
    Folded("__builtin_popcount(a) + b", ("V_BCNT_U32_B32",)),
    Folded("__builtin_bitreverse32(a)", ("V_BFREV_B32",)),
    Folded("(u32)(((u64)a * b) >> 32)", ("V_MUL_HI_U32",)),
    Folded("(u32)(((i64)(i32)a * (i32)b) >> 32)", ("V_MUL_HI_I32",)),
    Folded("a / (b | 1u)", ("V_RCP_IFLAG_F32",)),
    Folded("(u32)((i32)a / (i32)(b >> 1 | 1u))", ("V_RCP_IFLAG_F32",)),
    Folded("a % (b >> 16 | 1u)", ("V_RCP_IFLAG_F32",)),
]


def constants(seed: int) -> Words:
    """[set][a, b, c]: words, floats, halves, and special ones."""
    chance = np.random.default_rng(seed)
    words = chance.integers(0, 1 << 32, (COUNT, 3), dtype=np.uint32)
    floats = np.ascontiguousarray(chance.normal(0, 100, (COUNT, 3)).astype(np.float32)).view(np.uint32)
    small = chance.integers(0, 40, (COUNT, 3), dtype=np.uint32)
    tiny = chance.integers(0, 1 << 26, (COUNT, 3), dtype=np.uint32)  # denormals of f32 among them
    halfway = floats & np.uint32(0xFFFFE000) | np.uint32(0x1000)  # between two halves
    special = np.array(
        [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x7F7FFFFF, 0xFFFFFFFF, 0x7C00], np.uint32
    )
    kind = chance.choice(6, (COUNT, 3), p=(0.25, 0.3, 0.15, 0.1, 0.1, 0.1))
    return np.choose(kind, [words, floats, small, tiny, halfway, chance.choice(special, (COUNT, 3))]).astype(np.uint32)


def _compiled(arch: str, source: str, folder: Path, name: str, *more: str) -> Path:
    path, target = folder / f"{name}.hip", folder / f"{name}.out"
    path.write_text(_HEADER + source)
    flags = [flag for flag in DEVICE_FLAGS if not flag.startswith("-DCKGEN")]
    command = (*find_toolchain().device_compiler(arch), f"--offload-arch={arch}", *flags, "-w", "-ffp-contract=off")
    done = subprocess.run((*command, *more, str(path), "-o", str(target)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return target


def folded(arch: str, cases: list[Folded], folder: Path) -> list[dict[int, int]]:
    """For each case, what LLVM returns for each set of constants that it folds."""
    text = []
    for at, case in enumerate(cases):
        for number, (a, b, c) in enumerate(constants(at).tolist()):
            body = f"const u32 a = {a}u, b = {b}u, c = {c}u; return {case.text};"
            text.append(f'extern "C" __attribute__((device, used)) u32 f{at}_{number}() {{ {body} }}')
    made = _compiled(arch, "\n".join(text), folder, "folded", "-S", "-emit-llvm").read_text()
    found: list[dict[int, int]] = [{} for _ in cases]
    for at, number, body in re.findall(
        r"^define [^\n]*@f(\d+)_(\d+)\([^\n]*\{\n(.*?)^\}", made, re.DOTALL | re.MULTILINE
    ):
        if match := re.fullmatch(r"(?:entry:\s*)?\s*ret i32 (-?\d+)\s*", body):
            found[int(at)][int(number)] = int(match[1]) & 0xFFFFFFFF
    return found


def run(arch: str, cases: list[Folded], folder: Path) -> tuple[list[Words], list[set[str]]]:
    """The results of the emulator for each case, and the names of its kernel's instructions."""
    kernels = [
        f'extern "C" __attribute__((global)) void k{at}(const u32* in, u32* out) {{\n'
        "const u32 t = __builtin_amdgcn_workgroup_id_x() * 64u + __builtin_amdgcn_workitem_id_x();\n"
        f"const u32 a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2];\nout[t] = {case.text};\n}}"
        for at, case in enumerate(cases)
    ]
    code = CodeObject.read(_compiled(arch, "\n".join(kernels), folder, "unfolded", "-c"))
    EMULATOR.compile(code)
    results, names = list[Words](), list[set[str]]()
    for at in range(len(cases)):
        memory, out, given = Memory(), np.zeros(COUNT, np.uint32), constants(at)
        arguments = struct.pack("<QQ", memory.add("in", given, writable=False), memory.add("out", out, writable=True))
        prepared = EMULATOR.prepare(code, f"k{at}")
        EMULATOR.launch(prepared, arch, COUNT // 64, 64, arguments, memory, Schedule(False, 1))
        results.append(out)
        names.append({name for item in prepared.code for name in names_of(item)})
    return results, names


@pytest.mark.compiles
@pytest.mark.quick
@pytest.mark.parametrize("arch", LANES)
def test_instructions_compute_what_llvm_folds(arch: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if arch in case.archs]
    wanted, (found, names) = folded(arch, cases, tmp_path), run(arch, cases, tmp_path)
    wrong, missing, unfolded = list[str](), list[str](), list[str]()
    for at, case in enumerate(cases):
        unfolded += [case.text] if case.must_fold and len(wanted[at]) < COUNT // 2 else []
        dual = {name.replace("V_", "V_DUAL_", 1) for name in case.names}
        missing += [case.text] if case.names and not {*case.names, *dual} & names[at] else []
        differs = [number for number, value in wanted[at].items() if value != found[at][number]]
        for number in differs[:1]:
            given = " ".join(f"{word:08x}" for word in constants(at)[number])
            wrong.append(
                f"{case.text}: {given}: {found[at][number]:08x}, folded {wanted[at][number]:08x} ({len(differs)})"
            )
    assert not wrong, "\n".join(wrong)
    assert missing == [] and unfolded == []
