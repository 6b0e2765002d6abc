"""Rules that several tables contain: those of all families, and those of all families that use TMA."""

from __future__ import annotations

from ckgen.families.rule import Rule

LDS_BYTES = Rule(
    id="lds-bytes",
    scope="arch",
    condition="lds_bytes <= lds_limit",
    sentence="the LDS of a workgroup fits the architecture",
    message="{lds_bytes} bytes of LDS, {arch} has {lds_limit}",
    help="use fewer stages, a smaller tile or k_per_block",
    reason="A workgroup cannot allocate more LDS than a compute unit has: 64 KiB, on gfx950 160 KiB, on sm_90a 227.",
    blame=("stages", "k_per_block", "tile", "archs"),
)
COPY_DTYPE = Rule(
    id="tma-dtype",
    scope="domain",
    condition="(elem_bytes == 2 and as_stored == 1) or elem_bytes == 4",
    sentence="A and B have elements of 16 bits that are multiplied as they are, or of f32",
    message="{family} has no {dtype} instances",
    help="use f16, bf16 or bf16_f32_bf16, or family xdl",
    reason="Copies by TMA round to tf32 but not otherwise.",
    blame=("dtype",),
)
COPY_SPEC = Rule(
    id="tma-spec",
    scope="domain",
    condition="pointwise != (channels_last and a_vector > 1) and not generic",
    sentence=(
        "conv_spec is Default with the channels last and vectors of A, else Filter1x1Stride1Pad0, and the instance not"
        " generic"
    ),
    message="{family} has no generic instances, and conv_spec {conv_spec} not with layout {layout}",
    help=(
        "use conv_spec Default with layouts like NHWGC, Filter1x1Stride1Pad0 with NGCHW or single elements of A, and"
        " leave `generic` out"
    ),
    reason=(
        "TMA handles padding and strides of channels-last tensors, so a kernel for 1x1 filters would be the same. Where"
        " positions are side by side, taps would begin beside multiples of 16 bytes. TMA needs channels or positions in"
        " multiples of a vector, so no instance is generic."
    ),
    blame=("conv_spec", "generic"),
)
COPY_ATOM = Rule(
    id="tma-atom",
    scope="arch",
    condition="has_atom",
    sentence="the architecture has wgmma and TMA",
    message="{arch} has no wgmma",
    help="leave `archs` out: {family} is for sm_90a, on platform nvidia",
    reason="wgmma exists on Hopper (sm_90a) only: earlier GPUs have mma.sync, later ones tcgen05.",
    blame=("archs", "dtype"),
)
