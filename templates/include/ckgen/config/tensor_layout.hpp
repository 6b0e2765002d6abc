// Layout tags with CK's names. A tag gives the order of dimensions in memory. The lengths and strides that an operator
// takes always have the order G, N, C, spatial (input), G, K, C, filter (weight), G, N, K, spatial (output).
#pragma once

namespace ckgen::tensor_layout::convolution {

struct BaseTensorLayout {};

#define CKGEN_LAYOUT(NAME)                                                                                             \
    struct NAME : BaseTensorLayout {                                                                                   \
        static constexpr const char* name = #NAME;                                                                     \
    }
CKGEN_LAYOUT(NWGC);
CKGEN_LAYOUT(NHWGC);
CKGEN_LAYOUT(NDHWGC);
CKGEN_LAYOUT(GNWC);
CKGEN_LAYOUT(GNHWC);
CKGEN_LAYOUT(GNDHWC);
CKGEN_LAYOUT(GKXC);
CKGEN_LAYOUT(GKYXC);
CKGEN_LAYOUT(GKZYXC);
CKGEN_LAYOUT(NWGK);
CKGEN_LAYOUT(NHWGK);
CKGEN_LAYOUT(NDHWGK);
CKGEN_LAYOUT(GNWK);
CKGEN_LAYOUT(GNHWK);
CKGEN_LAYOUT(GNDHWK);
CKGEN_LAYOUT(NWC);
CKGEN_LAYOUT(NHWC);
CKGEN_LAYOUT(NDHWC);
CKGEN_LAYOUT(KXC);
CKGEN_LAYOUT(KYXC);
CKGEN_LAYOUT(KZYXC);
CKGEN_LAYOUT(NWK);
CKGEN_LAYOUT(NHWK);
CKGEN_LAYOUT(NDHWK);
CKGEN_LAYOUT(NGCW);
CKGEN_LAYOUT(NGCHW);
CKGEN_LAYOUT(NGCDHW);
CKGEN_LAYOUT(NGKW);
CKGEN_LAYOUT(NGKHW);
CKGEN_LAYOUT(NGKDHW);
// Layouts of D tensors only. Parts that underscores separate have strides of their own. GC and G_C have one value per
// channel, for every image and position.
CKGEN_LAYOUT(G_NW_C);
CKGEN_LAYOUT(G_NHW_C);
CKGEN_LAYOUT(G_NDHW_C);
CKGEN_LAYOUT(GC);
CKGEN_LAYOUT(G_C);
#undef CKGEN_LAYOUT

}  // namespace ckgen::tensor_layout::convolution
