// The sizes of a convolution, and what programs compute from them.
#pragma once

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ck/ck.hpp"
#include "ck/library/utility/numeric.hpp"

namespace ck::utils::conv {

struct ConvParam {
    using Spatial = std::vector<long_index_t>;

    ConvParam() : ConvParam(2, 1, 128, 256, 192, {3, 3}, {71, 71}, {2, 2}, {1, 1}, {1, 1}, {1, 1}) {}
    ConvParam(index_t ndim, index_t groups, index_t images, index_t out_channels, index_t in_channels,
              const std::vector<index_t>& filter, const std::vector<index_t>& input,
              const std::vector<index_t>& strides, const std::vector<index_t>& dilations,
              const std::vector<index_t>& left_pads, const std::vector<index_t>& right_pads)
        : ConvParam(static_cast<long_index_t>(ndim), groups, images, out_channels, in_channels, wide(filter),
                    wide(input), wide(strides), wide(dilations), wide(left_pads), wide(right_pads)) {}
    // Throws std::invalid_argument if a list does not have `ndim` entries.
    ConvParam(long_index_t ndim, long_index_t groups, long_index_t images, long_index_t out_channels,
              long_index_t in_channels, const Spatial& filter, const Spatial& input, const Spatial& strides,
              const Spatial& dilations, const Spatial& left_pads, const Spatial& right_pads)
        : num_dim_spatial_(ndim), G_(groups), N_(images), K_(out_channels), C_(in_channels),
          filter_spatial_lengths_(filter), input_spatial_lengths_(input), output_spatial_lengths_(input.size()),
          conv_filter_strides_(strides), conv_filter_dilations_(dilations), input_left_pads_(left_pads),
          input_right_pads_(right_pads) {
        for(const Spatial* list : {&filter, &input, &strides, &dilations, &left_pads, &right_pads})
            if(list->size() != static_cast<std::size_t>(ndim))
                throw std::invalid_argument("ConvParam: a list has another number of dimensions");
        for(std::size_t d = 0; d < input.size(); ++d) {
            const long_index_t covered = (filter[d] - 1) * dilations[d] + 1;
            output_spatial_lengths_[d] = (input[d] + left_pads[d] + right_pads[d] - covered) / strides[d] + 1;
        }
    }

    Spatial GetOutputSpatialLengths() const { return output_spatial_lengths_; }
    std::size_t GetFlops() const {
        return 2 * elements(N_ * K_, output_spatial_lengths_) *

               (elements(C_, filter_spatial_lengths_) / static_cast<std::size_t>(G_));
    }
    template <class In>
    std::size_t GetInputByte() const {
        return sizeof(In) * elements(N_ * C_, input_spatial_lengths_);
    }
    template <class Wei>
    std::size_t GetWeightByte() const {
        return sizeof(Wei) * elements(K_ * C_, filter_spatial_lengths_);
    }
    template <class Out>
    std::size_t GetOutputByte() const {
        return sizeof(Out) * elements(N_ * K_, output_spatial_lengths_);
    }
    template <class In, class Wei, class Out>
    std::size_t GetByte() const {
        return GetInputByte<In>() + GetWeightByte<Wei>() + GetOutputByte<Out>();
    }

    long_index_t num_dim_spatial_;
    long_index_t G_;
    long_index_t N_;
    long_index_t K_;
    long_index_t C_;
    Spatial filter_spatial_lengths_;
    Spatial input_spatial_lengths_;
    Spatial output_spatial_lengths_;
    Spatial conv_filter_strides_;
    Spatial conv_filter_dilations_;
    Spatial input_left_pads_;
    Spatial input_right_pads_;

private:
    static Spatial wide(const std::vector<index_t>& values) { return {values.begin(), values.end()}; }
    std::size_t elements(long_index_t per_position, const Spatial& positions) const {
        std::size_t count = static_cast<std::size_t>(G_ * per_position);
        for(const long_index_t length : positions)
            count *= static_cast<std::size_t>(length);
        return count;
    }
};

inline std::string get_conv_param_parser_helper_msg() {
    return "Sizes of the convolution, in this order:\n"
           " number of spatial dimensions\n"
           " G, N, K, C\n"
           " filter lengths, input lengths, strides, dilations, left pads, right pads: one for each dimension\n";
}

// Reads G, N, K, C and six lists of `ndim` numbers from argv[first] on.
inline ConvParam parse_conv_param(int ndim, int first, char* const argv[]) {
    const auto next = [&] { return static_cast<long_index_t>(std::stoll(argv[first++])); };
    const auto list = [&] {
        ConvParam::Spatial values(static_cast<std::size_t>(ndim));
        for(long_index_t& value : values)
            value = next();
        return values;
    };
    const long_index_t groups = next(), images = next(), out_channels = next(), in_channels = next();
    const auto filter = list(), input = list(), strides = list(), dilations = list(), left = list(), right = list();
    return ConvParam(static_cast<long_index_t>(ndim), groups, images, out_channels, in_channels, filter, input, strides,
                     dilations, left, right);
}

}  // namespace ck::utils::conv

inline std::ostream& operator<<(std::ostream& stream, const ck::utils::conv::ConvParam& p) {
    const auto list = [&](const char* name, const ck::utils::conv::ConvParam::Spatial& values) {
        stream << ", " << name << " {";
        for(std::size_t i = 0; i < values.size(); ++i)
            stream << (i == 0 ? "" : ", ") << values[i];
        stream << "}";
    };
    stream << "ConvParam: " << p.num_dim_spatial_ << "D, G " << p.G_ << ", N " << p.N_ << ", K " << p.K_ << ", C "
           << p.C_;
    list("filter", p.filter_spatial_lengths_);
    list("input", p.input_spatial_lengths_);
    list("output", p.output_spatial_lengths_);
    list("strides", p.conv_filter_strides_);
    list("dilations", p.conv_filter_dilations_);
    list("left pads", p.input_left_pads_);
    list("right pads", p.input_right_pads_);
    return stream;
}
