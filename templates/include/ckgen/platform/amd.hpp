// AMD device code: buffers, LDS, barriers. No HIP header is needed.
// Raw buffer descriptors: "CDNA3 Instruction Set Architecture", section 9.1.5 (buffer resource), word 3 as LLVM's
// AMDGPUUsage and ROCm set it: data format 32 bit on gfx9, format + out-of-bounds select 3 (raw) from gfx10 on.
#pragma once

#include "ckgen/platform/amd_archs.hpp"
#include "ckgen/types.hpp"

namespace ckgen::platform {

using I32x2 = int32 __attribute__((ext_vector_type(2)));
using I32x4 = int32 __attribute__((ext_vector_type(4)));
using I8 = char;
using I16 = short;
using I16x4 = short __attribute__((ext_vector_type(4)));

// The intrinsics have the names of their LLVM symbols because clang 15 has no builtins for them.
__attribute__((device)) I8 raw_buffer_load_i8(I32x4, int32, int32, int32) __asm("llvm.amdgcn.raw.buffer.load.i8");
__attribute__((device)) I16 raw_buffer_load_i16(I32x4, int32, int32, int32) __asm("llvm.amdgcn.raw.buffer.load.i16");
__attribute__((device)) int32 raw_buffer_load_i32(I32x4, int32, int32, int32) __asm("llvm.amdgcn.raw.buffer.load.i32");
__attribute__((device)) I32x2 raw_buffer_load_i32x2(I32x4, int32, int32,
                                                    int32) __asm("llvm.amdgcn.raw.buffer.load.v2i32");
__attribute__((device)) I32x4 raw_buffer_load_i32x4(I32x4, int32, int32,
                                                    int32) __asm("llvm.amdgcn.raw.buffer.load.v4i32");
// Arguments: buffer, LDS address of lane 0, bytes per lane, offset in memory, scalar offset, offset in both, cache
// policy.
__attribute__((device)) void raw_buffer_load_lds(I32x4, __attribute__((address_space(3))) void*, uint32, int32, int32,
                                                 int32, int32) __asm("llvm.amdgcn.raw.buffer.load.lds");

inline constexpr int32 kBufferWord3 = CKGEN_AMD_BUFFER_WORD3;
inline constexpr int kExchangeLanes = CKGEN_AMD_WAVE;

// LDS reads that transpose 16-bit elements: "CDNA4 Instruction Set Architecture", DS_READ_B64_TR_B16.
// Direct-to-LDS loads of 16 bytes per lane: section 9.1.9 there, "Memory Buffer Load to LDS".
#if defined(__gfx950__)
inline constexpr bool kTransposingLds = true;
inline constexpr bool kDirectLds = true;
#else
inline constexpr bool kTransposingLds = false;
inline constexpr bool kDirectLds = false;
#endif

// Loads of several words may begin at any byte: for amdhsa LLVM turns "unaligned-access-mode" on (AMDGPUSubtarget), as
// the kernel driver does in SH_MEM_CONFIG.
inline constexpr bool kUnalignedLoads = true;
inline constexpr bool kLaneMasks = true;
// Number of LDS ring halves that a load wave holds in registers before it writes them.
inline constexpr int kLoadedHalves = 2;

// The low (or high) halves of two words as one word, the half of `a` in its low half.
template <bool High>
CKGEN_DEVICE uint32 merge_halves(uint32 a, uint32 b) {
    return __builtin_amdgcn_perm(b, a, High ? 0x07060302u : 0x05040100u);
}

// Each half becomes its highest bit, sixteen times.
CKGEN_DEVICE uint32 spread_signs(uint32 halves) {
    using I16x2 = short __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(uint32, __builtin_bit_cast(I16x2, halves) >> 15);
}

class Thread {
public:
    using LdsPointer = __attribute__((address_space(3))) char*;
    CKGEN_DEVICE explicit Thread(LdsPointer lds) : lds_(lds) {}

    CKGEN_DEVICE int thread_id() const { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
    CKGEN_DEVICE uint32 block_id() const { return __builtin_amdgcn_workgroup_id_x(); }
    // Reads the kernel's arguments again here, so that they need no registers until here.
    template <class Args>
    CKGEN_DEVICE const Args& reload_kernel_args(const Args&) const {
        auto kernarg = (const __attribute__((address_space(4))) Args*)__builtin_amdgcn_kernarg_segment_ptr();
        asm("" : "+s"(kernarg));
        return *(const Args*)kernarg;
    }
    // A value that stays in its register: the compiler does not recompute it where it is used.
    CKGEN_DEVICE int pin(int value) const {
        asm volatile("" : "+v"(value));
        return value;
    }
    // A uniform value that the compiler must treat as different in every iteration of a loop. Values computed from it
    // are recomputed in each iteration and need no register across iterations.
    CKGEN_DEVICE int rematerialize(int value) const {
        asm("" : "+s"(value));
        return value;
    }
    // A value that is the same in all lanes, moved to a scalar register.
    CKGEN_DEVICE int uniform(int value) const { return __builtin_amdgcn_readfirstlane(value); }

    CKGEN_DEVICE void barrier() const {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }

    // result[i] = value of lane `first` + i, exchanged without LDS. All lanes take part. Lanes: those of the wave.
    template <int Lanes = kExchangeLanes, int Count>
    CKGEN_DEVICE void gather(int32 value, int first, int32 (&result)[Count]) const {
        CKGEN_UNROLL
        for(int i = 0; i < Count; ++i)
            result[i] = __builtin_amdgcn_ds_bpermute(first * 4 + i * 4, value);
    }
    // Bit i: the predicate of lane i.
    template <int Lanes = kExchangeLanes>
    CKGEN_DEVICE uint64 ballot(bool predicate) const {
#if __has_builtin(__builtin_amdgcn_ballot_w64)
        if constexpr(kExchangeLanes == 64)
            return __builtin_amdgcn_ballot_w64(predicate);
        else
            return __builtin_amdgcn_ballot_w32(predicate);
#else  // clang before 16
        constexpr int not_equal = 33;  // an ICmp predicate of LLVM
        return __builtin_amdgcn_uicmp(predicate ? 1u : 0u, 0u, not_equal);
#endif
    }

    // Waits for all outstanding loads of this wave, including direct-to-LDS loads, which the compiler does not track.
    CKGEN_DEVICE void await_loads() const {
        constexpr int no_loads_outstanding =
            0x0f70;  // vmcnt(0), other counters at their maximum: "CDNA4 ISA", S_WAITCNT
        __builtin_amdgcn_s_waitcnt(no_loads_outstanding);
    }
    // The compiler moves no instruction across this. interleave() must be between two such calls: it ignores barriers
    // and has moved LDS reads across one.
    CKGEN_DEVICE void schedule_boundary() const { __builtin_amdgcn_sched_barrier(0); }
    // This wave's priority among the waves of its SIMD, 0 to 3.
    template <int Priority>
    CKGEN_DEVICE void priority() const {
        __builtin_amdgcn_s_setprio(Priority);
    }
    // Requests an order of the preceding instructions: the LDS reads of the first step, then the reads of each further
    // step between the matrix instructions of the step before it. clang before 16 keeps its own order.
    template <int Steps, int Reads, int Matrix>
    CKGEN_DEVICE void interleave() const {
#if __has_builtin(__builtin_amdgcn_sched_group_barrier)
        constexpr int matrix = 0x8, lds_read = 0x100;
        constexpr int between = max_of(1, Matrix / Reads);
        __builtin_amdgcn_sched_group_barrier(lds_read, Reads, 0);
        CKGEN_UNROLL
        for(int read = 0; read < (Steps - 1) * Reads; ++read) {
            __builtin_amdgcn_sched_group_barrier(matrix, between, 0);
            __builtin_amdgcn_sched_group_barrier(lds_read, 1, 0);
        }
        __builtin_amdgcn_sched_group_barrier(matrix, Matrix, 0);
#endif
    }

    CKGEN_DEVICE LdsPointer lds_at(int byte_offset) const { return lds_ + byte_offset; }
    template <class V>
    CKGEN_DEVICE V lds_load(int byte_offset) const {
        return __builtin_bit_cast(V, *reinterpret_cast<const LdsWords<V>*>(lds_ + byte_offset));
    }
    // Each of 16 lanes gives two addresses of 8 bytes; the 8 bytes of four lanes are a row of 16 columns. A lane gets
    // one column of the four rows at `first` and of the four rows at `second`. Only if kTransposingLds.
    template <class V>
    CKGEN_DEVICE V lds_load_transposed(int first, int second) const {
        static_assert(sizeof(V) == 16, "two columns of four 16-bit elements");
#if defined(__gfx950__)
        using Place = __attribute__((address_space(3))) I16x4*;
        const auto a =
            __builtin_bit_cast(I32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(reinterpret_cast<Place>(lds_ + first)));
        const auto b =
            __builtin_bit_cast(I32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(reinterpret_cast<Place>(lds_ + second)));
        return __builtin_bit_cast(V, I32x4{a.x, a.y, b.x, b.y});
#else
        return lds_load<V>(first + 0 * second);
#endif
    }
    template <class V>
    CKGEN_DEVICE void lds_store(int byte_offset, const V& value) const {
        *reinterpret_cast<LdsWords<V>*>(lds_ + byte_offset) =
            __builtin_bit_cast(typename WordsOf<sizeof(V)>::type, value);
    }
    template <class V>
    CKGEN_DEVICE V global_load(const void* address) const {
        return *static_cast<const V*>(address);
    }
    template <class V>
    CKGEN_DEVICE void global_store(void* address, const V& value) const {
        *static_cast<V*>(address) = value;
    }

private:
    // Copies LDS data as machine words: a class type cannot be copied between address spaces.
    template <int Bytes>
    struct WordsOf;
    template <class V>
    using LdsWords = __attribute__((address_space(3))) typename WordsOf<sizeof(V)>::type;

    LdsPointer lds_;
};
template <>
struct Thread::WordsOf<1> {
    using type = uint8;
};
template <>
struct Thread::WordsOf<2> {
    using type = uint16;
};
template <>
struct Thread::WordsOf<4> {
    using type = int32;
};
template <>
struct Thread::WordsOf<8> {
    using type = I32x2;
};
template <>
struct Thread::WordsOf<16> {
    using type = I32x4;
};

// `bytes` of global memory from `base` on (base and bytes uniform in the wave). The hardware returns zero for a load at
// or past the end, so tiles at the border need no branch.
class GlobalBuffer {
public:
    CKGEN_DEVICE GlobalBuffer(const void* base, uint32 bytes) {
        const uint64 address = reinterpret_cast<uint64>(base);
        words_ = I32x4{static_cast<int32>(address), static_cast<int32>(address >> 32), static_cast<int32>(bytes),
                       kBufferWord3};
    }
    template <class V>
    CKGEN_DEVICE V load(const Thread&, uint32 byte_offset) const {
        const int32 offset = static_cast<int32>(byte_offset);
        if constexpr(sizeof(V) == 16) {
            return __builtin_bit_cast(V, raw_buffer_load_i32x4(words_, offset, 0, 0));
        } else if constexpr(sizeof(V) == 8) {
            return __builtin_bit_cast(V, raw_buffer_load_i32x2(words_, offset, 0, 0));
        } else if constexpr(sizeof(V) == 4) {
            return __builtin_bit_cast(V, raw_buffer_load_i32(words_, offset, 0, 0));
        } else if constexpr(sizeof(V) == 2) {
            return __builtin_bit_cast(V, raw_buffer_load_i16(words_, offset, 0, 0));
        } else {
            static_assert(sizeof(V) == 1, "a buffer access is 1, 2, 4, 8 or 16 bytes");
            return __builtin_bit_cast(V, raw_buffer_load_i8(words_, offset, 0, 0));
        }
    }

    // A load from inside the window, or zero.
    template <class V>
    CKGEN_DEVICE V load_if(const Thread& thread, bool inside, uint32 byte_offset) const {
        return load<V>(thread, inside ? byte_offset : kInvalidOffset);
    }

    // Loads 16 bytes per lane: lane 0 to LDS byte `first` (uniform in the wave), the next lanes after it. Bytes past
    // the window's end become zero in LDS. Only if kDirectLds.
    CKGEN_DEVICE void load_to_lds(const Thread& thread, uint32 byte_offset, int first) const {
        if constexpr(kDirectLds)
            raw_buffer_load_lds(words_, thread.lds_at(first), 16, static_cast<int32>(byte_offset), 0, 0, 0);
    }

private:
    I32x4 words_;
};

using KernelEntry = const void*;  // argument type of hipLaunchKernel

// Kernels of one stream never overlap.
CKGEN_DEVICE void pdl_wait() {}
CKGEN_DEVICE void pdl_launch_dependents() {}

}  // namespace ckgen::platform

// Defines the __global__ function of a kernel type (Args, launch_threads, lds_bytes, run) under a C symbol, and
// entry_SYMBOL(), which returns it for launch(). The body exists in device passes only.
#define CKGEN_DEFINE_KERNEL(SYMBOL, ...)                                                                               \
    extern "C" __attribute__((global))                                                                                 \
    __attribute__((amdgpu_flat_work_group_size(__VA_ARGS__::launch_threads, __VA_ARGS__::launch_threads))) void        \
    SYMBOL(__VA_ARGS__::Args args){CKGEN_KERNEL_BODY(__VA_ARGS__)} CKGEN_KERNEL_ENTRY(SYMBOL)

#if CKGEN_DEVICE_PASS
#define CKGEN_KERNEL_BODY(...)                                                                                         \
    static __attribute__((shared)) __attribute__((aligned(16))) char lds[__VA_ARGS__::lds_bytes];                      \
    ::ckgen::platform::Thread thread((::ckgen::platform::Thread::LdsPointer)lds);                                      \
    __VA_ARGS__::run(args, thread);
#define CKGEN_KERNEL_ENTRY(SYMBOL)
#else
#define CKGEN_KERNEL_BODY(...) (void)args;
#define CKGEN_KERNEL_ENTRY(SYMBOL)                                                                                     \
    inline ::ckgen::platform::KernelEntry entry_##SYMBOL() {                                                           \
        return reinterpret_cast<::ckgen::platform::KernelEntry>(&SYMBOL);                                              \
    }
#endif
