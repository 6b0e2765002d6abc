// Comparison of a result with its reference.
#pragma once

#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>
#include <type_traits>

#include "ck/library/utility/ranges.hpp"
#include "ck/utility/data_type.hpp"

namespace ck::utils {

// CK's tolerances: |out - ref| <= absolute + relative * |ref|. Integers must be equal.
template <class T>
struct Tolerance {
    static constexpr double relative = std::is_integral_v<T> ? 0. : sizeof(T) < sizeof(float) ? 1e-3 : 1e-5;
    static constexpr double absolute = std::is_integral_v<T> ? 0. : sizeof(T) < sizeof(float) ? 1e-3 : 3e-6;
};

// False if a value is farther from its reference than that, or not finite; the first few are printed.
template <class Range, class Reference>
bool check_err(const Range& out, const Reference& reference, const std::string& message = "Error: wrong results",
               double relative = Tolerance<ranges::range_value_t<const Range>>::relative,
               double absolute = Tolerance<ranges::range_value_t<const Range>>::absolute) {
    static_assert(std::is_same_v<ranges::range_value_t<const Range>, ranges::range_value_t<const Reference>>,
                  "a result and its reference have one type");
    if(out.size() != reference.size()) {
        std::cerr << message << ": " << out.size() << " values, not " << reference.size() << '\n';
        return false;
    }
    std::size_t wrong = 0, at = 0;
    double largest = 0.;
    auto expected = std::begin(reference);
    for(const auto& value : out) {
        const double o = type_convert<double>(value), r = type_convert<double>(*expected++);
        const double error = std::abs(o - r);
        if(!(error <= absolute + relative * std::abs(r)) || !std::isfinite(o) || !std::isfinite(r)) {
            largest = error > largest ? error : largest;
            if(++wrong <= 5)
                std::cerr << message << std::setprecision(7) << ": out[" << at << "] is " << o << ", not " << r << '\n';
        }
        ++at;
    }
    if(wrong > 0)
        std::cerr << message << ": " << wrong << " of " << at << " values, largest error " << largest << '\n';
    return wrong == 0;
}

}  // namespace ck::utils
