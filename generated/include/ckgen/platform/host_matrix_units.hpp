// Copied by ckgen from templates/include/ckgen/platform/host_matrix_units.hpp. Do not edit; run: ckgen generate
// The matrix units of a workgroup's warpgroups: what they were told to do and have not finished. Internal to the host
// platform's engine and to the atoms that the host executes.
#pragma once

#include "ckgen/platform/host_lds.hpp"

namespace ckgen::platform {

class Workgroup;

// PTX ISA 9.0, 9.7.15: instructions are asynchronous, in groups that end with a commit. They may read their operands
// until a thread has waited for their group, and until then registers hold nothing that may be used.
class MatrixUnits {
public:
    explicit MatrixUnits(Workgroup& group) : group_(group) {}

    // A workgroup begins.
    void begin(int threads);

    void fence(int id) { of(id).fenced = true; }
    void commit(int id);
    // Waits until at most `pending` groups are unfinished; the results of others are in the registers then.
    void wait(int id, int pending, Site site);

    // The warpgroup that begins at thread `first` issues an instruction.
    void issue(int first, Site site);
    // Its operand of 16 positions: elements[position * columns + column], 16 bits each. `descriptor`: atom/wgmma.hpp.
    void read(int first, uint64 descriptor, int columns, uint16* elements, Site site);
    // The same of 64 columns that are rows of 64 positions in shared memory, 128 bytes each.
    void read_rows(int first, uint64 descriptor, uint16* elements, Site site);
    // The running sums of a thread. Its registers hold NaN until it waits.
    float* sums(int id, float* registers, int count);
    // Why the workgroup may not end yet, or nothing.
    std::string unfinished() const;

    // A warp loads matrices: rows[lane] becomes the 16 bytes at addresses[lane], and `registers`, of its first lane,
    // stands for where they go. What is never multiplied with anything but zeros may be anything, so that the loads
    // count as reads when the registers are used. `transposed`: a row is one index of GEMM-K, else it has eight.
    void load(int first, const uint32* registers, const uint32 (&addresses)[32], uint16 (&rows)[32][8], bool transposed,
              Site site);
    // The warp multiplies with `count` of those registers. Index i of GEMM-K in the first one's matrix matters if
    // matters[i].
    void use(int first, const uint32* registers, int count, const bool* matters);

private:
    struct Load {
        const uint32* registers;
        uint32 time;
        bool transposed;
        Site site;
        int offsets[32];
        bool used[32];
    };
    struct Sums {
        float* registers;
        std::vector<float> values;
        uint32 last_group;  // of those that change them
    };
    struct Thread {
        bool fenced = false;
        bool open = false;  // issued something since the last commit
        uint32 committed = 0;
        uint32 finished = 0;
        Site site;
        std::vector<Sums> held;
    };

    // By the matrix unit of the warpgroup that begins at thread `first`.
    Access by_unit(int first, Site site);
    Thread& of(int id) { return threads_[static_cast<size_t>(id)]; }

    Access by_warp(int lane, uint32 time, Site site) const;

    Workgroup& group_;
    std::vector<Thread> threads_;
    std::vector<std::vector<Load>> loads_;  // by warp, each register's last
    Clocks::Row known_;                     // to all threads of the warpgroup that issues
};

}  // namespace ckgen::platform
