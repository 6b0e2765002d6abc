// The parts that the reference convolutions share: tensors as f32 in one order, positions, and threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "ck/library/utility/host_tensor.hpp"
#include "ck/tensor_operation/gpu/device/device_base.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"
#include "ckgen/config/called_function.hpp"
#include "ckgen/library/device_arch.hpp"

namespace ck::tensor_operation::host::reference {

using Positions = std::array<long_index_t, 3>;
using Index = std::array<long_index_t, 6>;

// Lengths and strides of a tensor; spatial dimensions that it lacks come first and have length 1.
struct View {
    Index lengths{1, 1, 1, 1, 1, 1}, strides{};
    index_t ndim;

    View(const HostTensorDescriptor& tensor, index_t spatial) : ndim(spatial) {
        if(tensor.GetNumOfDimension() != static_cast<std::size_t>(ndim) + 3)
            throw std::runtime_error("reference convolution: a tensor has another number of dimensions");
        for(std::size_t i = 0; i < tensor.GetNumOfDimension(); ++i) {
            const std::size_t to = i < 3 ? i : i + 3 - static_cast<std::size_t>(ndim);
            lengths[to] = static_cast<long_index_t>(tensor.GetLengths()[i]);
            strides[to] = static_cast<long_index_t>(tensor.GetStrides()[i]);
        }
    }
    long_index_t positions() const { return lengths[3] * lengths[4] * lengths[5]; }
    Positions position(long_index_t number) const {
        return {number / (lengths[4] * lengths[5]), number / lengths[5] % lengths[4], number % lengths[5]};
    }
    // The number of a position, or -1 outside the tensor.
    long_index_t number(const Positions& at) const {
        for(std::size_t d = 0; d < 3; ++d)
            if(at[d] < 0 || at[d] >= lengths[3 + d])
                return -1;
        return (at[0] * lengths[4] + at[1]) * lengths[5] + at[2];
    }
    // The offset in the tensor's memory.
    std::size_t offset(const Index& at) const {
        return static_cast<std::size_t>(std::inner_product(at.begin(), at.end(), strides.begin(), long_index_t{0}));
    }
    // Calls work(index of an element) in the order groups, outer, positions, channels.
    template <class Work>
    void for_each(const Work& work) const {
        for(long_index_t g = 0; g < lengths[0]; ++g)
            for(long_index_t outer = 0; outer < lengths[1]; ++outer)
                for(long_index_t number = 0; number < positions(); ++number)
                    for(long_index_t c = 0; c < lengths[2]; ++c) {
                        const Positions p = position(number);
                        work(Index{g, outer, c, p[0], p[1], p[2]});
                    }
    }
};

template <class Function>
inline constexpr bool is_identity = std::is_same_v<Function, element_wise::PassThrough>;

// f32 values in the order groups, outer, positions, channels.
struct Rows {
    View view;
    std::vector<float> values;

    explicit Rows(const View& of)
        : view(of), values(static_cast<std::size_t>(of.lengths[0] * of.lengths[1] * of.positions() * of.lengths[2])) {}
    // Values that are multiplied as type Compute.
    template <class Compute, class T, class Function>
    static Rows of(const Tensor<T>& tensor, index_t ndim, const Function& function) {
        Rows rows(tensor, ndim, function);
        const F8Codes codes = device_f8_codes();
        for(float& value : rows.values)
            value = RoundedTo<Compute>::by(codes, value);
        return rows;
    }
    template <class T, class Function>
    Rows(const Tensor<T>& tensor, index_t ndim, const Function& function) : Rows(View(tensor.mDesc, ndim)) {
        std::size_t next = 0;
        view.for_each([&](const Index& at) {
            float& value = values[next++];
            value = type_convert<float>(tensor.mData[view.offset(at)]);
            if constexpr(!is_identity<Function>)
                function(value, float(value));
        });
    }
    float* row(long_index_t group, long_index_t outer, long_index_t position) {
        return values.data() + ((group * view.lengths[1] + outer) * view.positions() + position) * view.lengths[2];
    }
    const float* row(long_index_t group, long_index_t outer, long_index_t position) const {
        return const_cast<Rows*>(this)->row(group, outer, position);
    }
};

template <class T>
T rounded(float value) {
    if constexpr(std::is_same_v<T, int8_t>)
        return ckgen::Convert<int8_t>::from(value);  // as kernels round
    else
        return type_convert<T>(value);
}

// A D tensor for a result: its own strides; a dimension of length 1 repeats one value.
inline View repeated(const HostTensorDescriptor& d, const View& result) {
    View view(d, result.ndim);
    for(std::size_t i = 0; i < view.lengths.size(); ++i) {
        if(view.lengths[i] != result.lengths[i] && view.lengths[i] != 1)
            throw std::invalid_argument("reference convolution: a length of a D tensor is neither 1 nor the result's");
        if(view.lengths[i] == 1)
            view.strides[i] = 0;
    }
    return view;
}

template <std::size_t, class D>
using ElementOf = D;

// result = function(row values, D values...)
template <class T, class Function, class D, std::size_t Count, std::size_t... I>
void store(Tensor<T>& result, const Rows& rows, const Function& function, const std::array<Tensor<D>, Count>& d,
           std::index_sequence<I...>) {
    const std::array<View, Count> views{repeated(d[I].mDesc, rows.view)...};
    std::size_t next = 0;
    rows.view.for_each([&](const Index& at) {
        float value = rows.values[next++];
        if constexpr(!is_identity<Function>) {
            const CalledFunction<Function, T, Tuple<ElementOf<I, D>...>> called{function};
            called(value, float(value), type_convert<float>(d[I].mData[views[I].offset(at)])...);
        }
        result.mData[rows.view.offset(at)] = rounded<T>(value);
    });
}

// Strides, dilations and left pads, with those of absent dimensions first.
struct Geometry {
    Positions strides{1, 1, 1}, dilations{1, 1, 1}, left_pads{};

    template <class List>
    Geometry(const List& stride, const List& dilation, const List& left_pad, index_t ndim) {
        for(std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) {
            const std::size_t to = d + 3 - static_cast<std::size_t>(ndim);
            strides[to] = stride[d];
            dilations[to] = dilation[d];
            left_pads[to] = left_pad[d];
        }
    }
    // The input position that an output position reads through a tap.
    Positions input_of(const Positions& out, const Positions& tap) const {
        Positions in{};
        for(std::size_t d = 0; d < 3; ++d)
            in[d] = out[d] * strides[d] + tap[d] * dilations[d] - left_pads[d];
        return in;
    }
};

inline void add_scaled(float* to, float factor, const float* from, long_index_t count) {
    for(long_index_t i = 0; i < count; ++i)
        to[i] += factor * from[i];
}

// Calls work(i) for i below count, on all processors.
template <class Work>
void in_parallel(long_index_t count, const Work& work) {
    const long_index_t workers = std::clamp<long_index_t>(std::thread::hardware_concurrency(), 1, 64);
    std::atomic<long_index_t> next{0};
    const auto run = [&] {
        for(long_index_t i = next++; i < count; i = next++)
            work(i);
    };
    std::vector<std::thread> threads;
    try {
        for(long_index_t worker = 1; worker < workers; ++worker)
            threads.emplace_back(run);
    } catch(const std::system_error&) {  // the limit of threads is reached: those that there are do the work
    }
    run();
    for(std::thread& thread : threads)
        thread.join();
}

}  // namespace ck::tensor_operation::host::reference
