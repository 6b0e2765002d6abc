// Copied by ckgen from templates/include/ckgen/pipeline/tma/tma_consumers.hpp. Do not edit; run: ckgen generate
// The math role of families wavelet_tma and stationary: warpgroups that multiply the loaded stages by wgmma. They are
// either cooperative, each with 64 or 128 rows of the same tile, or ping-pong consumers with one tile each, so that one
// stores its results while the other multiplies. `View`: see pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/wgmma_fixup.hpp"
#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

// Consumers per workgroup: 1 if its warpgroups cooperate, else the number of ping-pong consumers. m_per_xdl is the
// number of rows per warpgroup, 64 or 128.
template <class D>
inline constexpr int tma_consumers = D::warpgroups * D::m_per_xdl / D::m_per_block;

// Signals per warpgroup that a stage is no longer read.
template <class View>
inline constexpr int tma_releases = View::a_in_registers ? 4 : 1;

// The units of a workgroup in order. The tile of the next unit is computed ahead.
template <class D, class View>
class TmaUnits {
    using Args = typename View::Args;
    using Tile = typename View::Tile;

public:
    CKGEN_DEVICE TmaUnits(const platform::Thread& thread, const Args& args)
        : run_(tma_units<D>(thread, View::schedule(args))), unit_(run_.first) {}

    CKGEN_DEVICE bool more() const { return unit_ < run_.end; }
    CKGEN_DEVICE int unit() const { return unit_; }
    CKGEN_DEVICE bool is_last() const { return unit_ + run_.step >= run_.end; }
    // The first unit's tile, and the one after the current unit's; an arbitrary tile if there is none.
    CKGEN_DEVICE Tile first(const Args& args) const { return View::unit(args, run_.first < run_.end ? run_.first : 0); }
    CKGEN_DEVICE Tile next(const Args& args) const { return View::unit(args, is_last() ? unit_ : unit_ + run_.step); }
    CKGEN_DEVICE void advance() { unit_ += run_.step; }

private:
    const conv::UnitRun run_;
    int unit_;
};

// The base of cooperative and ping-pong consumers: one thread of a math warpgroup.
template <class D, class View>
class TmaConsumer {
protected:
    using Args = typename View::Args;
    using Tile = typename View::Tile;
    using Fixup = epilogue::WgmmaFixup<D, View>;
    using Registers = typename Fixup::Registers;
    static constexpr int consumers = tma_consumers<D>;
    static constexpr bool pingpong = consumers > 1;
    static constexpr int block_bytes = 64 * D::k_per_block * D::elem_bytes;  // of A: 64 rows, or of 64 channels
    static constexpr int a_blocks = D::m_per_block / 64;
    static constexpr int own_blocks = a_blocks * consumers / D::warpgroups;  // of A, per warpgroup

    // A unit: its tile, true if that is a data-parallel one, and its slot of partials.
    struct Unit {
        const Tile& tile;
        bool direct;
        float* slot;
    };

    // `id` counts the threads of the warpgroup.
    CKGEN_DEVICE TmaConsumer(const platform::Thread& thread, const Args& args, const TmaRing<D>& ring, int warpgroup,
                             int id)
        : thread_(thread), args_(args), ring_(ring), first_block_(warpgroup / consumers * own_blocks), id_(id),
          workgroup_(static_cast<int>(thread.block_id())) {}

    // Signals that the stationary B is no longer read, if this tile needs another one.
    CKGEN_DEVICE void release_weight(const Tile& tile) {
        if constexpr(D::weight_rows > 0)
            if(weight_.changes(tile) && weight_.changed > 1 && id_ == 0)
                platform::mbarrier_arrive(ring_.weight_empty());
    }

    CKGEN_DEVICE Unit unit(const Tile& tile, int number, int consumer) const {
        const conv::TileSchedule& schedule = View::schedule(args_);
        const bool direct = number < schedule.data_parallel_tiles;
        float* const slot = Fixup::slot(args_,
                                        direct ? schedule.stream_k_units() + workgroup_ * consumers + consumer
                                               : number - schedule.data_parallel_tiles,
                                        0);
        return {tile, direct, slot};
    }

    CKGEN_DEVICE void prefetch(const Unit& unit) const {
        if(unit.direct) {
            CKGEN_UNROLL
            for(int b = 0; b < own_blocks; ++b)
                View::Store::prefetch(args_, unit.tile, (first_block_ + b) * 128 + id_);
        }
    }

    // Issues the products of the next k_tiles stages, from tile k of the unit on. Waits for all but those of the last
    // stage and returns that stage's empty barrier, 0 if there was no stage. One loop per number of steps: a branch
    // among the products of a stage would serialise them.
    CKGEN_DEVICE uint32 issue_mma(int k, int k_tiles, Registers (&acc)[own_blocks]) {
        const TmaWeightTile weight = weight_tile(k);
        if constexpr(!pingpong)
            clear(acc);
        const int steps = View::steps(args_);
        if constexpr(D::k_per_block * D::elem_bytes == 128) {
            if(steps == 4)
                return issue_stages<4>(weight, k_tiles, acc);
            if(steps == 3)
                return issue_stages<3>(weight, k_tiles, acc);
        }
        if(steps == 2)
            return issue_stages<2>(weight, k_tiles, acc);
        return issue_stages<1>(weight, k_tiles, acc);
    }

    // Waits for the products and releases the last stage: `last` is what issue_mma() returned.
    CKGEN_DEVICE void wait_mma(uint32 last, Registers (&acc)[own_blocks]) const {
        atom::wgmma_wait<0>();
        CKGEN_UNROLL
        for(int b = 0; b < own_blocks; ++b)
            atom::wgmma_done(acc[b]);
        if(last != 0)
            release(last);
    }

    static CKGEN_DEVICE void clear(Registers (&acc)[own_blocks]) {
        CKGEN_UNROLL
        for(int i = 0; i < own_blocks * D::n_per_block / 2; ++i)
            acc[i / (D::n_per_block / 2)][i % (D::n_per_block / 2)] = 0.f;
    }

    // Adds the partial sums of the unit's earlier products, and stores the sum for the later ones or the fixup.
    CKGEN_DEVICE void add_partials(const Unit& unit, bool adds, bool keeps, Registers (&acc)[own_blocks]) const {
        CKGEN_UNROLL
        for(int b = 0; b < own_blocks; ++b) {
            const int owner = (first_block_ + b) * 128 + id_;
            const bool has_rows = Fixup::has_rows(args_, unit.tile, owner);
            if(adds && has_rows)
                Fixup::add_to(thread_, unit.slot + owner * 4, acc[b]);
            if(keeps && has_rows)
                Fixup::keep(thread_, unit.slot + owner * 4, acc[b]);
        }
    }

    template <int Block>
    CKGEN_DEVICE typename View::Store store(const Unit& unit) const {
        return typename View::Store(thread_, args_, unit.tile, (first_block_ + Block) * 128 + id_);
    }
    template <int Block>
    static CKGEN_DEVICE void put(const typename View::Store& store, const Registers (&acc)[own_blocks]) {
        constexpr int line = 4 * View::Store::blocks_at_once;  // registers
        constexpr int lines = D::n_per_block / 2 / line;
        store.template put<lines>(0, acc[Block]);
        if constexpr(lines * line < D::n_per_block / 2) {  // a part of a line, after which the store ends
            float last[line] = {};
            CKGEN_UNROLL
            for(int i = lines * line; i < D::n_per_block / 2; ++i)
                last[i - lines * line] = acc[Block][i];
            store.put(lines, last);
        }
    }
    // Stores the results from block `Block` on.
    template <int Block>
    CKGEN_DEVICE void write_from(const Unit& unit, const Registers (&acc)[own_blocks]) const {
        if constexpr(Block < own_blocks) {
            put<Block>(store<Block>(unit), acc);
            write_from<Block + 1>(unit, acc);
        }
    }

    const platform::Thread& thread_;
    const Args& args_;
    TmaRing<D> ring_;
    TmaWeight weight_;
    const int first_block_, id_, workgroup_;

private:
    // One thread signals that a stage is no longer read; where threads read it themselves, one of each warp. In a
    // cluster one thread per workgroup that copies to the stage.
    CKGEN_DEVICE void release(uint32 empty) const {
        if constexpr(View::a_in_registers)
            platform::sync_warp();
        if constexpr(kCluster<D> > 1) {
            static_assert(!View::a_in_registers);
            if(id_ % 32 == 0 && id_ / 32 < kCluster<D>)
                platform::mbarrier_arrive_at(empty, id_ / 32);
        } else if(id_ % (128 / tma_releases<View>) == 0) {
            platform::mbarrier_arrive(empty);
        }
    }

    CKGEN_DEVICE TmaWeightTile weight_tile(int k) const {
        if constexpr(D::weight_rows > 0) {
            const uint32 bytes = View::weight_tile_bytes(args_);
            return {k, weight_.parities >> k, TmaRing<D>::weight() + static_cast<uint32>(k) * bytes, bytes};
        } else {
            return {};
        }
    }

    template <int Steps>
    CKGEN_DEVICE uint32 issue_stages(TmaWeightTile weight, int k_tiles, Registers (&acc)[own_blocks]) {
        uint32 previous = 0;  // the empty barrier of the stage whose products may still run
        for(int k = 0; k < k_tiles; ++k, ring_.next(), weight.next()) {
            if constexpr(D::weight_rows > 0)
                platform::mbarrier_wait(ring_.weight_full(weight.tile), weight.parity());
            platform::mbarrier_wait(ring_.full(), ring_.parity);
            atom::wgmma_fence();
            CKGEN_UNROLL
            for(int b = 0; b < own_blocks; ++b)
                View::template multiply<Steps>(thread_, ring_.data() + (first_block_ + b) * block_bytes,
                                               D::weight_rows > 0 ? weight.data : ring_.data() + a_blocks * block_bytes,
                                               acc[b], !pingpong || k > 0);
            atom::wgmma_commit();
            atom::wgmma_wait<View::a_in_registers ? 0 : 1>();
            if(previous != 0)
                release(previous);
            previous = ring_.empty();
        }
        if constexpr(!pingpong)
            wait_mma(previous, acc);
        return previous;
    }
};

// All math warpgroups share each tile.
template <class D, class View>
class CooperativeConsumer : TmaConsumer<D, View> {
    using Base = TmaConsumer<D, View>;
    using Base::add_partials, Base::args_;

public:
    CKGEN_DEVICE CooperativeConsumer(const platform::Thread& thread, const typename View::Args& args,
                                     const TmaRing<D>& ring, int warpgroup, int id)
        : Base(thread, args, ring, warpgroup, id) {}

    CKGEN_DEVICE void run() {
        TmaUnits<D, View> units(this->thread_, args_);
        typename View::Tile next = units.first(args_);
        platform::pdl_wait();
        for(; units.more(); units.advance()) {
            const typename View::Tile tile = next;
            this->release_weight(tile);
            const typename Base::Unit unit = this->unit(tile, units.unit(), 0);
            this->prefetch(unit);
            typename Base::Registers acc[Base::own_blocks];
            sum(unit, acc);
            if(View::plans_ahead && !units.is_last())
                next = units.next(args_);
            if(unit.direct)
                this->template write_from<0>(unit, acc);
            if constexpr(!View::plans_ahead)
                next = units.next(args_);
        }
    }

private:
    // acc = the products of the unit, in sums of at most chunk() tiles of GEMM-K.
    CKGEN_DEVICE void sum(const typename Base::Unit& unit, typename Base::Registers (&acc)[Base::own_blocks]) {
        for(int k = 0;; k += View::chunk(args_)) {
            const int left = unit.tile.k_tiles - k;
            const bool more = left > View::chunk(args_);
            const int k_tiles = more ? View::chunk(args_) : left;
            if constexpr(View::has_products)
                sum_products(unit, k, k_tiles, acc);
            else
                this->issue_mma(k, k_tiles, acc);
            add_partials(unit, k > 0, more || !unit.direct, acc);
            if(!more)
                break;
        }
    }
    CKGEN_DEVICE void sum_products(const typename Base::Unit& unit, int k, int k_tiles,
                                   typename Base::Registers (&acc)[Base::own_blocks]) {
        static_assert(Base::own_blocks == 1 && D::weight_rows == 0);
        Base::clear(acc);
        const typename View::Products products(this->thread_, args_, unit.tile, k, this->id_, this->first_block_);
        const int steps = View::steps(args_);
        if(steps == 4)
            products.template add<4>(this->ring_, k_tiles, acc[0]);
        else if(steps == 3)
            products.template add<3>(this->ring_, k_tiles, acc[0]);
        else if(steps == 2)
            products.template add<2>(this->ring_, k_tiles, acc[0]);
        else
            products.template add<1>(this->ring_, k_tiles, acc[0]);
    }
};

// Each warpgroup takes every consumers-th tile with all its rows. The order barriers let one consumer multiply at a
// time: a consumer begins when the previous one has issued its last products. Without that order a consumer could be
// more than one phase ahead of a stage's barrier, and a parity cannot distinguish such phases.
template <class D, class View>
class PingPongConsumer : TmaConsumer<D, View> {
    using Base = TmaConsumer<D, View>;
    using Base::add_partials, Base::args_, Base::consumers, Base::id_, Base::issue_mma, Base::ring_, Base::wait_mma;

public:
    CKGEN_DEVICE PingPongConsumer(const platform::Thread& thread, const typename View::Args& args,
                                  const TmaRing<D>& ring, int warpgroup, int id)
        : Base(thread, args, ring, warpgroup, id), warpgroup_(warpgroup), consumer_(warpgroup % consumers),
          order_parity_(consumer_ == 0 ? 1 : 0) {}

    CKGEN_DEVICE void run() {
        int owner = 0;  // the consumer of the unit
        TmaUnits<D, View> units(this->thread_, args_);
        typename View::Tile next = units.first(args_);
        platform::pdl_wait();
        for(; units.more(); units.advance()) {
            const typename View::Tile tile = next;
            const bool mine = owner == consumer_;
            owner = owner + 1 == consumers ? 0 : owner + 1;
            this->release_weight(tile);
            if(!mine) {
                ring_.skip(tile.k_tiles);
                next = units.next(args_);
                continue;
            }
            const typename Base::Unit unit = this->unit(tile, units.unit(), consumer_);
            this->prefetch(unit);
            typename Base::Registers acc[Base::own_blocks];
            const Pending pending = issue_in_order(unit, acc);
            if(View::plans_ahead && !units.is_last())
                next = units.next(args_);
            finish(unit, pending, acc);
            if constexpr(!View::plans_ahead)
                next = units.next(args_);
        }
    }

private:
    // Products in flight: wait_mma() takes `last`; `adds`: earlier sums are in the slot of partials.
    struct Pending {
        uint32 last;
        bool adds;
    };

    // Issues the products of the unit between this consumer's order barrier and the next consumer's.
    CKGEN_DEVICE Pending issue_in_order(const typename Base::Unit& unit,
                                        typename Base::Registers (&acc)[Base::own_blocks]) {
        platform::mbarrier_wait(ring_.order(consumer_), order_parity_);
        order_parity_ ^= 1;
        int k = 0;
        uint32 last;
        while(true) {
            const int left = unit.tile.k_tiles - k;
            const bool more = left > View::chunk(args_);
            last = issue_mma(k, more ? View::chunk(args_) : left, acc);
            if(!more)
                break;
            complete(last, acc);
            add_partials(unit, k > 0, true, acc);
            k += View::chunk(args_);
        }
        platform::barrier_of(1 + warpgroup_, 128);  // all have passed the order barrier, even without products
        if(id_ == 0)
            platform::mbarrier_arrive(ring_.order(consumer_ + 1 == consumers ? 0 : consumer_ + 1));
        return {last, k > 0};
    }

    // The first store is prepared before the products are complete; there are no registers to prepare more.
    CKGEN_DEVICE void finish(const typename Base::Unit& unit, const Pending& pending,
                             typename Base::Registers (&acc)[Base::own_blocks]) const {
        if(unit.direct) {
            const auto first = this->template store<0>(unit);
            complete(pending.last, acc);
            if(pending.adds)
                add_partials(unit, true, false, acc);
            this->template put<0>(first, acc);
            this->template write_from<1>(unit, acc);
        } else {
            complete(pending.last, acc);
            add_partials(unit, pending.adds, true, acc);
        }
    }

    // wait_mma() for a unit that may have no products.
    CKGEN_DEVICE void complete(uint32 last, typename Base::Registers (&acc)[Base::own_blocks]) const {
        wait_mma(last, acc);
        if(last == 0) {
            this->clear(acc);
            CKGEN_UNROLL
            for(int b = 0; b < Base::own_blocks; ++b)
                atom::wgmma_done(acc[b]);  // keeps this a branch: selecting each register takes 400 clocks
        }
    }

    const int warpgroup_, consumer_;
    int order_parity_;
};

}  // namespace ckgen::pipeline
