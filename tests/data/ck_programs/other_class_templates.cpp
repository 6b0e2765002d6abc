// Runs operators of CK's class templates for two stages, WMMA and no matrix instructions, and compares with the
// references.
#include "class_templates.hpp"

#include "ck/tensor_operation/gpu/device/impl/device_convnd_bwd_data_nwc_kxc_nwk_dl.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_data_multiple_d_wmma_cshuffle.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_data_multiple_d_xdl_cshuffle_v3.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_dl.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_two_stage_xdl_cshuffle.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_wmma_cshuffle.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_xdl_cshuffle_v3.hpp"

#if !defined(GROUPS_TO_MERGE)
#define GROUPS_TO_MERGE 4
#endif

namespace ck::own {

// clang-format off: one kind of argument per line
template <index_t Groups, BlockGemmPipelineVersion Version, index_t Vector>
using Merged = tensor_operation::device::DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<
    2, NHWGC, GKYXC, NHWGK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    64, 32, 64, 32, 8, 32, 32, 1, 2,
    S<4, 8, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, Vector, 4, false,
    S<4, 16, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, Vector, 4, false,
    1, 1, S<1, 8, 1, 8>, 1, BlockGemmPipelineScheduler::Intrawave, Version, Groups>;
using TwoStage = Merged<1, BlockGemmPipelineVersion::v1, 4>;
using TwoStageMerged = Merged<GROUPS_TO_MERGE, BlockGemmPipelineVersion::v2, 2>;
using TwoStageSingle = Merged<8, BlockGemmPipelineVersion::v5, 8>;
using TwoStagePlanes = tensor_operation::device::DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle<
    2, NGCHW, GKYXC, NGKHW, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    64, 32, 64, 32, 8, 32, 32, 1, 2,
    S<4, 8, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, 4, 4, false,
    S<4, 16, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, 4, 4, false,
    1, 1, S<1, 8, 1, 8>, 1, BlockGemmPipelineScheduler::Intrawave, BlockGemmPipelineVersion::v2, 4, half_t, half_t, 1, 4>;
template <WeightSpec Spec, BlockGemmPipelineScheduler Scheduler, BlockGemmPipelineVersion Version, index_t Groups = 1>
using V3 = tensor_operation::device::DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<
    2, NHWGC, GKYXC, NHWGK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, Spec,
    64, 32, 64, 32, 8, 32, 32, 1, 2,
    S<4, 8, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, 1, 4, false,
    S<4, 16, 1>, S<2, 0, 1>, S<1, 0, 2>, 1, 1, 4, false,
    1, 1, S<1, 8, 1, 8>, 1, Scheduler, Version, half_t, half_t, false, Groups>;
using Interwave = V3<WeightSpec::Filter1x1Pad0, BlockGemmPipelineScheduler::Interwave, BlockGemmPipelineVersion::v2>;
using OddChannels = V3<WeightSpec::OddC, BlockGemmPipelineScheduler::Intrawave, BlockGemmPipelineVersion::v4>;
using V3Merged = V3<WeightSpec::Default, BlockGemmPipelineScheduler::Intrawave, BlockGemmPipelineVersion::v1, 4>;
using WeightWmma = tensor_operation::device::DeviceGroupedConvBwdWeight_Wmma_CShuffle<
    3, NDHWGC, GKZYXC, NDHWGK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    128, 64, 64, 4, 8, 16, 16, 2, 2,
    S<4, 32, 1>, S<0, 2, 1>, S<0, 2, 1>, 1, 1, 8, true,
    S<4, 32, 1>, S<0, 2, 1>, S<0, 2, 1>, 1, 1, 8, true,
    1, 1, S<1, 32, 1, 4>, 1>;
using WeightDl = tensor_operation::device::DeviceGroupedConvBwdWeight_Dl<
    1, GNWC, GKXC, GNWK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    256, 128, 128, 16, 2, 4, 4, 1, S<8, 2>, S<8, 2>,
    S<1, 8, 1, 1, 2>, S<1, 2, 1, 128, 1>, S<0, 2, 3, 1, 4>, S<0, 2, 3, 1, 4>, S<1, 1, 1, 1, 1>, S<0, 2, 3, 1, 4>, S<1, 1, 1, 1, 1>,
    S<1, 1, 1, 8, 2>, S<1, 16, 1, 16, 1>, S<0, 1, 4, 2, 3>, S<0, 1, 4, 2, 3>, S<1, 1, 1, 8, 1>, S<0, 1, 4, 2, 3>, S<1, 1, 1, 1, 2>,
    S<0, 1, 2, 3, 4, 5>, 5, 4>;
using DataWmma = tensor_operation::device::DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle<
    2, NHWGK, GKYXC, Tuple<>, NHWGC, half_t, half_t, float, half_t, Tuple<>, half_t, PassThrough, PassThrough, PassThrough,
    DataSpec::Default, 64, 32, 64, 8, 8, 16, 16, 1, 4,
    S<4, 16, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, true,
    S<8, 8, 1>, S<0, 2, 1>, S<0, 2, 1>, 1, 8, 8, true,
    1, 1, S<1, 32, 1, 2>, 8>;
template <DataSpec Spec, bool DirectLoad, bool LargeTensors>
using DataV3 = tensor_operation::device::DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3<
    2, NHWGK, GKYXC, Tuple<>, NHWGC, half_t, half_t, float, half_t, Tuple<>, half_t, PassThrough, PassThrough, PassThrough,
    Spec, true, true, 256, 128, 64, 32, 8, 8, 32, 32, 2, 1,
    S<4, 64, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 1, 0,
    S<4, 8, 8>, S<0, 2, 1>, S<0, 2, 1>, 1, 8, 1, 0,
    1, 1, S<1, 64, 1, 4>, 8, BlockGemmPipelineScheduler::Intrawave, BlockGemmPipelineVersion::v1, half_t, half_t, DirectLoad,
    LargeTensors>;
using DenseDl = tensor_operation::device::DeviceConvNdBwdDataNwcKxcNwk_Dl<
    2, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, DataSpec::Default,
    256, 128, 128, 16, 2, 4, 4, 1, S<8, 2>, S<8, 2>,
    S<8, 1, 1, 2>, S<2, 1, 128, 1>, S<1, 2, 0, 3>, S<1, 2, 0, 3>, S<4, 1, 1, 2>, S<1, 2, 0, 3>, S<1, 1, 1, 2>,
    S<1, 1, 8, 2>, S<16, 1, 16, 1>, S<0, 3, 1, 2>, S<0, 3, 1, 2>, S<1, 1, 8, 1>, S<0, 3, 1, 2>, S<1, 1, 1, 2>,
    S<0, 1, 2, 3, 4, 5>, 5, 4>;
// clang-format on

// CK's classes without matrix instructions refuse any split_k but 1, for which a caller has no workspace.
template <class Operator, class Order>
bool refuses_split_k(const utils::conv::ConvParam& p) {
    return !weight<Operator, Order>(p, 2);
}

}  // namespace ck::own

int main() {
    using namespace ck::own;
    const ck::utils::conv::ConvParam in_3d(3, 2, 2, 5, 9, {3, 2, 1}, {4, 5, 3}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0},
                                           {1, 0, 0});
    const ck::utils::conv::ConvParam in_1d(1, 3, 2, 16, 24, {3}, {13}, {2}, {1}, {1}, {1});
    using In1d = Layouts<1, GNWC, GKXC, GNWK>;
    using In3d = Layouts<3, NDHWGC, GKZYXC, NDHWGK>;
    using In2d = Layouts<2, NHWGC, GKYXC, NHWGK>;
    // Filter 1 with stride 2 is neither padded nor Filter1x1Stride1Pad0; C is even, then odd.
    const ck::utils::conv::ConvParam pointwise(2, 2, 3, 8, 6, {1, 1}, {9, 8}, {2, 1}, {1, 1}, {0, 0}, {0, 0});
    const ck::utils::conv::ConvParam odd(2, 2, 3, 8, 5, {3, 2}, {9, 8}, {1, 1}, {1, 1}, {1, 0}, {1, 0});
    const bool interwave = weight<Interwave, In2d>(pointwise, 2) && !weight<Interwave, In2d>(odd, 2);
    const bool odd_channels = weight<OddChannels, In2d>(odd, 2) && !weight<OddChannels, In2d>(pointwise, 2);
    // Groups of few channels: 7 groups are a tile of 4 and one of 3; 16 groups of one channel are two tiles of 8.
    const ck::utils::conv::ConvParam seven(2, 7, 2, 6, 2, {3, 2}, {9, 8}, {2, 1}, {1, 2}, {1, 0}, {1, 1});
    const ck::utils::conv::ConvParam single(2, 16, 3, 1, 1, {3, 3}, {7, 6}, {1, 1}, {1, 1}, {1, 1}, {1, 1});
    const bool two_stage = weight<TwoStage, In2d>(problem(), 2);
    const bool merged = weight<TwoStageMerged, In2d>(seven, 2) && weight<TwoStageMerged, In2d>(pointwise, 1);
    const bool of_single = weight<TwoStageSingle, In2d>(single, 1) && !weight<TwoStageSingle, In2d>(seven, 1);
    const bool v3_merged = weight<V3Merged, In2d>(seven, 2) && weight<V3Merged, In2d>(single, 1);
    const bool planes = weight<TwoStagePlanes, Layouts<2, NGCHW, GKYXC, NGKHW>>(seven, 2);
    const bool wmma = weight<WeightWmma, In3d>(in_3d, 1) && refuses_split_k<WeightWmma, In3d>(in_3d);
    // The library may choose nothing but 1, although it would split the sum of so many images.
    ck::utils::conv::ConvParam many_images = in_1d;
    many_images.N_ = 128;
    const bool dl = weight<WeightDl, In1d>(many_images, -1) && refuses_split_k<WeightDl, In1d>(in_1d);
    const bool data_wmma = grouped<DataWmma>(problem());
    // C and K are multiples of the vectors of 8.
    const ck::utils::conv::ConvParam unit(2, 2, 3, 24, 8, {1, 1}, {9, 8}, {1, 1}, {1, 1}, {0, 0}, {0, 0});
    const bool data_v3 = grouped<DataV3<DataSpec::Default, true, false>>(problem()) &&
                         grouped<DataV3<DataSpec::Filter1x1Stride1Pad0, false, true>>(unit) &&
                         !grouped<DataV3<DataSpec::Filter1x1Stride1Pad0, false, true>>(problem());
    std::cout << DataV3<DataSpec::Default, true, false>{}.GetTypeString() << std::endl
              << DataV3<DataSpec::Filter1x1Stride1Pad0, false, true>{}.GetTypeString() << std::endl;
    const bool dense_dl = dense<DenseDl>({2, 1, 3, 8, 16, {3, 2}, {7, 6}, {2, 1}, {1, 2}, {1, 1}, {1, 0}});
    std::cout << "two-stage " << two_stage << merged << of_single << planes << ", WMMA " << wmma << data_wmma << ", DL "
              << dl << dense_dl << ", V3 " << interwave << odd_channels << v3_merged << data_v3 << std::endl;
    return interwave && odd_channels && v3_merged && two_stage && merged && of_single && planes && wmma && dl &&
                   data_wmma && dense_dl && data_v3
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
