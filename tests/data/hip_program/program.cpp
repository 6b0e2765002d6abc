// A HIP program without HIP's headers: two kernels, launched by a host half that a recording runtime takes to be
// served. Command line: the addresses of in (f32), out (f32), products' factors a and b (f16) and their result (f32).
extern "C" unsigned long long strtoull(const char*, char**, int);
extern "C" int puts(const char*);

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

struct dim3 {
    unsigned x, y, z;
};
extern "C" int __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds, void* stream);
extern "C" int __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, void** stream);
extern "C" int hipLaunchKernel(const void*, dim3 grid, dim3 block, void** arguments, unsigned long lds, void* stream);
extern "C" int hipMemset(void* to, int value, unsigned long bytes);

using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Sums = float __attribute__((ext_vector_type(16)));

struct Offsets {
    int x, y, z;
};

// Each workgroup of a grid of three dimensions writes 64 numbers; the extents come from the implicit arguments.
__global__ void number_groups(float* out, char tag, const float* in, Offsets offsets) {
    const unsigned* extents = (const unsigned*)__builtin_amdgcn_implicitarg_ptr();
    const unsigned x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y();
    const unsigned z = __builtin_amdgcn_workgroup_id_z();
    const unsigned at = ((z * extents[1] + y) * extents[0] + x) * 64 + __builtin_amdgcn_workitem_id_x();
    out[at] = in[at] + float(tag) + float(x) * offsets.x + float(y) * offsets.y + float(z) * offsets.z;
}

// c += a * b^T, `steps` of 32 x 8 each, by both waves of a workgroup; the first one loads for both.
__global__ void multiply(const Half4* a, const Half4* b, float* c, int steps) {
    __shared__ Half4 tiles[2][64];
    const unsigned thread = __builtin_amdgcn_workitem_id_x(), lane = thread % 64;
    const unsigned place = lane % 32 * 2 + lane / 32;
    Sums sums = {};
    for(int step = 0; step < steps; ++step) {
        if(thread < 64) {
            tiles[0][lane] = a[step * 64 + place];
            tiles[1][lane] = b[step * 64 + place];
        }
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        sums = __builtin_amdgcn_mfma_f32_32x32x8f16(tiles[0][lane], tiles[1][lane], sums, 0, 0, 0);
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    for(unsigned at = 0; at < 16; ++at) {
        const unsigned row = at / 4 * 8 + lane / 32 * 4 + at % 4;
        __hip_atomic_fetch_add(c + row * 32 + lane % 32, sums[at], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

template <class T>
T* at(const char* word) {
    return (T*)strtoull(word, nullptr, 0);
}

int main(int, char** words) {
    number_groups<<<dim3{3, 2, 4}, dim3{64, 1, 1}, 0, nullptr>>>(at<float>(words[2]), 7, at<float>(words[1]),
                                                                 {1, 10, 100});
    hipMemset(at<float>(words[5]), 0, 32 * 32 * sizeof(float));
    multiply<<<dim3{6, 1, 1}, dim3{128, 1, 1}, 0, nullptr>>>(at<Half4>(words[3]), at<Half4>(words[4]),
                                                             at<float>(words[5]), 24);
    puts("launched");
}
