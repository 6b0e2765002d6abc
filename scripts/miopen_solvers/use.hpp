// Follows the code of one solver that scripts/miopen_solvers.py cuts out of a checkout of MIOpen: asks it for its
// kernels as MIOpen does, and runs each. SOLVER: GroupWrw, 3DGroupWrw, GroupBwd or 3DGroupBwd; SOLVER_WEIGHT and
// SOLVER_NDIM.
#pragma once

#include <iostream>

#include "tensors.hpp"

namespace miopen::solver::conv {

// Config, Solver: the classes of mock.hpp. operators(case): the lists of CK's operators.
using Config = CONFIG;
using Solver = SOLVER;

// Runs a kernel as MIOpen's invoker does, and compares.
template <class T, class Args, class Operator>
bool is_right(const Described& p, const Args& args, const Operator& op, const std::vector<double>& sums, int split_k) {
    const std::size_t outputs = static_cast<std::size_t>(p.N) * p.K * p.output(0) * p.output(1) * p.output(2);
    const std::size_t points = static_cast<std::size_t>(p.input[0]) * p.input[1] * p.input[2];
    const std::size_t weights = static_cast<std::size_t>(p.K) * (p.C / p.G) * p.filter[0] * p.filter[1] * p.filter[2];
    Memory<T> y(outputs, 1), other(SOLVER_WEIGHT ? p.N * points * p.C : weights, 2), result(sums.size(), 3);
    const float alpha = 2.f, beta = 3.f;
#if SOLVER_WEIGHT
    const ConvWrwTensors tensors{y.device.GetDeviceBuffer(), other.device.GetDeviceBuffer(),
                                 result.device.GetDeviceBuffer()};
#if SOLVER_NDIM == 2
    auto argument = args.MakeArgPtr(op, tensors, alpha, beta, split_k);
#else
    auto argument = args.MakeArgPtr(op, tensors, alpha, beta);
    static_cast<void>(split_k);
#endif
    // MIOpen's own size, which no call of GetWorkSpaceSize precedes.
    DeviceMem workspace(4 * outputs);
    if(CKWrwRequireWorkspace(p.G, p.C, p.K, p.type, p.alpha_beta))
        op->SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
#else
    const ConvDataTensors tensors{y.device.GetDeviceBuffer(), other.device.GetDeviceBuffer(),
                                  result.device.GetDeviceBuffer()};
    auto argument = args.MakeArgPtr(op, tensors, alpha, beta);
    static_cast<void>(split_k);
#endif
    op->MakeInvokerPointer()->Run(argument.get(), {nullptr, false});
    result.device.FromDevice(result.values.data());
    for(std::size_t i = 0; i < sums.size(); ++i) {
        const double scaled = p.alpha_beta == DEFAULT ? sums[i] : alpha * sums[i];
        const double wanted = in_range<T>(scaled + (p.alpha_beta == BILINEAR ? beta * number(i, 3) : 0.));
        const double got = static_cast<double>(ck::type_convert<float>(result.values[i]));
        const double bound = 1e-6 + std::abs(wanted) * (sizeof(T) == 4 ? 1e-6 : 1. / 128);
        if(!(std::abs(got - wanted) <= bound)) {
            std::cout << "    element " << i << " is " << got << ", expected " << wanted << '\n';
            return false;
        }
    }
    return true;
}

// The kernels of one type and case: how many the solver offers and how many of them are right.
template <class T, class Ptrs, class Args>
bool run_kernels(const Described& p) {
    Config config;
    const Solver solver;
    if(!solver.template CheckCKApplicability<T>(p)) {
        std::cout << ": not applicable\n";
        return true;
    }
    config.template Init<T>(p);
    const std::vector<double> sums = expected_sums(p, SOLVER_WEIGHT == 1);
    int right = 0, runs = 0;
    for(const std::string& name : config.valid_kernels)
        for(const int split_k : (SOLVER_WEIGHT && SOLVER_NDIM == 2) ? std::vector<int>{1, 4} : std::vector<int>{1}) {
            auto operators = Ptrs::GetInstances();
            config.kernel_id = name + (SOLVER_WEIGHT && SOLVER_NDIM == 2 ? "+" + std::to_string(split_k) : "");
            const auto found = FindConvPtrByID(operators, name);
            ++runs;
            if(found != operators.end() && config.template CheckIsSupportCKArgs<T>(p))
                right += is_right<T>(p, Args{p}, *found, sums, split_k);
        }
    std::cout << ": " << config.valid_kernels.size() << " kernels, " << right << " of " << runs << " runs are right\n";
    return right == runs && right > 0;
}

template <class T>
bool run_type(const char* word, miopenDataType_t type) {
    constexpr int d = SOLVER_NDIM - 2;  // 1 if there is a depth
    const std::array<int, 3> filter{1 + d, 3, 2}, input{1 + 3 * d, 6, 5}, one{1, 1, 1}, stride{1, 2, 1};
    bool good = true;
    for(const bool channels_last : {true, false}) {
        Described p{SOLVER_NDIM, 2,   3,         32,        16,   filter,  input,
                    stride,      one, {0, 1, 1}, {d, 1, 0}, type, DEFAULT, channels_last};
        std::cout << "  " << word << ", " << (channels_last ? "channels last" : "transposed before");
        good = RUN_DEFAULT(p) && good;
#if SOLVER_NDIM == 3
        p.alpha_beta = SCALE;
        std::cout << "  " << word << ", scale";
        good = RUN_SCALE(p) && good;
        p.alpha_beta = BILINEAR;
        std::cout << "  " << word << ", bilinear";
        good = RUN_BILINEAR(p) && good;
#endif
    }
    return good;
}

}  // namespace miopen::solver::conv

int main() {
    using namespace miopen::solver::conv;
    const bool half = run_type<ck::half_t>("half", miopenHalf);
    const bool single = run_type<float>("float", miopenFloat);
    const bool brain = run_type<ck::bhalf_t>("bhalf", miopenBFloat16);
    const bool integer = run_type<int8_t>("int8", miopenInt8);
    return half && single && brain && integer ? EXIT_SUCCESS : EXIT_FAILURE;
}
