// The common base of CK's class templates of grouped convolution backward data: an operator over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/convolution_backward_data_specialization.hpp"
#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_data_multiple_d.hpp"
#include "ck/tensor_operation/gpu/device/impl/operator_of_arguments.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ckgen/op/impl/bwd_data_mfma.hpp"
#include "ckgen/op/impl/bwd_data_wmma.hpp"

namespace ck::tensor_operation::device::bwd_data_of_arguments {

template <class LayoutTriple, class DataTypes, class Ds, class DTypes, class CDEFunction, class Tile>
struct Config : Tile {
    static constexpr const char* name = "DeviceGroupedConvBwdDataMultipleD";
    using Layout = LayoutTriple;
    using DataType = DataTypes;
    using Function = CDEFunction;
    using DsLayout = Ds;
    using DsDataType = DTypes;
};

template <class Interface, class Config, class Family>
struct Make {
    using Checked = typename Family::template Checked<Config>;
    static constexpr int unit = Checked::matrix_unit;
    static std::unique_ptr<Interface> make() {
        constexpr auto entry = &of_arguments::entry<typename Family::template Kernel<Checked>, unit>;
        constexpr auto reduction = &of_arguments::entry<typename Family::template Reduction<Checked>>;
#if CKGEN_DEVICE_PASS
        static_cast<void>(entry());
        static_cast<void>(reduction());
        return nullptr;
#else
        return std::make_unique<PlannedBwdDataOperator<Checked, Family, entry, reduction>>();
#endif
    }
};

template <class LayoutTriple, class DsLayout, class Types, class DsData, class AOp, class BOp, class CDEOp>
using InterfaceOf =
    DeviceGroupedConvBwdDataMultipleD<LayoutTriple::ndim, typename LayoutTriple::Out, typename LayoutTriple::Wei,
                                      DsLayout, typename LayoutTriple::In, typename Types::Out, typename Types::Wei,
                                      DsData, typename Types::In, AOp, BOp, CDEOp, typename Types::ComputeA,
                                      typename Types::ComputeB>;

// The operator of a layout, D tensors, types (of_arguments::Types), functions, a tile (of_arguments::Tile) and the
// family of the kernel.
template <class LayoutTriple, class DsLayout, class Types, class DsData, class AOp, class BOp, class CDEOp, class Tile,
          class Family = instances::BwdDataXdl>
struct BwdData : of_arguments::Operator<
                     InterfaceOf<LayoutTriple, DsLayout, Types, DsData, AOp, BOp, CDEOp>,
                     Make<InterfaceOf<LayoutTriple, DsLayout, Types, DsData, AOp, BOp, CDEOp>,
                          Config<LayoutTriple, typename Types::DataType, DsLayout, DsData, CDEOp, Tile>, Family>> {
    static_assert(std::is_same_v<AOp, element_wise::PassThrough> && std::is_same_v<BOp, element_wise::PassThrough>,
                  "ckgen applies element-wise functions to the result only");

    using Base = typename BwdData::Operator;
    using Interface = InterfaceOf<LayoutTriple, DsLayout, Types, DsData, AOp, BOp, CDEOp>;
    using Lengths = typename Interface::LongLengths;
    using Spatial = typename Interface::LongSpatial;

    using Base::MakeArgument;
    static auto MakeArgument(const void* p_a, const void* p_b,
                             const std::array<const void*, Interface::NumDTensor>& p_ds, void* p_e,
                             const typename Interface::Lengths& a_lengths, const typename Interface::Lengths& a_strides,
                             const typename Interface::Lengths& b_lengths, const typename Interface::Lengths& b_strides,
                             const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_lengths,
                             const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_strides,
                             const typename Interface::Lengths& e_lengths, const typename Interface::Lengths& e_strides,
                             const typename Interface::Spatial& strides, const typename Interface::Spatial& dilations,
                             const typename Interface::Spatial& left_pads,
                             const typename Interface::Spatial& right_pads, const AOp& a_op, const BOp& b_op,
                             const CDEOp& cde_op, index_t split_k = 1) {
        return typename Base::Argument(Base::planned().MakeArgumentPointer(
            p_a, p_b, p_ds, p_e, a_lengths, a_strides, b_lengths, b_strides, ds_lengths, ds_strides, e_lengths,
            e_strides, strides, dilations, left_pads, right_pads, a_op, b_op, cde_op, split_k));
    }

    using Interface::MakeArgumentPointer;
    std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_a, const void* p_b, const std::array<const void*, Interface::NumDTensor>& p_ds,
                        void* p_e, const Lengths& a_lengths, const Lengths& a_strides, const Lengths& b_lengths,
                        const Lengths& b_strides, const std::array<Lengths, Interface::NumDTensor>& ds_lengths,
                        const std::array<Lengths, Interface::NumDTensor>& ds_strides, const Lengths& e_lengths,
                        const Lengths& e_strides, const Spatial& strides, const Spatial& dilations,
                        const Spatial& left_pads, const Spatial& right_pads, const AOp& a_op, const BOp& b_op,
                        const CDEOp& cde_op, index_t split_k) override {
        return Base::planned().MakeArgumentPointer(p_a, p_b, p_ds, p_e, a_lengths, a_strides, b_lengths, b_strides,
                                                   ds_lengths, ds_strides, e_lengths, e_strides, strides, dilations,
                                                   left_pads, right_pads, a_op, b_op, cde_op, split_k);
    }
};

}  // namespace ck::tensor_operation::device::bwd_data_of_arguments
