// Every f16 instance of three-dimensional grouped convolution backward weight; CK has a client of this name.
//     grouped_conv3d_bwd_weight_fp16 [verification initialisation timing [ndim G N K C filter.. input.. strides..
//         dilations.. left_pads.. right_pads..]]
#include "weight_clients.hpp"

int main(int argc, char** argv) {
    using namespace example;
    return client<layout::GNDHWC_GKZYXC_GNDHWK, dtype::f16>(
        argc, argv, {8, 64, 128, 128, 3, 3, 3, 28, 28, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}
