// Runs operators of CK's class templates, whose kernels this program compiles, and compares with the references.
#include "problem.hpp"

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_convnd_bwd_data_nwc_kxc_nwk_xdl.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_data_multiple_d_xdl_cshuffle_v1.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_xdl_cshuffle.hpp"

#if !defined(COMPUTE_TYPE)
#define COMPUTE_TYPE half_t
#endif

namespace ck::own {

template <index_t... Is>
using S = Sequence<Is...>;
using WeightSpec = tensor_operation::device::ConvolutionBackwardWeightSpecialization;
using DataSpec = tensor_operation::device::ConvolutionBackwardDataSpecialization;

// clang-format off: one kind of argument per line
using Weight = tensor_operation::device::DeviceGroupedConvBwdWeight_Xdl_CShuffle<
    2, NHWGC, GKYXC, NHWGK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    64, 64, 64, 4, 8, 32, 32, 2, 2,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, 8, 4, true,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, 8, 4, true,
    1, 1, S<1, 16, 1, 4>, 8, COMPUTE_TYPE>;
using Data = tensor_operation::device::DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<
    2, NHWGK, GKYXC, Tuple<>, NHWGC, half_t, half_t, float, half_t, Tuple<>, half_t, PassThrough, PassThrough, PassThrough,
    DataSpec::Default, true, true, 1, 64, 64, 64, 32, 8, 8, 32, 32, 2, 2,
    S<4, 16, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 1,
    S<4, 8, 1>, S<0, 2, 1>, S<0, 2, 1>, 1, 8, 8, 1,
    1, 1, S<1, 16, 1, 4>, 8>;
using Dense = tensor_operation::device::DeviceConvNdBwdDataNwcKxcNwk_Xdl<
    2, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, DataSpec::Default,
    64, 64, 64, 4, 8, 32, 32, 2, 2,
    S<4, 16, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, true,
    S<4, 16, 1>, S<2, 0, 1>, S<0, 2, 1>, 1, 4, 8, true, 7, 1>;
// clang-format on

std::array<index_t, 2> spatial(const std::vector<long_index_t>& values) { return array_of<index_t, 2>(values); }
std::vector<index_t> list(const std::vector<long_index_t>& values) { return {values.begin(), values.end()}; }

bool weight(const utils::conv::ConvParam& p) {
    const auto in = integers<half_t>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<NHWGC>(p));
    const auto out = integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<NHWGK>(p));
    Tensor<half_t> wei(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<GKYXC>(p)), expected = wei;
    const OnDevice<half_t> in_memory(in), out_memory(out), wei_memory(wei);
    tensor_operation::host::ReferenceConvBwdWeight<2, half_t, half_t, half_t, PassThrough, PassThrough, PassThrough>
        reference;
    reference.MakeInvoker().Run(
        reference.MakeArgument(in, expected, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_,
                               p.input_right_pads_, PassThrough{}, PassThrough{}, PassThrough{}));

    const Sizes<index_t> i(in.mDesc), w(wei.mDesc), o(out.mDesc);
    auto conv = Weight{};
    auto argument = conv.MakeArgument(
        in_memory.GetDeviceBuffer(), wei_memory.GetDeviceBuffer(), out_memory.GetDeviceBuffer(), i.lengths, i.strides,
        w.lengths, w.strides, o.lengths, o.strides, spatial(p.conv_filter_strides_), spatial(p.conv_filter_dilations_),
        spatial(p.input_left_pads_), spatial(p.input_right_pads_), PassThrough{}, PassThrough{}, PassThrough{}, 2);
    DeviceMem workspace(conv.GetWorkSpaceSize(&argument));
    conv.SetWorkSpacePointer(&argument, workspace.GetDeviceBuffer());
    if(workspace.GetBufferSize() == 0 || !conv.IsSupportedArgument(argument))
        return false;
    conv.MakeInvoker().Run(argument, StreamConfig{nullptr, false});
    wei_memory.FromDevice(wei.data());
    std::cout << conv.GetTypeString() << std::endl;
    return utils::check_err(wei, expected, "weight");
}

template <class InLayout, class WeiLayout, class OutLayout, class Run>
bool data(const utils::conv::ConvParam& p, const char* name, const Run& run) {
    const auto out = integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<OutLayout>(p));
    const auto wei = integers<half_t>(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<WeiLayout>(p));
    Tensor<half_t> in(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<InLayout>(p)), expected = in;
    const OnDevice<half_t> in_memory(in), out_memory(out), wei_memory(wei);
    tensor_operation::host::ReferenceConvBwdData<2, half_t, half_t, half_t, PassThrough, PassThrough, PassThrough>
        reference;
    reference.MakeInvoker().Run(
        reference.MakeArgument(expected, wei, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_,
                               p.input_right_pads_, PassThrough{}, PassThrough{}, PassThrough{}));
    if(!run(in_memory, wei_memory, out_memory, Sizes<index_t>(in.mDesc), Sizes<index_t>(wei.mDesc),
            Sizes<index_t>(out.mDesc)))
        return false;
    in_memory.FromDevice(in.data());
    return utils::check_err(in, expected, name);
}

bool grouped(const utils::conv::ConvParam& p) {
    return data<NHWGC, GKYXC, NHWGK>(
        p, "grouped", [&](auto& in, auto& wei, auto& out, const auto& i, const auto& w, const auto& o) {
            auto conv = Data{};
            auto argument = conv.MakeArgument(out.GetDeviceBuffer(), wei.GetDeviceBuffer(), {}, in.GetDeviceBuffer(),
                                              o.lengths, o.strides, w.lengths, w.strides, {}, {}, i.lengths, i.strides,
                                              spatial(p.conv_filter_strides_), spatial(p.conv_filter_dilations_),
                                              spatial(p.input_left_pads_), spatial(p.input_right_pads_), PassThrough{},
                                              PassThrough{}, PassThrough{});
            if(!conv.IsSupportedArgument(argument))
                return false;
            conv.MakeInvoker().Run(argument);
            return true;
        });
}

bool dense(const utils::conv::ConvParam& p) {
    return data<NHWC, KYXC, NHWK>(
        p, "dense", [&](auto& in, auto& wei, auto& out, const auto&, const auto&, const auto&) {
            auto conv = Dense{};
            const auto argument = conv.MakeArgumentPointer(
                in.GetDeviceBuffer(), wei.GetDeviceBuffer(), out.GetDeviceBuffer(), static_cast<index_t>(p.N_),
                static_cast<index_t>(p.K_), static_cast<index_t>(p.C_), list(p.input_spatial_lengths_),
                list(p.filter_spatial_lengths_), list(p.output_spatial_lengths_), list(p.conv_filter_strides_),
                list(p.conv_filter_dilations_), list(p.input_left_pads_), list(p.input_right_pads_), PassThrough{},
                PassThrough{}, PassThrough{});
            if(!conv.IsSupportedArgument(argument.get()))
                return false;
            conv.MakeInvokerPointer()->Run(argument.get());
            return true;
        });
}

}  // namespace ck::own

int main() {
    const bool weights = ck::own::weight(ck::own::problem());
    const bool inputs = ck::own::grouped(ck::own::problem());
    const bool of_one_group = ck::own::dense({2, 1, 3, 8, 16, {3, 2}, {7, 6}, {2, 1}, {1, 2}, {1, 1}, {1, 0}});
    std::cout << "weight " << weights << ", grouped " << inputs << ", dense " << of_one_group << std::endl;
    return weights && inputs && of_one_group ? EXIT_SUCCESS : EXIT_FAILURE;
}
