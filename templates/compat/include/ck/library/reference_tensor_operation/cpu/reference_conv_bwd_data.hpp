// CPU reference of convolution backward data: input = f(sums of products of output and weight), summed in f32, on all
// processors.
#pragma once

#include "ck/library/reference_tensor_operation/cpu/reference_conv_parts.hpp"

namespace ck::tensor_operation::host {

// D tensors have the lengths of the result, or 1, and strides of their own.
template <index_t NDimSpatial, class In, class Wei, class Out, class InOperation, class WeiOperation,
          class OutOperation, index_t NumA = 0, index_t NumB = 0, index_t NumD = 0>
struct ReferenceConvBwdData : device::BaseOperator {
    static_assert(NumA == 0 && NumB == 0, "only the result takes other tensors");

    struct Argument : device::BaseArgument {
        Tensor<In>* in;
        const Tensor<Wei>* wei;
        const Tensor<Out>* out;
        reference::Geometry geometry;
        InOperation in_op;
        WeiOperation wei_op;
        OutOperation out_op;
        std::array<Tensor<In>, NumD> d;

        Argument(Tensor<In>& in, const Tensor<Wei>& wei, const Tensor<Out>& out, const reference::Geometry& g,
                 InOperation in_function, WeiOperation wei_function, OutOperation out_function,
                 const std::array<Tensor<In>, NumD>& d_tensors)
            : in(&in), wei(&wei), out(&out), geometry(g), in_op(in_function), wei_op(wei_function),
              out_op(out_function), d(d_tensors) {}
    };

    struct Invoker : device::BaseInvoker {
        float Run(const Argument& a, const StreamConfig& = StreamConfig{}) {
            const reference::Rows wei(*a.wei, NDimSpatial, a.wei_op), out(*a.out, NDimSpatial, a.out_op);
            reference::Rows in(reference::View(a.in->mDesc, NDimSpatial));
            sum(a, in, wei, out);
            reference::store(*a.in, in, a.in_op, a.d, std::make_index_sequence<NumD>{});
            return 0.f;
        }
        float Run(const device::BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return Run(dynamic_cast<const Argument&>(*argument), config);
        }

    private:
        // Each worker sums rows of one image.
        static void sum(const Argument& a, reference::Rows& in, const reference::Rows& wei,
                        const reference::Rows& out) {
            const long_index_t images = in.view.lengths[1];
            reference::in_parallel(in.view.lengths[0] * images, [&](long_index_t i) {
                const long_index_t g = i / images, n = i % images;
                for(long_index_t tap = 0; tap < wei.view.positions(); ++tap)
                    for(long_index_t o = 0; o < out.view.positions(); ++o) {
                        const auto at = a.geometry.input_of(out.view.position(o), wei.view.position(tap));
                        const long_index_t written = in.view.number(at);
                        for(long_index_t k = 0; written >= 0 && k < wei.view.lengths[1]; ++k)
                            reference::add_scaled(in.row(g, n, written), out.row(g, n, o)[k], wei.row(g, k, tap),
                                                  in.view.lengths[2]);
                    }
            });
        }
    };

    std::string GetUnsupportedReason(const device::BaseArgument*) const override { return {}; }
    std::string GetTypeString() const override { return "ReferenceConvBwdData"; }

    static Argument MakeArgument(Tensor<In>& in, const Tensor<Wei>& wei, const Tensor<Out>& out,
                                 std::vector<long_index_t> strides, std::vector<long_index_t> dilations,
                                 std::vector<long_index_t> left_pads, std::vector<long_index_t>, InOperation in_op,
                                 WeiOperation wei_op, OutOperation out_op, const std::array<Tensor<Out>, NumA>& = {},
                                 const std::array<Tensor<Wei>, NumB>& = {},
                                 const std::array<Tensor<In>, NumD>& d = {}) {
        return Argument(in, wei, out, reference::Geometry(strides, dilations, left_pads, NDimSpatial), in_op, wei_op,
                        out_op, d);
    }
    static Invoker MakeInvoker() { return {}; }
    std::unique_ptr<device::BaseInvoker> MakeInvokerPointer() { return std::make_unique<Invoker>(); }
};

}  // namespace ck::tensor_operation::host
