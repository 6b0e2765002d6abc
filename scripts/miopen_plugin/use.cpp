// Calls the plug-in's functions for weight gradients in MIOpen's order: is there a kernel, which ones, does one take a
// split_k, how much workspace, its solution; then runs the solution's invoker with a workspace of that size.
#include "mock.hpp"

#define SOLVER_WEIGHT 1
#include "../miopen_solvers/tensors.hpp"
#include "ck_grouped_conv_common.hpp"

using Described = miopen::conv::ProblemDescription;
using miopen::solver::ConvSolution;
extern "C" {
ck_impl_status_t ck_impl_wrw_fill_valid_kernels(const Described*, miopenDataType_t, bool, CKKernelListHandle**);
ck_impl_status_t ck_impl_wrw_is_applicable(const Described*, miopenDataType_t, bool, bool*);
ck_impl_status_t ck_impl_wrw_is_args_supported(const Described*, const char*, miopenDataType_t, bool, bool*);
ck_impl_status_t ck_impl_wrw_get_workspace_size(const Described*, miopenDataType_t, bool, std::size_t*);
ck_impl_status_t ck_impl_wrw_get_solution(const miopen::ExecutionContext*, const Described*, const char*, bool,
                                          ConvSolution**);
}

namespace {

using miopen::solver::conv::Memory;

void good(ck_impl_status_t status) {
    if(status != CK_IMPL_STATUS_SUCCESS)
        throw std::runtime_error("a function of the plug-in failed");
}

struct Counts {
    int kernels = 0, runs = 0, right = 0, split = 0;  // split: runs that wrote partial sums to the workspace
};

// Runs one solution and compares; true if it is right.
template <class T>
bool run(const Described& p, const std::string& id, bool tf32, std::size_t most, const std::vector<double>& sums,
         Counts& counts) {
    const miopen::ExecutionContext context;
    ConvSolution* made = nullptr;
    good(ck_impl_wrw_get_solution(&context, &p, id.c_str(), tf32, &made));
    const std::unique_ptr<ConvSolution> solution(made);
    if(solution->status != miopenStatusSuccess || solution->workspace_sz > most)
        return false;
    const std::size_t outputs = static_cast<std::size_t>(p.N) * p.K * p.output(1) * p.output(2);
    const std::size_t inputs = static_cast<std::size_t>(p.N) * p.C * p.input[1] * p.input[2];
    Memory<T> dy(outputs, 1), x(inputs, 2), dw(sums.size(), 3);
    const std::size_t size = solution->workspace_sz;
    std::vector<unsigned char> untouched(size, 0xff), after(size);
    DeviceMem workspace(size);
    workspace.ToDevice(untouched.data());
    miopen::AnyInvokeParams params{};
    params.params.tensors = {dy.device.GetDeviceBuffer(), x.device.GetDeviceBuffer(), dw.device.GetDeviceBuffer()};
    params.params.workSpace = size > 0 ? workspace.GetDeviceBuffer() : nullptr;
    params.params.workSpaceSize = size;
    (*solution->invoker_factory)({})(miopen::Handle(), params);
    dw.device.FromDevice(dw.values.data());
    workspace.FromDevice(after.data());
    counts.split += after != untouched;
    for(std::size_t i = 0; i < sums.size(); ++i) {
        const double got = static_cast<double>(ck::type_convert<float>(dw.values[i]));
        const double wanted = miopen::solver::conv::in_range<T>(sums[i]);
        if(!(std::abs(got - wanted) <= std::abs(wanted) * (sizeof(T) == 4 ? 1e-6 : 1. / 128)))
            return false;
    }
    return true;
}

template <class T>
bool run_type(const char* word, miopenDataType_t type, bool tf32 = false) {
    const Described p{2,         2,         3,         32,        16,   {1, 3, 2}, {1, 6, 5},
                      {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 0}, type, DEFAULT,   true};
    bool applicable = false;
    good(ck_impl_wrw_is_applicable(&p, type, tf32, &applicable));
    Counts counts;
    std::size_t most = 0;
    if(applicable) {
        const std::vector<double> sums = miopen::solver::conv::expected_sums(p);
        CKKernelListHandle* list = nullptr;
        good(ck_impl_wrw_fill_valid_kernels(&p, type, tf32, &list));
        const std::unique_ptr<CKKernelListHandle> kernels(list);
        good(ck_impl_wrw_get_workspace_size(&p, type, tf32, &most));
        counts.kernels = static_cast<int>(kernels->kernels.size());
        for(const std::string& name : kernels->kernels)
            for(const int split_k : {1, 4, -1}) {
                const std::string id = name + "+" + std::to_string(split_k);
                bool supported = false;
                good(ck_impl_wrw_is_args_supported(&p, id.c_str(), type, tf32, &supported));
                ++counts.runs;
                counts.right += supported && run<T>(p, id, tf32, most, sums, counts);
            }
    }
    std::cout << "  " << word << ": " << counts.kernels << " kernels, " << counts.right << " of " << counts.runs
              << " runs are right, " << counts.split << " with partial sums; at most " << most
              << " bytes of workspace\n";
    // Each kernel has partial sums with split_k 4.
    return counts.right == counts.runs && counts.runs > 0 && counts.split >= counts.kernels;
}

}  // namespace

int main() {
    const bool half = run_type<ck::half_t>("half", miopenHalf);
    const bool single = run_type<float>("float", miopenFloat);
    const bool tf32 = run_type<float>("float by tf32", miopenFloat, true);
    const bool brain = run_type<ck::bhalf_t>("bhalf", miopenBFloat16);
    const bool integer = run_type<std::int8_t>("int8", miopenInt8);
    return half && single && tf32 && brain && integer ? EXIT_SUCCESS : EXIT_FAILURE;
}
