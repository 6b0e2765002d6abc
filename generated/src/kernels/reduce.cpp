// Copied by ckgen from templates/src/kernels/reduce.cpp. Do not edit; run: ckgen generate
// The split-K reduction, compiled once per weight type.
#include "ckgen/config/dtypes.hpp"
#include "ckgen/epilogue/split_k_reduce.hpp"

#if !CKGEN_DEVICE_PASS
#include <cstddef>
#include <cstdint>

#include "ckgen/op/bwd_weight.hpp"
#endif

namespace ckgen::tensor_operation::device {

#if !CKGEN_DEVICE_PASS
namespace {

template <class Wei, class Sum>
void launch_reduce(platform::KernelEntry entry, const float* partial, void* wei, int64 elements, int split_k,
                   platform::Stream stream) {
    using Kernel = epilogue::SplitKReduceKernel<Wei, Sum>;
    epilogue::SplitKReduceArgs args{
        partial, static_cast<char*>(wei), elements, split_k, 1, epilogue::reduce_lanes(elements, split_k)};
    // A slice of another length is not aligned, and a weight of few channels may have any address.
    const auto aligned = [](const void* address, std::size_t bytes) {
        return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
    };
    if(elements % 4 == 0 && aligned(partial, 16) && aligned(wei, 4 * sizeof(Wei)))
        args.width = 4;
    const int64 per_block = Kernel::elements_of(args);
    const auto blocks = static_cast<uint32>((elements + per_block - 1) / per_block);
    const auto regions = regions_of({{"partials", partial, elements * split_k * 4, false},
                                     {"weight", wei, elements * static_cast<int64>(sizeof(Wei)), true}});
    platform::launch<Kernel>(entry, blocks, args, regions, stream);
}

}  // namespace

#define CKGEN_REDUCE_LAUNCHER(NAME, WEI, SUM)                                                                          \
    template <>                                                                                                        \
    void reduce_partials<WEI>(const float* partial, void* wei, int64 elements, int split_k, platform::Stream stream) { \
        launch_reduce<WEI, SUM>(entry_ckgen_split_k_reduce_##NAME(), partial, wei, elements, split_k, stream);         \
    }
#else
#define CKGEN_REDUCE_LAUNCHER(NAME, WEI, SUM)
#endif

#define CKGEN_REDUCE(NAME, WEI, SUM)                                                                                   \
    CKGEN_DEFINE_KERNEL(ckgen_split_k_reduce_##NAME, ::ckgen::epilogue::SplitKReduceKernel<WEI, SUM>)                  \
    CKGEN_REDUCE_LAUNCHER(NAME, WEI, SUM)

CKGEN_WEIGHT_GRADIENTS(CKGEN_REDUCE)

}  // namespace ckgen::tensor_operation::device
