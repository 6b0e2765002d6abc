// CPU reference of convolution backward weight: weight = f(sums of products of output and input), summed in f32, on all
// processors.
#pragma once

#include "ck/library/reference_tensor_operation/cpu/reference_conv_parts.hpp"

namespace ck::tensor_operation::host {

// D tensors have the lengths of the result, or 1, and strides of their own.
template <index_t NDimSpatial, class In, class Wei, class Out, class InOperation, class WeiOperation,
          class OutOperation, index_t NumA = 0, index_t NumB = 0, index_t NumD = 0, class ComputeTypeA = Out,
          class ComputeTypeB = In>
struct ReferenceConvBwdWeight : device::BaseOperator {
    static_assert(NumA == 0 && NumB == 0, "only the result takes other tensors");

    struct Argument : device::BaseArgument {
        const Tensor<In>* in;
        Tensor<Wei>* wei;
        const Tensor<Out>* out;
        reference::Geometry geometry;
        InOperation in_op;
        WeiOperation wei_op;
        OutOperation out_op;
        std::array<Tensor<Wei>, NumD> d;

        Argument(const Tensor<In>& in, Tensor<Wei>& wei, const Tensor<Out>& out, const reference::Geometry& g,
                 InOperation in_function, WeiOperation wei_function, OutOperation out_function,
                 const std::array<Tensor<Wei>, NumD>& d_tensors)
            : in(&in), wei(&wei), out(&out), geometry(g), in_op(in_function), wei_op(wei_function),
              out_op(out_function), d(d_tensors) {}
    };

    struct Invoker : device::BaseInvoker {
        float Run(const Argument& a, const StreamConfig& = StreamConfig{}) {
            const auto in = reference::Rows::of<ComputeTypeB>(*a.in, NDimSpatial, a.in_op);
            const auto out = reference::Rows::of<ComputeTypeA>(*a.out, NDimSpatial, a.out_op);
            reference::Rows wei(reference::View(a.wei->mDesc, NDimSpatial));
            sum(a, in, wei, out);
            reference::store(*a.wei, wei, a.wei_op, a.d, std::make_index_sequence<NumD>{});
            return 0.f;
        }
        float Run(const device::BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return Run(dynamic_cast<const Argument&>(*argument), config);
        }

    private:
        // Each worker sums rows of one output channel.
        static void sum(const Argument& a, const reference::Rows& in, reference::Rows& wei,
                        const reference::Rows& out) {
            const long_index_t channels = wei.view.lengths[1];
            reference::in_parallel(wei.view.lengths[0] * channels, [&](long_index_t i) {
                const long_index_t g = i / channels, k = i % channels;
                for(long_index_t tap = 0; tap < wei.view.positions(); ++tap)
                    for(long_index_t o = 0; o < out.view.positions(); ++o) {
                        const auto at = a.geometry.input_of(out.view.position(o), wei.view.position(tap));
                        const long_index_t read = in.view.number(at);
                        for(long_index_t n = 0; read >= 0 && n < in.view.lengths[1]; ++n)
                            reference::add_scaled(wei.row(g, k, tap), out.row(g, n, o)[k], in.row(g, n, read),
                                                  in.view.lengths[2]);
                    }
            });
        }
    };

    std::string GetUnsupportedReason(const device::BaseArgument*) const override { return {}; }
    std::string GetTypeString() const override { return "ReferenceConvBwdWeight"; }

    static Argument MakeArgument(const Tensor<In>& in, Tensor<Wei>& wei, const Tensor<Out>& out,
                                 std::vector<long_index_t> strides, std::vector<long_index_t> dilations,
                                 std::vector<long_index_t> left_pads, std::vector<long_index_t>, InOperation in_op,
                                 WeiOperation wei_op, OutOperation out_op, const std::array<Tensor<Out>, NumA>& = {},
                                 const std::array<Tensor<In>, NumB>& = {},
                                 const std::array<Tensor<Wei>, NumD>& d = {}) {
        return Argument(in, wei, out, reference::Geometry(strides, dilations, left_pads, NDimSpatial), in_op, wei_op,
                        out_op, d);
    }
    static Invoker MakeInvoker() { return {}; }
    std::unique_ptr<device::BaseInvoker> MakeInvokerPointer() { return std::make_unique<Invoker>(); }
};

}  // namespace ck::tensor_operation::host
