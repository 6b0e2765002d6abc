// Runs every backward-weight operator with both sizes of index, with and without a workspace, and compares the results
// with the reference.
#include "problem.hpp"

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"

namespace ck::own {

using DeviceOp = tensor_operation::device::DeviceGroupedConvBwdWeight<2, NHWGC, GKYXC, NHWGK, half_t, half_t, half_t,
                                                                      PassThrough, PassThrough, PassThrough>;

struct Tensors {
    const utils::conv::ConvParam& p = problem();
    Tensor<half_t> in = integers<half_t>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<NHWGC>(p));
    Tensor<half_t> out = integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<NHWGK>(p));
    Tensor<half_t> wei{utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<GKYXC>(p)};
    Tensor<half_t> expected = wei;
    OnDevice<half_t> in_memory{in}, out_memory{out}, wei_memory{wei};
};

template <class Index>
bool runs(DeviceOp& op, Tensors& t, index_t split_k, bool with_workspace) {
    const Sizes<Index> in(t.in.mDesc), wei(t.wei.mDesc), out(t.out.mDesc);
    const auto spatial = [](const auto& values) { return array_of<Index, 2>(values); };
    const auto argument = op.MakeArgumentPointer(
        t.in_memory.GetDeviceBuffer(), t.wei_memory.GetDeviceBuffer(), t.out_memory.GetDeviceBuffer(), in.lengths,
        in.strides, wei.lengths, wei.strides, out.lengths, out.strides, spatial(t.p.conv_filter_strides_),
        spatial(t.p.conv_filter_dilations_), spatial(t.p.input_left_pads_), spatial(t.p.input_right_pads_),
        PassThrough{}, PassThrough{}, PassThrough{}, split_k);
    DeviceMem workspace(with_workspace ? op.GetWorkSpaceSize(argument.get()) : 0);
    if(with_workspace)
        op.SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
    if(!op.IsSupportedArgument(argument.get()))
        return false;
    t.wei_memory.SetValue(half_t{7});
    const float time = op.MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, with_workspace});
    t.wei_memory.FromDevice(t.wei.data());
    return (time > 0.f) == with_workspace && utils::check_err(t.wei, t.expected);
}

}  // namespace ck::own

int main() {
    using namespace ck::own;
    Tensors t;
    ck::tensor_operation::host::ReferenceConvBwdWeight<2, ck::half_t, ck::half_t, ck::half_t, PassThrough, PassThrough,
                                                       PassThrough>
        reference;
    auto argument = reference.MakeArgument(t.in, t.expected, t.out, t.p.conv_filter_strides_,
                                           t.p.conv_filter_dilations_, t.p.input_left_pads_, t.p.input_right_pads_,
                                           PassThrough{}, PassThrough{}, PassThrough{}, {}, {}, {});
    reference.MakeInvoker().Run(argument);

    const auto op_ptrs =
        ck::tensor_operation::device::instance::DeviceOperationInstanceFactory<DeviceOp>::GetInstances();
    std::cout << "found " << op_ptrs.size() << " instances, " << t.in.mDesc << std::endl;
    bool good = !op_ptrs.empty();
    for(auto& op : op_ptrs)
        for(const ck::index_t split_k : {1, 2})
            for(const bool with_workspace : {true, false})
                good = runs<ck::index_t>(*op, t, split_k, with_workspace) &&
                       runs<ck::long_index_t>(*op, t, split_k, with_workspace) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
