// The transposition of images, compiled once per size of their elements.
#include "ckgen/load/transpose.hpp"

#if !CKGEN_DEVICE_PASS
#include <cstdint>
#include <stdexcept>

#include "ckgen/op/runner.hpp"
#endif

CKGEN_DEFINE_KERNEL(ckgen_transpose_16, ::ckgen::load::TransposeKernel<::ckgen::uint16>)
CKGEN_DEFINE_KERNEL(ckgen_transpose_32, ::ckgen::load::TransposeKernel<::ckgen::uint32>)

#if !CKGEN_DEVICE_PASS
namespace ckgen::tensor_operation::device {

namespace {

constexpr int64 kEdge = load::TransposeKernel<uint16>::edge, kMostBlocks = 0x7fffffff;

int64 tiles(int64 length) { return length / kEdge + (length % kEdge != 0); }

// The number of tiles, or more than kMostBlocks.
int64 tiles_of(const Images& images) {
    int64 all = 1;
    for(const int64 factor : {images.count, tiles(images.rows), tiles(images.columns)})
        all = factor > kMostBlocks / all ? kMostBlocks + 1 : all * factor;
    return all;
}

template <class Element>
void start(platform::KernelEntry entry, const Images& images, const void* source, void* target,
           platform::Stream stream) {
    using Kernel = load::TransposeKernel<Element>;
    const load::TransposeArgs args{static_cast<const char*>(source),
                                   static_cast<char*>(target),
                                   images.count,
                                   images.rows,
                                   images.columns,
                                   static_cast<uint32>(tiles(images.rows)),
                                   static_cast<uint32>(tiles(images.columns))};
    const int64 bytes = images.count * images.rows * images.columns * Kernel::size;
    const auto regions = regions_of({{"source", source, bytes, false}, {"target", target, bytes, true}});
    platform::launch<Kernel>(entry, static_cast<uint32>(tiles_of(images)), args, regions, stream);
}

}  // namespace

void transpose(const Images& images, const void* source, void* target, platform::Stream stream) {
    const auto aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
    if(!aligned(source) || !aligned(target))
        throw std::invalid_argument("[alignment] source or target does not begin at a multiple of 16 bytes");
    if(images.element_bytes != 2 && images.element_bytes != 4)
        throw std::invalid_argument("[element_bytes] elements of 2 or 4 bytes can be transposed");
    if(images.count < 1 || images.rows < 1 || images.columns < 1 || tiles_of(images) > kMostBlocks)
        throw std::invalid_argument("[lengths] images, rows and columns are positive and have less than 2^31 tiles");
    if(images.element_bytes == 2)
        start<uint16>(entry_ckgen_transpose_16(), images, source, target, stream);
    else
        start<uint32>(entry_ckgen_transpose_32(), images, source, target, stream);
}

}  // namespace ckgen::tensor_operation::device
#endif
