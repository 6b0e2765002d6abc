// What operators of every operation share beside CK's interfaces: driving by a Problem of any ndim, launching.
#pragma once

#include <initializer_list>
#include <map>
#include <vector>

#include "ckgen/conv/fusion.hpp"
#include "ckgen/conv/repack_args.hpp"
#include "ckgen/op/device_base.hpp"

namespace ckgen::tensor_operation::device {

// The launch of a main kernel, for other launchers.
struct LaunchPlan {
    std::vector<char> args;  // the kernel's one argument; empty for kernels that take tensor maps beside their plan
    uint32 blocks = 0;
    int threads = 0;
};

// What an instance's function takes.
struct FunctionCounts {
    int d = 0;
    int scalars = 0;
};

// An operator that can also be driven by a Problem of any ndim: what the C API uses.
struct ConvRunner {
    virtual ~ConvRunner() = default;
    // "grouped_conv_bwd_weight" or "grouped_conv_bwd_data": which of the tensors Run writes.
    virtual const char* Operation() const = 0;
    virtual std::unique_ptr<BaseArgument> MakeProblemArgument(const conv::Problem& problem, const conv::Fusion& fusion,
                                                              void* p_in, void* p_wei, const void* p_out) const = 0;
    virtual std::unique_ptr<BaseInvoker> MakeInvoker() const = 0;
    virtual FunctionCounts Counts() const { return {}; }
    // Of an argument that is supported.
    virtual LaunchPlan Plan(const BaseArgument&) const = 0;
};

// Why devices cannot run an operator's kernel. Each device is asked once and its answer kept in the operator, not in a
// static of a template: g++ merges those across all libraries of a process.
class DeviceReasons {
public:
    // For the current device; empty if it can.
    std::string of(platform::KernelEntry entry, int lds_bytes) const;

private:
    mutable std::map<int, std::string> known_;
};

// Memory that a launch may touch, for the host platform.
struct Touched {
    const char* name;
    const void* begin;
    int64 bytes;
    bool writable;
};
#if CKGEN_PLATFORM_HOST
inline platform::Regions regions_of(const std::vector<Touched>& touched) {
    platform::Regions regions;
    for(const Touched& one : touched)
        regions.push_back({one.name, static_cast<const char*>(one.begin), one.bytes, one.writable});
    return regions;
}
#else
inline int regions_of(const std::vector<Touched>&) { return 0; }
#endif

// Defined in repack.cpp.
void repack(const conv::RepackArgs& args, platform::Stream stream);

// CK's type string: `tile`, the conv_spec and `rest`, the numbers that CK prints before and behind it.
std::string type_string(const std::string& class_name, std::initializer_list<int> tile, ConvSpec conv_spec,
                        std::initializer_list<int> rest);

// Bytes from a tensor's first to past its last element.
int64 span_bytes(const conv::Tensor& tensor, int ndim, int64 element_bytes);

}  // namespace ckgen::tensor_operation::device
