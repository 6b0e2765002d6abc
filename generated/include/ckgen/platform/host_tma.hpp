// Copied by ckgen from templates/include/ckgen/platform/host_tma.hpp. Do not edit; run: ckgen generate
// The host's TMA unit and warps, with the functions of platform/nvidia_tma.hpp. Copies are executed some time after
// they are issued: at the latest when no thread can continue, and with a seed at a random moment. Their bytes count as
// written for a thread that has waited for the mbarrier that counts them. The engine is templates/src/host/tma.cpp.
#pragma once

#include "ckgen/platform/host.hpp"

namespace ckgen::platform {

// The contents of a CUtensorMap. Dimensions are innermost first; strides are bytes, the innermost is an element's.
struct TensorMap {
    const char* base;
    int rank;
    int64 sizes[5], strides[5];
    int box[5];  // tiled: extent of the box, of which every step-th element is copied
    int steps[5];
    bool swizzled;  // rows of 128 or 64 bytes, with the swizzle of their width
    bool rounds;    // f32 elements to tf32
    bool im2col;    // true: `pixels` positions of box[0] channels; corners per spatial dimension
    int pixels;
    int lower[3], upper[3];
};

// Dynamic shared memory is aligned to 16 bytes only, so that kernels which need more alignment must round up.
inline uint32 lds_start() { return 16; }

void mbarrier_init(uint32 barrier, int arrivals, Site site = Site::here());
void fence_mbarrier_init(Site site = Site::here());
void mbarrier_expect(uint32 barrier, int bytes, Site site = Site::here());
void mbarrier_arrive(uint32 barrier, Site site = Site::here());
void mbarrier_arrive_at(uint32 barrier, int rank, Site site = Site::here());
void mbarrier_wait(uint32 barrier, int parity, Site site = Site::here());

struct TmaRequest {
    uint32 target;
    const TensorMap* map;  // null: a slot of 16 bytes, the first `bytes` from `source` on, and zeros
    uint32 barrier;
    int position[5];
    int tap[3];
    Site site;
    const char* source = nullptr;
    int bytes = 0;
    int ranks = 0;  // number of workgroups of the cluster to which it is copied; 0: the thread's own only
};
void start_tma(const TmaRequest& request);

int cluster_rank();
void cluster_barrier(Site site = Site::here());

inline void tma_load_2d(uint32 target, const TensorMap& map, uint32 barrier, int x, int y, Site site = Site::here()) {
    start_tma({target, &map, barrier, {x, y}, {}, site});
}
inline void tma_load_nd(uint32 target, const TensorMap& map, uint32 barrier, int channel, int column, int row,
                        int image, Site site = Site::here()) {
    start_tma({target, &map, barrier, {channel, column, row, image}, {}, site});
}
inline void async_copy_slot(uint32 target, const void* source, int bytes, uint32 barrier, Site site = Site::here()) {
    start_tma({target, nullptr, barrier, {}, {}, site, static_cast<const char*>(source), bytes});
}
inline void async_copy_or_clear(uint32 target, const void* source, bool copies, uint32 barrier,
                                Site site = Site::here()) {
    async_copy_slot(target, source, copies ? 16 : 0, barrier, site);
}
// The copies count on the barrier themselves.
inline void async_arrive(uint32 barrier, Site site = Site::here()) { mbarrier_arrive(barrier, site); }
void async_copy_word(uint32 target, const void* source, bool copies, Site site = Site::here());
void async_copy_part(uint32 target, const void* source, int bytes, Site site = Site::here());
void async_commit();
void async_wait_for(int left);
template <int Left>
void async_wait() {
    async_wait_for(Left);
}
template <int NDim, int Ranks = 0>
void tma_load_im2col(uint32 target, const TensorMap& map, uint32 barrier, int channel, const int (&position)[NDim],
                     int image, const uint16 (&tap)[NDim], Site site = Site::here()) {
    TmaRequest request{target, &map, barrier, {channel}, {}, site};
    request.ranks = Ranks;
    for(int d = 0; d < NDim; ++d) {
        request.position[1 + d] = position[d];
        request.tap[d] = tap[d];
    }
    request.position[1 + NDim] = image;
    start_tma(request);
}

void fence_proxy_async(Site site = Site::here());
void sync_warp(Site site = Site::here());
inline bool elect_lane(const Thread& thread) { return thread.thread_id() % 32 == 0; }
// A launch runs one workgroup after another; a second launch runs the code after the grid barrier.
inline constexpr bool kGridBarrier = false;
inline void grid_barrier() {}
void barrier_of(int number, int threads, Site site = Site::here());
void load_matrices_transposed(uint32 address, uint32 (&r)[4], Site site = Site::here());
void load_matrices(uint32 address, uint32 (&r)[4], Site site = Site::here());
// The host has no cache to prefetch to.
inline void prefetch_sector(const void*) {}
inline void prefetch_map(const TensorMap&) {}

// Runs `execute(payloads)` once for a group of `lanes` neighbouring threads that includes this one, when all have
// arrived. `lanes` divides the workgroup. Like Thread::collective, for groups other than a logical wave.
void collective_of(int lanes, void* payload, void (*execute)(void* const* payloads), Site site);

// Four 8x8 matrices of a warp: lanes hold pairs of their elements, and each lane stores a row, of the transposed
// matrices a column.
template <bool Transposed>
struct MatrixRow {
    uint32 pairs[4];
    Vec<uint32, 4> row;

    static void execute(void* const* lanes) {
        const auto of = [&](int lane) -> MatrixRow& { return *static_cast<MatrixRow*>(lanes[lane]); };
        const auto element = [&](int matrix, int row, int column) {
            return of(row * 4 + column / 2).pairs[matrix] >> column % 2 * 16 & 0xffffu;
        };
        for(int lane = 0; lane < 32; ++lane)
            for(int word = 0; word < 4; ++word) {
                const int at = lane % 8, matrix = lane / 8;
                of(lane).row[word] = Transposed
                                         ? element(matrix, 2 * word, at) | element(matrix, 2 * word + 1, at) << 16
                                         : of(at * 4 + word).pairs[matrix];
            }
    }
};
template <bool Transposed = false>
void store_matrices(const Thread& thread, int byte_offset, const uint32 (&r)[4], Site site = Site::here()) {
    MatrixRow<Transposed> mine{{r[0], r[1], r[2], r[3]}, {}};
    collective_of(32, &mine, &MatrixRow<Transposed>::execute, site);
    thread.lds_store(byte_offset, mine.row, site);
}

// The host has registers enough; it checks that a whole warpgroup calls this.
void move_registers(Site site);
template <int Count>
void setmaxnreg_dec(Site site = Site::here()) {
    move_registers(site);
}
template <int Count>
void setmaxnreg_inc(Site site = Site::here()) {
    move_registers(site);
}

}  // namespace ckgen::platform
