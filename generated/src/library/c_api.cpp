// Copied by ckgen from templates/src/library/c_api.cpp. Do not edit; run: ckgen generate
// The C interface to the registry. No exception leaves a function.
#include "ckgen/c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "ckgen/library/device_arch.hpp"
#include "ckgen/library/measured.hpp"
#include "ckgen/library/registry.hpp"
#include "ckgen/library/selector.hpp"
#include "ckgen/op/operations.hpp"
#include "ckgen/op/runner.hpp"

struct ckgen_prepared {
    std::unique_ptr<ckgen::tensor_operation::device::PreparedRun> run;
};

namespace {

using namespace ckgen;
using tensor_operation::device::ArgumentSplitK;
using tensor_operation::device::BaseOperator;
using tensor_operation::device::ConvRunner;
using tensor_operation::device::FunctionCounts;
using tensor_operation::device::UnsupportedRun;

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
    } catch(const UnsupportedRun& error) {
        return report(unsupported, error.what());
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

// One operator per entry, made on first use.
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

// Throws std::invalid_argument for a pointer that the caller must give and did not.
void require(const void* pointer, const char* name) {
    if(pointer == nullptr)
        throw std::invalid_argument(std::string("[null-pointer] ") + name + " is null");
}

conv::Problem problem_of(const ckgen_problem* p) {
    require(p, "problem");
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

// Refuses counts that differ from the function's, before anything that they count is read.
std::string counts_reason(const ckgen_problem* p, const FunctionCounts& counts) {
    require(p, "problem");
    if(p->d_count != counts.d)
        return "[d-count] the function has " + std::to_string(counts.d) + " D tensors, " + std::to_string(p->d_count) +
               " are given";
    if(p->scalar_count != 0 && p->scalar_count != counts.scalars)
        return "[scalars] the function has " + std::to_string(counts.scalars) + " scalars, " +
               std::to_string(p->scalar_count) + " are given";
    return {};
}

// Requires a problem whose counts are right.
conv::Fusion fusion_of(const ckgen_problem* p) {
    conv::Fusion result;
    if(p->d_count > 0)
        require(p->d, "problem.d");
    for(int32_t i = 0; i < p->d_count; ++i)
        result.d.push_back({p->d[i].data, tensor(p->d[i].lengths, p->d[i].strides)});
    if(p->scalar_count > 0) {
        require(p->scalars, "problem.scalars");
        result.scalars.assign(p->scalars, p->scalars + p->scalar_count);
    }
    return result;
}

// For calls without a result.
template <class Call>
int32_t done_or_failed(const Call& call) {
    return guarded([&] { return call(), done; });
}

std::size_t size_of(int64_t bytes) {
    if(bytes < 0)
        throw std::invalid_argument("[bytes] " + std::to_string(bytes) + " is negative");
    return static_cast<std::size_t>(bytes);
}

// A range of zero bytes may have any address.
void require_range(const void* pointer, int64_t bytes, const char* name) {
    if(bytes != 0)
        require(pointer, name);
}

// Makes the argument. If the instance takes it, calls use(instance, argument).
template <class Use>
int32_t with_argument(int32_t index, const ckgen_problem* p, void* in, void* wei, const void* out, const Use& use) {
    return guarded([&]() -> Status {
        const Instance& instance = instance_at(index);
        std::string reason = counts_reason(p, instance.runner->Counts());
        if(!reason.empty())
            return report(unsupported, reason);
        const auto argument = instance.runner->MakeProblemArgument(problem_of(p), fusion_of(p), in, wei, out);
        reason = instance.op->GetUnsupportedReason(argument.get());
        if(!reason.empty())
            return report(unsupported, reason);
        use(instance, *argument);
        return done;
    });
}

// Counts of an operation's function, from the library's first instance with it; zeros if there is none.
FunctionCounts counts_of(const char* operation, const char* function) {
    for(const InstanceFields& fields : instance_fields())
        if(std::strcmp(fields.operation, operation) == 0 && std::strcmp(fields.function, function) == 0)
            for(int32_t index = 0; index < ckgen_instance_count(); ++index)
                if(std::strcmp(registry()[static_cast<size_t>(index)].name, fields.name) == 0)
                    return instances()[static_cast<size_t>(index)].runner->Counts();
    return {};
}

template <class T, class Void>
auto* typed(Void* data) {
    return static_cast<std::conditional_t<std::is_const_v<Void>, const T*, T*>>(data);
}

// Runs the reference of a data type. Tensors: as the C API takes them, const unless the operation writes them.
template <class Reference, class In, class Wei, class Out>
void run_reference(const conv::Problem& problem, In* in, Wei* wei, Out* out) {
    Reference::Run(problem, typed<typename Reference::In>(in), typed<typename Reference::Wei>(wei),
                   typed<typename Reference::Out>(out), device_f8_codes());
}

std::string dtype_reason(const char* dtype, const std::vector<const char*>& known) {
    std::string reason = std::string("[dtype] ") + dtype + " is not ";
    for(std::size_t i = 0; i < known.size(); ++i)
        reason += std::string(i == 0 ? "" : i + 1 < known.size() ? ", " : " or ") + known[i];
    return reason;
}

}  // namespace

extern "C" {

int32_t ckgen_abi_version(void) { return CKGEN_ABI_VERSION; }
int32_t ckgen_f8_codes(void) { return static_cast<int32_t>(device_f8_codes()); }
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
                             require(bytes, "bytes");
                             *bytes = static_cast<int64_t>(instance.op->GetWorkSpaceSize(&argument));
                         });
}

int32_t ckgen_split_k(int32_t index, const ckgen_problem* problem, int32_t* split_k) {
    return with_argument(index, problem, nullptr, nullptr, nullptr, [&](const Instance&, const auto& argument) {
        require(split_k, "split_k");
        *split_k = dynamic_cast<const ArgumentSplitK&>(argument).k_batch_;
    });
}

int32_t ckgen_run(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out, void* workspace,
                  void* stream, int32_t time_kernel, float* milliseconds) {
    return with_argument(index, problem, in, wei, out, [&](const Instance& instance, auto& argument) {
        instance.op->GetWorkSpaceSize(&argument);  // callers know it from ckgen_workspace_size
        instance.op->SetWorkSpacePointer(&argument, workspace);
        StreamConfig config;
        config.stream_id_ = static_cast<platform::Stream>(stream);
        config.time_kernel_ = time_kernel != 0;
        const float elapsed = instance.runner->MakeInvoker()->Run(&argument, config);
        if(milliseconds != nullptr)
            *milliseconds = elapsed;
    });
}

int32_t ckgen_prepare(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out,
                      ckgen_prepared** prepared) {
    return with_argument(index, problem, in, wei, out, [&](const Instance& instance, const auto& argument) {
        require(prepared, "prepared");
        *prepared = new ckgen_prepared{instance.runner->Prepare(argument)};
    });
}
int32_t ckgen_start(const ckgen_prepared* prepared, void* in, void* wei, const void* out, void* memory, void* stream) {
    return done_or_failed([&] {
        require(prepared, "prepared");
        prepared->run->Start(in, wei, out, memory, static_cast<platform::Stream>(stream));
    });
}
void ckgen_release(ckgen_prepared* prepared) { delete prepared; }

int32_t ckgen_transpose(const void* source, void* target, int64_t images, int64_t rows, int64_t columns,
                        int32_t element_bytes, void* stream) {
    return done_or_failed([&] {
        require(source, "source"), require(target, "target");
        tensor_operation::device::transpose({images, rows, columns, element_bytes}, source, target,
                                            static_cast<platform::Stream>(stream));
    });
}

int32_t ckgen_select(const char* operation, const char* layout, const char* dtype, const char* function,
                     const char* arch, const ckgen_problem* problem, const void* in, const void* wei, const void* out,
                     int32_t capacity, ckgen_candidate* candidates, int32_t* count) {
    return guarded([&]() -> Status {
        using namespace tensor_operation::device::instance;
        require(operation, "operation"), require(layout, "layout"), require(dtype, "dtype"), require(count, "count");
        *count = 0;
        if(capacity < 1)
            throw std::invalid_argument("[capacity] " + std::to_string(capacity) + " candidates are none");
        require(candidates, "candidates");
        const char* wanted = function == nullptr ? "PassThrough" : function;
        const std::string refused = counts_reason(problem, counts_of(operation, wanted));
        if(!refused.empty())
            return report(unsupported, refused);
        const char* gpu = arch == nullptr ? "" : arch;
        const conv::Problem asked = problem_of(problem);
        const SelectionQuery query{asked, fusion_of(problem), operation, layout, dtype, wanted, gpu, in, wei, out};
        std::string reason;
        const std::vector<SelectedInstance> found = SelectInstances(query, static_cast<std::size_t>(capacity), &reason);
        for(const SelectedInstance& one : found)
            candidates[(*count)++] = {one.index, one.split_k, static_cast<int32_t>(one.source), one.microseconds};
        return found.empty() ? report(unsupported, reason) : done;
    });
}

int32_t ckgen_plan(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out, void* workspace,
                   void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks, uint32_t* threads) {
    const int32_t status = with_argument(index, problem, in, wei, out, [&](const Instance& instance, auto& argument) {
        instance.op->SetWorkSpacePointer(&argument, workspace);
        instance.runner->Plan(argument).main.tell(args, capacity, args_bytes, blocks, threads);
    });
    return status == done && *args_bytes == 0
               ? report(unsupported, "[plan] the kernel takes tensor maps beside its plan, which ckgen_run makes")
               : status;
}
int32_t ckgen_plan_weight_copy(int32_t index, const ckgen_problem* problem, void* in, void* wei, const void* out,
                               void* workspace, void* args, int64_t capacity, int64_t* args_bytes, uint32_t* blocks,
                               uint32_t* threads) {
    return with_argument(index, problem, in, wei, out, [&](const Instance& instance, auto& argument) {
        instance.op->SetWorkSpacePointer(&argument, workspace);
        instance.runner->Plan(argument).copy.tell(args, capacity, args_bytes, blocks, threads);
    });
}

int32_t ckgen_device_malloc(int64_t bytes, void** memory) {
    return done_or_failed([&] {
        require(memory, "memory");
        *memory = platform::allocate(size_of(bytes));
    });
}
int32_t ckgen_device_free(void* memory) {
    return done_or_failed([&] { platform::release(memory); });
}
int32_t ckgen_device_copy_to(void* device, const void* host, int64_t bytes) {
    return done_or_failed([&] {
        require_range(device, bytes, "device"), require_range(host, bytes, "host");
        platform::copy_to_device(device, host, size_of(bytes));
    });
}
int32_t ckgen_device_copy_from(void* host, const void* device, int64_t bytes) {
    return done_or_failed([&] {
        require_range(device, bytes, "device"), require_range(host, bytes, "host");
        platform::copy_from_device(host, device, size_of(bytes));
    });
}
int32_t ckgen_device_synchronize(void* stream) {
    return done_or_failed([&] { platform::synchronize(static_cast<platform::Stream>(stream)); });
}
int32_t ckgen_device_use(int32_t device, int32_t* previous) {
    return done_or_failed([&] {
        require(previous, "previous");
        *previous = platform::use_device(device);
    });
}

#define CKGEN_TRY_DATA_TYPE(DATA_TYPE)                                                                                 \
    known.push_back(dtype::DATA_TYPE::name);                                                                           \
    if(std::strcmp(wanted, known.back()) == 0) {                                                                       \
        run_reference<Operation::Reference<dtype::DATA_TYPE>>(problem, in, wei, out);                                  \
        return done;                                                                                                   \
    }
#define CKGEN_DEFINE_REFERENCE(OPERATION, FUNCTION, IN, WEI, OUT)                                                      \
    int32_t FUNCTION(const char* wanted, const ckgen_problem* p, IN in, WEI wei, OUT out) {                            \
        using Operation = tensor_operation::device::OPERATION;                                                         \
        return guarded([&]() -> Status {                                                                               \
            require(wanted, "dtype"), require(in, "in"), require(wei, "wei"), require(out, "out");                     \
            const conv::Problem problem = problem_of(p);                                                               \
            std::vector<const char*> known;                                                                            \
            CKGEN_DATA_TYPES_OF_##OPERATION(CKGEN_TRY_DATA_TYPE) return report(failed, dtype_reason(wanted, known));   \
        });                                                                                                            \
    }
CKGEN_EACH_REFERENCE(CKGEN_DEFINE_REFERENCE)

int32_t ckgen_host_configure(uint64_t seed, int32_t threads) {
#if CKGEN_PLATFORM_HOST
    return done_or_failed([&] {
        if(threads < 0)
            throw std::invalid_argument("[threads] " + std::to_string(threads) + " is negative");
        platform::host_options() = {seed, threads};
    });
#else
    (void)seed, (void)threads;
    return report(failed, "[host] only the host platform has a schedule to configure");
#endif
}
}
