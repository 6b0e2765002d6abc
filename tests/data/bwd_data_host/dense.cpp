// The dense operator over a grouped instance.
#include "ckgen/c_api.h"
#include "ckgen/device/device_conv_bwd_data.hpp"

namespace ckgen::instances {
std::unique_ptr<tensor_operation::device::BwdDataOperator<layout::NHWGC_GKYXC_NHWGK, dtype::f32, functions::PassThrough,
                                                          Tuple<>, Tuple<>>>
make_generic_2d_f32();
}

using namespace ckgen::tensor_operation::device;

namespace {

std::vector<ckgen::index_t> spatial(const int64_t* values) {
    return {static_cast<ckgen::index_t>(values[0]), static_cast<ckgen::index_t>(values[1])};
}

}  // namespace

// 0 when it ran; `short_lengths`: with an entry too few, which gives 3 when that is refused.
extern "C" int run_dense(const ckgen_problem* p, void* in, const void* wei, const void* out, int short_lengths) {
    using Layout = ckgen::layout::NHWGC_GKYXC_NHWGK;
    ConvBwdDataOfGrouped<Layout, ckgen::dtype::f32> op(ckgen::instances::make_generic_2d_f32());
    auto lengths = spatial(p->in_lengths + 3);
    lengths.resize(short_lengths ? 1 : 2);
    try {
        const auto argument = op.MakeArgumentPointer(
            in, wei, out, static_cast<ckgen::index_t>(p->in_lengths[1]), static_cast<ckgen::index_t>(p->wei_lengths[1]),
            static_cast<ckgen::index_t>(p->in_lengths[2]), lengths, spatial(p->wei_lengths + 3),
            spatial(p->out_lengths + 3), spatial(p->strides), spatial(p->dilations), spatial(p->left_pads),
            spatial(p->right_pads), {}, {}, {});
        if(!op.IsSupportedArgument(argument.get()) || op.GetWorkSpaceSize(argument.get()) != 0)
            return 1;
        op.MakeInvokerPointer()->Run(argument.get());
        return 0;
    } catch(const std::invalid_argument&) {
        return 3;
    }
}
