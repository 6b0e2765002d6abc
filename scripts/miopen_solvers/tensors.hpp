// Tensors of small integers, and the sums of a convolution of them.
#pragma once

#include <algorithm>
#include <limits>

#include "ck/library/utility/device_memory.hpp"
#include "ck/utility/type_convert.hpp"

#include "problem.hpp"

namespace miopen::solver::conv {

inline double number(std::size_t i, int seed) { return static_cast<double>((i * 7 + seed) % 5) - 2.; }

template <class T>
struct Memory {
    std::vector<T> values;
    DeviceMem device;
    Memory(std::size_t size, int seed) : values(size), device(size * sizeof(T)) {
        for(std::size_t i = 0; i < size; ++i)
            values[i] = ck::type_convert<T>(static_cast<float>(number(i, seed)));
        device.ToDevice(values.data());
    }
};

// A result in T: results of integers saturate.
template <class T>
double in_range(double value) {
    if constexpr(std::is_integral_v<T>)
        return std::clamp<double>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    else
        return value;
}

// The result before the function, by position in memory: both tensors of the sum are packed with the channels last.
inline std::vector<double> expected_sums(const miopen::conv::ProblemDescription& p, bool weight) {
    const int c = p.C / p.G, k = p.K / p.G;
    const std::array<int, 3> o{p.output(0), p.output(1), p.output(2)};
    const std::size_t filter = static_cast<std::size_t>(p.filter[0]) * p.filter[1] * p.filter[2];
    const std::size_t points = static_cast<std::size_t>(p.input[0]) * p.input[1] * p.input[2];
    std::vector<double> sums(weight ? p.K * filter * c : p.N * points * p.C);
    const auto each = [](const std::array<int, 3>& n, const auto& use) {
        for(int d = 0; d < n[0]; ++d)
            for(int h = 0; h < n[1]; ++h)
                for(int w = 0; w < n[2]; ++w)
                    use(std::array<int, 3>{d, h, w}, static_cast<std::size_t>((d * n[1] + h) * n[2] + w));
    };
    each(o, [&](const auto& at, std::size_t output) {
        each(p.filter, [&](const auto& tap, std::size_t t) {
            std::size_t input = 0;
            for(int d = 0; d < 3; ++d) {
                const int i = at[d] * p.stride[d] + tap[d] * p.dilation[d] - p.left[d];
                if(i < 0 || i >= p.input[d])
                    return;
                input = input * p.input[d] + i;
            }
            for(int n = 0; n < p.N; ++n)
                for(int kk = 0; kk < p.K; ++kk)
                    for(int cc = 0; cc < c; ++cc) {
                        const std::size_t x = (n * points + input) * p.C + kk / k * c + cc;
                        const std::size_t y = (n * static_cast<std::size_t>(o[0] * o[1] * o[2]) + output) * p.K + kk;
                        const std::size_t wei = (kk * filter + t) * c + cc;
                        sums[weight ? wei : x] += number(y, 1) * number(weight ? x : wei, 2);
                    }
        });
    });
    return sums;
}

}  // namespace miopen::solver::conv
