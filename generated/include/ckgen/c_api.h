// Copied by ckgen from templates/include/ckgen/c_api.h. Do not edit; run: ckgen generate
/* The C interface of an instance library, for ctypes and other languages. Plain C.
 *
 * Functions that return int32_t and can fail return 0 (done), 1 (the instance does not support the problem) or 2
 * (failed). After 1 and 2 ckgen_last_error() returns one sentence, until the next call on the same thread. Instances
 * are numbered from 0 in the order of their names. */
#ifndef CKGEN_C_API_H
#define CKGEN_C_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A D tensor: a further input of a function. Arrays hold G, N, C, spatial of the input, or G, K, C, filter of the
 * weight, whichever is written; a length of 1 or a stride of 0 repeats one value. */
typedef struct {
    const void* data; /* may be NULL if no kernel runs */
    int64_t lengths[6], strides[6];
} ckgen_d_tensor;

/* A grouped convolution, for every operation. Arrays hold G, N, C, spatial (in), G, K, C, filter
 * (wei), G, N, K, spatial (out). C and K count per group, strides are in elements, unused entries are ignored. split_k:
 * -1 lets the library choose. The last four members are for functions: `scalars` has all scalars of the function in
 * its order, or none for its defaults. */
typedef struct {
    int32_t ndim, split_k;
    int64_t in_lengths[6], in_strides[6];
    int64_t wei_lengths[6], wei_strides[6];
    int64_t out_lengths[6], out_strides[6];
    int64_t strides[3], dilations[3], left_pads[3], right_pads[3];
    int32_t d_count, scalar_count;
    const ckgen_d_tensor* d;
    const float* scalars;
} ckgen_problem;

#define CKGEN_ABI_VERSION 8
int32_t ckgen_abi_version(void);    /* CKGEN_ABI_VERSION of the library; changes when this header does */
const char* ckgen_platform(void);   /* "host", "amd" or "nvidia" */
const char* ckgen_last_error(void); /* of this thread; "" if there was none */
/* The encoding of 8-bit floating point on the current device: 0 is OCP, 1 is FNUZ. */
int32_t ckgen_f8_codes(void);

int32_t ckgen_instance_count(void);
const char* ckgen_instance_name(int32_t instance);        /* the identity; NULL if out of range */
const char* ckgen_instance_type_string(int32_t instance); /* CK's type string; NULL if out of range */
/* The name of its operation, as ckgen/c_references.h lists them; NULL if out of range. */
const char* ckgen_instance_operation(int32_t instance);

/* The element-wise functions that the library's spec defines: JSON with name, expression, tensors and scalars; NULL
 * if out of range. */
int32_t ckgen_function_count(void);
const char* ckgen_function(int32_t function);

/* Pointers are device pointers (host: any). They may be NULL here; their alignment is then not checked. If the current
 * device cannot run the kernel, the reason is [arch] or [lds]; without a device this is not checked. */
int32_t ckgen_is_supported(int32_t instance, const ckgen_problem* problem, const void* in, const void* wei,
                           const void* out);
int32_t ckgen_workspace_size(int32_t instance, const ckgen_problem* problem, int64_t* bytes);
int32_t ckgen_split_k(int32_t instance, const ckgen_problem* problem, int32_t* split_k); /* the value that -1 selects */

/* Writes the tensor of the instance's operation. workspace: ckgen_workspace_size bytes (partials of split_k,
 * and a copy of out if TMA cannot read it), 16-byte aligned, need not be cleared. With NULL the run uses split_k 1, and
 * allocates memory itself if even that needs some. The result must not overlap the workspace or tensors that are read,
 * except a D tensor that is the result itself. stream: a hipStream_t or NULL. With time_kernel, *milliseconds is the
 * mean over repeated runs, else 0. Asynchronous unless timed (host: always complete on return):
 * ckgen_device_synchronize reports a fault of the kernel. */
int32_t ckgen_run(int32_t instance, const ckgen_problem* problem, void* in, void* wei, const void* out, void* workspace,
                  void* stream, int32_t time_kernel, float* milliseconds);

/* A problem that is planned and checked once, for runs that differ in their addresses only; ckgen_start then costs a
 * launch. The plan is for the current device and for addresses aligned as these modulo 16 (NULL: aligned); a run with
 * others is planned again. D tensors stay those of the problem. ckgen_start is otherwise as ckgen_run, for any thread;
 * threads may share the object. ckgen_release takes NULL too. */
typedef struct ckgen_prepared ckgen_prepared;
int32_t ckgen_prepare(int32_t instance, const ckgen_problem* problem, void* in, void* wei, const void* out,
                      ckgen_prepared** prepared);
int32_t ckgen_start(const ckgen_prepared* prepared, void* in, void* wei, const void* out, void* workspace,
                    void* stream);
void ckgen_release(ckgen_prepared* prepared);

/* Copies images x rows x columns elements of 2 or 4 bytes, without gaps, to images x columns x rows: channels x
 * positions to channels last, or back. Both begin at multiples of 16 bytes and do not overlap. Asynchronous; stream as
 * for ckgen_run. */
int32_t ckgen_transpose(const void* source, void* target, int64_t images, int64_t rows, int64_t columns,
                        int32_t element_bytes, void* stream);

/* An instance for a problem. `source` says why it was chosen. 0, measured: it was the fastest on this problem. 1,
 * model: it is the fastest by a model of time that is fitted to measurements. 4, predicted: by a cost model, for
 * architectures without measurements. 2, rule, and 3, generic: no model has it. microseconds: the time on this problem,
 * measured or predicted; 0 if unknown. split_k -1: the library chooses. */
typedef struct {
    int32_t instance, split_k, source;
    float microseconds;
} ckgen_candidate;

/* The instances that take a problem, the probably fastest first: at most `capacity` of them; *count is their number.
 * operation is one of ckgen_instance_operation; layout for example "NHWGC/GKYXC/NHWGK", in this order for every
 * operation; dtype as below. function is an element-wise function's name, or NULL for PassThrough.
 * arch is for example "sm_90a", or NULL for that of the current device. The problem's split_k is ignored. Returns 1
 * with the last instance's reason if there is none. */
int32_t ckgen_select(const char* operation, const char* layout, const char* dtype, const char* function,
                     const char* arch, const ckgen_problem* problem, const void* in, const void* wei, const void* out,
                     int32_t capacity, ckgen_candidate* candidates, int32_t* count);

/* The launch that ckgen_run would do, for other launchers: kernel symbol "<name>_kernel", `blocks` workgroups of
 * `threads` threads, no dynamic LDS, one struct by value as argument. The struct is written to `args` if that is not
 * NULL and `capacity` is large enough; *args_bytes is its size. With split_k > 1 the caller must still sum the
 * partials; without a workspace the launch has split_k 1. Returns 1 for kernels that take more than this struct (tensor
 * maps, which point into the workspace if it holds a copy of out); only ckgen_run launches those. */
int32_t ckgen_plan(int32_t instance, const ckgen_problem* problem, void* in, void* wei, const void* out,
                   void* workspace, void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks,
                   uint32_t* threads);

/* The launch before that of ckgen_plan, for kernels that read a copy of the weight in the workspace: kernel symbol
 * "ckgen_weight_copy_" and the bytes of an element, `blocks` workgroups of `threads` threads, one struct by value as
 * argument. *args_bytes and *blocks are 0 for kernels that read the weight itself. */
int32_t ckgen_plan_weight_copy(int32_t instance, const ckgen_problem* problem, void* in, void* wei, const void* out,
                               void* workspace, void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks,
                               uint32_t* threads);

/* Device memory and synchronisation through the runtime that the library uses (host: plain memory), for callers without
 * a runtime of their own. Copies wait for earlier work. ckgen_device_synchronize waits for a stream, or with NULL for
 * the whole device, and fails with the runtime's text if a kernel faulted. ckgen_device_use sets this thread's device
 * for all calls. */
int32_t ckgen_device_malloc(int64_t bytes, void** memory);
int32_t ckgen_device_free(void* memory);
int32_t ckgen_device_copy_to(void* device, const void* host, int64_t bytes);
int32_t ckgen_device_copy_from(void* host, const void* device, int64_t bytes);
int32_t ckgen_device_synchronize(void* stream);
int32_t ckgen_device_use(int32_t device, int32_t* previous);

#include "ckgen/c_references.h" /* the C++ reference operators, one per operation */

/* Host platform only. seed: 0 runs waves and lanes in order, otherwise in a shuffled order; threads: OS threads that
 * share the workgroups, 0 for one per core. Returns 2 on other platforms. */
int32_t ckgen_host_configure(uint64_t seed, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif
