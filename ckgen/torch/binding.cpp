// PyTorch's side of ckgen.torch: run a library's gradients on tensors without Python.
//
// A plan says how to compute the gradients of one problem; Python makes it once per problem (operator ckgen::plan) and
// this file executes it: `ckgen::execute`, and in place of aten::convolution_backward. A planner, known by its number,
// plans all calls while ckgen.torch.enable() holds, or those of outputs that `ckgen::mark` marked (patched modules).
// Only the dispatcher connects both sides, so that no header of Python is needed.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/convolution_backward_native.h>
#include <ATen/ops/sum.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/DimVector.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/library.h>

#include "plan.hpp"
#include "problems.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using at::IntArrayRef;
using at::Tensor;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;
using ckgen_torch::Plan;
using ckgen_torch::Problems;
using ckgen_torch::Step;
using ckgen_torch::Words;

// The current stream as the C API takes it; null on a CPU.
void* stream_of(const Tensor& tensor) {
    if(tensor.is_cpu())
        return nullptr;
    return c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device()).native_handle();
}

// New memory on the device of `on`, from PyTorch's allocator but without the dispatcher: a call of at::empty_strided or
// at::empty took 3 to 5 us of the host's time beside a launch of 7 us.
c10::Allocator* allocator_of(const Tensor& on) {
    return on.is_cpu() ? c10::GetCPUAllocator() : at::detail::getCUDAHooks().getCUDADeviceAllocator();
}
Tensor empty(const Tensor& on, IntArrayRef sizes, IntArrayRef strides, at::ScalarType type) {
    const auto key = on.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
    return at::detail::empty_strided_generic(sizes, strides, allocator_of(on), c10::DispatchKeySet(key), type);
}

// True if a tensor's strides are those of channels last without gaps.
bool is_channels_last(const Tensor& tensor) {
    int64_t step = 1;
    const auto next = [&](int64_t axis) {
        const bool fits = tensor.size(axis) == 1 || tensor.stride(axis) == step;
        step *= tensor.size(axis);
        return fits;
    };
    bool all = next(1);
    for(int64_t axis = tensor.dim() - 1; axis > 1; --axis)
        all = all && next(axis);
    return all && next(0);
}

// Both formats of one channel or position are the same memory. Where the source has fewer neighbouring elements than
// this, PyTorch's copy is faster: measured on an H200, where the library's takes 0.3 to 1.0 times as long for 6 or
// more.
constexpr int64_t kFewest = 6;

// Copies between PyTorch's default memory format and channels last by the step's library. False if it is another copy.
bool transposed(const Tensor& from, const Tensor& to, const Step& step) {
    const bool planes = from.is_contiguous() && is_channels_last(to);
    const int64_t bytes = from.element_size();
    if(!(planes || (to.is_contiguous() && is_channels_last(from))) || (bytes != 2 && bytes != 4) ||
       (reinterpret_cast<uintptr_t>(from.const_data_ptr()) & 15) != 0)
        return false;
    const int64_t channels = from.size(1), positions = from.numel() / (from.size(0) * channels);
    const int64_t rows = planes ? channels : positions, columns = planes ? positions : channels;
    if(rows == 1 || columns < kFewest)
        return false;
    const int32_t status = step.transpose(from.const_data_ptr(), to.mutable_data_ptr(), from.size(0), rows, columns,
                                          static_cast<int32_t>(bytes), stream_of(from));
    TORCH_CHECK(status == 0, "ckgen: ", step.last_error());
    return true;
}

Tensor copied(const Tensor& tensor, const Words& strides, const Step& step) {
    if(strides.empty())
        return tensor;
    const Tensor result = empty(tensor, tensor.sizes(), strides, tensor.scalar_type());
    if(!transposed(tensor, result, step))
        result.copy_(tensor);
    return result;
}

// Computes one gradient into new memory. `written`: the position of its address in `addresses` (in, wei, out).
Tensor compute(const Step& step, void* (&addresses)[3], int written, IntArrayRef sizes, at::ScalarType type,
               void* workspace, const Tensor& on) {
    Tensor result = empty(on, sizes, step.strides, type);
    if(step.kind == Step::Zeros)
        return result.zero_();
    addresses[written] = result.mutable_data_ptr();
    const int32_t status =
        step.start(step.prepared.get(), addresses[0], addresses[1], addresses[2], workspace, stream_of(on));
    TORCH_CHECK(status == 0, "ckgen: ", step.last_error());
    return copied(result, step.reordered, step);
}

// The gradients of input and weight that the plan has; the others are undefined.
std::tuple<Tensor, Tensor> execute(const Plan& plan, const Tensor& grad_output, const Tensor& input,
                                   const Tensor& weight, at::ScalarType weight_type) {
    const c10::DeviceGuard guard(grad_output.device());
    Tensor out, found[2];
    c10::DataPtr workspace;  // of both gradients, which follow each other in the stream
    if(const auto bytes = std::max(plan.steps[0].workspace_bytes, plan.steps[1].workspace_bytes); bytes > 0)
        workspace = allocator_of(grad_output)->allocate(bytes);
    const Words* form = nullptr;  // of `out`
    for(int at = 0; at < 2; ++at) {
        const Step& step = plan.steps[at];
        if(step.kind == Step::Absent)
            continue;
        if(form == nullptr || *form != step.copies[0])
            out = copied(grad_output, step.copies[0], step);
        form = &step.copies[0];
        const Tensor other = copied(at == 0 ? weight : input, step.copies[1], step);
        void* const read = const_cast<void*>(other.const_data_ptr());
        void* addresses[3] = {read, read, const_cast<void*>(out.const_data_ptr())};
        const Tensor& like = at == 0 ? input : weight;
        const auto type = at == 0 ? input.scalar_type() : weight_type;
        found[at] = compute(step, addresses, at, like.sizes(), type, workspace.get(), out);
    }
    return {found[0], found[1]};
}

std::tuple<Tensor, Tensor> execute_words(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                         IntArrayRef words) {
    return execute(ckgen_torch::read_plan(words), grad_output, input, weight, weight.scalar_type());
}

// ---- in place of aten::convolution_backward ----

std::atomic<int64_t> everywhere{0};  // the planner of all calls; 0: none
// The planner, or 0, of a node that this thread is about to run, and that may fail before it calls the kernel.
struct Mark {
    int64_t planner = 0;
    const torch::autograd::Node* node = nullptr;
    uint64_t sequence = 0;
};
thread_local Mark marked;
thread_local bool planning = false;  // the planner times PyTorch's own gradients

std::shared_mutex plans_mutex;
std::unordered_map<Words, std::shared_ptr<const Plan>, ckgen_torch::Hash> plans;
constexpr size_t kMostPlans = 1 << 14;          // of about 8 KiB each; start again beyond these
std::unordered_map<int64_t, Problems> varying;  // of the planners that compare times

void add(Words& key, IntArrayRef values) { key.insert(key.end(), values.begin(), values.end()); }

// True if convolutions may round float32 to tf32. Versions of PyTorch name the operator in different types, or not.
template <class... Name>
bool rounds(const at::Context& context, bool (at::Context::*tells)(Name...) const) {
    if constexpr((std::is_same_v<Name, const std::string&> && ...))
        return (context.*tells)(Name("conv")...);
    else
        return (context.*tells)(Name::value_type::CONV...);
}

// Everything that a plan depends on. Switches of PyTorch count too: they change how fast PyTorch itself is. Returns the
// number of words at the beginning that tell the layer: all but sizes of images, strides and addresses.
size_t make_key(Words& key, int64_t planner, const Tensor (&tensors)[3], IntArrayRef stride, IntArrayRef padding,
                IntArrayRef dilation, int64_t groups, int64_t wanted) {
    const auto& context = at::globalContext();
    const int64_t switches = rounds(context, &at::Context::allowTF32CuDNN) | context.benchmarkCuDNN() << 1 |
                             context.deterministicCuDNN() << 2 | context.deterministicAlgorithms() << 3 |
                             context.userEnabledCuDNN() << 4;
    key.clear();
    add(key, {planner, tensors[0].dim(), wanted, switches, groups, static_cast<int64_t>(tensors[0].scalar_type()),
              tensors[0].device().index()});
    for(const IntArrayRef values : {stride, padding, dilation, tensors[2].sizes()})
        add(key, values);
    const size_t layer_words = key.size();
    for(const Tensor& tensor : tensors) {
        add(key, tensor.sizes());
        add(key, tensor.strides());
        key.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) & 15));
    }
    return layer_words;
}

// Python's plan; null if PyTorch is to compute these gradients this time and the question is open.
std::shared_ptr<const Plan> ask(int64_t planner, const Tensor (&tensors)[3], IntArrayRef stride, IntArrayRef padding,
                                IntArrayRef dilation, int64_t groups, int64_t wanted) {
    using Signature = Words(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t,
                            int64_t, int64_t);
    static const auto plan = c10::Dispatcher::singleton().findSchemaOrThrow("ckgen::plan", "").typed<Signature>();
    struct Planning {
        Planning() { planning = true; }
        ~Planning() { planning = false; }
    } const here;
    // Without their graph: references that Python keeps a while would keep nodes of autograd alive.
    const Words words = plan.call(tensors[0].detach(), tensors[1].detach(), tensors[2].detach(), stride, padding,
                                  dilation, groups, wanted, planner);
    return words.empty() ? nullptr : std::make_shared<const Plan>(ckgen_torch::read_plan(words));
}

std::shared_ptr<const Plan> find(int64_t planner, const Tensor (&tensors)[3], IntArrayRef stride, IntArrayRef padding,
                                 IntArrayRef dilation, int64_t groups, int64_t wanted) {
    thread_local Words key;
    const size_t layer_words = make_key(key, planner, tensors, stride, padding, dilation, groups, wanted);
    {
        const std::shared_lock lock(plans_mutex);
        if(const auto found = plans.find(key); found != plans.end())
            return found->second;
    }
    const Words mine = key;  // planning may come here again
    const auto start = Problems::Clock::now();
    {
        const std::unique_lock lock(plans_mutex);
        if(const auto found = varying.find(planner);
           found != varying.end() && !found->second.admit(mine, layer_words, start))
            return nullptr;
    }
    auto made = ask(planner, tensors, stride, padding, dilation, groups, wanted);
    const std::unique_lock lock(plans_mutex);
    if(const auto found = varying.find(planner); found != varying.end())
        found->second.count(Problems::Clock::now() - start);
    if(made == nullptr)
        return made;
    if(plans.size() >= kMostPlans)
        plans.clear();
    return plans.emplace(mine, std::move(made)).first->second;
}

// One entry per dimension: PyTorch passes on lists of one that apply to all, as of padding="valid".
c10::DimVector spread(IntArrayRef values, int64_t dims) {
    return values.size() == 1 ? c10::DimVector(dims, values[0]) : c10::DimVector(values.begin(), values.end());
}

// True if a library could compute this: the planner sees only such calls.
bool is_ours(const Tensor& grad_output, const Tensor& input, const Tensor& weight, bool transposed,
             const std::array<bool, 3>& mask) {
    const auto kind = grad_output.scalar_type();
    const bool typed = kind == at::kHalf || kind == at::kBFloat16 || kind == at::kFloat;
    if(planning || transposed || !typed || !(mask[0] || mask[1]))
        return false;
    for(const Tensor* tensor : {&grad_output, &input, &weight})
        if(tensor->scalar_type() != kind || tensor->device() != grad_output.device() || tensor->numel() == 0 ||
           tensor->layout() != at::kStrided || tensor->dim() != input.dim())
            return false;
    return input.dim() >= 3 && input.dim() <= 5;
}

Gradients convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                               at::OptionalIntArrayRef bias_sizes, IntArrayRef stride, IntArrayRef padding,
                               IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
                               std::array<bool, 3> mask) {
    const c10::OptionalDeviceGuard guard(grad_output.device());
    const auto by_pytorch = [&](const std::array<bool, 3>& wanted) {
        return at::native::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
                                                transposed, output_padding, groups, wanted);
    };
    const Mark own = std::exchange(marked, {});
    const auto node = torch::autograd::get_current_node();
    const bool mine = own.node != nullptr && node.get() == own.node && node->sequence_nr() == own.sequence;
    const int64_t planner = mine ? own.planner : everywhere.load();
    if(planner == 0 || !is_ours(grad_output, input, weight, transposed, mask))
        return by_pytorch(mask);
    const Tensor tensors[3] = {grad_output, input, weight};
    const int64_t dims = input.dim() - 2;
    const auto plan = find(planner, tensors, spread(stride, dims), spread(padding, dims), spread(dilation, dims),
                           groups, mask[0] | mask[1] << 1);
    const auto has = [&](int at) { return plan != nullptr && plan->steps[at].kind != Step::Absent; };
    if(!has(0) && !has(1))
        return by_pytorch(mask);
    Gradients found;
    std::array<bool, 3> rest{mask[0] && !has(0), mask[1] && !has(1), false};
    if(rest[0] || rest[1]) {
        rest[2] = mask[2];
        found = by_pytorch(rest);
    } else if(mask[2]) {
        Words dims(grad_output.dim() - 1);  // 0, 2, 3 and so on
        std::iota(dims.begin() + 1, dims.end(), 2);
        std::get<2>(found) = at::sum(grad_output, dims);
    }
    const auto ours = execute(*plan, grad_output, input, weight, weight.scalar_type());
    return {has(0) ? std::get<0>(ours) : std::get<0>(found), has(1) ? std::get<1>(ours) : std::get<1>(found),
            std::get<2>(found)};
}

// A hook before the node of a convolution: its call of aten::convolution_backward asks the node's planner.
struct Before : torch::autograd::FunctionPreHook {
    explicit Before(Mark mark) : mark_(mark) {}
    torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients) override {
        marked = mark_;
        return gradients;
    }
    // Compiled autograd traces the node without its hooks: PyTorch then computes these gradients.
    void compiled_args(torch::dynamo::autograd::CompiledNodeArgs&) const override {}
    Mark mark_;
};

void mark(const Tensor& output, int64_t planner) {
    const auto& node = output.grad_fn();
    if(node == nullptr || node->name() != "ConvolutionBackward0")
        return;
    node->add_pre_hook(std::make_unique<Before>(Mark{planner, node.get(), node->sequence_nr()}));
}

std::unique_ptr<torch::Library> replaced[2];  // on CPU and GPU

}  // namespace

TORCH_LIBRARY_FRAGMENT(ckgen, library) {
    library.def("execute(Tensor grad_output, Tensor input, Tensor weight, int[] plan) -> (Tensor, Tensor)");
    library.def("mark(Tensor output, int planner) -> ()");
}

TORCH_LIBRARY_IMPL(ckgen, CompositeExplicitAutograd, library) {
    library.impl("execute", execute_words);
    library.impl("mark", [](const Tensor&, int64_t) {});  // nothing is recorded
}
TORCH_LIBRARY_IMPL(ckgen, Autograd, library) { library.impl("mark", mark); }

// Tells that a planner compares times, and that PyTorch may compute what it does not plan.
extern "C" __attribute__((visibility("default"))) void ckgen_torch_compares(int64_t planner) {
    const std::unique_lock lock(plans_mutex);
    varying.try_emplace(planner);
}

// Drops the plans of a planner that plans no more.
extern "C" __attribute__((visibility("default"))) void ckgen_torch_forget(int64_t planner) {
    const std::unique_lock lock(plans_mutex);
    varying.erase(planner);
    for(auto at = plans.begin(); at != plans.end();)
        at = at->first[0] == planner ? plans.erase(at) : std::next(at);
}

// Lets a planner plan all backward convolutions of this process; 0: none.
extern "C" __attribute__((visibility("default"))) void ckgen_torch_use(int64_t planner) { everywhere.store(planner); }

// Replaces aten::convolution_backward on CPUs (0) or GPUs (1), so that planners are asked. Without one, PyTorch's own
// runs: the dispatcher's table must not change back, because other threads may be reading it.
extern "C" __attribute__((visibility("default"))) void ckgen_torch_replace(int32_t on_gpu) {
    auto& library = replaced[on_gpu];
    if(library != nullptr)
        return;
    class : public c10::WarningHandler {  // PyTorch warns of every kernel that is replaced, which is wanted here
        void process(const c10::Warning&) override {}
    } quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    library = std::make_unique<torch::Library>(
        torch::Library::IMPL, "aten", on_gpu != 0 ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU, __FILE__, __LINE__);
    library->impl("convolution_backward", TORCH_FN(convolution_backward));
}
