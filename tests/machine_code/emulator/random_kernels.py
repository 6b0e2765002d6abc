"""Random small kernels in C: each is compiled for an AMD architecture and for this machine, and must give the same.

A kernel computes values of many types, exchanges one between the threads of its workgroup (through LDS and a barrier,
or between the lanes of its wave), and goes on with what it got. The native code runs the first part of a kernel for all
threads of a workgroup, then all of it. Many kernels share one source, which makes thousands affordable.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

_INTEGERS = ("u32", "i32", "u64", "i64", "u16", "i16", "u8", "i8")
_FLOATS = ("f32", "f16", "f64", "bf16")
_PAIRS = ("u16x2", "i16x2", "f16x2", "f32x2")
GROUP, INPUTS, OUTPUTS = 64, 8, 8
HEADER = f"""
typedef unsigned char u8; typedef signed char i8; typedef unsigned short u16; typedef short i16;
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef long long i64;
typedef float f32; typedef _Float16 f16; typedef double f64; typedef __bf16 bf16;
typedef u16 u16x2 __attribute__((ext_vector_type(2))); typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2))); typedef f32 f32x2 __attribute__((ext_vector_type(2)));
#pragma clang fp contract(off)
template <class T, class F> INLINE T bits(F from) {{ return __builtin_bit_cast(T, from); }}
template <class T> INLINE T small(u32 value) {{ return (T)(f32)((f32)((i32)(value % 4001u) - 2000) / 16.0f); }}
INLINE u32 whole(f64 value) {{ return value >= 0 && value < 4e9 ? (u32)value : 7u; }}
INLINE i32 near(f64 value) {{ return value > -2e9 && value < 2e9 ? (i32)value : 9; }}
template <class T> INLINE T least(T a, T b) {{ return a < b ? a : b; }}
template <class T> INLINE T most(T a, T b) {{ return a > b ? a : b; }}
template <class T> INLINE T middle(T a, T b, T c) {{ return most(least(a, b), least(most(a, b), c)); }}
#define GROUP {GROUP}
"""
DEVICE = """#define INLINE static inline __attribute__((device, always_inline))
%s
INLINE u32 lane_of(u32 value, u32 lane) { return __builtin_amdgcn_ds_bpermute((i32)(lane * 4u), (i32)value); }
INLINE u32 votes(bool value) {
#if __AMDGCN_WAVEFRONT_SIZE__ == 64 || defined(__GFX9__)
    const u64 mask = __builtin_amdgcn_ballot_w64(value);
#else
    const u64 mask = __builtin_amdgcn_ballot_w32(value);
#endif
    return (u32)(mask * 0x9e3779b97f4a7c15ull >> 32);
}
struct Args { const u32* in; u32* out; u32 count; };
"""
DEVICE_KERNEL = """extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))
void k%d(Args args) {
    const u32 place = __builtin_amdgcn_workitem_id_x(), uniform = __builtin_amdgcn_workgroup_id_x();
    const u32 thread = uniform * GROUP + place;
    if(thread >= args.count) return;
    const u32* in = args.in + thread * %d; u32* out = args.out + thread * %d;
%s
}
"""
HOST = """#define INLINE static inline __attribute__((always_inline))
%s
extern "C" u16 rounded(f32 value) {
    const u32 raw = __builtin_bit_cast(u32, value);
    return value != value ? (u16)(raw >> 16 | 64) : (u16)((raw + 0x7fff + (raw >> 16 & 1)) >> 16);
}
extern "C" bf16 __truncsfbf2(f32 value) { return __builtin_bit_cast(bf16, rounded(value)); }
extern "C" bf16 __truncdfbf2(f64 value) { return __truncsfbf2((f32)value); }
INLINE u32 mixed(u64 mask) { return (u32)(mask * 0x9e3779b97f4a7c15ull >> 32); }
"""
HOST_KERNEL = """extern "C" void k%d(const u32* inputs, u32* outputs, u32 count, u32 wave) {
    for(u32 first = 0; first < count; first += GROUP) {
    u32 shared[GROUP] = {}; u64 voted[2] = {};
    for(u32 part = 0; part < 2; ++part)
    for(u32 place = 0; place < GROUP && first + place < count; ++place) {
    const u32 uniform = first / GROUP, thread = first + place;
    const u32* in = inputs + thread * %d; u32* out = outputs + thread * %d;
%s
    }
    }
}
"""
# A value's way to other threads: the device's statements and the native ones, for a value, an index and a result.
_THROUGH_LDS = (
    "__attribute__((shared)) static u32 lds[GROUP + {pad}]; lds[place + {pad}] = {value};\n"
    '    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();'
    ' __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");\n'
    "    const u32 {name} = lds[{index} % GROUP + {pad}];",
    "if(part == 0) {{ shared[place] = {value}; continue; }}\n    const u32 {name} = shared[{index} % GROUP];",
)
_FROM_LANE = (
    "const u32 {name} = lane_of({value}, {index});",
    "if(part == 0) {{ shared[place] = {value}; continue; }}\n"
    "    const u32 {name} = shared[place / wave * wave + {index} % wave];",
)
_VOTES = (
    "const u32 {name} = votes(({value} ^ {index}) & 4u);",
    "if(part == 0) {{ voted[place / wave] |= (u64)((({value} ^ {index}) & 4u) != 0) << place % wave; continue; }}\n"
    "    const u32 {name} = mixed(voted[place / wave]);",
)
_FIRST = (
    "const u32 {name} = __builtin_amdgcn_readfirstlane({value}) ^ {index};",
    "if(part == 0) {{ shared[place] = {value}; continue; }}\n"
    "    const u32 {name} = shared[place / wave * wave] ^ {index};",
)


@dataclass(frozen=True)
class RandomKernel:
    """The function bodies of one kernel, for the device and native."""

    seed: int
    device: str
    host: str
    count: int  # threads


def make(seed: int) -> RandomKernel:
    """The kernel of a seed."""
    return _Body(random.Random(seed)).kernel(seed)


def device_source(kernels: Sequence[RandomKernel]) -> str:
    """One source with all kernels."""
    return DEVICE % HEADER + "".join(DEVICE_KERNEL % (item.seed, INPUTS, OUTPUTS, item.device) for item in kernels)


def host_source(kernels: Sequence[RandomKernel]) -> str:
    """The same for this machine."""
    return HOST % HEADER + "".join(HOST_KERNEL % (item.seed, INPUTS, OUTPUTS, item.host) for item in kernels)


class _Body:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._values: dict[str, list[str]] = {kind: [] for kind in (*_INTEGERS, *_FLOATS, *_PAIRS)}
        self._lines: list[str] = []
        self._extra = 0

    def kernel(self, seed: int) -> RandomKernel:
        """The statements of both sides."""
        self._start()
        self._steps(self._chance.randint(4, 12))
        before, self._lines = self._lines, []
        forms = (_THROUGH_LDS, _THROUGH_LDS, _FROM_LANE, _FROM_LANE, _VOTES, _FIRST, None, None)
        form = self._chance.choice(forms)
        texts = ["", "if(part == 0) continue;"]
        if form is not None:
            given = {"value": self._pick("u32"), "index": f"(u32)({self._pick('u32')})", "name": "u32_got"}
            given["pad"] = str(self._chance.choice((0, 1, 16, 100)))
            texts = [text.format(**given) for text in form]
            self._values["u32"].append("u32_got")
        self._steps(self._chance.randint(3, 9))
        self._branch()
        for at in range(OUTPUTS):
            kind = self._chance.choice((*_INTEGERS, *_FLOATS, *_PAIRS))
            self._lines.append(f"out[{at}] = {self._as_word(kind, self._values[kind][-1])};")
        device, host = ("\n".join(f"    {line}" for line in (*before, text, *self._lines)) for text in texts)
        return RandomKernel(seed, device, host, 160 if form is None else 3 * GROUP)

    def _start(self) -> None:
        for at in range(INPUTS):
            self._add("u32", f"in[{at}]")
        self._add("u32", "uniform * 2654435761u + 12345u")
        self._add("u32", "place")
        self._add("u64", "(u64)in[1] << 32 | in[2]")
        self._add("i64", "(i64)((u64)in[3] << 32 | in[4])")
        for kind in _FLOATS:
            self._add(kind, f"small<{kind}>({self._pick('u32')})")
            self._add(kind, f"small<{kind}>({self._pick('u32')})")
        for kind in ("i32", "u16", "i16", "u8", "i8"):
            self._add(kind, f"({kind}){self._pick('u32')}")
        for kind in ("u16x2", "i16x2"):
            self._add(kind, f"bits<{kind}>({self._pick('u32')})")
            self._add(kind, f"bits<{kind}>({self._pick('u32')})")
        for kind in ("f16", "f32"):
            self._add(f"{kind}x2", f"{kind}x2{{{self._pick(kind)}, {self._pick(kind)}}}")

    def _steps(self, count: int) -> None:
        for _ in range(count):
            self._chance.choices((self._integer_step, self._float_step, self._pair_step), (60, 30, 15))[0]()

    def _add(self, kind: str, expression: str) -> str:
        name = f"{kind}_{len(self._values[kind])}"
        shown = expression if kind in _PAIRS else f"({kind})({expression})"
        self._lines.append(f"{kind} {name} = {shown};")
        self._values[kind].append(name)
        return name

    def _pick(self, kind: str) -> str:
        if kind in ("u32", "i32", "u64", "i64") and self._chance.random() < 0.15:
            return str(self._chance.choice((1, 2, 7, 64, 255, 4096, 65535, 123457, 1 << 30)))
        return self._chance.choice(self._values[kind][-6:])

    def _integer_step(self) -> None:
        kind = self._chance.choice(_INTEGERS)
        a, b, c = (f"({kind}){self._pick(kind)}" for _ in range(3))
        unsigned = kind.replace("i", "u")
        width = int(kind[1:])
        wide = "u64" if kind.startswith("u") else "i64"
        low, size = self._chance.randint(0, 15), self._chance.randint(1, 16)
        forms = [
            f"({unsigned}){a} + ({unsigned}){b}",
            f"({unsigned}){a} - ({unsigned}){b}",
            f"({'u64' if width == 64 else 'u32'}){a} * ({'u64' if width == 64 else 'u32'}){b}",
            f"{a} & {b}",
            f"{a} | {b}",
            f"{a} ^ {b}",
            f"~{a}",
            f"({a} & {b}) | (~{a} & {c})",
            f"({a} & {b}) | {c}",
            f"({a} | {b}) | {c}",
            f"({unsigned}){a} << ((u32){b} % {width}u)",
            f"{a} >> ((u32){b} % {width}u)",
            f"least<{kind}>({a}, {b})",
            f"most<{kind}>({a}, {b})",
            f"middle<{kind}>({a}, {b}, {c})",
            f"most<{kind}>(most<{kind}>({a}, {b}), {c})",
            f"least<{kind}>(least<{kind}>({a}, {b}), {c})",
            f"{a} == {b} ? {c} : {a}",
            f"{a} <= {b} ? {c} : {b}",
            f"({a} != {b}) + ({b} >= {c}) * 2",
            f"({wide}){a} * ({wide})(i32){b} >> 16" if width <= 16 else f"({a} ^ {b}) + {c}" if kind[0] == "u" else a,
            f"({unsigned})(({unsigned}){a} + ({unsigned}){b}) + ({unsigned}){c}",
            f"({unsigned})(({unsigned}){a} << {self._chance.randint(0, width - 1)}) + ({unsigned}){b}",
            f"({unsigned})(({unsigned}){a} * (u64)({unsigned}){b}) + ({unsigned}){c}",
            f"__builtin_popcountll(({unsigned}){a})",
            f"__builtin_bitreverse32((u32){a})",
            f"__builtin_bswap32((u32){a})",
            f"__builtin_rotateleft32((u32){a}, (u32){b})",
            f"(u32){a} << ((u32){b} & 31u) | (u32){c} >> (31u - ((u32){b} & 31u)) >> 1",
            f"(u64){a} % ((u64){b} | 1)" if kind[0] == "u" else f"{a} % ({b} / 2 == 0 ? 3 : 5)",
            f"({unsigned}){a} / (({unsigned}){b} | 1)" if kind[0] == "u" else f"{a} / 7",
            f"((u64)(u32){a} * (u32){b}) >> 32",
            f"((i64)(i32){a} * (i32){b}) >> 32",
            f"(i64)(i32){a} * (i32){b} + (i64){c}"
            if kind == "i64" and "_" in c
            else f"(u64)(u32){a} * (u32){b} + (u32){c}",
            f"((u32){a} & 0xffffffu) * ((u32){b} & 0xffffffu) + (u32){c}",
            f"(u32)((i32)((u32){a} << 8) >> 8) * (u32)((i32)((u32){b} << 8) >> 8)",
            f"((u32){a} >> 24) | ((u32){b} << 8)",
            f"((u32){a} & 0xff00ff00u) | ((u32){b} >> 8 & 0x00ff00ffu)",
            f"(u32){a} >> {low} & {(1 << size) - 1}",
            f"(i32)((u32){a} << {low}) >> {max(low, 16 + size - 1) if size < 16 else 31}",
            f"(i32)(i8)((u32){a} >> 8) + (i32)(i16)((u32){b} >> 16)",
            f"__builtin_abs((i32)(u32){a} >> 1)",
            f"__builtin_clz((u32){a} | 1)",
            f"__builtin_ctz((u32){a} | 0x80000000u)",
            f"__builtin_clzll((u64){a} | 1)",
            f"whole({self._pick('f64')})",
            f"near({self._pick('f16')})",
            f"near({self._pick('f32')})",
            f"whole({self._pick('f32')}) + near({self._pick('bf16')})",
            f"({self._pick('f32')} < {self._pick('f32')}) + ({self._pick('f64')} >= {self._pick('f64')}) * 2u",
            f"!({self._pick('f16')} > {self._pick('f16')}) + ({self._pick('f32')} != {self._pick('f32')}) * 2u",
            f"bits<u32>({self._pick('u16x2')}) ^ bits<u32>({self._pick('i16x2')})",
        ]
        self._add(kind, self._chance.choice(forms))

    def _float_step(self) -> None:
        kind = self._chance.choice(_FLOATS)
        a, b, c = (self._pick(kind) for _ in range(3))
        function = "fmaf" if kind in ("f32", "bf16") else "fma"
        wide = "f64" if kind in ("f64", "f16") else "f32"
        extreme = f"__builtin_f{self._chance.choice(('min', 'max'))}{'f' if wide == 'f32' else ''}"
        forms = [
            f"{a} + {b}",
            f"{a} - {b}",
            f"{a} * {b}",
            f"-{a}",
            f"{a} < {b} ? {a} : {c}",
            f"{a} >= {b} ? {b} : {c}",
            f"{a} != {b} ? {a} : {c}",
            f"__builtin_fabsf((f32){a}) * (f32)-{b}",
            f"__builtin_{function}(({wide}){a}, ({wide}){b}, ({wide}){c})",
            f"__builtin_{function}(({wide}){a}, -({wide}){b}, -({wide}){c})",
            f"{extreme}(({wide}){a}, ({wide}){b}) + ({wide})0",
            f"(f32){self._pick('i32')} * 0.001f",
            f"(f32){self._pick('u32')} * 0.0001f",
            f"(f32){self._pick('i64')} * 1e-15f",
            f"(f32){self._pick('f16')} + (f32){self._pick('bf16')}",
            f"(f32){self._pick('u8')} - (f32)(u8)({self._pick('u32')} >> 16)",
            f"__builtin_truncf((f32){a})",
            f"__builtin_floorf((f32){a})",
            f"__builtin_ceilf((f32){a})",
            f"__builtin_rintf((f32){a})",
            f"__builtin_floor((f64){a}) + __builtin_rint((f64){b})",
            f"(f32)((f32){a} * 0x1p-130f)" if kind == "f32" else f"(f32)((f32){a} * 0x1p-12f)",
            f"(f64){self._pick('i32')} + (f64){self._pick('u64')}" if kind == "f64" else a,
            f"(f32){self._pick('f64')}",
        ]
        if kind == "f16":  # an f16 from an f64 is rounded once by both sides, but one of them calls a library
            forms = [f"(f32)({form})" for form in forms]
        self._add(kind, self._chance.choice(forms))

    def _pair_step(self) -> None:
        kind = self._chance.choice(_PAIRS)
        a, b, c = (self._pick(kind) for _ in range(3))
        forms = [f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} * {b} + {c}", f"{a}.yx + {b}", f"{a}.xx * {b}.yx"]
        if kind in ("u16x2", "i16x2"):
            forms += [f"{a} << ({b} & ({kind})15)", f"{a} >> ({b} & ({kind})15)", f"{a} & ~{b}"]
            forms += [f"__builtin_elementwise_max({a}, {b})", f"__builtin_elementwise_min({a}, {b}.yx)"]
            forms += [f"{kind}{{({kind[:3]}){self._pick('u32')}, ({kind[:3]}){self._pick('u16')}}}"]
        else:
            scalar = kind[:3]
            forms += [f"-{a} * {b}", f"{kind}{{{self._pick(scalar)}, {a}.x}}", f"{kind}{{{a}.y, {self._pick(scalar)}}}"]
        if kind == "f32x2":
            forms += [f"__builtin_elementwise_fma({a}, {b}, {c})", f"__builtin_elementwise_fma({a}.yx, -{b}, {c}.xx)"]
        self._add(kind, self._chance.choice(forms))

    def _branch(self) -> None:
        """Values of two sides of branches, of loops with a break, and of a switch; some conditions are uniform."""
        a, b = self._pick("u32"), self._pick("u32")
        name = self._add("u32", f"{a} ^ 5u")
        f, g = self._pick("f32"), self._pick("f32")
        forms = [
            f"if(({a} ^ {b}) & 1u) {{ {name} = {a} * 3u + {b}; }} else {{ {name} ^= {b} >> 3; }}",
            f"for(u32 n = 0; n < ({b} & 7u); ++n) {{ {name} = {name} * 1664525u + {a} + n; }}",
            f"for(u32 n = 0; n < 9u; ++n) {{ if(({name} >> n & 3u) == 2u) break; {name} += {a} >> n; }}",
            f"switch({b} & 3u) {{ case 0: {name} += {a}; break; case 1: {name} -= 7u; case 2: {name} ^= {a}; }}",
            f"if(uniform & 1u) {{ {name} += {b} * 5u; }} else if({f} < {g}) {{ {name} -= {a}; }}",
            f"while(({name} & 15u) > (uniform & 3u)) {{ {name} -= 1u + ({a} & 1u) * 4u; if({name} > {b}) break; }}",
        ]
        self._lines += self._chance.sample(forms, 3)

    def _as_word(self, kind: str, name: str) -> str:
        if kind in ("u64", "i64"):
            return f"(u32)((u64){name} ^ (u64){name} >> 32)"
        if kind in ("u16x2", "i16x2"):
            return f"bits<u32>({name})"
        if kind.endswith("x2"):
            parts = [self._as_word(kind[:3], f"{name}.{part}") for part in "xy"]
            return f"({parts[0]}) ^ ({parts[1]}) * 3u"
        if kind in _FLOATS:  # a NaN's payload is not defined, nor is the sign of a zero that LLVM rounds with v_fma_mix
            width = {"f64": 64, "f32": 32}.get(kind, 16)
            word = f"bits<u{width}>({name})" if width < 64 else f"(bits<u64>({name}) ^ bits<u64>({name}) >> 32)"
            return f"{name} == 0 ? 0u : {name} == {name} ? (u32){word} : 0x7fc00000u"
        return f"(u32){name}"
