// Code that the examples share: CK's argument lists, packed channels-last tensors, their initial values, comparison.
#pragma once

#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "ckgen/conv/problem.hpp"
#include "ckgen/types.hpp"

namespace example {

using namespace ckgen;

struct Options {
    int verification = 1;
    int initialisation = 1;
    int timing = 0;  // number of timed runs; 0: not timed
    conv::Problem problem;
};

[[noreturn]] inline void wrong_use(const std::string& what, const char* usage) {
    std::cerr << "error: " << what << "\n" << usage;
    std::exit(2);
}

inline long parse(const char* text, const char* what, long least, long most, const char* usage) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if(*text == '\0' || *end != '\0' || value < least || value > most)
        wrong_use(std::string(what) + " is '" + text + "', not an integer in " + std::to_string(least) + ".." +
                      std::to_string(most),
                  usage);
    return value;
}

// Packed strides for memory order N, spatial, G, channels (weights: G, K, filter, C).
inline void pack(conv::Problem& p) {
    const auto fill = [&](conv::Tensor& tensor, bool weight) {
        int64 stride = 1;
        const auto take = [&](int index) {
            tensor.strides[index] = stride;
            stride *= tensor.lengths[index];
        };
        take(2);
        if(!weight)
            take(0);
        for(int d = p.ndim - 1; d >= 0; --d)
            take(3 + d);
        take(1);
        if(weight)
            take(0);
    };
    fill(p.in, false), fill(p.wei, true), fill(p.out, false);
}

// Makes a problem from G, N, K, C, filter, input, strides, dilations, left and right pads.
inline conv::Problem make_problem(int ndim, const std::vector<long>& v, const char* usage) {
    conv::Problem p;
    p.ndim = ndim;
    const auto list = [&](int which, int d) { return v[static_cast<size_t>(4 + which * ndim + d)]; };
    const long g = v[0], n = v[1], k = v[2], c = v[3];
    p.in.lengths = {g, n, c, 1, 1, 1};
    p.wei.lengths = {g, k, c, 1, 1, 1};
    p.out.lengths = {g, n, k, 1, 1, 1};
    for(int d = 0; d < ndim; ++d) {
        p.wei.lengths[3 + d] = list(0, d);
        p.in.lengths[3 + d] = list(1, d);
        p.strides[d] = list(2, d);
        p.dilations[d] = list(3, d);
        p.left_pads[d] = list(4, d);
        p.right_pads[d] = list(5, d);
        const int64 span = (p.wei.lengths[3 + d] - 1) * p.dilations[d] + 1;
        const int64 room = p.in.lengths[3 + d] + p.left_pads[d] + p.right_pads[d] - span;
        if(room < 0)
            wrong_use("the filter is larger than the padded input in dimension " + std::to_string(d), usage);
        p.out.lengths[3 + d] = room / p.strides[d] + 1;
    }
    pack(p);
    return p;
}

// Reads the problem from argument 4 on, in CK's order: ndim, then `counts` numbers (4: G, N, K, C; 3: N, K, C), then
// six lists.
inline conv::Problem parse_problem(int argc, char** argv, int counts, const char* usage) {
    const int ndim = static_cast<int>(parse(argv[4], "ndim", 1, 3, usage));
    if(argc != 5 + counts + 6 * ndim)
        wrong_use("a problem of " + std::to_string(ndim) + " dimensions takes " +
                      std::to_string(1 + counts + 6 * ndim) + " numbers, " + std::to_string(argc - 4) + " were given",
                  usage);
    std::vector<long> values(counts == 3 ? 1 : 0, 1);
    for(int i = 5; i < argc; ++i)
        values.push_back(parse(argv[i], "a problem number", i < 5 + counts + 4 * ndim ? 1 : 0, 1 << 24, usage));
    return make_problem(ndim, values, usage);
}

// Reads verification, initialisation and timing, and the problem if there are more arguments.
inline void parse_arguments(Options& options, int argc, char** argv, int counts, long most_timing, const char* usage) {
    if(argc == 1)
        return;
    if(argc < 4)
        wrong_use("give none, three, or three and a problem's arguments", usage);
    options.verification = static_cast<int>(parse(argv[1], "verification", 0, 1, usage));
    options.initialisation = static_cast<int>(parse(argv[2], "initialisation", 0, 2, usage));
    options.timing = static_cast<int>(parse(argv[3], "timing", 0, most_timing, usage));
    if(argc > 4)
        options.problem = parse_problem(argc, argv, counts, usage);
}

inline void print_perf(float ms, const conv::Problem& problem, int64 bytes_moved, const std::string& name = "") {
    std::cout << "Perf: " << ms << " ms, " << static_cast<double>(problem.flops()) / ms / 1e9 << " TFlops, "
              << static_cast<double>(bytes_moved) / ms / 1e6 << " GB/s" << (name.empty() ? "" : ", ") << name << "\n";
}

template <class T>
std::vector<float> widened(const std::vector<T>& values) {
    std::vector<float> result;
    for(const T value : values)
        result.push_back(to_float(value));
    return result;
}

inline int64 elements(const conv::Tensor& tensor) {
    int64 count = 1;
    for(const int64 length : tensor.lengths)
        count *= length == 0 ? 1 : length;
    return count;
}

template <class T = half_t>
std::vector<T> initial(int64 count, int how, unsigned seed) {
    std::vector<T> values(static_cast<size_t>(count));
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> integers(-5, 4);
    std::uniform_real_distribution<float> decimals(-0.5f, 0.5f);
    for(T& value : values)
        value = how == 0 ? T{0} : how == 1 ? static_cast<T>(integers(random)) : static_cast<T>(decimals(random));
    return values;
}

inline void print(const char* name, const conv::Tensor& tensor, int ndim, bool grouped = true) {
    const int first = grouped ? 0 : 1;
    std::cout << name << ": dim " << ndim + (grouped ? 3 : 2) << ", lengths {";
    for(int i = first; i < ndim + 3; ++i)
        std::cout << (i > first ? ", " : "") << tensor.lengths[i];
    std::cout << "}, strides {";
    for(int i = first; i < ndim + 3; ++i)
        std::cout << (i > first ? ", " : "") << tensor.strides[i];
    std::cout << "}\n";
}

// True if every element differs from the f32 reference by at most its type's rounding plus the error of f32 sums of
// `terms` products.
template <class T>
bool verify(const std::vector<T>& result, const std::vector<float>& reference, int64 terms) {
    constexpr double roundoff = sizeof(T) == 2 ? 0x1p-10 : 0x1p-22;
    double worst = 0;
    for(size_t i = 0; i < result.size(); ++i) {
        const double expected = static_cast<double>(reference[i]);
        const double error = std::abs(to_float(result[i]) - expected);
        const double allowed = std::abs(expected) * roundoff + 0x1p-20 + static_cast<double>(terms) * 25 * 0x1p-23;
        if(!(error <= allowed) && std::isfinite(expected)) {
            std::cerr << "wrong: element " << i << " is " << to_float(result[i]) << ", not " << expected << "\n";
            return false;
        }
        worst = std::max(worst, std::isfinite(expected) ? error : 0.);
    }
    std::cout << "verified against the CPU reference, largest error " << worst << "\n";
    return true;
}

template <class Array>
Array narrow(const std::array<int64, 6>& values) {
    Array result;
    for(size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<index_t>(values[i]);
    return result;
}

}  // namespace example
