// Descriptors of packed tensors of a convolution. Lengths have the order G, N, C, spatial (input), G, K, C, filter
// (weight), G, N, K, spatial (output); the name of the layout says how they lie in memory. The groups of a layout
// without them, as in NHWC, are outermost.
#pragma once

#include <string_view>

#include "ck/library/utility/convolution_parameter.hpp"
#include "ck/library/utility/host_tensor.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"

namespace ck::utils::conv {

// `axes` names the dimensions of `lengths`, one letter each, and may name spatial dimensions that the tensor lacks.
inline HostTensorDescriptor packed_descriptor(std::string_view layout, std::string_view axes,
                                              const std::vector<long_index_t>& lengths) {
    std::vector<long_index_t> strides(lengths.size());
    long_index_t step = 1;
    const auto place = [&](char letter) {
        const std::size_t axis = axes.find(letter);
        if(axis == std::string_view::npos || axis >= lengths.size() || strides[axis] != 0)
            throw std::invalid_argument("no packed tensor has the layout " + std::string(layout));
        strides[axis] = step;
        step *= lengths[axis];
    };
    for(std::size_t i = layout.size(); i-- > 0;)
        if(layout[i] != '_')
            place(layout[i]);
    if(layout.find('G') == std::string_view::npos)
        place('G');
    return HostTensorDescriptor(lengths, strides);
}

// Names of the innermost `ndim` spatial dimensions after three others: `GNC` and `DHW` give `GNCHW` for two.
inline std::string axes_of(std::string_view first, std::string_view spatial, long_index_t ndim) {
    return std::string(first) + std::string(spatial.substr(spatial.size() - static_cast<std::size_t>(ndim)));
}
inline std::vector<long_index_t> lengths_of(long_index_t groups, long_index_t outer, long_index_t channels,
                                            const ConvParam::Spatial& positions) {
    std::vector<long_index_t> lengths{groups, outer, channels};
    lengths.insert(lengths.end(), positions.begin(), positions.end());
    return lengths;
}

template <class Layout>
HostTensorDescriptor make_input_host_tensor_descriptor_g_n_c_wis_packed(const ConvParam& p) {
    return packed_descriptor(Layout::name, axes_of("GNC", "DHW", p.num_dim_spatial_),
                             lengths_of(p.G_, p.N_, p.C_, p.input_spatial_lengths_));
}
template <class Layout>
HostTensorDescriptor make_weight_host_tensor_descriptor_g_k_c_xs_packed(const ConvParam& p) {
    return packed_descriptor(Layout::name, axes_of("GKC", "ZYX", p.num_dim_spatial_),
                             lengths_of(p.G_, p.K_, p.C_, p.filter_spatial_lengths_));
}
template <class Layout>
HostTensorDescriptor make_output_host_tensor_descriptor_g_n_k_wos_packed(const ConvParam& p) {
    return packed_descriptor(Layout::name, axes_of("GNK", "DHW", p.num_dim_spatial_),
                             lengths_of(p.G_, p.N_, p.K_, p.output_spatial_lengths_));
}

}  // namespace ck::utils::conv
