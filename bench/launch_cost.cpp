// Host time of one run through the operators: argument, support check, workspace, plan, run. The launch is empty.
//
//   mkdir -p build/launch_cost/ckgen && touch build/launch_cost/ckgen/config.h
//   g++ -std=c++17 -O2 -DCKGEN_PLATFORM_HOST=1 -Ibuild/launch_cost -Igenerated/include bench/launch_cost.cpp
//     generated/src/{plan,host}/*.cpp generated/src/kernels/repack.cpp
//     generated/src/op/{planned,runner}.cpp
//     -lpthread -o build/launch_cost/run && build/launch_cost/run
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "ckgen/op/bwd_weight.hpp"

namespace {

using namespace ckgen;
using namespace ckgen::tensor_operation::device;

// RetinaNet's head: 3x3, pad 1, C = 256 on 100x100, NHWGC.
conv::Problem head(int64 k, int split_k) {
    conv::Problem p;
    p.ndim = 2;
    p.split_k = split_k;
    const int64 n = 32, c = 256, edge = 100;
    p.in.lengths = {1, n, c, edge, edge, 1};
    p.in.strides = {c, edge * edge * c, 1, edge * c, c, 0};
    p.wei.lengths = {1, k, c, 3, 3, 1};
    p.wei.strides = {k * 9 * c, 9 * c, 1, 3 * c, c, 0};
    p.out.lengths = {1, n, k, edge, edge, 1};
    p.out.strides = {k, edge * edge * k, 1, edge * k, k, 0};
    p.strides = p.dilations = {1, 1, 1};
    p.left_pads = p.right_pads = {1, 1, 0};
    return p;
}

using Kernel = PlannedKernel<BwdWeight>;
using Launch = PlannedLaunch<BwdWeight>;

void launch(uint32, const Launch&, const std::vector<Touched>&, platform::Stream) {}
std::string no_maps(uint32, const Launch&) { return {}; }
void reduce(const Launch&, const std::vector<Touched>&, platform::Stream) {}
void entry(const void*, platform::Thread&) {}

Kernel kernel_of(bool tma) {
    conv::BwdWeightTraits traits{};
    traits.ndim = 2;
    traits.m_per_block = 128, traits.n_per_block = tma ? 256 : 128, traits.k_per_block = tma ? 64 : 32;
    traits.tiles_per_half = 1;
    traits.a_vector = 8, traits.b_vector = tma ? 64 : 8, traits.c_vector = 2;
    traits.elem_bytes = traits.written_bytes = 2;
    traits.launch_threads = 384;
    traits.tma = traits.persistent = tma;
    return {traits, &entry, 1024, &launch, &no_maps, &reduce, nullptr};
}

// Median of several thousand runs, in microseconds.
double microseconds(const Kernel& kernel, const conv::Problem& problem) {
    alignas(16) static char memory[64];
    std::vector<double> times;
    for(int i = 0; i < 5000; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto argument = make_argument(kernel, problem, {}, memory, memory, memory);
        if(!unsupported_reason(kernel, argument.get()).empty())
            return -1;
        workspace_size(kernel, argument.get());
        argument->p_workspace_ = memory;
        run_planned(kernel, argument.get(), StreamConfig{});
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + 2500, times.end());
    return times[2500];
}

}  // namespace

int main() {
    for(const int split_k : {1, -1}) {
        std::printf("split_k %2d: xdl %.2f us, wavelet_tma %.2f us\n", split_k,
                    microseconds(kernel_of(false), head(256, split_k)),
                    microseconds(kernel_of(true), head(256, split_k)));
    }
}
