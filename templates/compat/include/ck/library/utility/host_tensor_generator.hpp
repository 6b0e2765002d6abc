// Values for host tensors. A generator takes the indices of an element and returns its value.
#pragma once

#include <array>
#include <cstdlib>
#include <random>

#include "ck/utility/data_type.hpp"

template <class T>
struct GeneratorTensor_0 {
    template <class... Indices>
    T operator()(Indices...) {
        return ck::type_convert<T>(0.f);
    }
};

// One value.
template <class T>
struct GeneratorTensor_1 {
    float value = 1.f;
    template <class... Indices>
    T operator()(Indices...) {
        return ck::type_convert<T>(value);
    }
};

// Random integers from min_value, below max_value.
template <class T>
struct GeneratorTensor_2 {
    int min_value = 0;
    int max_value = 1;
    template <class... Indices>
    T operator()(Indices...) {
        return ck::type_convert<T>(static_cast<float>(std::rand() % (max_value - min_value) + min_value));
    }
};

// Random numbers between two values.
template <class T>
struct GeneratorTensor_3 {
    float min_value = 0.f;
    float max_value = 1.f;
    template <class... Indices>
    T operator()(Indices...) {
        const float share = static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX);
        return ck::type_convert<T>(min_value + share * (max_value - min_value));
    }
};

// Random numbers of a normal distribution.
template <class T>
struct GeneratorTensor_4 {
    GeneratorTensor_4(float mean, float deviation, unsigned int seed = 1)
        : generator(seed), distribution(mean, deviation) {}
    template <class... Indices>
    T operator()(Indices...) {
        return ck::type_convert<T>(distribution(generator));
    }
    std::mt19937 generator;
    std::normal_distribution<float> distribution;
};

// The index in one dimension.
template <ck::index_t Dimension>
struct GeneratorTensor_Sequential {
    template <class... Indices>
    float operator()(Indices... indices) const {
        const std::array<std::size_t, sizeof...(Indices)> all{static_cast<std::size_t>(indices)...};
        return static_cast<float>(all[Dimension]);
    }
};
