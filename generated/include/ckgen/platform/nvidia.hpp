// Copied by ckgen from templates/include/ckgen/platform/nvidia.hpp. Do not edit; run: ckgen generate
// NVIDIA device code: bounded windows, shared memory as LDS, barriers. nvcc compiles it; an ordinary C++ compiler,
// which compiles the host side, sees only the type of a kernel.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::platform {

using KernelEntry = const void*;  // argument type of cudaLaunchKernel

}  // namespace ckgen::platform

#if defined(__CUDACC__)
namespace ckgen::platform {

extern __shared__ __align__(1024) char dynamic_lds[];

inline constexpr int kExchangeLanes = 32;
inline constexpr bool kTransposingLds = false;  // ldmatrix reads slots as they are
inline constexpr bool kDirectLds = false;
inline constexpr bool kUnalignedLoads = false;
inline constexpr bool kLaneMasks = false;
inline constexpr int kLoadedHalves = 1;  // two would leave room for one block less per multiprocessor

// The low (or high) halves of two words as one word, the half of `a` in its low half.
template <bool High>
CKGEN_DEVICE uint32 merge_halves(uint32 a, uint32 b) {
    return __byte_perm(a, b, High ? 0x7632u : 0x5410u);
}

// Each half becomes its highest bit, sixteen times.
CKGEN_DEVICE uint32 spread_signs(uint32 halves) { return (halves >> 15 & 0x00010001u) * 0xffffu; }

class Thread {
public:
    CKGEN_DEVICE int thread_id() const { return static_cast<int>(threadIdx.x); }
    CKGEN_DEVICE uint32 block_id() const { return blockIdx.x; }
    CKGEN_DEVICE uint32 grid_size() const { return gridDim.x; }
    // A logical wave is two warps; a value that is uniform in the wave is uniform in each warp.
    CKGEN_DEVICE int uniform(int value) const { return __shfl_sync(0xffffffffu, value, 0); }
    CKGEN_DEVICE int rematerialize(int value) const { return value; }
    CKGEN_DEVICE int pin(int value) const { return value; }
    CKGEN_DEVICE void schedule_boundary() const {}
    template <int>
    CKGEN_DEVICE void priority() const {}
    CKGEN_DEVICE void await_loads() const {}
    template <int Steps, int Reads, int Matrix>
    CKGEN_DEVICE void interleave() const {}
    template <class Args>
    CKGEN_DEVICE const Args& reload_kernel_args(const Args& args) const {
        return args;
    }
    CKGEN_DEVICE void barrier() const { asm volatile("bar.sync 0;" ::: "memory"); }

    // result[i] = value of lane `first` + i of this warp. All lanes take part.
    template <int Lanes = kExchangeLanes, int Count>
    CKGEN_DEVICE void gather(int32 value, int first, int32 (&result)[Count]) const {
        CKGEN_UNROLL
        for(int i = 0; i < Count; ++i)
            result[i] = __shfl_sync(0xffffffffu, value, first + i);
    }
    // Bit i: the predicate of lane i of this warp.
    template <int Lanes = kExchangeLanes>
    CKGEN_DEVICE uint64 ballot(bool predicate) const {
        return __ballot_sync(0xffffffffu, predicate);
    }

    template <class V>
    CKGEN_DEVICE V lds_load(int byte_offset) const {
        return *reinterpret_cast<const V*>(dynamic_lds + byte_offset);
    }
    template <class V>
    CKGEN_DEVICE void lds_store(int byte_offset, const V& value) const {
        *reinterpret_cast<V*>(dynamic_lds + byte_offset) = value;
    }
    // ldmatrix.x4: every lane gives the address of a 16-byte row. PTX ISA 9.0, 9.7.14.5.15.
    CKGEN_DEVICE void load_matrices(int byte_offset, uint32 (&r)[4]) const {
        const auto address = static_cast<uint32>(__cvta_generic_to_shared(dynamic_lds + byte_offset));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    }
    template <class V>
    CKGEN_DEVICE V global_load(const void* address) const {
        return *static_cast<const V*>(address);
    }
    template <class V>
    CKGEN_DEVICE void global_store(void* address, const V& value) const {
        *static_cast<V*>(address) = value;
    }
};

// Waits for the end of the previous kernel of the stream, if this one was launched to overlap it. PTX
// ISA 9.0, 9.7.13.13 (griddepcontrol).
CKGEN_DEVICE void pdl_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream begin, if it was launched to overlap. It begins when all workgroups have called
// this.
CKGEN_DEVICE void pdl_launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A window of global memory: a load at or past `bytes` returns zero. It costs one predicate per load, because the
// hardware has no such windows.
class GlobalBuffer {
public:
    CKGEN_DEVICE GlobalBuffer(const void* base, uint32 bytes) : base_(static_cast<const char*>(base)), bytes_(bytes) {}
    template <class V>
    CKGEN_DEVICE V load(const Thread& thread, uint32 byte_offset) const {
        return load_if<V>(thread, byte_offset < bytes_, byte_offset);
    }
    // A load from inside the window, or zero.
    template <class V>
    CKGEN_DEVICE V load_if(const Thread&, bool inside, uint32 byte_offset) const {
        V value{};
        if(inside)
            value = *reinterpret_cast<const V*>(base_ + byte_offset);
        return value;
    }

private:
    const char* base_;
    uint32 bytes_;
};

}  // namespace ckgen::platform

// Defines the __global__ function of a kernel type (Args, launch_threads, lds_bytes, run) under a C symbol, and
// entry_SYMBOL(), which returns it for launch(). The body exists in device passes only. A workgroup that uses most of a
// multiprocessor's shared memory may also use all registers; for others the compiler weighs registers against the
// number of workgroups per multiprocessor.
#define CKGEN_DEFINE_KERNEL(SYMBOL, ...)                                                                               \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__::launch_threads,                                          \
                                                 ::ckgen::platform::Resident<__VA_ARGS__>::value)                      \
        SYMBOL(const __grid_constant__ __VA_ARGS__::Args args){CKGEN_KERNEL_BODY(__VA_ARGS__)} CKGEN_KERNEL_ENTRY(     \
            SYMBOL)

#if CKGEN_DEVICE_PASS
#define CKGEN_KERNEL_BODY(...)                                                                                         \
    ::ckgen::platform::Thread thread;                                                                                  \
    __VA_ARGS__::run(args, thread);
#define CKGEN_KERNEL_ENTRY(SYMBOL)
#else
#define CKGEN_KERNEL_BODY(...) (void)args;
#define CKGEN_KERNEL_ENTRY(SYMBOL)                                                                                     \
    inline ::ckgen::platform::KernelEntry entry_##SYMBOL() {                                                           \
        return reinterpret_cast<::ckgen::platform::KernelEntry>(&SYMBOL);                                              \
    }
#endif

#endif  // __CUDACC__
