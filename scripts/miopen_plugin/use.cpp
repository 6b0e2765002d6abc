// Calls the plug-in's functions in MIOpen's order: is there a kernel, which ones, does one take a split_k, how much
// workspace, its solution; then runs the solution's invoker with a workspace of that size, and compares with sums in
// double precision. Problems: two written down, and some at random. A kernel of each type is demanded for plain
// gradients, and of each but int8 for scaled and bilinear ones (3D).
#include <random>

#include "ck_grouped_conv_common.hpp"
#include "mock.hpp"
#include <miopen/solver/implicitgemm_ck_util_common.hpp>

#include "../miopen_solvers/tensors.hpp"

using Described = miopen::conv::ProblemDescription;
using miopen::solver::ConvSolution;
#define CKGEN_FUNCTIONS(NAME)                                                                                          \
    ck_impl_status_t ck_impl_##NAME##_fill_valid_kernels(const Described*, miopenDataType_t, bool,                     \
                                                         CKKernelListHandle**);                                        \
    ck_impl_status_t ck_impl_##NAME##_is_applicable(const Described*, miopenDataType_t, bool, bool*);                  \
    ck_impl_status_t ck_impl_##NAME##_is_args_supported(const Described*, const char*, miopenDataType_t, bool, bool*); \
    ck_impl_status_t ck_impl_##NAME##_get_workspace_size(const Described*, miopenDataType_t, bool, std::size_t*);      \
    ck_impl_status_t ck_impl_##NAME##_get_solution(const miopen::ExecutionContext*, const Described*, const char*,     \
                                                   bool, ConvSolution**);                                              \
    ck_impl_status_t ck_impl_##NAME##_get_all_kernel_type_strings(CKKernelListHandle**);
extern "C" {
CKGEN_FUNCTIONS(wrw)
CKGEN_FUNCTIONS(bwd)
CKGEN_FUNCTIONS(3d_wrw)
CKGEN_FUNCTIONS(3d_bwd)
}

namespace {

using miopen::solver::conv::Memory;
using miopen::solver::conv::number;
constexpr float ALPHA = 2.f, BETA = 3.f;

struct Plugin {
    const char* name;
    int ndim;
    bool weight, splits;  // splits: the kernel's identifier ends with a split_k
    decltype(&ck_impl_wrw_fill_valid_kernels) kernels;
    decltype(&ck_impl_wrw_is_applicable) applicable;
    decltype(&ck_impl_wrw_is_args_supported) supported;
    decltype(&ck_impl_wrw_get_workspace_size) workspace;
    decltype(&ck_impl_wrw_get_solution) solution;
    decltype(&ck_impl_wrw_get_all_kernel_type_strings) strings;
};
#define CKGEN_PLUGIN(NAME, NDIM, WEIGHT, SPLITS)                                                                       \
    Plugin {                                                                                                           \
        #NAME, NDIM, WEIGHT, SPLITS, ck_impl_##NAME##_fill_valid_kernels, ck_impl_##NAME##_is_applicable,              \
            ck_impl_##NAME##_is_args_supported, ck_impl_##NAME##_get_workspace_size, ck_impl_##NAME##_get_solution,    \
            ck_impl_##NAME##_get_all_kernel_type_strings                                                               \
    }
const Plugin PLUGINS[] = {CKGEN_PLUGIN(wrw, 2, true, true), CKGEN_PLUGIN(bwd, 2, false, true),
                          CKGEN_PLUGIN(3d_wrw, 3, true, true), CKGEN_PLUGIN(3d_bwd, 3, false, false)};

void good(ck_impl_status_t status) {
    if(status != CK_IMPL_STATUS_SUCCESS)
        throw std::runtime_error("a function of the plug-in failed");
}

struct Counts {
    std::size_t problems = 0, kernels = 0, runs = 0, right = 0, split = 0, most = 0;
    // split: runs that left partial sums in the workspace; most: the largest workspace that CK's part reported
};

// A tensor on the device in the problem's layout, its values given with the channels last.
template <class T>
struct Tensor {
    std::size_t outer, channels, points;
    bool last;
    Memory<T> memory;
    Tensor(const Described& p, const miopen::TensorDescriptor& shape, int seed)
        : outer(shape.lengths[0]), channels(shape.lengths[1]), points(shape.GetElementSize() / outer / channels),
          last(p.channels_last), memory(shape.GetElementSize(), seed) {
        upload();
    }
    std::size_t at(std::size_t i) const {  // where value i is in memory
        const std::size_t o = i / channels / points, point = i / channels % points, c = i % channels;
        return last ? i : (o * channels + c) * points + point;
    }
    void upload() const {
        std::vector<T> stored(memory.values.size());
        for(std::size_t i = 0; i < stored.size(); ++i)
            stored[at(i)] = memory.values[i];
        memory.device.ToDevice(stored.data());
    }
    void poison() const {  // NaN, or -1 in integers
        const std::vector<unsigned char> bytes(memory.values.size() * sizeof(T), 0xff);
        memory.device.ToDevice(bytes.data());
    }
    std::vector<double> result() const {
        std::vector<T> stored(memory.values.size());
        memory.device.FromDevice(stored.data());
        std::vector<double> values;
        for(std::size_t i = 0; i < stored.size(); ++i)
            values.push_back(static_cast<double>(ck::type_convert<float>(stored[at(i)])));
        return values;
    }
};

template <class T>
bool same(const Described& p, const std::vector<double>& got, const std::vector<double>& sums) {
    for(std::size_t i = 0; i < sums.size(); ++i) {
        const double scaled = p.alpha_beta == DEFAULT ? sums[i] : ALPHA * sums[i];
        const double added = p.alpha_beta == BILINEAR ? BETA * number(i, 3) : 0.;
        const double wanted = miopen::solver::conv::in_range<T>(scaled + added);
        if(!(std::abs(got[i] - wanted) <= std::abs(wanted) * (sizeof(T) == 4 ? 1e-6 : 1. / 128)))
            return false;
    }
    return true;
}

template <class Params, class Tensors>
void invoke(const ConvSolution& solution, const Tensors& tensors, void* workspace) {
    Params params;
    params.tensors = tensors;
    params.workSpace = workspace;
    params.workSpaceSize = solution.workspace_sz;
    params.alpha = {ALPHA};
    params.beta = {BETA};
    std::vector<miopen::Kernel> kernels;
    for(const miopen::KernelInfo& info : solution.construction_params)
        kernels.push_back({info});
    (*solution.invoker_factory)(kernels)(miopen::Handle(), {params});
}

// Runs one solution and compares; true if it is right.
template <class T>
bool run(const Plugin& plugin, const Described& p, const std::string& id, bool tf32, const std::vector<double>& sums,
         Counts& counts) {
    const miopen::ExecutionContext context;
    ConvSolution* made = nullptr;
    good(plugin.solution(&context, &p, id.c_str(), tf32, &made));
    const std::unique_ptr<ConvSolution> solution(made);
    const std::size_t size = solution->workspace_sz;
    // MIOpen allocates what its own formula makes of the plug-in's number.
    if(solution->status != miopenStatusSuccess ||
       size > miopen::solver::GetWorkspaceSizeLayoutTransformConv(p, counts.most))
        return false;
    Tensor<T> dy(p, p.GetIn(), 1), other(p, plugin.weight ? p.GetOut() : p.GetWeights(), 2),
        result(p, plugin.weight ? p.GetWeights() : p.GetOut(), 3);
    if(p.alpha_beta != BILINEAR)
        result.poison();
    std::vector<unsigned char> untouched(size, 0xff), after(size);
    const DeviceMem workspace(size);
    workspace.ToDevice(untouched.data());
    void *y = dy.memory.device.GetDeviceBuffer(), *in = other.memory.device.GetDeviceBuffer(),
         *out = result.memory.device.GetDeviceBuffer();
    if(plugin.weight)
        invoke<miopen::conv::WrWInvokeParams>(*solution, miopen::ConvWrwTensors{y, in, out},
                                              workspace.GetDeviceBuffer());
    else
        invoke<miopen::conv::DataInvokeParams>(*solution, miopen::ConvDataTensors{y, in, out},
                                               workspace.GetDeviceBuffer());
    workspace.FromDevice(after.data());
    // With the channels first, the transposed tensors come first.
    const std::size_t begin =
        p.channels_last
            ? 0
            : miopen::MultiBufferWorkspaceTraits({p.GetInSize(), p.GetOutSize(), p.GetWeightsSize(), 1}).GetOffset(3);
    counts.split += size > begin && !std::equal(after.begin() + begin, after.end(), untouched.begin());
    return same<T>(p, result.result(), sums);
}

template <class T>
void run_problem(const Plugin& plugin, const Described& p, bool tf32, Counts& counts) {
    bool applicable = false;
    good(plugin.applicable(&p, p.type, tf32, &applicable));
    if(!applicable)
        return;
    CKKernelListHandle* list = nullptr;
    good(plugin.kernels(&p, p.type, tf32, &list));
    const std::unique_ptr<CKKernelListHandle> kernels(list);
    good(plugin.workspace(&p, p.type, tf32, &counts.most));
    ++counts.problems;
    counts.kernels += kernels->kernels.size();
    const std::vector<double> sums = miopen::solver::conv::expected_sums(p, plugin.weight);
    for(const std::string& name : kernels->kernels)
        for(const int split_k : plugin.splits ? std::vector<int>{1, 2, 7, -1} : std::vector<int>{1}) {
            const std::string id = name + (plugin.splits ? "+" + std::to_string(split_k) : "");
            bool supported = false;
            good(plugin.supported(&p, id.c_str(), p.type, tf32, &supported));
            ++counts.runs;
            counts.right += supported && run<T>(plugin, p, id, tf32, sums, counts);
        }
}

// Two problems with groups, of even and of odd channels, and some at random.
std::vector<Described> problems(int ndim) {
    const int d = ndim - 2;  // 1 if there is a depth
    std::vector<Described> list{{ndim,
                                 2,
                                 3,
                                 16,
                                 16,
                                 {1 + d, 3, 2},
                                 {1 + 3 * d, 6, 5},
                                 {1, 2, 1},
                                 {1, 1, 1},
                                 {0, 1, 1},
                                 {d, 1, 0},
                                 miopenHalf,
                                 DEFAULT,
                                 true},
                                {ndim,
                                 3,
                                 1,
                                 15,
                                 9,
                                 {1 + d, 2, 3},
                                 {1 + 2 * d, 7, 9},
                                 {1, 3, 2},
                                 {1, 1, 2},
                                 {0, 2, 1},
                                 {d, 0, 3},
                                 miopenHalf,
                                 DEFAULT,
                                 true}};
    std::mt19937 random(ndim);
    const auto draw = [&](int least, int most) { return least + static_cast<int>(random() % (most - least + 1)); };
    while(list.size() < 6) {
        Described p = list.front();
        p.G = draw(1, 3);
        p.N = draw(1, 3);
        p.K = p.G * draw(1, 9);
        p.C = p.G * draw(1, 9);
        for(int a = 1 - d; a < 3; ++a) {
            p.filter[a] = draw(1, 3);
            p.input[a] = draw(3, 7 - 2 * d);
            p.stride[a] = draw(1, 3);
            p.dilation[a] = draw(1, 2);
            p.left[a] = draw(0, 2);
            p.right[a] = draw(0, 2);
        }
        bool fits = true;
        for(int a = 0; a < 3; ++a)
            fits = fits && p.dilation[a] * (p.filter[a] - 1) < p.input[a] + p.left[a] + p.right[a];
        if(fits)
            list.push_back(p);
    }
    return list;
}

template <class T>
bool run_type(const Plugin& plugin, const char* word, miopenDataType_t type, bool tf32 = false) {
    bool right = true;
    for(const bool channels_last : {true, false})
        for(const miopenAlphaBetaCase_t alpha_beta : {DEFAULT, SCALE, BILINEAR}) {
            if(plugin.ndim == 2 && alpha_beta != DEFAULT)  // the code for 2D computes plain gradients alone
                continue;
            Counts counts;
            for(Described p : problems(plugin.ndim)) {
                p.type = type;
                p.alpha_beta = alpha_beta;
                p.channels_last = channels_last;
                p.direction =
                    plugin.weight ? miopen::conv::Direction::BackwardWeights : miopen::conv::Direction::BackwardData;
                run_problem<T>(plugin, p, tf32, counts);
            }
            std::cout << "  " << plugin.name << ' ' << word << (channels_last ? "" : ", channels first")
                      << (alpha_beta == DEFAULT ? ""
                          : alpha_beta == SCALE ? ", scale"
                                                : ", bilinear")
                      << ": ";
            if(counts.kernels == 0)
                std::cout << "no kernel\n";
            else
                std::cout << counts.problems << " problems, " << counts.right << " of " << counts.runs
                          << " runs are right, " << counts.split << " with partial sums\n";
            const bool optional = alpha_beta != DEFAULT && type == miopenInt8;
            // Each kernel for weight gradients has partial sums with split_k 2 and 7.
            right = right && (counts.kernels > 0 ? counts.problems == problems(plugin.ndim).size() : optional) &&
                    counts.right == counts.runs && counts.split >= (plugin.weight ? 2 * counts.kernels : 0);
        }
    return right;
}

bool run_plugin(const Plugin& plugin) {
    CKKernelListHandle* list = nullptr;
    good(plugin.strings(&list));
    const std::unique_ptr<CKKernelListHandle> strings(list);
    const bool half = run_type<ck::half_t>(plugin, "half", miopenHalf);
    const bool single = run_type<float>(plugin, "float", miopenFloat);
    const bool tf32 = run_type<float>(plugin, "float by tf32", miopenFloat, true);
    const bool brain = run_type<ck::bhalf_t>(plugin, "bhalf", miopenBFloat16);
    const bool integer = run_type<std::int8_t>(plugin, "int8", miopenInt8);
    return !strings->kernels.empty() && half && single && tf32 && brain && integer;
}

}  // namespace

int main() {
    bool right = true;
    for(const Plugin& plugin : PLUGINS)
        right = run_plugin(plugin) && right;
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
