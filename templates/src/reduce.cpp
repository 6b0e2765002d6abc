// The split-K reduction, compiled once a weight type.
#include "ckgen/epilogue/split_k_reduce.hpp"

#if CKGEN_DEVICE_PASS

#define CKGEN_REDUCE(WEI)                                                                                      \
    template __attribute__((global)) void ckgen::platform::kernel_entry<ckgen::epilogue::SplitKReduceKernel<WEI>>( \
        ckgen::epilogue::SplitKReduceArgs);
CKGEN_REDUCE(float)
CKGEN_REDUCE(ckgen::half_t)
CKGEN_REDUCE(ckgen::bhalf_t)

#else

#include "ckgen/device/bwd_weight_core.hpp"

namespace ckgen::tensor_operation::device {

template <class Wei>
void reduce_partials(const float* partial, void* wei, int64 elements, int split_k, platform::Stream stream) {
    using Kernel = epilogue::SplitKReduceKernel<Wei>;
    const epilogue::SplitKReduceArgs args{partial, static_cast<char*>(wei), elements, split_k};
    const auto blocks = static_cast<uint32>((elements + Kernel::launch_threads - 1) / Kernel::launch_threads);
#if CKGEN_PLATFORM_HOST
    const platform::Regions regions{
        {"partials", reinterpret_cast<const char*>(partial), elements * split_k * 4, false},
        {"weight", static_cast<const char*>(wei), elements * static_cast<int64>(sizeof(Wei)), true}};
#else
    const int regions = 0;
#endif
    platform::launch<Kernel>(blocks, args, regions, stream);
}

template void reduce_partials<float>(const float*, void*, int64, int, platform::Stream);
template void reduce_partials<half_t>(const float*, void*, int64, int, platform::Stream);
template void reduce_partials<bhalf_t>(const float*, void*, int64, int, platform::Stream);

}  // namespace ckgen::tensor_operation::device

#endif
