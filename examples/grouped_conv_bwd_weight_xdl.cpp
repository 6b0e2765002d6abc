// Grouped convolution backward weight, f16, channels last, with the arguments of CK's example of the same name:
//     grouped_conv_bwd_weight_xdl [verification initialisation timing [ndim G N K C filter.. input.. strides..
//                                  dilations.. left_pads.. right_pads..]]
// Exit code 0: ran, and agreed with the reference if that was asked for. 1: wrong result or no instance. 2: wrong use.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "ckgen/device/device_memory.hpp"
#include "ckgen/device/reference_conv_bwd_weight.hpp"
#include "ckgen/instance/grouped_convolution_backward_weight.hpp"

namespace {

using namespace ckgen;
using tensor_operation::device::BwdWeightOperator;
using tensor_operation::device::instance::DeviceOperationInstanceFactory;

struct Options {
    int verification = 1;
    int initialisation = 1;
    bool timing = false;
    conv::Problem problem;
};

const char* usage = "usage: grouped_conv_bwd_weight_xdl [verification initialisation timing [problem]]\n"
                    "  verification    0 no, 1 against the CPU reference\n"
                    "  initialisation  0 zeros, 1 small integers, 2 decimals\n"
                    "  timing          0 no, 1 print time, TFlops and GB/s\n"
                    "  problem         ndim G N K C filter.. input.. strides.. dilations.. left_pads.. right_pads..\n"
                    "                  (ndim 1, 2 or 3 numbers for each list; K and C are per group)\n"
                    "example: grouped_conv_bwd_weight_xdl 1 2 1 2 1 4 64 32 3 3 28 28 1 1 1 1 1 1 1 1\n";

[[noreturn]] void wrong_use(const std::string& what) {
    std::cerr << "error: " << what << "\n" << usage;
    std::exit(2);
}

long parse(const char* text, const char* what, long least, long most) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if(*text == '\0' || *end != '\0' || value < least || value > most)
        wrong_use(std::string(what) + " is '" + text + "', not an integer in " + std::to_string(least) + ".." +
                  std::to_string(most));
    return value;
}

// Packed strides for memory order N, spatial, G, channels (weights: G, K, filter, C).
void pack(conv::Problem& p) {
    const auto fill = [&](conv::Tensor& tensor, bool weight) {
        int64 stride = 1;
        const auto take = [&](int index) {
            tensor.strides[index] = stride;
            stride *= tensor.lengths[index];
        };
        take(2);
        if(!weight)
            take(0);
        for(int d = p.ndim - 1; d >= 0; --d)
            take(3 + d);
        take(1);
        if(weight)
            take(0);
    };
    fill(p.in, false), fill(p.wei, true), fill(p.out, false);
}

conv::Problem make_problem(int ndim, const std::vector<long>& v) {
    conv::Problem p;
    p.ndim = ndim;
    const auto list = [&](int which, int d) { return v[static_cast<size_t>(4 + which * ndim + d)]; };
    const long g = v[0], n = v[1], k = v[2], c = v[3];
    p.in.lengths = {g, n, c, 1, 1, 1};
    p.wei.lengths = {g, k, c, 1, 1, 1};
    p.out.lengths = {g, n, k, 1, 1, 1};
    for(int d = 0; d < ndim; ++d) {
        p.wei.lengths[3 + d] = list(0, d);
        p.in.lengths[3 + d] = list(1, d);
        p.strides[d] = list(2, d);
        p.dilations[d] = list(3, d);
        p.left_pads[d] = list(4, d);
        p.right_pads[d] = list(5, d);
        const int64 span = (p.wei.lengths[3 + d] - 1) * p.dilations[d] + 1;
        const int64 room = p.in.lengths[3 + d] + p.left_pads[d] + p.right_pads[d] - span;
        if(room < 0)
            wrong_use("the filter is larger than the padded input in dimension " + std::to_string(d));
        p.out.lengths[3 + d] = room / p.strides[d] + 1;
    }
    pack(p);
    return p;
}

Options parse_arguments(int argc, char** argv) {
    Options options;
    options.problem =
        make_problem(3, {4, 1, 128, 256, 3, 3, 3, 14, 14, 14, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});  // CK's default
    if(argc == 1)
        return options;
    if(argc < 4)
        wrong_use("give none, three, or three and a problem's arguments");
    options.verification = static_cast<int>(parse(argv[1], "verification", 0, 1));
    options.initialisation = static_cast<int>(parse(argv[2], "initialisation", 0, 2));
    options.timing = parse(argv[3], "timing", 0, 1) == 1;
    if(argc == 4)
        return options;
    const int ndim = static_cast<int>(parse(argv[4], "ndim", 1, 3));
    if(argc != 9 + 6 * ndim)
        wrong_use("a problem of " + std::to_string(ndim) + " dimensions takes " + std::to_string(5 + 6 * ndim) +
                  " numbers, " + std::to_string(argc - 4) + " were given");
    std::vector<long> values;
    for(int i = 5; i < argc; ++i)
        values.push_back(parse(argv[i], "a problem number", i < 9 + 4 * ndim ? 1 : 0, 1 << 24));
    options.problem = make_problem(ndim, values);
    return options;
}

int64 elements(const conv::Tensor& tensor) {
    int64 count = 1;
    for(const int64 length : tensor.lengths)
        count *= length == 0 ? 1 : length;
    return count;
}

std::vector<half_t> initial(int64 count, int how, unsigned seed) {
    std::vector<half_t> values(static_cast<size_t>(count));
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> integers(-5, 4);
    std::uniform_real_distribution<float> decimals(-0.5f, 0.5f);
    for(half_t& value : values)
        value = how == 0   ? half_t{0}
                : how == 1 ? static_cast<half_t>(integers(random))
                           : static_cast<half_t>(decimals(random));
    return values;
}

void print(const char* name, const conv::Tensor& tensor, int ndim) {
    std::cout << name << ": lengths {";
    for(int i = 0; i < ndim + 3; ++i)
        std::cout << (i ? ", " : "") << tensor.lengths[i];
    std::cout << "}, strides {";
    for(int i = 0; i < ndim + 3; ++i)
        std::cout << (i ? ", " : "") << tensor.strides[i];
    std::cout << "}\n";
}

// Every element within f16's rounding of the reference plus what f32 sums of `terms` products may lose.
bool verify(const std::vector<half_t>& result, const std::vector<half_t>& reference, int64 terms) {
    double worst = 0;
    for(size_t i = 0; i < result.size(); ++i) {
        const double expected = to_float(reference[i]);
        const double error = std::abs(to_float(result[i]) - expected);
        const double allowed = std::abs(expected) * 0x1p-10 + 0x1p-20 + static_cast<double>(terms) * 25 * 0x1p-23;
        if(!(error <= allowed) && std::isfinite(expected)) {
            std::cerr << "wrong: element " << i << " is " << to_float(result[i]) << ", not " << expected << "\n";
            return false;
        }
        worst = std::max(worst, std::isfinite(expected) ? error : 0.);
    }
    std::cout << "verified against the CPU reference, largest error " << worst << "\n";
    return true;
}

template <class Array>
Array narrow(const std::array<int64, 6>& values) {
    Array result;
    for(size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<index_t>(values[i]);
    return result;
}

template <class Layout>
int run(const Options& options) {
    using Op = BwdWeightOperator<Layout, dtype::f16>;
    using Pass = tensor_operation::element_wise::PassThrough;
    const conv::Problem& p = options.problem;
    const auto lengths = [](const std::array<int64, 6>& v) { return narrow<typename Op::Lengths>(v); };
    const auto spatial = [](const std::array<int64, 3>& v) { return narrow<typename Op::Spatial>({v[0], v[1], v[2]}); };
    const std::vector<half_t> in = initial(elements(p.in), options.initialisation, 1);
    const std::vector<half_t> out = initial(elements(p.out), options.initialisation, 2);
    std::vector<half_t> wei(static_cast<size_t>(elements(p.wei)), static_cast<half_t>(NAN));
    const SimpleDeviceMem in_memory(in.size() * 2), out_memory(out.size() * 2), wei_memory(wei.size() * 2);
    in_memory.ToDevice(in.data()), out_memory.ToDevice(out.data()), wei_memory.ToDevice(wei.data());
    print("input", p.in, p.ndim), print("weight", p.wei, p.ndim), print("output", p.out, p.ndim);

    const auto instances = DeviceOperationInstanceFactory<Op>::GetInstances();
    for(const auto& op : instances) {
        const auto argument = op->MakeArgumentPointer(
            in_memory.GetDeviceBuffer(), wei_memory.GetDeviceBuffer(), out_memory.GetDeviceBuffer(),
            lengths(p.in.lengths), lengths(p.in.strides), lengths(p.wei.lengths), lengths(p.wei.strides),
            lengths(p.out.lengths), lengths(p.out.strides), spatial(p.strides), spatial(p.dilations),
            spatial(p.left_pads), spatial(p.right_pads), Pass{}, Pass{}, Pass{}, 1);
        const SimpleDeviceMem workspace(op->GetWorkSpaceSize(argument.get()));
        op->SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
        if(!op->IsSupportedArgument(argument.get()))
            continue;
        std::cout << "instance: " << op->GetIdentity() << "\n";
        const float ms = op->MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, options.timing});
        wei_memory.FromDevice(wei.data());
        if(options.timing) {
            const double bytes = 2. * static_cast<double>(in.size() + out.size() + wei.size());
            std::cout << "Perf: " << ms << " ms, " << p.flops() / ms / 1e9 << " TFlops, " << bytes / ms / 1e6
                      << " GB/s, " << op->GetTypeString() << "\n";
        }
        if(options.verification == 0)
            return 0;
        std::vector<half_t> reference(wei.size());
        tensor_operation::host::ReferenceConvBwdWeight<dtype::f16>::Run(p, in.data(), reference.data(), out.data());
        return verify(wei, reference, p.gemm_k()) ? 0 : 1;
    }
    std::cerr << "none of " << instances.size() << " instances supports this problem\n";
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse_arguments(argc, argv);
    try {
        switch(options.problem.ndim) {
        case 1:
            return run<layout::NWGC_GKXC_NWGK>(options);
        case 2:
            return run<layout::NHWGC_GKYXC_NHWGK>(options);
        default:
            return run<layout::NDHWGC_GKZYXC_NDHWGK>(options);
        }
    } catch(const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}
