// Operations of the host platform's warps and warpgroups as a whole: matrix loads, asynchronous matrix units, barriers
// of a part of a workgroup.
#include <algorithm>
#include <limits>

#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::platform {

void MatrixUnits::begin(int threads) {
    threads_.resize(static_cast<size_t>(threads));
    for(Thread& thread : threads_) {
        thread.fenced = thread.open = false;
        thread.committed = thread.finished = 0;
        thread.held.clear();
    }
    loads_.assign(static_cast<size_t>(group_.lds.clocks.agents().warps()), {});
}

void MatrixUnits::commit(int id) {
    ++of(id).committed;
    of(id).open = false;
}

void MatrixUnits::wait(int id, int pending, Site site) {
    CheckedLds& lds = group_.lds;
    Thread& thread = of(id);
    if(thread.open)
        lds.fail("wgmma_wait by " + lds.said(lds.by_thread(id, site)) + " leaves out what was issued at " +
                 text(thread.site) + ": no wgmma_commit between");
    const uint32 left = std::min(thread.committed, static_cast<uint32>(pending));
    thread.finished = std::max(thread.finished, thread.committed - left);
    thread.fenced = false;
    lds.track();
    lds.clocks.learn(id, lds.clocks.agents().warpgroup(id), thread.finished);
    for(size_t i = thread.held.size(); i-- > 0;) {
        const Sums& sums = thread.held[i];
        if(sums.last_group > thread.finished)
            continue;
        std::copy(sums.values.begin(), sums.values.end(), sums.registers);
        thread.held.erase(thread.held.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void MatrixUnits::issue(int first, Site site) {
    CheckedLds& lds = group_.lds;
    lds.track();
    for(int id = first; id < first + Agents::kWarpgroup; ++id) {
        Thread& thread = of(id);
        if(thread.committed != of(first).committed)
            lds.fail("threads of a warpgroup have committed different numbers of groups before wgmma at " + text(site));
        if(!thread.fenced && !thread.open && thread.finished == thread.committed)
            lds.fail("wgmma by " + lds.said(lds.by_thread(id, site)) +
                     " with no wgmma_fence since its registers were last used");
        thread.open = true;
        thread.site = site;
    }
    lds.clocks.common(first, Agents::kWarpgroup, known_);
}

Access MatrixUnits::by_unit(int first, Site site) {
    const Agents& agents = group_.lds.clocks.agents();
    return {-1,
            agents.warpgroup(first),
            of(first).committed + 1,
            known_.data(),
            agents.warps() + first / Agents::kWarpgroup,
            site};
}

void MatrixUnits::read(int first, uint64 descriptor, int columns, uint16* elements, Site site) {
    CheckedLds& lds = group_.lds;
    const auto field = [&](int bit) { return static_cast<uint32>(descriptor >> bit & 0x3fffu) << 4; };
    const uint32 start = field(0);
    const uint32 block_bytes = field(16);
    const uint32 stride_bytes = field(32);
    if(descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0 || start % 1024 != 0)
        lds.fail("a wgmma operand at address " + std::to_string(start) +
                 " is not in 128-byte swizzle from a multiple of 1024, at " + text(site));
    const Access access = by_unit(first, site);
    for(int k = 0; k < 16; ++k)
        for(int first_column = 0; first_column < columns; first_column += 64) {
            const uint32 row = start + static_cast<uint32>(first_column / 64) * block_bytes +
                               static_cast<uint32>(k / 8) * stride_bytes + static_cast<uint32>(k % 8) * 128;
            const char* bytes =
                lds.access(access, group_.place(first, static_cast<int>(row - lds_start())), 128, false);
            const auto chunks = static_cast<uint32>(std::min(columns - first_column, 64) / 8);
            for(uint32 chunk = 0; chunk < chunks; ++chunk)
                std::memcpy(elements + k * columns + first_column + static_cast<int>(chunk) * 8,
                            bytes + ((chunk ^ (row >> 7 & 7)) * 16), 16);
        }
}

void MatrixUnits::read_rows(int first, uint64 descriptor, int columns, char* elements, Site site) {
    CheckedLds& lds = group_.lds;
    const auto field = [&](int bit) { return static_cast<uint32>(descriptor >> bit & 0x3fffu) << 4; };
    const uint32 start = field(0) / 1024 * 1024;
    const uint32 offset = field(0) % 1024;
    const uint32 row_bytes = descriptor >> 62 == 2 ? 64 : 128;
    if(descriptor >> 62 == 0 || descriptor >> 62 == 3 || (descriptor >> 49 & 7) != 0 || offset >= row_bytes)
        lds.fail("a wgmma operand at address " + std::to_string(field(0)) +
                 " is not in 128-byte or 64-byte swizzle with rows from a multiple of 1024, at " + text(site));
    const Access access = by_unit(first, site);
    for(int column = 0; column < columns; ++column)
        for(uint32 chunk = 0; chunk < 2; ++chunk) {
            const uint32 row =
                start + static_cast<uint32>(column / 8) * field(32) + static_cast<uint32>(column % 8) * row_bytes;
            const uint32 place = (offset / 16 + chunk) ^ (row >> 7 & (row_bytes / 16 - 1));
            std::memcpy(
                elements + column * 32 + static_cast<int>(chunk) * 16,
                lds.access(access, group_.place(first, static_cast<int>(row + place * 16 - lds_start())), 16, false),
                16);
        }
}

float* MatrixUnits::sums(int id, float* registers, int count) {
    Thread& thread = of(id);
    const uint32 group = thread.committed + 1;
    for(Sums& sums : thread.held)
        if(sums.registers == registers) {
            sums.last_group = group;
            return sums.values.data();
        }
    thread.held.push_back({registers, {registers, registers + count}, group});
    std::fill(registers, registers + count, std::numeric_limits<float>::quiet_NaN());
    return thread.held.back().values.data();
}

std::string MatrixUnits::unfinished() const {
    for(const Thread& thread : threads_)
        if(!thread.held.empty())
            return "the workgroup ends with no wgmma_wait for what was issued at " + text(thread.site);
    return {};
}

Access MatrixUnits::by_warp(int lane, uint32 time, Site site) const {
    Access access = group_.lds.by_thread(lane, site);
    access.agent = group_.lds.clocks.agents().warp(lane);
    access.time = time;
    return access;
}

void MatrixUnits::load(int first, const uint32* registers, const uint32 (&addresses)[32], uint16 (&rows)[32][8],
                       bool transposed, Site site) {
    CheckedLds& lds = group_.lds;
    lds.track();
    Load made{registers, lds.clocks.warp_operation(first), transposed, site, {}, {}};
    for(int lane = 0; lane < Agents::kWarp; ++lane) {
        const Access access = by_warp(first + lane, made.time, site);
        if(addresses[lane] % 16 != 0)
            lds.fail("a matrix row at address " + std::to_string(addresses[lane]) +
                     ", which is not a multiple of 16, " + lds.said(access));
        made.offsets[lane] = group_.place(first, static_cast<int>(addresses[lane] - lds_start()));
        std::memcpy(rows[lane], lds.find(access, made.offsets[lane], 16, false), 16);
        if(group_.banks.active())
            group_.banks.add(first + lane, made.offsets[lane], 16, false, site);
    }
    std::vector<Load>& loads = loads_[static_cast<size_t>(first / Agents::kWarp)];
    for(Load& load : loads)
        if(load.registers == registers) {
            load = made;
            return;
        }
    loads.push_back(made);
}

void MatrixUnits::use(int first, const uint32* registers, int count, const bool* matters) {
    for(Load& load : loads_[static_cast<size_t>(first / Agents::kWarp)]) {
        const auto at = registers - load.registers;
        if(at < 0 || at >= 4)
            continue;
        for(int row = 0; row < count * 8; ++row) {
            const int lane = static_cast<int>(at) * 8 + row;
            const bool* const part = matters + row / 8 * 8;
            const bool used =
                load.transposed ? matters[row] : std::any_of(part, part + 8, [](bool one) { return one; });
            if(!used || load.used[lane])
                continue;
            load.used[lane] = true;
            group_.lds.mark(by_warp(first + lane, load.time, load.site), load.offsets[lane], 16, false);
        }
    }
}

namespace {

struct MatrixAddress {
    uint32 address;
    uint32* registers;
    bool transposed;
    Site site;

    // Register j of a lane: rows lane % 4 * 2 and the next, column lane / 4 of matrix j; without transposition columns
    // lane % 4 * 2 and the next, row lane / 4.
    static void execute(void* const* lanes) {
        const auto of = [&](int lane) -> const MatrixAddress& {
            return *static_cast<const MatrixAddress*>(lanes[lane]);
        };
        Workgroup& group = Workgroup::running();
        uint32 addresses[32];
        for(int lane = 0; lane < 32; ++lane)
            addresses[lane] = of(lane).address;
        uint16 rows[32][8];
        group.matrix.load(group.current() / 32 * 32, of(0).registers, addresses, rows, of(0).transposed, of(0).site);
        for(int lane = 0; lane < 32; ++lane)
            for(int j = 0; j < 4; ++j) {
                const int pair = lane % 4 * 2;
                const int other = lane / 4;
                const uint32 low = of(0).transposed ? rows[j * 8 + pair][other] : rows[j * 8 + other][pair];
                const uint32 high = of(0).transposed ? rows[j * 8 + pair + 1][other] : rows[j * 8 + other][pair + 1];
                of(lane).registers[j] = low | high << 16;
            }
    }
};

}  // namespace

void load_matrices_transposed(uint32 address, uint32 (&r)[4], Site site) {
    MatrixAddress mine{address, r, true, site};
    collective_of(32, &mine, &MatrixAddress::execute, site);
}

void load_matrices(uint32 address, uint32 (&r)[4], Site site) {
    MatrixAddress mine{address, r, false, site};
    collective_of(32, &mine, &MatrixAddress::execute, site);
}

void collective_of(int lanes, void* payload, void (*execute)(void* const*), Site site) {
    Workgroup& group = Workgroup::running();
    group.collective(group.current(), payload, execute, lanes, site);
}

void sync_warp(Site site) {
    const auto meet = [](void* const*) {
        Workgroup& group = Workgroup::running();
        group.lds.track();
        group.lds.clocks.meet(group.current() / Agents::kWarp * Agents::kWarp, Agents::kWarp);
    };
    collective_of(Agents::kWarp, nullptr, meet, site);
}

void move_registers(Site site) {
    collective_of(Agents::kWarpgroup, nullptr, [](void* const*) {}, site);
}

void barrier_of(int number, int threads, Site site) {
    Workgroup& group = Workgroup::running();
    constexpr int most = 16;  // of a workgroup
    group.named_barrier(group.current(), number + most * group.rank(group.current()), threads, site);
}

void fence_proxy_async(Site) {
    Workgroup& group = Workgroup::running();
    group.lds.track();
    group.lds.clocks.publish(group.current());
}

}  // namespace ckgen::platform
