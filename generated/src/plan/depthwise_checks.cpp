// Copied by ckgen from templates/src/plan/depthwise_checks.cpp. Do not edit; run: ckgen generate
// Each refusal names its rule in brackets and quotes the numbers.
#include "ckgen/plan/depthwise_checks.hpp"

#include <algorithm>

namespace ckgen::conv::depthwise {

std::string check_tensor(const char* name, const Tensor& tensor, const void* data, int bytes, int ndim, int vector) {
    if(tensor.lengths[0] > 1 && tensor.strides[0] != 1)
        return refuse("depthwise-groups", std::string(name) + " has neighbouring groups " + number(tensor.strides[0]) +
                                              " elements apart; groups that are read together need 1");
    for(int index = 1; index < 3 + ndim; ++index)
        if(index != 2 && tensor.lengths[index] > 1 && tensor.strides[index] % vector != 0)
            return check_multiple("depthwise-vector", (std::string(name) + " stride").c_str(), tensor.strides[index],
                                  vector);
    return check_multiple("depthwise-alignment", (std::string(name) + " address").c_str(), address_of(data),
                          vector * bytes);
}

std::string check_groups(const InstanceTraits& t, const Problem& p, const Addresses& at, int in_bytes) {
    const int vector = t.depthwise.vector;
    if(p.in_channels() != 1)
        return refuse("depthwise-channels",
                      "groups have " + number(p.in_channels()) + " input channels, family depthwise takes 1");
    if(vector == 1 && !t.tma)  // each thread finds the elements of its group
        return {};
    if(p.out_channels() != 1)
        return refuse("depthwise-channels", "groups have " + number(p.out_channels()) +
                                                " output channels; groups that are read together need 1");
    std::string reason = check_multiple("depthwise-vector", "G", p.groups(), vector);
    if(reason.empty())
        reason = check_tensor("the input", p.in, at.in, in_bytes, t.ndim, vector);
    if(reason.empty())
        reason = check_tensor("the output", p.out, at.out, t.elem_bytes, t.ndim, vector);
    return reason;
}

void StripCount::times(int64 most_more, int64 least_more) {
    if(!multiply(most, most_more))
        most = kMostRows + 1;
    if(!multiply(least, least_more))
        least = kMostRows + 1;
}

std::string check_strips(int64 images, const StripCount& per_image, int threads, int64 image_bytes) {
    int64 all = images;
    if(!multiply(all, per_image.most) || all > kMostRows)
        return refuse("depthwise-size", "images * positions do not fit 31 bits");
    if(images > 1 && (threads / per_image.least + 2) > kMaxWindow / std::max<int64>(image_bytes, 1))
        return refuse("depthwise-reach", "neighbouring images span more than 2^31 bytes");
    if(image_bytes > kMaxWindow)
        return refuse("depthwise-reach", "an image has more than 2^31 bytes");
    return {};
}

int64 image_bytes(const Tensor& t, int ndim, int bytes) {
    int64 last = t.lengths[0] * std::max<int64>(t.strides[0], 1);
    for(int d = 0; d < ndim; ++d)
        last += (t.lengths[3 + d] - 1) * t.strides[3 + d];
    return std::max(last, t.lengths[1] > 1 ? t.strides[1] : 0) * bytes;
}

int64 strips_of(int64 length, int64 distance, int positions) {
    return divide_up(length, distance * positions) * distance;
}

int rows_of_sweep(int length, int filter_rows, double filled) {
    const int fewest = std::max(1, length / std::max(8, 2 * filter_rows));
    const int wanted = 1 / filled < length ? static_cast<int>(1 / filled) : length;  // sweeps
    return ceil_div(length, std::max(fewest, wanted));
}

}  // namespace ckgen::conv::depthwise
