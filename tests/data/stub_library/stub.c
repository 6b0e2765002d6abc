/* A stand-in for a generated library: the C API over plain loops, so that the Python side can be tested in a second.
   Compiled with -DBUG=<one of the names below> it makes a mistake that a verifier has to find. */
#include "ckgen/c_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NONE, NULL_KERNEL, ZERO_KERNEL, LAST_ELEMENT_MISSING, OVERRUN, UNDERRUN, INPUT_CHANGED, LAST_PRODUCT_MISSING,
    PAD_IGNORED, SUM_IN_WEIGHT_TYPE, TRUNCATED, UNINITIALISED_WORKSPACE, NOT_REPRODUCIBLE, SPLIT_LOST, ALL_REFUSED,
    RUN_FAILS, KERNEL_FAULT, WRONG_ABI, NO_INSTANCES, FOREIGN_NAMES
};
#ifndef PLATFORM
#define PLATFORM "host"
#endif
#ifndef BUG
#define BUG NONE
#endif

#define GENERIC(nd, layout, dtype, tile) \
    "grouped_conv" nd "_bwd_weight_xdl_" layout "_" dtype "_default_" tile "_w0x4_xdl32_v1x1x1_s1_generic"
#define TUNED(nd, layout, dtype, spec, tile, v) \
    "grouped_conv" nd "_bwd_weight_xdl_" layout "_" dtype "_" spec "_" tile "_w0x4_xdl32_" v "_s1"

typedef struct { const char *name, *dtype; int ndim, vector, pointwise; } instance_t;
static const instance_t instances[] = {
    {GENERIC("1d", "nwgc_gkxc_nwgk", "f32", "64x64x16"), "f32", 1, 1, 0},
    {GENERIC("2d", "gnhwc_gkyxc_gnhwk", "f32", "64x64x16"), "f32", 2, 1, 0},
    {GENERIC("2d", "nhwgc_gkyxc_nhwgk", "bf16", "64x64x32"), "bf16", 2, 1, 0},
    {GENERIC("2d", "nhwgc_gkyxc_nhwgk", "bf16_f32_bf16", "64x64x32"), "bf16_f32_bf16", 2, 1, 0},
    {GENERIC("2d", "nhwgc_gkyxc_nhwgk", "f16", "64x64x32"), "f16", 2, 1, 0},
    {GENERIC("2d", "nhwgc_gkyxc_nhwgk", "f32", "64x64x16"), "f32", 2, 1, 0},
    {TUNED("2d", "nhwgc_gkyxc_nhwgk", "f16", "1x1s1p0", "128x128x32", "v8x8x8"), "f16", 2, 8, 1},
    {TUNED("2d", "nhwgc_gkyxc_nhwgk", "f16", "default", "128x128x32", "v8x8x8"), "f16", 2, 8, 0},
    {GENERIC("3d", "ndhwgc_gkzyxc_ndhwgk", "f32", "64x64x16"), "f32", 3, 1, 0},
};

static int faulted; /* by a kernel: every later wait fails, as on a real GPU */
static _Thread_local char last_error[256];
static int32_t fail(int32_t status, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(last_error, sizeof last_error, format, values);
    va_end(values);
    return status;
}

int32_t ckgen_abi_version(void) { return BUG == WRONG_ABI ? 99 : 8; }
const char* ckgen_platform(void) { return PLATFORM; }
int32_t ckgen_f8_codes(void) { return 0; }
const char* ckgen_last_error(void) { return last_error; }
int32_t ckgen_instance_count(void) { return BUG == NO_INSTANCES ? 0 : (int32_t)(sizeof instances / sizeof *instances); }
const char* ckgen_instance_name(int32_t i) { return BUG == FOREIGN_NAMES ? "conv_v2" : instances[i].name; }
const char* ckgen_instance_type_string(int32_t i) {
    (void)i;
    return "Stub<64, 64>";
}
const char* ckgen_instance_operation(int32_t i) {
    (void)i;
    return "grouped_conv_bwd_weight";
}
int32_t ckgen_function_count(void) { return 0; }
const char* ckgen_function(int32_t i) {
    (void)i;
    return NULL;
}
int32_t ckgen_host_configure(uint64_t seed, int32_t threads) {
    (void)seed;
    return threads < 0 ? fail(2, "threads %d is negative", threads) : 0;
}

static int64_t elements(const int64_t* lengths, int rank) {
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= lengths[d];
    return count;
}

int32_t ckgen_is_supported(int32_t i, const ckgen_problem* p, const void* in, const void* wei, const void* out) {
    (void)in, (void)wei, (void)out;
    const instance_t* self = &instances[i];
    if (BUG == ALL_REFUSED) return fail(1, "nothing is taken");
    if (p->split_k == 0 || p->split_k < -1) return fail(1, "split-k: %d is neither -1 nor at least 1", p->split_k);
    for (int d = 0; d < self->ndim; ++d) {
        const int64_t reach = (p->wei_lengths[3 + d] - 1) * p->dilations[d] + 1;
        const int64_t padded = p->in_lengths[3 + d] + p->left_pads[d] + p->right_pads[d];
        if ((padded - reach) / p->strides[d] + 1 != p->out_lengths[3 + d])
            return fail(1, "output-length: dimension %d is %lld", d, (long long)p->out_lengths[3 + d]);
        if (self->pointwise && (p->wei_lengths[3 + d] != 1 || p->strides[d] != 1 || p->left_pads[d] || p->right_pads[d]))
            return fail(1, "conv-spec: only 1x1 filters with stride 1 and no pads");
    }
    if (p->wei_lengths[1] % self->vector || p->wei_lengths[2] % self->vector)
        return fail(1, "a-vector: K %lld and C %lld must be multiples of %d", (long long)p->wei_lengths[1],
                    (long long)p->wei_lengths[2], self->vector);
    return 0;
}

int32_t ckgen_split_k(int32_t i, const ckgen_problem* p, int32_t* split_k) {
    (void)i;
    *split_k = p->split_k < 0 ? 3 : p->split_k;
    return 0;
}

int32_t ckgen_workspace_size(int32_t i, const ckgen_problem* p, int64_t* bytes) {
    int32_t split_k;
    ckgen_split_k(i, p, &split_k);
    *bytes = split_k > 1 ? split_k * elements(p->wei_lengths, instances[i].ndim + 3) * (int64_t)sizeof(float) : 0;
    return 0;
}

/* By rule: every supporting instance of the layout's letters in their order, the generic one marked so. */
int32_t ckgen_select(const char* operation, const char* layout, const char* dtype, const char* function, const char* arch,
                     const ckgen_problem* problem, const void* in, const void* wei, const void* out, int32_t capacity,
                     ckgen_candidate* candidates, int32_t* count) {
    if (strcmp(operation, "grouped_conv_bwd_weight"))
        return fail(1, "[instance] there is none for %s %s on %s that does %s with %s", layout, dtype,
                    arch ? arch : PLATFORM, operation, function);
    char letters[64] = "_";
    for (int i = 0; layout[i] && i < 60; ++i) letters[i + 1] = layout[i] == '/' ? '_' : (char)(layout[i] | 32), letters[i + 2] = 0;
    ckgen_problem p = *problem;
    p.split_k = 1;
    *count = 0;
    for (int generic = 0; generic < 2; ++generic)
        for (int32_t i = 0; i < ckgen_instance_count() && *count < capacity; ++i) {
            const int is_generic = strstr(instances[i].name, "_generic") != NULL;
            if (is_generic != generic || strcmp(instances[i].dtype, dtype) || !strstr(instances[i].name, letters) ||
                ckgen_is_supported(i, &p, in, wei, out))
                continue;
            candidates[(*count)++] = (ckgen_candidate){i, -1, 2 + generic, 0};
        }
    return *count ? 0 : fail(1, "no instance takes it");
}

static float from_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
static uint16_t to_bf16(float value) {
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    if (value != value) return (uint16_t)(wide >> 16 | 0x40);
    return (uint16_t)((BUG == TRUNCATED ? wide : wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
}
static float load(const void* base, int64_t at, char kind) {
    if (kind == 'h') return (float)((const _Float16*)base)[at];
    return kind == 'b' ? from_bf16(((const uint16_t*)base)[at]) : ((const float*)base)[at];
}
static void store(void* base, int64_t at, char kind, float value) {
    if (kind == 'h') ((_Float16*)base)[at] = (_Float16)value;
    else if (kind == 'b') ((uint16_t*)base)[at] = to_bf16(value);
    else ((float*)base)[at] = value;
}

/* Digits of `flat` in the mixed radix `lengths`, last digit fastest. */
static void unravel(int64_t flat, const int64_t* lengths, int rank, int64_t* index) {
    for (int d = rank - 1; d >= 0; --d) index[d] = flat % lengths[d], flat /= lengths[d];
}
static int64_t offset(const int64_t* index, const int64_t* strides, int rank) {
    int64_t at = 0;
    for (int d = 0; d < rank; ++d) at += index[d] * strides[d];
    return at;
}

/* One weight: the sum over accumulations [from, to) of GEMM-K = (n, output position). */
static float weight(const ckgen_problem* p, const int64_t* w, const void* in, const void* out, char kind, char sum_kind,
                    int64_t from, int64_t to) {
    const int rank = p->ndim + 3;
    int64_t radix[4] = {p->out_lengths[1], 1, 1, 1}, digit[4];
    for (int d = 0; d < p->ndim; ++d) radix[1 + d] = p->out_lengths[3 + d];
    float sum = 0;
    for (int64_t k = from; k < to; ++k) {
        unravel(k, radix, 1 + p->ndim, digit);
        int64_t x[6] = {w[0], digit[0], w[2]}, y[6] = {w[0], digit[0], w[1]};
        int inside = 1;
        for (int d = 0; d < p->ndim; ++d) {
            y[3 + d] = digit[1 + d];
            x[3 + d] = y[3 + d] * p->strides[d] + w[3 + d] * p->dilations[d] - (BUG == PAD_IGNORED ? 0 : p->left_pads[d]);
            inside &= x[3 + d] >= 0 && x[3 + d] < p->in_lengths[3 + d];
        }
        if (inside) sum += load(in, offset(x, p->in_strides, rank), kind) * load(out, offset(y, p->out_strides, rank), kind);
        if (BUG == SUM_IN_WEIGHT_TYPE) store(&sum, 0, sum_kind, sum), sum = load(&sum, 0, sum_kind);
    }
    return sum;
}

static void compute(const ckgen_problem* p, const void* in, void* wei, const void* out, float* parts, int split_k,
                    char kind, char wei_kind) {
    static int calls = 0;
    const int rank = p->ndim + 3;
    const int64_t count = elements(p->wei_lengths, rank), depth = p->out_lengths[1] * elements(p->out_lengths + 3, p->ndim);
    const int64_t slice = (depth + split_k - 1) / split_k;
    const int shift = BUG == NOT_REPRODUCIBLE ? calls++ : 0;
    for (int64_t e = 0; e < count - (BUG == LAST_ELEMENT_MISSING); ++e) {
        int64_t w[6];
        unravel(e, p->wei_lengths, rank, w);
        float sum = BUG == UNINITIALISED_WORKSPACE && split_k > 1 ? parts[0] : 0;
        for (int s = 0; s < split_k - (BUG == SPLIT_LOST && split_k > 1); ++s) {
            const int turn = (s + shift) % split_k;
            const int64_t from = turn * slice < depth ? turn * slice : depth;
            int64_t to = from + slice < depth ? from + slice : depth;
            if (BUG == LAST_PRODUCT_MISSING && to == depth && from < to) --to;
            sum += weight(p, w, in, out, kind, wei_kind, from, to);
        }
        store(wei, offset(w, p->wei_strides, rank), wei_kind, BUG == ZERO_KERNEL ? 0 : sum);
    }
    if (BUG == OVERRUN) store(wei, count, wei_kind, 1);
    if (BUG == UNDERRUN) store(wei, -1, wei_kind, 1);
    if (BUG == INPUT_CHANGED) store((void*)in, 0, kind, 2);
}

int32_t ckgen_run(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace, void* stream,
                  int32_t time_kernel, float* milliseconds) {
    (void)stream;
    const char* dtype = instances[i].dtype;
    const char kind = *dtype == 'b' ? 'b' : dtype[1] == '1' ? 'h' : 'f';
    int32_t split_k;
    if (ckgen_is_supported(i, p, in, wei, out)) return 1;
    if (BUG == RUN_FAILS) return fail(2, "barrier mismatch: wave 3");
    if (BUG == KERNEL_FAULT) return faulted = 1, 0;
    ckgen_split_k(i, p, &split_k);
    if (BUG != NULL_KERNEL)
        compute(p, in, wei, out, workspace, split_k, kind, strcmp(dtype, "bf16_f32_bf16") ? kind : 'f');
    *milliseconds = time_kernel ? 0.25f : 0;
    return 0;
}

int32_t ckgen_plan(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace, void* args,
                   int64_t capacity, int64_t* args_bytes, uint32_t* blocks, uint32_t* threads) {
    (void)workspace, (void)args, (void)capacity, (void)args_bytes, (void)blocks, (void)threads;
    return ckgen_is_supported(i, p, in, wei, out) ? 1 : fail(1, "the stand-in launches no kernel");
}
int32_t ckgen_plan_weight_copy(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace,
                               void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks, uint32_t* threads) {
    return ckgen_plan(i, p, in, wei, out, workspace, args, capacity, args_bytes, blocks, threads);
}

struct ckgen_prepared {
    int32_t instance;
    ckgen_problem problem;
};
int32_t ckgen_prepare(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out,
                      ckgen_prepared** prepared) {
    if (ckgen_is_supported(i, p, in, wei, out)) return 1;
    *prepared = malloc(sizeof **prepared);
    (*prepared)->instance = i;
    (*prepared)->problem = *p;
    return 0;
}
int32_t ckgen_start(const ckgen_prepared* one, void* in, void* wei, const void* out, void* workspace, void* stream) {
    float unused;
    return ckgen_run(one->instance, &one->problem, in, wei, out, workspace, stream, 0, &unused);
}
void ckgen_release(ckgen_prepared* prepared) { free(prepared); }

int32_t ckgen_transpose(const void* source, void* target, int64_t images, int64_t rows, int64_t columns,
                        int32_t element_bytes, void* stream) {
    (void)stream;
    for (int64_t at = 0; at < images * rows * columns; ++at) {
        const int64_t image = at / (rows * columns), row = at / columns % rows, column = at % columns;
        memcpy((char*)target + ((image * columns + column) * rows + row) * element_bytes,
               (const char*)source + at * element_bytes, (size_t)element_bytes);
    }
    return 0;
}

int32_t ckgen_reference(const char* dtype, const ckgen_problem* p, const void* in, void* wei, const void* out) {
    if (strcmp(dtype, "f32")) return fail(2, "the stand-in's reference knows f32 only, not %s", dtype);
    compute(p, in, wei, out, NULL, 1, 'f', 'f');
    return 0;
}

int32_t ckgen_reference_bwd_data(const char* dtype, const ckgen_problem* p, void* in, const void* wei, const void* out) {
    (void)p, (void)in, (void)wei, (void)out;
    return fail(2, "the stand-in has no reference of backward data for %s", dtype);
}

/* A GPU of the same kind: device memory is host memory. */
int32_t ckgen_device_malloc(int64_t bytes, void** memory) {
    if (faulted) return fail(2, "cudaMalloc: an illegal memory access was encountered");
    *memory = malloc((size_t)bytes + !bytes);
    return *memory ? 0 : fail(2, "out of memory");
}
int32_t ckgen_device_free(void* memory) { return free(memory), 0; }
int32_t ckgen_device_copy_to(void* device, const void* host, int64_t bytes) {
    return memcpy(device, host, (size_t)bytes), 0;
}
int32_t ckgen_device_copy_from(void* host, const void* device, int64_t bytes) {
    return memcpy(host, device, (size_t)bytes), 0;
}
int32_t ckgen_device_synchronize(void* stream) {
    (void)stream;
    return faulted ? fail(2, "kernel: an illegal memory access was encountered") : 0;
}
int32_t ckgen_device_use(int32_t device, int32_t* previous) {
    *previous = 0;
    return device ? fail(2, "cudaSetDevice: invalid device ordinal") : 0;
}
