// Copied by ckgen from templates/include/ckgen/platform/host_matrix_units.hpp. Do not edit; run: ckgen generate
// The matrix units of a workgroup's warpgroups, with the instructions that they have not finished. Internal to the host
// platform's engine and to the atoms that the host executes.
#pragma once

#include "ckgen/platform/host_lds.hpp"

namespace ckgen::platform {

class Workgroup;

// PTX ISA 9.0, 9.7.15: instructions are asynchronous, in groups that end with a commit. They may read their operands
// until a thread has waited for their group; until then the result registers must not be used.
class MatrixUnits {
public:
    explicit MatrixUnits(Workgroup& group) : group_(group) {}

    // Starts a workgroup.
    void begin(int threads);

    void fence(int id) { of(id).fenced = true; }
    void commit(int id);
    // Waits until at most `pending` groups are unfinished; the results of the others are then in the registers.
    void wait(int id, int pending, Site site);

    // The warpgroup that begins at thread `first` issues an instruction.
    void issue(int first, Site site);
    // Reads its operand of 16 positions: elements[position * columns + column], 16 bits each. `descriptor`:
    // atom/wgmma.hpp.
    void read(int first, uint64 descriptor, int columns, uint16* elements, Site site);
    // Reads an operand whose columns are rows of 128 bytes in shared memory: 32 bytes of each, one after the other.
    void read_rows(int first, uint64 descriptor, int columns, char* elements, Site site);
    // The running sums of a thread. Its registers hold NaN until it waits.
    float* sums(int id, float* registers, int count);
    // The reason why the workgroup may not end yet, or empty.
    std::string unfinished() const;

    // A warp loads matrices: rows[lane] becomes the 16 bytes at addresses[lane]. `registers`, of its first lane,
    // identifies the destination. A value that is multiplied only with zeros may be arbitrary, so the loads count as
    // reads when the registers are used. `transposed`: a row is one index of GEMM-K, else it has eight.
    void load(int first, const uint32* registers, const uint32 (&addresses)[32], uint16 (&rows)[32][8], bool transposed,
              Site site);
    // The warp multiplies with `count` of those registers. matters[i] is true if index i of GEMM-K in the matrix of the
    // first register matters.
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
        uint32 last_group;  // of the groups that change them
    };
    struct Thread {
        bool fenced = false;
        bool open = false;  // true if an instruction was issued since the last commit
        uint32 committed = 0;
        uint32 finished = 0;
        Site site;
        std::vector<Sums> held;
    };

    // An access by the matrix unit of the warpgroup that begins at thread `first`.
    Access by_unit(int first, Site site);
    Thread& of(int id) { return threads_[static_cast<size_t>(id)]; }

    Access by_warp(int lane, uint32 time, Site site) const;

    Workgroup& group_;
    std::vector<Thread> threads_;
    std::vector<std::vector<Load>> loads_;  // per warp, the last load of each register
    Clocks::Row known_;                     // knowledge of all threads of the warpgroup that issues
};

}  // namespace ckgen::platform
