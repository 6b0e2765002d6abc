// Grouped convolution backward data, f16, channels last, fused with the gradient of a residual connection, with the
// arguments of CK's example of the same name:
//     grouped_conv_bwd_data_multiple_d_xdl [verification initialisation timing [ndim G N K C filter.. input.. strides..
//                                           dilations.. left_pads.. right_pads..]]
// The skip connection's gradient is the D tensor: input gradient = convolution's gradient + D.
// Exit code 0: ran, and agreed with the reference if that was asked for. 1: wrong result or no instance. 2: wrong use.
#include "convolution.hpp"

#include "ckgen/device/device_memory.hpp"
#include "ckgen/device/reference_conv_bwd_data.hpp"
#include "ckgen/instance/grouped_convolution_backward_data.hpp"

namespace {

using namespace example;
using tensor_operation::device::BwdDataOperator;
using tensor_operation::device::instance::DeviceOperationInstanceFactory;

const char* usage = "usage: grouped_conv_bwd_data_multiple_d_xdl [verification initialisation timing [problem]]\n"
                    "  verification    0 no, 1 against the CPU reference\n"
                    "  initialisation  0 zeros, 1 small integers, 2 decimals\n"
                    "  timing          0 no, 1 print time, TFlops and GB/s\n"
                    "  problem         ndim G N K C filter.. input.. strides.. dilations.. left_pads.. right_pads..\n"
                    "                  (ndim 2 or 3 numbers for each list; K and C are per group)\n"
                    "example: grouped_conv_bwd_data_multiple_d_xdl 1 2 1 2 2 4 64 32 3 3 28 28 1 1 1 1 1 1 1 1\n";

template <class Layout>
int run(const Options& options) {
    using Add = functions::AddResidual;
    using Op = BwdDataOperator<Layout, dtype::f16, Add, Tuple<typename Layout::In>, Tuple<half_t>>;
    using Pass = tensor_operation::element_wise::PassThrough;
    const conv::Problem& p = options.problem;
    const auto lengths = [](const std::array<int64, 6>& v) { return narrow<typename Op::Lengths>(v); };
    const auto spatial = [](const std::array<int64, 3>& v) { return narrow<typename Op::Spatial>({v[0], v[1], v[2]}); };
    const std::vector<half_t> out = initial(elements(p.out), options.initialisation, 1);
    const std::vector<half_t> wei = initial(elements(p.wei), options.initialisation, 2);
    const std::vector<half_t> skip = initial(elements(p.in), options.initialisation, 3);
    std::vector<half_t> in(skip.size(), static_cast<half_t>(NAN));
    const SimpleDeviceMem out_memory(out.size() * 2), wei_memory(wei.size() * 2), skip_memory(skip.size() * 2);
    const SimpleDeviceMem in_memory(in.size() * 2);
    out_memory.ToDevice(out.data()), wei_memory.ToDevice(wei.data()), skip_memory.ToDevice(skip.data());
    in_memory.ToDevice(in.data());
    print("output", p.out, p.ndim), print("weight", p.wei, p.ndim), print("input", p.in, p.ndim);

    const auto instances = DeviceOperationInstanceFactory<Op>::GetInstances();
    for(const auto& op : instances) {
        const auto argument = op->MakeArgumentPointer(
            out_memory.GetDeviceBuffer(), wei_memory.GetDeviceBuffer(), {skip_memory.GetDeviceBuffer()},
            in_memory.GetDeviceBuffer(), lengths(p.out.lengths), lengths(p.out.strides), lengths(p.wei.lengths),
            lengths(p.wei.strides), {lengths(p.in.lengths)}, {lengths(p.in.strides)}, lengths(p.in.lengths),
            lengths(p.in.strides), spatial(p.strides), spatial(p.dilations), spatial(p.left_pads),
            spatial(p.right_pads), Pass{}, Pass{}, Add{});
        const SimpleDeviceMem workspace(op->GetWorkSpaceSize(argument.get()));
        op->SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
        if(!op->IsSupportedArgument(argument.get()))
            continue;
        std::cout << "instance: " << op->GetIdentity() << "\n";
        const float ms = op->MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, options.timing > 0});
        in_memory.FromDevice(in.data());
        const size_t moved = out.size() + wei.size() + skip.size() + in.size();
        if(options.timing > 0)
            print_perf(ms, p, static_cast<int64>(2 * moved), op->GetTypeString());
        if(options.verification == 0)
            return 0;
        std::vector<float> reference(in.size());
        reference::ReferenceConvBwdData<dtype::f32>::Run(p, reference.data(), widened(wei).data(), widened(out).data());
        for(size_t i = 0; i < reference.size(); ++i)
            reference[i] += to_float(skip[i]);
        return verify(in, reference, p.wei.lengths[1] * p.taps()) ? 0 : 1;
    }
    std::cerr << "none of " << instances.size() << " instances supports this problem\n";
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;  // the problem is CK's default
    options.timing = 1;
    options.problem = make_problem(2, {32, 4, 192, 192, 3, 3, 28, 28, 1, 1, 1, 1, 1, 1, 1, 1}, usage);
    parse_arguments(options, argc, argv, 4, 1, usage);
    if(options.problem.ndim == 1)
        wrong_use("there are fused instances for two and three dimensions", usage);
    try {
        return options.problem.ndim == 2 ? run<layout::NHWGC_GKYXC_NHWGK>(options)
                                         : run<layout::NDHWGC_GKZYXC_NDHWGK>(options);
    } catch(const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}
