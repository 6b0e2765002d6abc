// Copied by ckgen from templates/src/kernels/transpose.cpp. Do not edit; run: ckgen generate
// The transposition of images, compiled once per size of their elements.
#include "ckgen/load/transpose.hpp"

#if !CKGEN_DEVICE_PASS
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "ckgen/conv/problem_sizes.hpp"
#include "ckgen/op/runner.hpp"
#endif

CKGEN_DEFINE_KERNEL(ckgen_transpose_16, ::ckgen::load::TransposeKernel<::ckgen::uint16>)
CKGEN_DEFINE_KERNEL(ckgen_transpose_32, ::ckgen::load::TransposeKernel<::ckgen::uint32>)

#if !CKGEN_DEVICE_PASS
namespace ckgen::tensor_operation::device {

namespace {

using conv::divide_up;

constexpr int64 kMostBlocks = 0x7fffffff;
constexpr int64 kWantedBlocks = 400;  // three per multiprocessor: fewer leave some of them waiting for memory
constexpr int64 kRows = 64;           // of a tile, roughly: rows of the result get whole cache lines of 128 bytes
constexpr int64 kFewestVectors = 4;   // of a row of a tile: 64 bytes

// A division of matrices into tiles of about the same size, which fill LDS unless that gives too few workgroups.
struct Tiles {
    int64 rows, columns;  // of a tile
    int64 row_tiles, column_tiles;
    int64 vectors, pitch;  // as in TransposeArgs

    template <class Kernel>
    static Tiles of(const Images& images) {
        constexpr int64 width = Kernel::width, room = Kernel::lds_bytes / 16;
        // The largest of `count` equal parts, in whole vectors.
        const auto part = [](int64 length, int64 count) { return divide_up(divide_up(length, count), width) * width; };
        const int64 more = images.columns % width == 0 ? 0 : 1;  // a vector of rows that do not begin at one
        Tiles tiles{};
        // Rows that fit with all columns: (rows * pitch + rows / 8) vectors.
        const int64 fit = room * 8 / (((divide_up(images.columns, width) + more) | 1) * 8 + 1) / width * width;
        tiles.rows =
            fit > kRows * 3 / 2
                ? part(images.rows, divide_up(images.rows, std::min<int64>(fit, Kernel::launch_threads)))
                : part(images.rows, std::max<int64>(1, images.rows / kRows + (images.rows % kRows > kRows / 2)));
        tiles.row_tiles = divide_up(images.rows, tiles.rows);
        const int64 longest = (((room - tiles.rows / 8) / tiles.rows - 1) | 1) - more;  // row, in vectors
        const int64 others = std::min(images.count, kWantedBlocks) * std::min(tiles.row_tiles, kWantedBlocks);
        tiles.columns = part(images.columns, std::max(divide_up(images.columns, longest * width),
                                                      std::min(divide_up(images.columns, kFewestVectors * width),
                                                               divide_up(kWantedBlocks, others))));
        tiles.column_tiles = divide_up(images.columns, tiles.columns);
        tiles.vectors = tiles.columns / width + more;
        tiles.pitch = tiles.vectors | 1;
        return tiles;
    }
};

template <class Element>
void start(platform::KernelEntry entry, const Images& images, const void* source, void* target,
           platform::Stream stream) {
    using Kernel = load::TransposeKernel<Element>;
    const Tiles tiles = Tiles::of<Kernel>(images);
    int64 blocks = 1;
    for(const int64 factor : {images.count, tiles.row_tiles, tiles.column_tiles})
        if(factor > kMostBlocks / blocks)
            throw std::invalid_argument("[lengths] the images have 2^31 tiles or more");
        else
            blocks *= factor;
    const auto vectors = static_cast<int32>(tiles.vectors);
    const load::TransposeArgs args{static_cast<const char*>(source),
                                   static_cast<char*>(target),
                                   images.count,
                                   images.rows,
                                   images.columns,
                                   static_cast<uint32>(tiles.row_tiles),
                                   static_cast<uint32>(tiles.column_tiles),
                                   static_cast<int32>(tiles.rows),
                                   static_cast<int32>(tiles.columns),
                                   vectors,
                                   static_cast<int32>(tiles.pitch),
                                   conv::Divider::by(vectors)};
    const int64 bytes = images.count * images.rows * images.columns * Kernel::size;
    const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    const auto length = static_cast<std::uintptr_t>(bytes);
    if(number(source) < number(target) + length && number(target) < number(source) + length)
        throw std::invalid_argument("[overlap] the target, which is written, overlaps the source, which is read");
    const auto regions = regions_of({{"source", source, bytes, false}, {"target", target, bytes, true}});
    platform::launch<Kernel>(entry, static_cast<uint32>(blocks), args, regions, stream);
}

}  // namespace

void transpose(const Images& images, const void* source, void* target, platform::Stream stream) {
    const auto aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
    if(!aligned(source) || !aligned(target))
        throw std::invalid_argument("[alignment] source or target does not begin at a multiple of 16 bytes");
    if(images.element_bytes != 2 && images.element_bytes != 4)
        throw std::invalid_argument("[element_bytes] elements of 2 or 4 bytes can be transposed");
    if(images.count < 1 || images.rows < 1 || images.columns < 1)
        throw std::invalid_argument("[lengths] the number of images, rows and columns must be positive");
    if(images.element_bytes == 2)
        start<uint16>(entry_ckgen_transpose_16(), images, source, target, stream);
    else
        start<uint32>(entry_ckgen_transpose_32(), images, source, target, stream);
}

}  // namespace ckgen::tensor_operation::device
#endif
