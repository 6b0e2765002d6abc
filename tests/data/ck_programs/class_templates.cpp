// Runs operators of CK's xdl class templates, whose kernels this program compiles, and compares with the references.
#include "class_templates.hpp"

#include "ck/tensor_operation/gpu/device/impl/device_convnd_bwd_data_nwc_kxc_nwk_xdl.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_data_multiple_d_xdl_cshuffle_v1.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_xdl_cshuffle.hpp"

#if !defined(COMPUTE_TYPE)
#define COMPUTE_TYPE half_t
#endif

#if !defined(RESULT_TYPE)
#define RESULT_TYPE half_t
#endif

namespace ck::own {

// A function of the program that takes the type of the result only.
struct Converted {
    __host__ __device__ void operator()(RESULT_TYPE& e, const float& c) const { e = type_convert<RESULT_TYPE>(c); }
};

// clang-format off: one kind of argument per line
using Weight = tensor_operation::device::DeviceGroupedConvBwdWeight_Xdl_CShuffle<
    2, NHWGC, GKYXC, NHWGK, half_t, half_t, half_t, float, PassThrough, PassThrough, PassThrough, WeightSpec::Default,
    64, 64, 64, 4, 8, 32, 32, 2, 2,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, 8, 4, true,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, 8, 4, true,
    1, 1, S<1, 16, 1, 4>, 8, COMPUTE_TYPE>;
using Data = tensor_operation::device::DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<
    2, NHWGK, GKYXC, Tuple<>, NHWGC, half_t, half_t, float, half_t, Tuple<>, half_t, PassThrough, PassThrough, Converted,
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

}  // namespace ck::own

int main() {
    using namespace ck::own;
    const bool weights = weight<Weight, Layouts<2, NHWGC, GKYXC, NHWGK>>(problem(), 2);
    const bool inputs = grouped<Data, Converted>(problem());
    const bool of_one_group = dense<Dense>({2, 1, 3, 8, 16, {3, 2}, {7, 6}, {2, 1}, {1, 2}, {1, 1}, {1, 0}});
    std::cout << "weight " << weights << ", grouped " << inputs << ", dense " << of_one_group << std::endl;
    return weights && inputs && of_one_group ? EXIT_SUCCESS : EXIT_FAILURE;
}
