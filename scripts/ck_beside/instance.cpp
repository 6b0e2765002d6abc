// Launches one of CK's instances, which macros name: CKGEN_HEADER with a list of instances, CKGEN_INSTANCE in it, and
// CKGEN_BWD_DATA, 1 or 0. The words of the command line: logical lengths, then strides, of input, weight and output
// gradient; convolution strides, dilations, left and right pads; split_k; the addresses of input, weight, output
// gradient and workspace. It prints the instance's name and the size of its workspace.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include CKGEN_HEADER

namespace ck_list = ck::tensor_operation::device::instance;
namespace ck_layout = ck::tensor_layout::convolution;
namespace ck_device = ck::tensor_operation::device;
constexpr int kNdim = 2;
using Instance = CKGEN_INSTANCE;

// CK asks for the name of the GPU.
extern "C" hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int) {
    std::strncpy(properties->gcnArchName, std::getenv("CKGEN_ARCH"), sizeof properties->gcnArchName - 1);
    return hipSuccess;
}

namespace {

using Lengths = std::array<ck::index_t, kNdim + 3>;
using Spatial = std::array<ck::index_t, kNdim>;

char** word;

template <std::size_t N>
std::array<ck::index_t, N> numbers() {
    std::array<ck::index_t, N> found;
    for(auto& number : found)
        number = std::atoi(*++word);
    return found;
}

void* address() { return reinterpret_cast<void*>(std::strtoull(*++word, nullptr, 0)); }

}  // namespace

int main(int, char** words) {
    word = words;
    Lengths lengths[3], steps[3];
    for(auto& of : lengths)
        of = numbers<kNdim + 3>();
    for(auto& of : steps)
        of = numbers<kNdim + 3>();
    Spatial convolution[4];
    for(auto& of : convolution)
        of = numbers<kNdim>();
    [[maybe_unused]] const int split_k = numbers<1>()[0];
    void* tensors[3];
    for(void*& tensor : tensors)
        tensor = address();
    Instance instance;
#if CKGEN_BWD_DATA
    auto argument = instance.MakeArgumentPointer(tensors[2], tensors[1], {}, tensors[0], lengths[2], steps[2],
                                                 lengths[1], steps[1], {}, {}, lengths[0], steps[0], convolution[0],
                                                 convolution[1], convolution[2], convolution[3], {}, {}, {});
#else
    auto argument = instance.MakeArgumentPointer(tensors[0], tensors[1], tensors[2], lengths[0], steps[0], lengths[1],
                                                 steps[1], lengths[2], steps[2], convolution[0], convolution[1],
                                                 convolution[2], convolution[3], {}, {}, {}, split_k);
#endif
    std::printf("%s\n%zu\n", instance.GetTypeString().c_str(), instance.GetWorkSpaceSize(argument.get()));
    instance.SetWorkSpacePointer(argument.get(), address());
    if(!instance.IsSupportedArgument(argument.get())) {
        std::fprintf(stderr, "CK's instance does not support the problem\n");
        return 1;
    }
    instance.MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, false});
}
