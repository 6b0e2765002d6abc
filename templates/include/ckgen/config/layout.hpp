// Layout triples of an instance, each as one type: input, weight and output. Also properties of a D tensor's layout.
#pragma once

#include "ckgen/config/tensor_layout.hpp"
#include "ckgen/types.hpp"

namespace ckgen {
namespace tags = tensor_layout::convolution;
}

namespace ckgen::layout {

// True if neighbouring channels are contiguous, so that a thread reads several at once; else neighbouring positions
// are.
template <class Tag>
inline constexpr bool channels_last =
    !IsSame<Tag, tags::NGCW>::value && !IsSame<Tag, tags::NGCHW>::value && !IsSame<Tag, tags::NGCDHW>::value &&
    !IsSame<Tag, tags::NGKW>::value && !IsSame<Tag, tags::NGKHW>::value && !IsSame<Tag, tags::NGKDHW>::value;

template <int NDim, bool GroupsOutermost, class InLayout, class WeiLayout, class OutLayout>
struct Triple {
    static constexpr int ndim = NDim;
    static constexpr bool groups_outermost = GroupsOutermost;
    static constexpr bool channels_last = layout::channels_last<OutLayout>;
    using In = InLayout;
    using Wei = WeiLayout;
    using Out = OutLayout;
};

using NWGC_GKXC_NWGK = Triple<1, false, tags::NWGC, tags::GKXC, tags::NWGK>;
using NHWGC_GKYXC_NHWGK = Triple<2, false, tags::NHWGC, tags::GKYXC, tags::NHWGK>;
using NDHWGC_GKZYXC_NDHWGK = Triple<3, false, tags::NDHWGC, tags::GKZYXC, tags::NDHWGK>;
using NGCW_GKXC_NGKW = Triple<1, false, tags::NGCW, tags::GKXC, tags::NGKW>;
using NGCHW_GKYXC_NGKHW = Triple<2, false, tags::NGCHW, tags::GKYXC, tags::NGKHW>;
using NGCDHW_GKZYXC_NGKDHW = Triple<3, false, tags::NGCDHW, tags::GKZYXC, tags::NGKDHW>;
using GNWC_GKXC_GNWK = Triple<1, true, tags::GNWC, tags::GKXC, tags::GNWK>;
using GNHWC_GKYXC_GNHWK = Triple<2, true, tags::GNHWC, tags::GKYXC, tags::GNHWK>;
using GNDHWC_GKZYXC_GNDHWK = Triple<3, true, tags::GNDHWC, tags::GKZYXC, tags::GNDHWK>;

// True if the tensor has one value per channel.
template <class Tag>
inline constexpr bool one_a_channel = IsSame<Tag, tags::GC>::value || IsSame<Tag, tags::G_C>::value;

}  // namespace ckgen::layout
