// The CPU references, compiled once per data type.
#include "ckgen/op/reference_conv_bwd_data.hpp"
#include "ckgen/op/reference_conv_bwd_weight.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ckgen/plan/memory_overlap.hpp"
#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::tensor_operation::host {
namespace {

using Index = std::array<int64, 6>;

int64 offset_of(const conv::Tensor& tensor, const Index& index) {
    int64 offset = 0;
    for(int d = 0; d < 6; ++d)
        offset += index[d] * tensor.strides[d];
    return offset;
}

// Calls visit(position) for every spatial position of `tensor`, row-major.
template <class Visit>
void for_positions(const conv::Tensor& tensor, const Visit& visit) {
    std::array<int64, 3> position{};
    for(position[0] = 0; position[0] < tensor.lengths[3]; ++position[0])
        for(position[1] = 0; position[1] < tensor.lengths[4]; ++position[1])
            for(position[2] = 0; position[2] < tensor.lengths[5]; ++position[2])
                visit(position);
}

// The problem with dimensions of length 1 after the first ndim, so that all loops are three deep. A dimension of length
// 1 may have any stride; here it is 0. Throws std::invalid_argument for an invalid problem.
conv::Problem padded(conv::Problem p) {
    for(int d = std::max(p.ndim, 0); d < 3; ++d) {
        for(conv::Tensor* tensor : {&p.in, &p.wei, &p.out})
            tensor->lengths[3 + d] = 1;
        p.strides[d] = p.dilations[d] = 1;
        p.left_pads[d] = p.right_pads[d] = 0;
    }
    for(conv::Tensor* tensor : {&p.in, &p.wei, &p.out})
        for(int axis = 0; axis < 6; ++axis)
            if(tensor->lengths[axis] == 1)
                tensor->strides[axis] = 0;
    const std::string reason = conv::shapes_reason(p);
    if(!reason.empty())
        throw std::invalid_argument(reason);
    return p;
}

// All taps and channels of one output channel of one group, in `sums`[tap][c].
template <class In, class Out>
void accumulate(const conv::Problem& p, int64 g, int64 k, const In* in, const Out* out, std::vector<double>& sums) {
    const int64 channels = p.in_channels();
    const int64 channel_stride = p.in.strides[2];
    std::fill(sums.begin(), sums.end(), 0.);
    for(int64 n = 0; n < p.images(); ++n)
        for_positions(p.out, [&](const std::array<int64, 3>& o) {
            const double gradient = to_float(out[offset_of(p.out, {g, n, k, o[0], o[1], o[2]})]);
            int64 tap_index = 0;
            for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                double* sum = sums.data() + channels * tap_index++;
                Index at{g, n, 0};
                for(int d = 0; d < 3; ++d) {
                    at[3 + d] = o[d] * p.strides[d] + tap[d] * p.dilations[d] - p.left_pads[d];
                    if(at[3 + d] < 0 || at[3 + d] >= p.in.lengths[3 + d])
                        return;
                }
                const In* row = in + offset_of(p.in, at);
                for(int64 c = 0; c < channels; ++c)
                    sum[c] += gradient * static_cast<double>(to_float(row[c * channel_stride]));
            });
        });
}

// Distributes the rows of `rows` over as many threads as there are cores; make_work() returns the function that a
// thread calls per row. Rethrows an exception of a thread when all threads are done.
template <class MakeWork>
void deal_out(int64 rows, const MakeWork& make_work) {
    std::atomic<int64> next{0};
    std::mutex guard;
    std::exception_ptr failure;
    const auto run = [&] {
        try {
            auto work = make_work();
            for(int64 row = next++; row < rows; row = next++)
                work(row);
        } catch(...) {
            const std::lock_guard<std::mutex> lock(guard);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    for(unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
        helpers.emplace_back(run);
    run();
    for(std::thread& helper : helpers)
        helper.join();
    if(failure)
        std::rethrow_exception(failure);
}

template <class T>
conv::Placed placed(const char* name, const T* data, const conv::Tensor& shape, int ndim) {
    return {name, data, shape, ndim, static_cast<int>(sizeof(T))};
}

// The run writes the first of the tensors.
void refuse_overlap(const std::vector<conv::Placed>& tensors) {
    const std::string reason = conv::overlap_reason(tensors);
    if(!reason.empty())
        throw std::invalid_argument(reason);
}

// The output position from which tap `tap` reaches input position `at`, in three dimensions; false if there is none.
bool output_of(const conv::Problem& p, const std::array<int64, 3>& at, const std::array<int64, 3>& tap, Index& index) {
    for(int d = 0; d < 3; ++d) {
        const int64 ahead = at[d] + p.left_pads[d] - tap[d] * p.dilations[d];
        index[3 + d] = ahead / p.strides[d];
        if(ahead < 0 || ahead % p.strides[d] != 0 || index[3 + d] >= p.out.lengths[3 + d])
            return false;
    }
    return true;
}

}  // namespace

template <class DataType>
void ReferenceConvBwdWeight<DataType>::Run(const conv::Problem& problem, const In* in, Wei* wei, const Out* out) {
    const conv::Problem p = padded(problem);
    refuse_overlap({placed("weight", wei, p.wei, p.ndim), placed("input", in, p.in, p.ndim),
                    placed("output", out, p.out, p.ndim)});
    deal_out(p.groups() * p.out_channels(), [&] {
        std::vector<double> sums(static_cast<size_t>(p.taps() * p.in_channels()));
        return [&, sums](int64 row) mutable {
            const int64 g = row / p.out_channels();
            const int64 k = row % p.out_channels();
            accumulate(p, g, k, in, out, sums);
            const double* sum = sums.data();
            for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                for(int64 c = 0; c < p.in_channels(); ++c)
                    wei[offset_of(p.wei, {g, k, c, tap[0], tap[1], tap[2]})] =
                        Convert<Wei>::from(static_cast<float>(*sum++));
            });
        };
    });
}

template <class DataType>
void ReferenceConvBwdData<DataType>::Run(const conv::Problem& problem, In* in, const Wei* wei, const Out* out) {
    const conv::Problem p = padded(problem);
    refuse_overlap({placed("input", in, p.in, p.ndim), placed("weight", wei, p.wei, p.ndim),
                    placed("output", out, p.out, p.ndim)});
    deal_out(p.groups() * p.images(), [&] {
        std::vector<double> sums(static_cast<size_t>(p.in_channels()));
        return [&, sums](int64 row) mutable {
            const int64 g = row / p.images();
            const int64 n = row % p.images();
            for_positions(p.in, [&](const std::array<int64, 3>& at) {
                std::fill(sums.begin(), sums.end(), 0.);
                for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                    Index seen{g, n, 0};
                    if(!output_of(p, at, tap, seen))
                        return;
                    for(seen[2] = 0; seen[2] < p.out_channels(); ++seen[2]) {
                        const double gradient = to_float(out[offset_of(p.out, seen)]);
                        const Wei* weights = wei + offset_of(p.wei, {g, seen[2], 0, tap[0], tap[1], tap[2]});
                        for(std::size_t c = 0; c < sums.size(); ++c)
                            sums[c] += gradient *
                                       static_cast<double>(to_float(weights[static_cast<int64>(c) * p.wei.strides[2]]));
                    }
                });
                In* target = in + offset_of(p.in, {g, n, 0, at[0], at[1], at[2]});
                for(std::size_t c = 0; c < sums.size(); ++c)
                    target[static_cast<int64>(c) * p.in.strides[2]] = Convert<In>::from(static_cast<float>(sums[c]));
            });
        };
    });
}

#define CKGEN_REFERENCE_BWD_WEIGHT(DTYPE) template struct ReferenceConvBwdWeight<dtype::DTYPE>;
#define CKGEN_REFERENCE_BWD_DATA(DTYPE) template struct ReferenceConvBwdData<dtype::DTYPE>;
CKGEN_BWD_WEIGHT_DTYPES(CKGEN_REFERENCE_BWD_WEIGHT)
CKGEN_BWD_DATA_DTYPES(CKGEN_REFERENCE_BWD_DATA)

}  // namespace ckgen::tensor_operation::host
