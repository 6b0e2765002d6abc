// Programs that try every backward-weight instance of the library for an operator type, as CK's clients do: each
// supported instance runs a problem, with split_k 2; the fastest is named.
#pragma once

#include <algorithm>
#include <iomanip>
#include <tuple>

#include "convolution.hpp"

#include "ckgen/device/device_memory.hpp"
#include "ckgen/device/reference_conv_bwd_weight.hpp"
#include "ckgen/instance/functions.hpp"
#include "ckgen/instance/grouped_convolution_backward_weight.hpp"
#include "ckgen/library/device_arch.hpp"

namespace example {

inline constexpr const char* client_usage =
    "usage: PROGRAM [verification initialisation timing [problem]]\n"
    "  verification    0 no, 1 every instance against the CPU reference\n"
    "  initialisation  0 zeros, 1 small integers, 2 decimals\n"
    "  timing          0 no, 1 print time, TFlops and GB/s of every instance\n"
    "  problem         ndim G N K C filter.. input.. strides.. dilations.. left_pads.. right_pads..\n"
    "                  (ndim is the program's; as many numbers for each list; K and C are per group)\n";

// Packed strides in the order of a layout tag, whose axes are indices from the slowest to the fastest.
template <class Tag>
void pack_as(conv::Tensor& tensor, int ndim) {
    int64 stride = 1;
    for(int at = ndim + 2; at >= 0; --at) {
        tensor.strides[Tag::axes[at]] = stride;
        stride *= tensor.lengths[Tag::axes[at]];
    }
}

// The operator type of CK's two classes, and the parts of a call in which they differ. The D tensor has the weight's
// layout and type.
template <class Layout, class DataType, class Function>
struct Client {
    using Op = tensor_operation::device::BwdWeightMultipleDOperator<Layout, DataType, Function, Tuple<>, Tuple<>>;
    static constexpr int d_tensors = 0;
};
template <class Layout, class DataType>
struct Client<Layout, DataType, functions::PassThrough> {
    using Op = tensor_operation::device::BwdWeightOperator<Layout, DataType>;
    static constexpr int d_tensors = 0;
};
template <class Layout, class DataType>
struct Client<Layout, DataType, functions::Bilinear> {
    using Op = tensor_operation::device::BwdWeightMultipleDOperator<
        Layout, DataType, functions::Bilinear, Tuple<typename Layout::Wei>, Tuple<typename DataType::Wei>>;
    static constexpr int d_tensors = 1;
};

struct OnDevice : SimpleDeviceMem {
    template <class T>
    explicit OnDevice(const std::vector<T>& values) : SimpleDeviceMem(values.size() * sizeof(T)) {
        ToDevice(values.data());
    }
};

// The tensors of a run, in logical order of lengths, with the layout's strides.
template <class Layout, class DataType, class Function>
class ClientRun {
    using Kind = Client<Layout, DataType, Function>;
    using Op = typename Kind::Op;
    using Lengths = typename Op::Lengths;
    using Spatial = typename Op::Spatial;
    using Wei = typename DataType::Wei;
    using Pass = tensor_operation::element_wise::PassThrough;
    static constexpr index_t split_k = 2;

public:
    ClientRun(const Options& options, const Function& function)
        : options_(options), p_(options.problem), function_(function) {
        pack_as<typename Layout::In>(p_.in, p_.ndim);
        pack_as<typename Layout::Wei>(p_.wei, p_.ndim);
        pack_as<typename Layout::Out>(p_.out, p_.ndim);
        in_ = initial<typename DataType::In>(elements(p_.in), options.initialisation, 1);
        out_ = initial<typename DataType::Out>(elements(p_.out), options.initialisation, 2);
        d_ = initial<Wei>(elements(p_.wei), options.initialisation, 3);
        reference_ = options.verification != 0 ? expected() : std::vector<float>{};
    }

    // Runs every instance that supports the problem. True if there is one and all results are right.
    bool run_all() {
        print("input", p_.in, p_.ndim), print("weight", p_.wei, p_.ndim), print("output", p_.out, p_.ndim);
        const auto instances = tensor_operation::device::instance::DeviceOperationInstanceFactory<Op>::GetInstances();
        std::cout << "found " << instances.size() << " instances\n";
        std::string best;
        float least = 0;
        int ran = 0;
        for(const auto& op : instances) {
            const float ms = run(*op);
            if(ms < 0)
                return false;
            if(ms < skipped && ++ran && (best.empty() || ms < least))
                best = op->GetIdentity(), least = ms;
        }
        if(ran == 0)
            return std::cerr << "none of " << instances.size() << " instances supports this problem\n", false;
        std::cout << ran << " instances support the problem" << (options_.timing > 0 ? ", the fastest is " + best : "")
                  << "\nDone\n";
        return true;
    }

private:
    static constexpr float wrong = -1.f, skipped = 1e30f;

    // Milliseconds, `skipped` if the instance does not support the problem, `wrong` for a wrong result.
    float run(Op& op) const {
        const std::vector<Wei> poison(d_.size(), static_cast<Wei>(NAN));
        const OnDevice in(in_), out(out_), d(d_), wei(poison);
        const auto argument =
            make_argument(op, in.GetDeviceBuffer(), wei.GetDeviceBuffer(), out.GetDeviceBuffer(), d.GetDeviceBuffer());
        const SimpleDeviceMem workspace(op.GetWorkSpaceSize(argument.get()));
        op.SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
        if(!op.IsSupportedArgument(argument.get()))
            return skipped;
        const float ms = op.MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, options_.timing > 0});
        if(options_.timing > 0)
            print_perf(ms, p_,
                       static_cast<int64>((in_.size() + out_.size()) * sizeof(typename DataType::In) +
                                          (1 + Kind::d_tensors) * d_.size() * sizeof(Wei)),
                       op.GetTypeString());
        std::vector<Wei> result(d_.size());
        wei.FromDevice(result.data());
        return options_.verification == 0 || verify(result, reference_, p_.gemm_k()) ? ms : wrong;
    }

    std::unique_ptr<tensor_operation::device::BaseArgument> make_argument(Op& op, const void* in, void* wei,
                                                                          const void* out, const void* d) const {
        const auto lengths = [](const std::array<int64, 6>& v) { return narrow<Lengths>(v); };
        const auto spatial = [](const std::array<int64, 3>& v) { return narrow<Spatial>({v[0], v[1], v[2]}); };
        const auto shapes = std::make_tuple(lengths(p_.in.lengths), lengths(p_.in.strides), lengths(p_.wei.lengths),
                                            lengths(p_.wei.strides), lengths(p_.out.lengths), lengths(p_.out.strides));
        const auto rest = std::make_tuple(spatial(p_.strides), spatial(p_.dilations), spatial(p_.left_pads),
                                          spatial(p_.right_pads), Pass{}, function_, Pass{}, split_k);
        const auto call = [&](const auto&... arguments) { return op.MakeArgumentPointer(arguments...); };
        const auto tensors = std::make_tuple(in, wei, out);
        if constexpr(std::is_same_v<Function, functions::PassThrough>) {
            return std::apply(call, std::tuple_cat(tensors, shapes, rest));
        } else {
            std::array<const void*, Kind::d_tensors> p_ds{};
            std::array<Lengths, Kind::d_tensors> d_lengths{}, d_strides{};
            for(int i = 0; i < Kind::d_tensors; ++i) {
                p_ds[i] = d;
                d_lengths[i] = lengths(p_.wei.lengths), d_strides[i] = lengths(p_.wei.strides);
            }
            return std::apply(call, std::tuple_cat(tensors, std::make_tuple(p_ds), shapes,
                                                   std::make_tuple(d_lengths, d_strides), rest));
        }
    }

    // Values as kernels multiply them: rounded to the type `Compute`.
    template <class Compute, class T>
    static std::vector<float> multiplied(const std::vector<T>& values) {
        std::vector<float> result = widened(values);
        for(float& value : result)
            value = RoundedTo<Compute>::by(device_f8_codes(), value);
        return result;
    }

    std::vector<float> expected() const {
        std::vector<float> result(d_.size());
        reference::ReferenceConvBwdWeight<dtype::f32>::Run(p_, multiplied<typename DataType::ComputeB>(in_).data(),
                                                           result.data(),
                                                           multiplied<typename DataType::ComputeA>(out_).data());
        for(std::size_t i = 0; i < result.size(); ++i) {
            const float sum = result[i];
            if constexpr(Kind::d_tensors == 0)
                function_(result[i], sum);
            else
                function_(result[i], sum, d_[i]);
        }
        return result;
    }

    const Options& options_;
    conv::Problem p_;
    Function function_;
    std::vector<typename DataType::In> in_;
    std::vector<typename DataType::Out> out_;
    std::vector<Wei> d_;
    std::vector<float> reference_;
};

// The default problem for the host, where CK's would take hours: one of at most 2 groups and images, 32 channels and
// edges of 14.
inline std::vector<long> small(std::vector<long> problem, int ndim) {
    const long most[] = {2, 2, 32, 32};
    for(int i = 0; i < 4; ++i)
        problem[i] = std::min(problem[i], most[i]);
    for(int d = 0; d < ndim; ++d)
        problem[4 + ndim + d] = std::min(problem[4 + ndim + d], 14L);
    return problem;
}

// The program: `problem` is the default. Exit code 0: at least one instance ran, and all agreed with the reference if
// that was asked for. 1: wrong result or no instance. 2: wrong use.
template <class Layout, class DataType, class Function = functions::PassThrough>
int client(int argc, char** argv, const std::vector<long>& problem, const Function& function = Function()) {
    Options options;
    options.verification = 0;
    options.timing = 1;
    const bool on_host = CKGEN_PLATFORM_HOST == 1;
    options.problem = make_problem(Layout::ndim, on_host ? small(problem, Layout::ndim) : problem, client_usage);
    parse_arguments(options, argc, argv, 4, 1, client_usage);
    if(options.problem.ndim != Layout::ndim)
        wrong_use("the program has " + std::to_string(Layout::ndim) + " dimensions", client_usage);
    try {
        using Op = typename Client<Layout, DataType, Function>::Op;
        if(tensor_operation::device::instance::DeviceOperationInstanceFactory<Op>::GetInstances().empty()) {
            std::cerr
                << "the library has no instance for this program's layout, type and function; build a larger set\n";
            return 1;
        }
        return ClientRun<Layout, DataType, Function>(options, function).run_all() ? 0 : 1;
    } catch(const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}

}  // namespace example
