// Copied by ckgen from templates/src/kernels/weight_copy.cpp. Do not edit; run: ckgen generate
// The copy of a weight to channels last, compiled once per size of an element.
#include "ckgen/load/weight_copy.hpp"

#if !CKGEN_DEVICE_PASS
#include "ckgen/op/runner.hpp"
#include "ckgen/plan/repack_plan.hpp"
#endif

CKGEN_DEFINE_KERNEL(ckgen_weight_copy_1, ::ckgen::conv::WeightCopyKernel<::ckgen::uint8>)
CKGEN_DEFINE_KERNEL(ckgen_weight_copy_2, ::ckgen::conv::WeightCopyKernel<::ckgen::uint16>)
CKGEN_DEFINE_KERNEL(ckgen_weight_copy_4, ::ckgen::conv::WeightCopyKernel<::ckgen::uint32>)
CKGEN_DEFINE_KERNEL(ckgen_weight_copy_parts, ::ckgen::conv::WeightCopyKernel<::ckgen::uint32, 2>)

#if !CKGEN_DEVICE_PASS
namespace ckgen::tensor_operation::device {
namespace {

template <class T, int Parts = 1>
void launch(platform::KernelEntry entry, const conv::WeightCopyArgs& args, platform::Stream stream) {
    constexpr int64 bytes = sizeof(T);
    const int64 channels = args.rows * args.channels - args.rows / args.pieces * (args.channels - args.last_channels);
    const auto regions =
        regions_of({{"weight", args.source, channels * args.taps * bytes, false},
                    {"copy of the weight", args.target, Parts * args.target_elements() * bytes, true}});
    platform::launch<conv::WeightCopyKernel<T, Parts>>(entry, conv::weight_copy_blocks(args), args, regions, stream);
}

}  // namespace

void copy_weight(const conv::WeightCopyArgs& args, platform::Stream stream) {
    if(args.parts == 2)
        launch<uint32, 2>(entry_ckgen_weight_copy_parts(), args, stream);
    else if(args.elem_bytes == 1)
        launch<uint8>(entry_ckgen_weight_copy_1(), args, stream);
    else if(args.elem_bytes == 2)
        launch<uint16>(entry_ckgen_weight_copy_2(), args, stream);
    else
        launch<uint32>(entry_ckgen_weight_copy_4(), args, stream);
}

}  // namespace ckgen::tensor_operation::device
#endif
