#include "ckgen/platform/host_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "ckgen/platform/platform.hpp"

namespace ckgen::platform {
namespace {

constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, which headers older than Linux 6.13 lack

}  // namespace

FiberStacks::~FiberStacks() {
    for(const Mapping& mapping : mappings_)
        munmap(mapping.begin, mapping.bytes);
}

char* FiberStacks::add(size_t count) {
    const size_t bytes = count * kBytes;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if(memory == MAP_FAILED)
        throw LaunchError("host platform: no memory for the stacks of " + std::to_string(count) + " fibers");
    const Mapping mapping{static_cast<char*>(memory), bytes};
    mappings_.push_back(mapping);
    madvise(memory, bytes, MADV_NOHUGEPAGE);  // a stack uses a few pages of its 256 KiB
    for(char* stack = mapping.begin; stack < mapping.begin + bytes; stack += kBytes) {
        guards_are_free_ = guards_are_free_ && madvise(stack, page, kGuardInstall) == 0;
        if(!guards_are_free_ && mprotect(stack, page, PROT_NONE) != 0)
            throw LaunchError("host platform: no memory mappings left for the guard pages of fibers");
    }
    return mapping.begin;
}

}  // namespace ckgen::platform
