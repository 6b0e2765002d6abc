// Copied by ckgen from templates/include/ckgen/pipeline/halo/halo_load.hpp. Do not edit; run: ckgen generate
// The load role of families halo and depthwise_tma of backward weight: it streams rows of the input and the output
// through shared memory (conv/halo_geometry.hpp).
#pragma once

#include "ckgen/load/bwd_weight_view.hpp"
#include "ckgen/pipeline/halo/halo_walk.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::pipeline {

template <class D>
struct HaloArgs {
    platform::TensorMap out, in;     // boxes of a step's rows
    typename D::KernelArgs problem;  // k_tiles counts steps
    conv::HaloGeometry rings;
};

// Addresses in shared memory: the rings, one per pair of residues; the output rows; and at the very end, where the
// results of the math role are not written, the barriers. Nothing may be stored to an mbarrier's address while it is
// one, even after its last phase (PTX ISA 9.0, 9.7.13.15.8).
struct HaloRings {
    uint32 in;
    StageRing out;

    // `start`: of the workgroup's shared memory, which has lds_bytes.
    template <class Args>
    CKGEN_DEVICE HaloRings(const Args& args, uint32 start, int lds_bytes)
        : in((start + 1023u) & ~1023u),
          out(in + bytes(args.rings.ring_bytes * args.problem.stride[0] * args.problem.stride[1]),
              args.rings.slot_bytes, args.rings.stages,
              start + bytes(lds_bytes - args.rings.stages * StageBarriers::stage_barrier_bytes)) {}
    static CKGEN_DEVICE uint32 bytes(int count) { return static_cast<uint32>(count); }
};

// One thread runs it.
template <class D>
struct HaloLoadRole {
    static CKGEN_DEVICE void run(const HaloArgs<D>& args, const HaloRings& rings, const conv::BwdWeightTile& tile) {
        const conv::BwdWeightArgs& p = args.problem;
        const conv::HaloGeometry& g = args.rings;
        constexpr int element = D::elem_bytes;
        const int in_channel = tile.group * static_cast<int>(p.in_group_bytes / element) + tile.n_first;
        const int out_channel = tile.group * static_cast<int>(p.out_group_bytes / element) + tile.m_first;
        const int block_bytes = g.rows * g.plane * conv::kHaloPitch;
        const int step_bytes = block_bytes * (p.stride[0] * p.stride[1] + 1);
        const HaloShare share(g, tile.k_tile_first, tile.k_tile_first + tile.k_tiles);
        HaloWalk walk(g, rings.out, share.first);
        for(int i = 0; i < share.count; ++i, walk.next(g)) {
            const uint32 full = walk.ring.full();
            platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity ^ 1);
            platform::mbarrier_expect(full, step_bytes);
            uint32 target = rings.in + HaloRings::bytes(walk.block * block_bytes);
            const int row = walk.step * g.rows;
            for(int y = 0; y < p.stride[0]; ++y)
                for(int x = 0; x < p.stride[1]; ++x, target += HaloRings::bytes(g.ring_bytes))
                    platform::tma_load_nd(target, args.in, full, in_channel, x - p.pad[1],
                                          row * p.stride[0] + y - p.pad[0], walk.image);
            platform::tma_load_nd(walk.ring.data(), args.out, full, out_channel, 0, row - g.lead_rows, walk.image);
        }
        platform::pdl_launch_dependents();  // not earlier: the next kernel would crowd on the idle multiprocessors
    }
};

}  // namespace ckgen::pipeline
