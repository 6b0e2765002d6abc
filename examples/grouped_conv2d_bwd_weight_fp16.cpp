// Every f16 instance of two-dimensional grouped convolution backward weight; CK has a client of this name.
//     grouped_conv2d_bwd_weight_fp16 [verification initialisation timing [ndim G N K C filter.. input.. strides..
//         dilations.. left_pads.. right_pads..]]
#include "weight_clients.hpp"

int main(int argc, char** argv) {
    using namespace example;
    return client<layout::GNHWC_GKYXC_GNHWK, dtype::f16>(argc, argv,
                                                         {32, 256, 192, 192, 3, 3, 28, 28, 1, 1, 1, 1, 1, 1, 1, 1});
}
