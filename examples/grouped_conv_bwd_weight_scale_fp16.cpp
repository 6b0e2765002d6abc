// Weight gradient scale * sum, with every f16 instance; CK has a client of this name.
//     grouped_conv_bwd_weight_scale_fp16 [verification initialisation timing [ndim G N K C filter.. input.. strides..
//         dilations.. left_pads.. right_pads..]]
#include "weight_clients.hpp"

int main(int argc, char** argv) {
    using namespace example;
    return client<layout::NDHWGC_GKZYXC_NDHWGK, dtype::f16>(
        argc, argv, {32, 32, 32, 32, 3, 3, 3, 14, 14, 14, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, functions::Scale(2.f));
}
