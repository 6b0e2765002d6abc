// Copied by ckgen from templates/src/host/thread.cpp. Do not edit; run: ckgen generate
// The host platform's threads: each access of a kernel goes to the workgroup that runs it, and exchanges between lanes
// are computed for a whole wave at once.
#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::platform {

void Thread::GatherLane::execute(void* const* lanes) {
    const int count = static_cast<const GatherLane*>(lanes[0])->lanes;
    for(int lane = 0; lane < count; ++lane) {
        const GatherLane& mine = *static_cast<const GatherLane*>(lanes[lane]);
        if(mine.first < 0 || mine.first + mine.count > count)
            throw HostError("gather of " + std::to_string(mine.count) + " lanes from " + std::to_string(mine.first) +
                            " on leaves the " + std::to_string(count) + " that a lane can read");
        for(int i = 0; i < mine.count; ++i)
            mine.result[i] = static_cast<const GatherLane*>(lanes[mine.first + i])->value;
    }
}
void Thread::TransposeLane::execute(void* const* lanes) {
    for(int lane = 0; lane < kWaveSize; ++lane)
        for(int row = 0; row < 8; ++row) {
            const int source = lane / 16 * 16 + row % 4 * 4 + lane % 16 / 4;
            static_cast<TransposeLane*>(lanes[lane])->columns[row] =
                static_cast<const TransposeLane*>(lanes[source])->quarter_rows[row / 4][lane % 4];
        }
}
void Thread::BallotLane::execute(void* const* lanes) {
    const int count = static_cast<const BallotLane*>(lanes[0])->lanes;
    uint64 bits = 0;
    for(int lane = 0; lane < count; ++lane)
        bits |= static_cast<uint64>(static_cast<const BallotLane*>(lanes[lane])->predicate) << lane;
    for(int lane = 0; lane < count; ++lane)
        static_cast<BallotLane*>(lanes[lane])->result = bits;
}
uint32 Thread::block_id() const { return group_->block(id_); }
uint32 Thread::grid_size() const { return group_->grid().blocks; }
void Thread::barrier(Site site) const {
    if(group_->grid().cluster > 1)
        throw HostError("a workgroup's barrier in a cluster is not emulated, only cluster_barrier(), at " + text(site));
    group_->barrier(id_, site);
}
void Thread::collective(void* payload, void (*execute)(void* const*), Site site) const {
    group_->collective(id_, payload, execute, kWaveSize, site);
}
void Thread::exchange(void* payload, void (*execute)(void* const*), int lanes, Site site) const {
    group_->collective(id_, payload, execute, lanes, site);
}
char* Thread::lds(int byte_offset, int bytes, bool write, Site site) const {
    if(group_->banks.active())
        group_->banks.add(id_, byte_offset, bytes, write, site);
    return group_->lds.access(group_->lds.by_thread(id_, site), group_->place(id_, byte_offset), bytes, write);
}
void Thread::check_global(const void* address, int bytes, bool write, Site site) const {
    const auto* at = static_cast<const char*>(address);
    group_->check_early(id_, site);
    if(!group_->reaches(at, bytes, write))
        group_->out_of_bounds(group_->lds.clocks.agents().name(id_), at, bytes, write, site);
}
void Thread::begin_early() const { group_->begin_early(id_); }
void pdl_wait() { Workgroup::running().wait_for_previous(); }

}  // namespace ckgen::platform
