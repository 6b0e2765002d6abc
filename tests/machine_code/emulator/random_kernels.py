"""Random small kernels in C: each is compiled for an AMD architecture and for this machine, and must give the same."""

from __future__ import annotations

import random
from dataclasses import dataclass

# Types of values; every kernel has some of each. Arithmetic of f16 is exact to the bit on both sides.
_INTEGERS = ("u32", "i32", "u64", "i64", "u16", "i16", "u8", "i8")
_FLOATS = ("f32", "f16", "f64")
HEADER = """
typedef unsigned char u8; typedef signed char i8; typedef unsigned short u16; typedef short i16;
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef long long i64;
typedef float f32; typedef _Float16 f16; typedef double f64;
#pragma clang fp contract(off)
template <class T, class F> INLINE T bits(F from) { return __builtin_bit_cast(T, from); }
template <class T> INLINE T small(u32 value) { return (T)((i32)(value % 4001u) - 2000) / (T)16; }
INLINE u32 whole(f64 value) { return value >= 0 && value < 4e9 ? (u32)value : 7u; }
"""
DEVICE = """#define INLINE static inline __attribute__((device, always_inline))
%s
struct Args { const u32* in; u32* out; u32 count; };
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64))) void kernel(Args args) {
    const u32 thread = __builtin_amdgcn_workgroup_id_x() * 64u + __builtin_amdgcn_workitem_id_x();
    if(thread >= args.count) return;
    const u32 uniform = __builtin_amdgcn_workgroup_id_x();
    const u32* in = args.in + thread * %d; u32* out = args.out + thread * %d;
%s
}
"""
HOST = """#define INLINE static inline __attribute__((always_inline))
%s
extern "C" void kernel(const u32* inputs, u32* outputs, u32 count) {
    for(u32 thread = 0; thread < count; ++thread) {
    const u32 uniform = thread / 64u;
    const u32* in = inputs + thread * %d; u32* out = outputs + thread * %d;
%s
    }
}
"""
INPUTS, OUTPUTS = 8, 6


@dataclass(frozen=True)
class RandomKernel:
    """The two sources of one kernel."""

    seed: int
    device: str
    host: str


def make(seed: int) -> RandomKernel:
    """The kernel of a seed."""
    body = _Body(random.Random(seed)).text()
    parts = (HEADER, INPUTS, OUTPUTS, body)
    return RandomKernel(seed, DEVICE % parts, HOST % parts)


class _Body:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._values: dict[str, list[str]] = {kind: [] for kind in (*_INTEGERS, *_FLOATS)}
        self._lines: list[str] = []

    def text(self) -> str:
        """The statements."""
        for at in range(INPUTS):
            self._add("u32", f"in[{at}]")
        self._add("u32", "uniform * 2654435761u + 12345u")
        self._add("u64", "(u64)in[1] << 32 | in[2]")
        self._add("i64", "(i64)((u64)in[3] << 32 | in[4])")
        for kind in ("f32", "f16", "f64"):
            self._add(kind, f"small<{kind}>({self._pick('u32')})")
            self._add(kind, f"small<{kind}>({self._pick('u32')})")
        for kind in ("i32", "u16", "i16", "u8", "i8"):
            self._add(kind, f"({kind}){self._pick('u32')}")
        for _ in range(self._chance.randint(6, 14)):
            self._step()
        self._branch()
        for at in range(OUTPUTS):
            kind = self._chance.choice((*_INTEGERS, *_FLOATS))
            self._lines.append(f"out[{at}] = {self._as_word(kind, self._values[kind][-1])};")
        return "\n".join(f"    {line}" for line in self._lines)

    def _add(self, kind: str, expression: str) -> str:
        name = f"{kind}_{len(self._values[kind])}"
        self._lines.append(f"{kind} {name} = ({kind})({expression});")
        self._values[kind].append(name)
        return name

    def _pick(self, kind: str) -> str:
        if kind in ("u32", "i32", "u64", "i64") and self._chance.random() < 0.15:
            return str(self._chance.choice((1, 2, 7, 64, 255, 4096, 65535, 123457, 1 << 30)))
        return self._chance.choice(self._values[kind][-6:])

    def _step(self) -> None:
        if self._chance.random() < 0.35:
            self._float_step()
            return
        kind = self._chance.choice(_INTEGERS)
        a, b, c = (self._pick(kind) for _ in range(3))
        unsigned = kind.replace("i", "u")
        width = int(kind[1:]) if kind != "u8" and kind != "i8" else 8
        wide = "u64" if kind.startswith("u") else "i64"
        forms = [
            f"({unsigned}){a} + ({unsigned}){b}",
            f"({unsigned}){a} - ({unsigned}){b}",
            f"({'u64' if width == 64 else 'u32'}){a} * ({'u64' if width == 64 else 'u32'}){b}",
            f"{a} & {b}",
            f"{a} | {b}",
            f"{a} ^ {b}",
            f"~{a}",
            f"({a} & {b}) | (~{a} & {c})",
            f"({unsigned}){a} << ((u32){b} % {width}u)",
            f"{a} >> ((u32){b} % {width}u)",
            f"{a} < {b} ? {a} : {b}",
            f"{a} > {b} ? {a} : {b}",
            f"{a} == {b} ? {c} : {a}",
            f"({wide}){a} * ({wide})(i32){b} >> 16" if width <= 16 else f"({a} ^ {b}) + {c}" if kind[0] == "u" else a,
            f"({unsigned})(({unsigned}){a} + ({unsigned}){b}) + ({unsigned}){c}",
            f"({unsigned})(({unsigned}){a} << {self._chance.randint(0, width - 1)}) + ({unsigned}){b}",
            f"__builtin_popcountll(({unsigned}){a})",
            f"__builtin_bitreverse32((u32){a})",
            f"(u64){a} % ((u64){b} | 1)" if kind[0] == "u" else f"{a} % ({b} / 2 == 0 ? 3 : 5)",
            f"({unsigned}){a} / (({unsigned}){b} | 1)" if kind[0] == "u" else f"{a} / 7",
            f"((u64)(u32){a} * (u32){b}) >> 32",
            f"((i64)(i32){a} * (i32){b}) >> 32",
            f"((u32){a} >> 24) | ((u32){b} << 8)",
            f"(u32){a} >> {self._chance.randint(0, 15)} & {(1 << self._chance.randint(1, 16)) - 1}",
            f"__builtin_clz((u32){a} | 1)",
            f"__builtin_ctz((u32){a} | 0x80000000u)",
            f"whole({self._pick('f64')})",
            f"(i32){self._pick('f16')}" if self._chance.random() < 0.5 else f"whole({self._pick('f32')})",
        ]
        self._add(kind, self._chance.choice(forms))

    def _float_step(self) -> None:
        kind = self._chance.choice(_FLOATS)
        a, b, c = (self._pick(kind) for _ in range(3))
        function = "fmaf" if kind == "f32" else "fma"
        wide = "f64" if kind == "f64" else "f32"
        forms = [
            f"{a} + {b}",
            f"{a} - {b}",
            f"{a} * {b}",
            f"-{a}",
            f"{a} < {b} ? {a} : {c}",
            f"{a} >= {b} ? {b} : {c}",
            f"__builtin_fabsf((f32){a})",
            f"__builtin_{function}(({wide}){a}, ({wide}){b}, ({wide}){c})" if kind != "f16" else f"{a} * {b}",
            f"(f32){self._pick('i32')}" if kind != "f16" else f"(f32)({self._pick('i16')} / 8)",
            f"(f32){self._pick('u32')}" if kind != "f16" else f"(f32)({self._pick('u16')} / 8)",
            f"(f32){self._pick('f16')}",
            f"__builtin_truncf((f32){a})",
            f"__builtin_floorf((f32){a})",
            f"(f64){self._pick('i32')}" if kind == "f64" else a,
        ]
        self._add(kind, self._chance.choice(forms))

    def _branch(self) -> None:
        """A value that two sides of a branch compute, and one that a loop does."""
        a, b = self._pick("u32"), self._pick("u32")
        name = self._add("u32", f"{a} ^ 5u")
        self._lines.append(f"if(({a} ^ {b}) & 1u) {{ {name} = {a} * 3u + {b}; }} else {{ {name} ^= {b} >> 3; }}")
        self._lines.append(f"for(u32 n = 0; n < ({b} & 7u); ++n) {{ {name} = {name} * 1664525u + {a} + n; }}")

    def _as_word(self, kind: str, name: str) -> str:
        if kind in ("u64", "i64"):
            return f"(u32)((u64){name} ^ (u64){name} >> 32)"
        if kind == "f64":
            return f"(u32)(bits<u64>({name}) ^ bits<u64>({name}) >> 32)"
        if kind in ("f32", "f16"):  # a NaN's payload is not defined
            return f"{name} == {name} ? (u32)bits<{'u32' if kind == 'f32' else 'u16'}>({name}) : 0x7fc00000u"
        return f"(u32){name}"
