// Copied by ckgen from templates/include/ckgen/op/runner.hpp. Do not edit; run: ckgen generate
// Functions that operators of all operations have in addition to CK's interfaces: they take a Problem with any number
// of dimensions, and launch.
#pragma once

#include <initializer_list>
#include <map>
#include <stdexcept>
#include <vector>

#include "ckgen/conv/fusion.hpp"
#include "ckgen/conv/repack_args.hpp"
#include "ckgen/conv/weight_copy_args.hpp"
#include "ckgen/op/device_base.hpp"

namespace ckgen::tensor_operation::device {

// The launch of a kernel, for other launchers.
struct LaunchPlan {
    std::vector<char> args;  // the kernel's one argument; empty for kernels that also take tensor maps
    uint32 blocks = 0;
    int threads = 0;

    // Gives the launch to a caller of the C API; the argument only if there is room for it. Throws
    // std::invalid_argument if a pointer other than `to` is null.
    void tell(void* to, int64 capacity, int64* args_bytes, uint32* grid, uint32* block) const;
};

// The launches of a run up to the main kernel.
struct RunPlan {
    LaunchPlan main;
    LaunchPlan copy;  // of the weight, before the main kernel; no workgroups if there is none
};

// Counts of an instance's function: scalars and D tensors.
struct FunctionCounts {
    int d = 0;
    int scalars = 0;
};

// A run whose addresses the instance does not support. Other errors of a run are plain std::invalid_argument.
struct UnsupportedRun : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A problem that is planned and checked for the device that was current then.
struct PreparedRun {
    virtual ~PreparedRun() = default;
    // Starts a run with these addresses. Throws UnsupportedRun for tensors that the instance does not
    // support, and std::invalid_argument for other memory that it refuses.
    virtual void Start(void* p_in, void* p_wei, const void* p_out, void* workspace, platform::Stream) const = 0;
};

// An operator that also takes a Problem with any number of dimensions. The C API uses it.
struct ConvRunner {
    virtual ~ConvRunner() = default;
    // Its name (ckgen/config/operations.hpp), which determines the tensor that Run writes.
    virtual const char* Operation() const = 0;
    virtual std::unique_ptr<BaseArgument> MakeProblemArgument(const conv::Problem& problem, const conv::Fusion& fusion,
                                                              void* p_in, void* p_wei, const void* p_out) const = 0;
    virtual std::unique_ptr<BaseInvoker> MakeInvoker() const = 0;
    virtual FunctionCounts Counts() const { return {}; }
    // Requires an argument that is supported. The addresses of D tensors stay those of the argument.
    virtual std::unique_ptr<PreparedRun> Prepare(const BaseArgument&) const = 0;
    // Requires an argument that is supported.
    virtual RunPlan Plan(const BaseArgument&) const = 0;
};

// Reasons why devices cannot run an operator's kernel. Each device is queried once. The operator keeps the answers, not
// a static of a template: g++ merges those across all libraries of a process.
class DeviceReasons {
public:
    // The reason for the current device; empty if it can run the kernel.
    std::string of(platform::KernelEntry entry, int lds_bytes) const;

private:
    mutable std::map<int, std::string> known_;
};

// Memory that a launch may access, for the host platform.
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
inline int regions_of(std::initializer_list<Touched>) { return 0; }  // allocates no vector
#endif

// Defined in repack.cpp and weight_copy.cpp. tensor, copy: names of source and target for the host platform.
void repack(const conv::RepackArgs& args, const char* tensor, const char* copy, platform::Stream stream);
void copy_weight(const conv::WeightCopyArgs& args, platform::Stream stream);

// Matrices without gaps.
struct Images {
    int64 count, rows, columns;
    int element_bytes;
};
// Copies images to transposed ones, which are columns x rows. Both are aligned to 16 bytes and do not overlap. Throws
// std::invalid_argument. Defined in transpose.cpp.
void transpose(const Images& images, const void* source, void* target, platform::Stream stream);

// CK's type string: `tile`, the conv_spec and `rest` are the numbers that CK prints before and after the conv_spec.
std::string type_string(const std::string& class_name, std::initializer_list<int> tile, ConvSpec conv_spec,
                        std::initializer_list<int> rest);

// Bytes from a tensor's first element to the end of its last.
int64 span_bytes(const conv::Tensor& tensor, int ndim, int64 element_bytes);

}  // namespace ckgen::tensor_operation::device
