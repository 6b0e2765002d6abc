// Grouped convolution backward weight, f16, channels last, with the arguments of CK's example of the same name:
//     grouped_conv_bwd_weight_xdl [verification initialisation timing [ndim G N K C filter.. input.. strides..
//                                  dilations.. left_pads.. right_pads..]]
// Exit code 0: ran, and agreed with the reference if that was asked for. 1: wrong result or no instance. 2: wrong use.
#include "convolution.hpp"

#include "ckgen/device/device_memory.hpp"
#include "ckgen/device/reference_conv_bwd_weight.hpp"
#include "ckgen/instance/grouped_convolution_backward_weight.hpp"

namespace {

using namespace example;
using tensor_operation::device::BwdWeightOperator;
using tensor_operation::device::instance::DeviceOperationInstanceFactory;

const char* usage = "usage: grouped_conv_bwd_weight_xdl [verification initialisation timing [problem]]\n"
                    "  verification    0 no, 1 against the CPU reference\n"
                    "  initialisation  0 zeros, 1 small integers, 2 decimals\n"
                    "  timing          0 no, 1 print time, TFlops and GB/s\n"
                    "  problem         ndim G N K C filter.. input.. strides.. dilations.. left_pads.. right_pads..\n"
                    "                  (ndim 1, 2 or 3 numbers for each list; K and C are per group)\n"
                    "example: grouped_conv_bwd_weight_xdl 1 2 1 2 1 4 64 32 3 3 28 28 1 1 1 1 1 1 1 1\n";

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
        const float ms = op->MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, options.timing > 0});
        wei_memory.FromDevice(wei.data());
        if(options.timing > 0)
            print_perf(ms, p, static_cast<int64>(2 * (in.size() + out.size() + wei.size())), op->GetTypeString());
        if(options.verification == 0)
            return 0;
        std::vector<float> reference(wei.size());
        reference::ReferenceConvBwdWeight<dtype::f32>::Run(p, widened(in).data(), reference.data(),
                                                           widened(out).data());
        return verify(wei, reference, p.gemm_k()) ? 0 : 1;
    }
    std::cerr << "none of " << instances.size() << " instances supports this problem\n";
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;  // the problem is CK's default
    options.problem = make_problem(3, {4, 1, 128, 256, 3, 3, 3, 14, 14, 14, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, usage);
    parse_arguments(options, argc, argv, 4, 1, usage);
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
