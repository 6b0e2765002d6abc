// Dense convolution backward data in one to three dimensions, f16, channels last, with the arguments of CK's example:
//     convnd_bwd_data_xdl [verification initialisation times [ndim N K C filter.. input.. strides.. dilations..
//                          left_pads.. right_pads..]]
// Prints the instance and its launch, then the lines of CK's example: the tensors, the sub-GEMMs of the convolution
// (one per combination of input positions that the same taps reach) and the time. CK launches a kernel per sub-GEMM,
// for rows that its M counts also outside the input; here one launch has the workgroups of all, and the line of each
// sub-GEMM shows those for rows inside. Exit code 0: ran, and agreed with the reference if that was asked for. 1: wrong
// result or no instance. 2: wrong use.
#include "convolution.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "ckgen/device/device_memory.hpp"
#include "ckgen/device/reference_conv_bwd_data.hpp"
#include "ckgen/device/runner.hpp"
#include "ckgen/instance/convolution_backward_data.hpp"

namespace {

using namespace example;
using namespace tensor_operation::device;
using tensor_operation::device::instance::DeviceOperationInstanceFactory;

const char* usage = "usage: convnd_bwd_data_xdl [verification initialisation times [problem]]\n"
                    "  verification    0 no, 1 against the CPU reference\n"
                    "  initialisation  0 zeros, 1 small integers, 2 decimals\n"
                    "  times           how often the timed kernel runs; 0 does not time it\n"
                    "  problem         ndim N K C filter.. input.. strides.. dilations.. left_pads.. right_pads..\n"
                    "                  (ndim 1, 2 or 3 numbers for each list)\n"
                    "example: convnd_bwd_data_xdl 0 1 5 2 4 64 32 3 3 29 29 2 2 1 1 1 1 1 1\n";

// Input positions of dimension `d` that tap `first` and every `tilde`-th tap after it reach, and those taps; no taps if
// `first` is itself such a later tap. `counted`: number of positions in CK's grid; some are outside the input.
struct Class {
    int64 positions, counted, taps;
};
Class class_of(const conv::Problem& p, int d, int64 first) {
    const int64 stride = p.strides[d], dilation = p.dilations[d], tilde = stride / std::gcd(stride, dilation);
    const int64 filter = p.wei.lengths[3 + d], length = p.in.lengths[3 + d];
    if(first >= tilde || first >= filter)
        return {0, 0, 0};
    const int64 start = ((first * dilation - p.left_pads[d]) % stride + stride) % stride;
    const int64 end = std::min(p.out.lengths[3 + d] + (dilation * (filter - 1) + stride - 1) / stride,
                               (p.left_pads[d] + length - 1 + stride - 1) / stride + 1);
    return {start < length ? (length - start + stride - 1) / stride : 0,
            end - std::max<int64>(0, p.left_pads[d] - dilation * (tilde - 1)) / stride,
            (filter - first + tilde - 1) / tilde};
}

// The numbers of an instance that the lines of a product show, read from its type string.
struct Tile {
    int m = 0, n = 0, atom = 0, m_atoms = 1, n_atoms = 1;  // rows and columns; those of an atom; atoms of a wave
    explicit Tile(const std::string& type) {
        std::istringstream words(type.substr(type.find('<') + 1));
        std::vector<int> numbers;
        for(std::string word; std::getline(words, word, ',');)
            numbers.push_back(std::atoi(word.c_str()));
        m = numbers.at(1), n = numbers.at(2), atom = numbers.at(7);
        m_atoms = numbers.at(9), n_atoms = numbers.at(10);
    }
};

// One sub-GEMM: rows inside the input, those that CK counts, and GEMM-K.
struct Product {
    int64 rows, counted, k;
};
std::vector<Product> products_of(const conv::Problem& p) {
    std::array<int64, 3> edges{1, 1, 1};
    for(int d = 0; d < p.ndim; ++d)
        edges[d] = p.wei.lengths[3 + d];
    std::vector<Product> products;
    for(int64 tap = 0; tap < edges[0] * edges[1] * edges[2]; ++tap) {
        const std::array<int64, 3> first{tap / (edges[1] * edges[2]), tap / edges[2] % edges[1], tap % edges[2]};
        Product product{p.in.lengths[1], p.in.lengths[1], p.wei.lengths[1]};
        for(int d = 0; d < p.ndim; ++d) {
            const Class own = class_of(p, d, first[d]);
            product.rows *= own.positions, product.counted *= own.counted, product.k *= own.taps;
        }
        if(product.rows * product.k > 0)
            products.push_back(product);
    }
    return products;
}

void print_tensors(const conv::Problem& p) {
    const char* names[3][3] = {{"in_n_c_wi", "wei_k_c_x", "out_n_k_wo"},
                               {"in_n_c_hi_wi", "wei_k_c_y_x", "out_n_k_ho_wo"},
                               {"in_n_c_di_hi_wi", "wei_k_c_z_y_x", "out_n_k_do_ho_wo"}};
    print(names[p.ndim - 1][0], p.in, p.ndim, false);
    print(names[p.ndim - 1][1], p.wei, p.ndim, false);
    print(names[p.ndim - 1][2], p.out, p.ndim, false);
}

// Prints the products in the words of CK's example, with the workgroups that each has in their common launch: as many
// as the largest needs. Returns the sum of these.
int64 print_products(const conv::Problem& p, const Tile& tile, int threads, int times) {
    const std::vector<Product> products = products_of(p);
    const auto tiles = [](int64 length, int of) { return (length + of - 1) / of; };
    const int64 n = p.in.lengths[2];
    int64 blocks = 0;
    for(const Product& product : products)
        blocks = std::max(blocks, tiles(product.rows, tile.m) * tiles(n, tile.n));
    for(const Product& product : products) {
        const int64 k0 = (product.k + 7) / 8, m = product.counted;
        std::cout << "arg.a_grid_desc_k0_m_k1_container_{" << k0 << ", " << m << ", 8}\n"
                  << "arg.b_grid_desc_k0_n_k1_container_{" << k0 << ", " << n << ", 8}\n"
                  << "arg.c_grid_desc_m_n_container_{ " << m << ", " << n << "}\n"
                  << "arg.c_grid_desc_m0_n0_m1_n1_m2_m3_m4_n2_container_( " << tiles(m, tile.m) * tile.m_atoms << ", "
                  << tiles(n, tile.n) * tile.n_atoms << ", " << tile.m / tile.m_atoms / tile.atom << ", "
                  << tile.n / tile.n_atoms / tile.atom << ", " << (tile.atom == 32 ? "4, 2" : "1, 4") << " ) \n"
                  << "launch_and_time_kernel: grid_dim {" << blocks << ", 1, 1}, block_dim {" << threads
                  << ", 1, 1} \n";
        if(times > 0)
            std::cout << "Warm up\nStart running " << times << " times...\n";
    }
    std::cout << std::flush;
    return blocks * static_cast<int64>(products.size());
}

template <int NDim, class Layout>
int run(const Options& options) {
    using Op = DenseBwdDataOperator<NDim, dtype::f16>;
    using Pass = tensor_operation::element_wise::PassThrough;
    const conv::Problem& p = options.problem;
    const auto positions = [](const conv::Tensor& tensor) {
        return std::vector<index_t>(tensor.lengths.begin() + 3, tensor.lengths.begin() + 3 + NDim);
    };
    const auto spatial = [](const std::array<int64, 3>& v) {
        return std::vector<index_t>(v.begin(), v.begin() + NDim);
    };
    const auto size = [](int64 value) { return static_cast<index_t>(value); };
    const std::vector<half_t> out = initial(elements(p.out), options.initialisation, 1);
    const std::vector<half_t> wei = initial(elements(p.wei), options.initialisation, 2);
    std::vector<half_t> in(static_cast<size_t>(elements(p.in)), static_cast<half_t>(NAN));
    const SimpleDeviceMem out_memory(out.size() * 2), wei_memory(wei.size() * 2), in_memory(in.size() * 2);
    out_memory.ToDevice(out.data()), wei_memory.ToDevice(wei.data()), in_memory.ToDevice(in.data());
    auto instances = DeviceOperationInstanceFactory<Op>::GetInstances();
    // CK's example has one instance, with this tile.
    std::stable_partition(instances.begin(), instances.end(), [](const auto& op) {
        return op->GetTypeString().find("Xdl_CShuffle_v1<256, 128, 128, 32,") != std::string::npos;
    });
    for(const auto& op : instances) {
        const auto argument = op->MakeArgumentPointer(
            in_memory.GetDeviceBuffer(), wei_memory.GetDeviceBuffer(), out_memory.GetDeviceBuffer(),
            size(p.in.lengths[1]), size(p.wei.lengths[1]), size(p.in.lengths[2]), positions(p.in), positions(p.wei),
            positions(p.out), spatial(p.strides), spatial(p.dilations), spatial(p.left_pads), spatial(p.right_pads),
            Pass{}, Pass{}, Pass{});
        const SimpleDeviceMem workspace(op->GetWorkSpaceSize(argument.get()));
        op->SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
        if(!op->IsSupportedArgument(argument.get()))
            continue;
        std::cout << "instance: " << op->GetIdentity() << ", " << op->GetTypeString() << "\n";
        const auto* dense = dynamic_cast<const ConvBwdDataOfGrouped<Layout, dtype::f16>*>(op.get());
        if(const auto* runner = dense ? dynamic_cast<const ConvRunner*>(&dense->GetGrouped()) : nullptr) {
            const LaunchPlan plan = runner->Plan(*argument).main;
            std::cout << "launch of all: grid_dim {" << plan.blocks << ", 1, 1}, block_dim {" << plan.threads
                      << ", 1, 1}\n";
            print_tensors(p);
            const int64 blocks = print_products(p, Tile(op->GetTypeString()), plan.threads, options.timing);
            if(blocks > plan.blocks)  // positions that no tap reaches have workgroups too
                throw std::logic_error("the products have more workgroups than their launch");
        }
        const StreamConfig config{nullptr, options.timing > 0, 0, 5, options.timing};
        const float ms = op->MakeInvokerPointer()->Run(argument.get(), config);
        in_memory.FromDevice(in.data());
        if(options.timing > 0)
            print_perf(ms, p, static_cast<int64>(2 * (in.size() + out.size() + wei.size())));
        if(options.verification == 0)
            return 0;
        std::vector<float> reference(in.size());
        reference::ReferenceConvBwdData<dtype::f32>::Run(p, reference.data(), widened(wei).data(), widened(out).data());
        return verify(in, reference, p.wei.lengths[1] * p.taps()) ? 0 : 1;
    }
    std::cerr << "none of " << instances.size() << " instances supports this problem\n";
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;  // the problem is CK's default
    options.timing = 5;
    options.problem = make_problem(2, {1, 128, 256, 128, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1}, usage);
    parse_arguments(options, argc, argv, 3, 1000000, usage);
    try {
        switch(options.problem.ndim) {
        case 1:
            return run<1, layout::NWGC_GKXC_NWGK>(options);
        case 2:
            return run<2, layout::NHWGC_GKYXC_NHWGK>(options);
        default:
            return run<3, layout::NDHWGC_GKZYXC_NDHWGK>(options);
        }
    } catch(const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}
