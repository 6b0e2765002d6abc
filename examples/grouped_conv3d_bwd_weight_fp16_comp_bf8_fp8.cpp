// Every instance of three-dimensional grouped convolution backward weight whose tensors are f16 and whose products have
// the output's gradient in bf8 and the input in f8; CK has a client of this name.
//     grouped_conv3d_bwd_weight_fp16_comp_bf8_fp8 [verification initialisation timing [ndim G N K C filter.. input..
//         strides.. dilations.. left_pads.. right_pads..]]
#include "weight_clients.hpp"

int main(int argc, char** argv) {
    using namespace example;
    return client<layout::NDHWGC_GKZYXC_NDHWGK, dtype::f16_comp_bf8_f8>(
        argc, argv, {8, 64, 128, 128, 3, 3, 3, 28, 28, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}
