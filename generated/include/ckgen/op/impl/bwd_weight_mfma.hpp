// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_mfma.hpp. Do not edit; run: ckgen generate
// Families xdl and wavelet of grouped convolution backward weight.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_weight_parts.hpp"
#include "ckgen/pipeline/wavelet.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::instances {

struct BwdWeightXdl : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Xdl_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeight<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdWeightParts>;

#if !CKGEN_DEVICE_PASS
    // CK's class with pipelines prints GEMM-K of the tile itself, and the pipeline after the widths.
    template <class D, class Numbers>
    static std::string type_string(const char* suffix) {
        if(D::pipeline_version == 0)
            return BwdWeightFamily::type_string<D, Numbers>(suffix);
        std::string text = tensor_operation::device::type_string(
            std::string(tensor_operation::device::BwdWeightClass<D>::name) + suffix + "V3",
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block}, D::conv_spec,
            {Numbers::ak1, Numbers::m_xdl_per_wave, Numbers::n_xdl_per_wave, D::a_vector, Numbers::a_dst_vector,
             D::b_vector, Numbers::b_dst_vector, 1, 1, D::c_vector});
        text.back() = ',';
        return text + " BlkGemmPipelineScheduler: " + (D::interwave ? "Interwave" : "Intrawave") +
               ", BlkGemmPipelineVersion: v" + std::to_string(D::pipeline_version) + ">";
    }
#endif
};

// Groups that are side by side are computed as one. CK's class always sums f32 partials in a second kernel; here that
// follows from split_k, as in every family.
struct BwdWeightTwoStage : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "TwoStage_Xdl_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeight<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdWeightParts>;

#if !CKGEN_DEVICE_PASS
    // This class prints GEMM-K of the block where the others print it in slots, and its pipeline and merged groups
    // last. Where positions are contiguous CK's class transposes first: it prints the widths of its kernel, which reads
    // the copy, and last those of the copy, which reads as many positions at once as this family's A.
    template <class D, class Numbers>
    static std::string type_string(const char* suffix) {
        constexpr bool copied = D::transpose_dst > 0;
        std::string text = tensor_operation::device::type_string(
            std::string("DeviceGroupedConvBwdWeight") + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block}, D::conv_spec,
            {Numbers::ak1, Numbers::m_xdl_per_wave, Numbers::n_xdl_per_wave, copied ? D::transpose_vector : D::a_vector,
             copied ? D::transpose_lds : Numbers::a_dst_vector, copied ? D::transpose_vector : D::b_vector,
             copied ? D::transpose_lds : Numbers::b_dst_vector, 1, 1, D::c_vector});
        text.pop_back();
        text += ", BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v" + std::to_string(D::ck_pipeline) +
                ", " + std::to_string(D::groups_to_merge);
        if(copied)
            text += ", TransposeTransferSrcScalarPerVector: " + std::to_string(D::a_vector) +
                    ", TransposeTransferDstScalarPerVector: " + std::to_string(D::transpose_dst);
        return text + ">";
    }
#endif
};

struct BwdWeightWavelet : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Xdl_WaveletModel_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeight<Config>;
    template <class D>
    using Kernel = pipeline::WaveletKernel<D, conv::BwdWeightParts>;
};

}  // namespace ckgen::instances
