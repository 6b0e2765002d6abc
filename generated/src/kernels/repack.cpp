// Copied by ckgen from templates/src/kernels/repack.cpp. Do not edit; run: ckgen generate
// The copy of a tensor into rows of a multiple of 16 bytes.
#include "ckgen/load/repack.hpp"

#if !CKGEN_DEVICE_PASS
#include "ckgen/op/runner.hpp"
#endif

CKGEN_DEFINE_KERNEL(ckgen_repack, ::ckgen::conv::RepackKernel)

#if !CKGEN_DEVICE_PASS
namespace ckgen::tensor_operation::device {

void repack(const conv::RepackArgs& args, const char* tensor, const char* copy, platform::Stream stream) {
    using Kernel = conv::RepackKernel;
    const int64 vectors = args.positions * args.groups * (args.pitch / Kernel::width);
    const auto blocks = static_cast<uint32>((vectors + Kernel::vectors_per_block - 1) / Kernel::vectors_per_block);
    const auto regions =
        regions_of({{tensor, args.source, args.source_bytes, false}, {copy, args.target, vectors * 16, true}});
    platform::launch<Kernel>(entry_ckgen_repack(), blocks, args, regions, stream);
}

}  // namespace ckgen::tensor_operation::device
#endif
