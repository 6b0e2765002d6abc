// Copied by ckgen from templates/include/ckgen/op/impl/reference_loops.hpp. Do not edit; run: ckgen generate
// Loops that the CPU references of all operations share.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "ckgen/compute_types.hpp"
#include "ckgen/plan/memory_overlap.hpp"
#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::reference {

using Index = std::array<int64, 6>;

// An element as kernels multiply it, in type Compute.
template <class Compute, class T>
double rounded(F8Codes codes, T element) {
    return static_cast<double>(RoundedTo<Compute>::by(codes, to_float(element)));
}

inline int64 offset_of(const conv::Tensor& tensor, const Index& index) {
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
inline conv::Problem padded(conv::Problem p) {
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
    try {
        for(unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
            helpers.emplace_back(run);
    } catch(const std::system_error&) {  // the limit of threads is reached: those that there are do the work
    }
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
inline void refuse_overlap(const std::vector<conv::Placed>& tensors) {
    const std::string reason = conv::overlap_reason(tensors);
    if(!reason.empty())
        throw std::invalid_argument(reason);
}

}  // namespace ckgen::reference
