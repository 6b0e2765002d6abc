// Functions that tests/support/bwd_data_library.py calls: instances by name, driven by the C API's problem.
#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "ckgen/c_api.h"
#include "ckgen/device/device_grouped_conv_bwd_data_multiple_d.hpp"
#include "ckgen/device/runner.hpp"
#include "instances.hpp"

namespace {

using namespace ckgen;
using namespace ckgen::tensor_operation::device;

thread_local std::string sentence;

conv::Tensor tensor(const int64_t* lengths, const int64_t* strides) {
    conv::Tensor result;
    std::copy_n(lengths, 6, result.lengths.begin());
    std::copy_n(strides, 6, result.strides.begin());
    return result;
}

conv::Problem problem_of(const ckgen_problem& p) {
    conv::Problem result;
    result.ndim = p.ndim;
    result.split_k = p.split_k;
    result.in = tensor(p.in_lengths, p.in_strides);
    result.wei = tensor(p.wei_lengths, p.wei_strides);
    result.out = tensor(p.out_lengths, p.out_strides);
    std::copy_n(p.strides, 3, result.strides.begin());
    std::copy_n(p.dilations, 3, result.dilations.begin());
    std::copy_n(p.left_pads, 3, result.left_pads.begin());
    std::copy_n(p.right_pads, 3, result.right_pads.begin());
    return result;
}

conv::Fusion fusion_of(const ckgen_problem& p) {
    conv::Fusion result;
    for(int i = 0; i < p.d_count; ++i)
        result.d.push_back({p.d[i].data, tensor(p.d[i].lengths, p.d[i].strides)});
    result.scalars.assign(p.scalars, p.scalars + p.scalar_count);
    return result;
}

BaseOperator& operator_of(const char* name) {
    static const std::map<std::string, std::unique_ptr<BaseOperator>> all = make_all();
    return *all.at(name);
}

// Makes the argument; gives 1 with the reason if the instance refuses it, else what `use` gives.
template <class Use>
int with_argument(const char* name, const ckgen_problem& p, void* in, void* wei, const void* out, const Use& use) {
    try {
        BaseOperator& op = operator_of(name);
        auto& runner = dynamic_cast<ConvRunner&>(op);
        const auto argument = runner.MakeProblemArgument(problem_of(p), fusion_of(p), in, wei, out);
        sentence = op.GetUnsupportedReason(argument.get());
        if(!sentence.empty())
            return 1;
        return use(op, runner, *argument);
    } catch(const std::exception& error) {
        sentence = error.what();
        return 2;
    }
}

}  // namespace

extern "C" {

const char* last_sentence(void) { return sentence.c_str(); }

int64_t workspace_bytes(const char* name, const ckgen_problem* p) {
    int64_t bytes = -1;
    with_argument(name, *p, nullptr, nullptr, nullptr, [&](BaseOperator& op, ConvRunner&, BaseArgument& argument) {
        bytes = static_cast<int64_t>(op.GetWorkSpaceSize(&argument));
        return 0;
    });
    return bytes;
}

int used_split_k(const char* name, const ckgen_problem* p) {
    int split_k = 0;
    with_argument(name, *p, nullptr, nullptr, nullptr, [&](BaseOperator&, ConvRunner&, BaseArgument& argument) {
        split_k = dynamic_cast<ArgumentSplitK&>(argument).k_batch_;
        return 0;
    });
    return split_k;
}

int run(const char* name, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace) {
    return with_argument(name, *p, in, wei, out, [&](BaseOperator& op, ConvRunner& runner, BaseArgument& argument) {
        op.GetWorkSpaceSize(&argument);
        op.SetWorkSpacePointer(&argument, workspace);
        runner.MakeInvoker()->Run(&argument);
        return 0;
    });
}

int refused(const char* name, const ckgen_problem* p, void* in, void* wei, const void* out) {
    return with_argument(name, *p, in, wei, out, [](BaseOperator&, ConvRunner&, BaseArgument&) { return 0; });
}

void schedule(uint64_t seed, int threads) { platform::host_options() = {seed, threads}; }
}
