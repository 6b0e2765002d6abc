// Functions that tests/kernels/test_plans.py calls: the shared host code of backward weight with a kernel that does
// nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "ckgen/c_api.h"
#include "ckgen/op/bwd_weight.hpp"
#include "ckgen/plan/memory_overlap.hpp"

namespace {

using namespace ckgen;
using namespace ckgen::tensor_operation::device;

conv::Tensor tensor(const int64_t* lengths, const int64_t* strides) {
    conv::Tensor result;
    std::memcpy(result.lengths.data(), lengths, 6 * sizeof(int64_t));
    std::memcpy(result.strides.data(), strides, 6 * sizeof(int64_t));
    return result;
}

conv::Problem problem_of(const ckgen_problem& p) {
    conv::Problem result;
    result.ndim = p.ndim;
    result.split_k = p.split_k;
    result.in = tensor(p.in_lengths, p.in_strides);
    result.wei = tensor(p.wei_lengths, p.wei_strides);
    result.out = tensor(p.out_lengths, p.out_strides);
    for(int d = 0; d < 3; ++d) {
        result.strides[d] = p.strides[d];
        result.dilations[d] = p.dilations[d];
        result.left_pads[d] = p.left_pads[d];
        result.right_pads[d] = p.right_pads[d];
    }
    return result;
}

void nothing(const void*, platform::Thread&) {}
void nothing_either(const void* args, platform::Thread& thread) { nothing(args, thread); }

using Kernel = PlannedKernel<BwdWeight>;
using Launch = PlannedLaunch<BwdWeight>;

void launch(uint32, const Launch&, const std::vector<Touched>&, platform::Stream) {}
const float* partials = nullptr;
int splits = 0;
void note(uint32, const Launch& launch, const std::vector<Touched>&, platform::Stream) {
    partials = launch.args.partial;
    splits = launch.plan.split_k;
}
std::string no_maps(uint32, const Launch&) { return {}; }
void reduce_nothing(const Launch&, const std::vector<Touched>&, platform::Stream) {}

// f16 in NHWGC by TMA, persistent. tile: m, n and k per block.
Kernel kernel_of(const int* tile) {
    conv::BwdWeightTraits traits{};
    traits.order = conv::MemoryOrder::of<layout::NHWGC_GKYXC_NHWGK>(/*packed_output=*/true);
    traits.ndim = 2;
    traits.roles = BwdWeight::roles;
    traits.conv_spec = ConvSpec::Default;
    traits.m_per_block = tile[0];
    traits.n_per_block = tile[1];
    traits.k_per_block = tile[2];
    traits.tiles_per_half = 1;
    traits.a_vector = 8, traits.b_vector = 64, traits.c_vector = 2;
    traits.elem_bytes = traits.written_bytes = traits.compute_bytes = 2;
    traits.launch_threads = 384;
    traits.tma = traits.persistent = traits.truncates = true;
    return {traits, &nothing, 1024, &launch, &no_maps, &reduce_nothing, nullptr};
}

// The wgmma tile 40x64 of family halo.
Kernel head_kernel() {
    const int tile[] = {40, 64, 16};
    Kernel kernel = kernel_of(tile);
    kernel.traits.b_vector = 8, kernel.traits.c_vector = 4;
    kernel.traits.persistent = false;
    kernel.traits.halo = {16, 80, 6, 227 * 1024};
    kernel.traits.halo.strips = kernel.traits.halo.buffers = true;
    return kernel;
}

}  // namespace

extern "C" {

int64_t head_workspace(const ckgen_problem* problem) {
    const Kernel kernel = head_kernel();
    const auto argument = make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    return static_cast<int64_t>(workspace_size(kernel, argument.get()));
}

const char* head_reason(const ckgen_problem* problem) {
    static std::string reason;
    const Kernel kernel = head_kernel();
    const auto argument = make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    return (reason = unsupported_reason(kernel, argument.get())).c_str();
}

// The strips of a problem as rows, plane, stages, per_image, stage_bytes, buffer_bytes, then what of the output a
// strip's steps read and what its copies write, in positions.
void head_strips(const ckgen_problem* problem, int* values) {
    const conv::BwdWeightTraits traits = head_kernel().traits;
    const conv::BwdWeightArgs args = conv::make_args(traits, problem_of(*problem), 1, platform::compute_units());
    const conv::StripLimits limits = traits.halo.strip_limits();
    const conv::HaloStrips g = conv::halo_strips(conv::strip_shape(args, limits), limits);
    const int reach[] = {2 * args.dilation[0], 2 * args.dilation[1]};
    const int steps = conv::strip_steps(g, args.in_length[0], 0);
    const int read = reach[0] * g.plane + reach[1] + steps * conv::kStripStep;
    const int found[] = {g.rows,        g.plane,        g.stages, g.per_image,
                         g.stage_bytes, g.buffer_bytes, read,     (g.rows + reach[0]) * g.plane};
    std::memcpy(values, found, sizeof found);
    values[8] = g.out_positions;
    values[9] = g.in_positions;
}

void reduce(const float* partial, void* wei, int64_t elements, int splits) {
    reduce_partials<half_t>(partial, wei, elements, splits, nullptr);
}

void repack(const char* source, char* target, int64_t bytes, int64_t positions, int groups, int columns, int pitch,
            int64_t position_stride, int64_t group_stride) {
    ckgen::tensor_operation::device::repack(
        {source, target, bytes, positions, position_stride, group_stride, groups, columns, pitch}, "output",
        "copy of the output", nullptr);
}

const char* reason(const ckgen_problem* problem, const int* tile) {
    static std::string text;
    const Kernel kernel = kernel_of(tile);
    const auto argument = make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    text = unsupported_reason(kernel, argument.get());
    return text.c_str();
}

// The same for a kernel that addresses by strides alone.
const char* strided_reason(const ckgen_problem* problem) {
    static std::string text;
    conv::InstanceTraits traits{};
    traits.order = conv::MemoryOrder::of<layout::NHWGC_GKYXC_NHWGK>(/*packed_output=*/false);
    traits.ndim = 2;
    text = conv::check_problem(traits, conv::with_unit_strides(problem_of(*problem), traits.order));
    return text.c_str();
}

int64_t workspace(const ckgen_problem* problem, const int* tile) {
    const Kernel kernel = kernel_of(tile);
    const auto argument = make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    return static_cast<int64_t>(workspace_size(kernel, argument.get()));
}

int split_k(const ckgen_problem* problem, const int* tile, int compute_units) {
    return conv::resolve_split_k(kernel_of(tile).traits, problem_of(*problem), compute_units);
}

// Tiles of GEMM-K that the matrix unit sums by itself.
int summed_tiles(const ckgen_problem* problem, const int* tile) {
    const Kernel kernel = kernel_of(tile);
    return make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr)->plan.args.k_tiles_per_chunk;
}

// The split_k that -1 stands for in a kernel that is not persistent.
int plain_split_k(const ckgen_problem* problem, const int* tile, int compute_units) {
    conv::BwdWeightTraits traits = kernel_of(tile).traits;
    traits.persistent = traits.tma = false;
    return conv::resolve_split_k(traits, problem_of(*problem), compute_units);
}

// 1 if what follows the making of an argument goes by its plan: a problem that is spoilt afterwards changes nothing.
int launch_twice(const ckgen_problem* problem, const int* tile) {
    const Kernel kernel = kernel_of(tile);
    alignas(16) static char memory[4][1 << 20];
    const auto argument = make_argument(kernel, problem_of(*problem), {}, memory[0], memory[1], memory[2]);
    argument->p_workspace_ = memory[3];
    const std::size_t size = workspace_size(kernel, argument.get());
    argument->problem.split_k = -7;  // what a second check would refuse
    for(int i = 0; i < 2; ++i)
        run_planned(kernel, argument.get(), StreamConfig{});
    return unsupported_reason(kernel, argument.get()).empty() && size > 0 &&
           workspace_size(kernel, argument.get()) == size;
}

// The split_k of a run with a workspace whose size was asked for or not; 0 if the partial sums do not lie where they
// must.
int split_with_workspace(const ckgen_problem* problem, const int* tile, int asked) {
    Kernel kernel = kernel_of(tile);
    kernel.launch = &note;
    alignas(16) static char memory[4][1 << 20];
    const auto argument = make_argument(kernel, problem_of(*problem), {}, memory[0], memory[1], memory[2]);
    argument->p_workspace_ = memory[3];
    if(asked != 0)
        workspace_size(kernel, argument.get());
    run_planned(kernel, argument.get(), StreamConfig{});
    const bool inside = reinterpret_cast<const char*>(partials) == memory[3];
    return inside == (asked != 0) ? splits : 0;
}

// 1 if two tensors of bytes overlap. lengths and strides: 6 of one and 6 of the other; begin: two addresses.
int overlap(const int64_t* begin, const int64_t* lengths, const int64_t* strides, int elem_bytes) {
    conv::Placed placed[2];
    for(int t = 0; t < 2; ++t) {
        placed[t] = {"", reinterpret_cast<const void*>(begin[t]), {}, 3, elem_bytes};
        for(int d = 0; d < 6; ++d) {
            placed[t].shape.lengths[static_cast<std::size_t>(d)] = lengths[6 * t + d];
            placed[t].shape.strides[static_cast<std::size_t>(d)] = strides[6 * t + d];
        }
    }
    return conv::overlap(placed[0], placed[1]);
}

// Strides of the input and then of the output after with_unit_strides(). axes: of each tensor, the slowest first.
void unit_strides(const ckgen_problem* problem, const int* axes, int64_t* strides) {
    conv::Axes order{};
    std::copy(axes, axes + order.size(), order.begin());
    const conv::Problem given = conv::with_unit_strides(problem_of(*problem), {order, order, order});
    std::copy(given.in.strides.begin(), given.in.strides.end(), strides);
    std::copy(given.out.strides.begin(), given.out.strides.end(), strides + 6);
}

// 1 if a problem whose tensor maps the driver refuses is refused with its reason when the argument is made.
int refused_maps(const ckgen_problem* problem, const int* tile) {
    Kernel kernel = kernel_of(tile);
    kernel.map_reason = [](uint32, const Launch& launch) -> std::string {
        const bool placed = launch.args.in != nullptr && launch.args.out != nullptr;
        return placed ? "[tensor-map] refused" : "no addresses";
    };
    const auto argument = make_argument(kernel, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    return unsupported_reason(kernel, argument.get()) == "[tensor-map] refused";
}

// Forks while other threads run kernels; how many children could not run one and were killed after a minute.
int forked_children_that_hang(int forks) {
    const auto run = [] { platform::run_grid(&nothing, nullptr, {1, 64, 16, 1}, {}); };
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for(int i = 0; i < 4; ++i)
        busy.emplace_back([&] {
            while(!stop)
                run();
        });
    int hanging = 0;
    for(int i = 0; i < forks; ++i) {
        const pid_t child = fork();
        if(child == 0) {
            alarm(60);
            run();
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        hanging += status != 0;
        if(hanging > 0)
            break;
    }
    stop = true;
    for(std::thread& thread : busy)
        thread.join();
    return hanging;
}

// 1 if a kernel judges an argument that was made for another by its own traits.
int foreign_argument(const ckgen_problem* problem, const int* tile) {
    const Kernel first = kernel_of(tile);
    Kernel second = first;
    second.entry = &nothing_either;
    second.traits.b_vector = 128;
    const auto argument = make_argument(first, problem_of(*problem), {}, nullptr, nullptr, nullptr);
    return unsupported_reason(first, argument.get()).empty() &&
           unsupported_reason(second, argument.get()).rfind("[b-vector]", 0) == 0;
}
}
