// Copied by ckgen from templates/src/c_api.cpp. Do not edit; run: ckgen generate
// The C interface over the registry. No exception leaves a function.
#include "ckgen/c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "ckgen/device/reference_conv_bwd_data.hpp"
#include "ckgen/device/reference_conv_bwd_weight.hpp"
#include "ckgen/device/runner.hpp"
#include "ckgen/instance/measured.hpp"
#include "ckgen/instance/registry.hpp"
#include "ckgen/instance/selector.hpp"

namespace {

using namespace ckgen;
using tensor_operation::device::ArgumentSplitK;
using tensor_operation::device::BaseOperator;
using tensor_operation::device::ConvRunner;

enum Status { done = 0, unsupported = 1, failed = 2 };

thread_local std::string last_error;

Status report(Status status, const std::string& message) {
    last_error = message;
    return status;
}

template <class Call>
int32_t guarded(const Call& call) {
    last_error.clear();
    try {
        return call();
    } catch(const std::exception& error) {
        return report(failed, error.what());
    } catch(...) {
        return report(failed, "unknown exception");
    }
}

struct Instance {
    std::unique_ptr<BaseOperator> op;
    ConvRunner* runner;
    std::string type_string;
};

// One operator an entry, made on first use.
const std::vector<Instance>& instances() {
    static const std::vector<Instance> all = [] {
        std::vector<Instance> made;
        for(const RegistryEntry& entry : registry()) {
            std::unique_ptr<BaseOperator> op = entry.make();
            auto* runner = dynamic_cast<ConvRunner*>(op.get());
            std::string type = op->GetTypeString();
            made.push_back({std::move(op), runner, std::move(type)});
        }
        return made;
    }();
    return all;
}

const Instance& instance_at(int32_t index) {
    if(index < 0 || index >= ckgen_instance_count())
        throw std::out_of_range("[instance] " + std::to_string(index) + " is outside 0.." +
                                std::to_string(ckgen_instance_count() - 1));
    return instances()[static_cast<size_t>(index)];
}

conv::Tensor tensor(const int64_t* lengths, const int64_t* strides) {
    conv::Tensor result;
    std::copy_n(lengths, 6, result.lengths.begin());
    std::copy_n(strides, 6, result.strides.begin());
    return result;
}

conv::Problem problem_of(const ckgen_problem* p) {
    if(p == nullptr)
        throw std::invalid_argument("[problem] is null");
    conv::Problem result;
    result.ndim = p->ndim;
    result.split_k = p->split_k;
    result.in = tensor(p->in_lengths, p->in_strides);
    result.wei = tensor(p->wei_lengths, p->wei_strides);
    result.out = tensor(p->out_lengths, p->out_strides);
    std::copy_n(p->strides, 3, result.strides.begin());
    std::copy_n(p->dilations, 3, result.dilations.begin());
    std::copy_n(p->left_pads, 3, result.left_pads.begin());
    std::copy_n(p->right_pads, 3, result.right_pads.begin());
    return result;
}

conv::Fusion fusion_of(const ckgen_problem* p) {
    conv::Fusion result;
    for(int32_t i = 0; i < p->d_count; ++i)
        result.d.push_back({p->d[i].data, tensor(p->d[i].lengths, p->d[i].strides)});
    result.scalars.assign(p->scalars, p->scalars + p->scalar_count);
    return result;
}

// For calls that can fail but have nothing to refuse.
template <class Call>
int32_t done_or_failed(const Call& call) {
    return guarded([&]() -> Status {
        call();
        return done;
    });
}

// Makes the argument, and if the instance takes it, calls use(instance, argument).
template <class Use>
int32_t with_argument(int32_t index, const ckgen_problem* p, void* in, void* wei, const void* out, const Use& use) {
    return guarded([&]() -> Status {
        const Instance& instance = instance_at(index);
        const auto argument = instance.runner->MakeProblemArgument(problem_of(p), fusion_of(p), in, wei, out);
        const std::string reason = instance.op->GetUnsupportedReason(argument.get());
        if(!reason.empty())
            return report(unsupported, reason);
        use(instance, *argument);
        return done;
    });
}

template <class DataType>
bool reference(const char* dtype, const conv::Problem& problem, const void* in, void* wei, const void* out) {
    if(std::strcmp(dtype, DataType::name) != 0)
        return false;
    tensor_operation::host::ReferenceConvBwdWeight<DataType>::Run(
        problem, static_cast<const typename DataType::In*>(in), static_cast<typename DataType::Wei*>(wei),
        static_cast<const typename DataType::Out*>(out));
    return true;
}

template <class DataType>
bool reference_data(const char* dtype, const conv::Problem& problem, void* in, const void* wei, const void* out) {
    if(std::strcmp(dtype, DataType::name) != 0)
        return false;
    tensor_operation::host::ReferenceConvBwdData<DataType>::Run(problem, static_cast<typename DataType::In*>(in),
                                                                static_cast<const typename DataType::Wei*>(wei),
                                                                static_cast<const typename DataType::Out*>(out));
    return true;
}

}  // namespace

extern "C" {

int32_t ckgen_abi_version(void) { return 4; }
const char* ckgen_platform(void) {
#if CKGEN_PLATFORM_HOST
    return "host";
#elif CKGEN_PLATFORM_NVIDIA
    return "nvidia";
#else
    return "amd";
#endif
}
const char* ckgen_last_error(void) { return last_error.c_str(); }

int32_t ckgen_instance_count(void) { return static_cast<int32_t>(registry().size()); }
const char* ckgen_instance_name(int32_t index) {
    return index >= 0 && index < ckgen_instance_count() ? registry()[static_cast<size_t>(index)].name : nullptr;
}
const char* ckgen_instance_type_string(int32_t index) {
    return index >= 0 && index < ckgen_instance_count() ? instances()[static_cast<size_t>(index)].type_string.c_str()
                                                        : nullptr;
}
const char* ckgen_instance_operation(int32_t index) {
    return index >= 0 && index < ckgen_instance_count() ? instances()[static_cast<size_t>(index)].runner->Operation()
                                                        : nullptr;
}

int32_t ckgen_function_count(void) { return static_cast<int32_t>(function_texts().size); }
const char* ckgen_function(int32_t index) {
    return index >= 0 && index < ckgen_function_count() ? function_texts().data[index] : nullptr;
}

int32_t ckgen_is_supported(int32_t index, const ckgen_problem* problem, const void* in, const void* wei,
                           const void* out) {
    return with_argument(index, problem, const_cast<void*>(in), const_cast<void*>(wei), out,
                         [](const Instance&, const auto&) {});
}

int32_t ckgen_workspace_size(int32_t index, const ckgen_problem* problem, int64_t* bytes) {
    return with_argument(index, problem, nullptr, nullptr, nullptr,
                         [&](const Instance& instance, const auto& argument) {
                             *bytes = static_cast<int64_t>(instance.op->GetWorkSpaceSize(&argument));
                         });
}

int32_t ckgen_split_k(int32_t index, const ckgen_problem* problem, int32_t* split_k) {
    return with_argument(index, problem, nullptr, nullptr, nullptr, [&](const Instance&, const auto& argument) {
        *split_k = dynamic_cast<const ArgumentSplitK&>(argument).k_batch_;
    });
}

int32_t ckgen_run(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out, void* workspace,
                  void* stream, int32_t time_kernel, float* milliseconds) {
    return with_argument(index, problem, in, wei, out, [&](const Instance& instance, auto& argument) {
        instance.op->SetWorkSpacePointer(&argument, workspace);
        StreamConfig config;
        config.stream_id_ = static_cast<platform::Stream>(stream);
        config.time_kernel_ = time_kernel != 0;
        const float elapsed = instance.runner->MakeInvoker()->Run(&argument, config);
        if(milliseconds != nullptr)
            *milliseconds = elapsed;
    });
}

int32_t ckgen_select(const char* operation, const char* layout, const char* dtype, const char* function,
                     const char* arch, const ckgen_problem* problem, const void* in, const void* wei, const void* out,
                     int32_t capacity, ckgen_candidate* candidates, int32_t* count) {
    return guarded([&]() -> Status {
        using namespace tensor_operation::device::instance;
        *count = 0;
        const SelectionQuery query{problem_of(problem),
                                   fusion_of(problem),
                                   operation,
                                   layout,
                                   dtype,
                                   function == nullptr ? "PassThrough" : function,
                                   arch == nullptr ? "" : arch,
                                   in,
                                   wei,
                                   out};
        std::vector<SelectedInstance> found;
        std::string reason;
        if(capacity > 0)
            found = SelectInstances(query, static_cast<std::size_t>(capacity), &reason);
        for(const SelectedInstance& one : found)
            candidates[(*count)++] = {one.index, one.split_k, static_cast<int32_t>(one.source), one.microseconds};
        return found.empty() ? report(unsupported, reason) : done;
    });
}

int32_t ckgen_plan(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out, void* workspace,
                   void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks, uint32_t* threads) {
    return guarded([&]() -> int32_t {
        const int32_t status =
            with_argument(index, problem, in, wei, out, [&](const Instance& instance, auto& argument) {
                instance.op->SetWorkSpacePointer(&argument, workspace);
                const tensor_operation::device::LaunchPlan plan = instance.runner->Plan(argument);
                *args_bytes = static_cast<int64_t>(plan.args.size());
                *blocks = plan.blocks;
                *threads = static_cast<uint32_t>(plan.threads);
                if(args != nullptr && capacity >= *args_bytes)
                    std::copy(plan.args.begin(), plan.args.end(), static_cast<char*>(args));
            });
        return status == done && *args_bytes == 0
                   ? report(unsupported, "[plan] the kernel takes tensor maps beside its plan, which ckgen_run makes")
                   : status;
    });
}

int32_t ckgen_device_malloc(int64_t bytes, void** memory) {
    return done_or_failed([&] { *memory = platform::allocate(static_cast<std::size_t>(bytes)); });
}
int32_t ckgen_device_free(void* memory) {
    return done_or_failed([&] { platform::release(memory); });
}
int32_t ckgen_device_copy_to(void* device, const void* host, int64_t bytes) {
    return done_or_failed([&] { platform::copy_to_device(device, host, static_cast<std::size_t>(bytes)); });
}
int32_t ckgen_device_copy_from(void* host, const void* device, int64_t bytes) {
    return done_or_failed([&] { platform::copy_from_device(host, device, static_cast<std::size_t>(bytes)); });
}
int32_t ckgen_device_synchronize(void* stream) {
    return done_or_failed([&] { platform::synchronize(static_cast<platform::Stream>(stream)); });
}
int32_t ckgen_device_use(int32_t device, int32_t* previous) {
    return done_or_failed([&] { *previous = platform::use_device(device); });
}

int32_t ckgen_reference(const char* dtype, const ckgen_problem* p, const void* in, void* wei, const void* out) {
    return guarded([&]() -> Status {
        const conv::Problem problem = problem_of(p);
        if(!reference<dtype::f16>(dtype, problem, in, wei, out) &&
           !reference<dtype::bf16>(dtype, problem, in, wei, out) &&
           !reference<dtype::f32>(dtype, problem, in, wei, out) &&
           !reference<dtype::bf16_f32_bf16>(dtype, problem, in, wei, out))
            return report(failed, std::string("[dtype] ") + dtype + " is not f16, bf16, f32 or bf16_f32_bf16");
        return done;
    });
}

int32_t ckgen_reference_bwd_data(const char* dtype, const ckgen_problem* p, void* in, const void* wei,
                                 const void* out) {
    return guarded([&]() -> Status {
        const conv::Problem problem = problem_of(p);
        if(!reference_data<dtype::f16>(dtype, problem, in, wei, out) &&
           !reference_data<dtype::bf16>(dtype, problem, in, wei, out) &&
           !reference_data<dtype::f32>(dtype, problem, in, wei, out))
            return report(failed, std::string("[dtype] ") + dtype + " is not f16, bf16 or f32");
        return done;
    });
}

int32_t ckgen_host_configure(uint64_t seed, int32_t threads) {
#if CKGEN_PLATFORM_HOST
    platform::host_options() = {seed, threads};
    last_error.clear();
    return done;
#else
    (void)seed, (void)threads;
    return report(failed, "[host] only the host platform has a schedule to configure");
#endif
}
}
