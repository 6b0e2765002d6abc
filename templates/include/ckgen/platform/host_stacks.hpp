// Stacks of fibers. Internal to the host platform's engine.
#pragma once

#include <cstddef>
#include <vector>

namespace ckgen::platform {

// Memory for stacks, each above a guard page that faults when the stack overflows. Linux limits the mappings of a
// process, which several libraries of this kind share, so all stacks of one call of `add` are one mapping.
class FiberStacks {
public:
    static constexpr size_t kBytes = 256 * 1024;

    FiberStacks() = default;
    ~FiberStacks();
    FiberStacks(const FiberStacks&) = delete;
    FiberStacks& operator=(const FiberStacks&) = delete;

    // Maps `count` stacks; the lowest one begins at the returned address. Throws LaunchError.
    char* add(size_t count);
    // False if the kernel is older than Linux 6.13: there a guard page splits the mapping into two.
    bool guards_are_free() const { return guards_are_free_; }

private:
    struct Mapping {
        char* begin;
        size_t bytes;
    };
    std::vector<Mapping> mappings_;
    bool guards_are_free_ = true;
};

}  // namespace ckgen::platform
