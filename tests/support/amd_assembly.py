"""Small pieces of AMDGPU assembly, formatted as LLVM prints it."""

from __future__ import annotations

METADATA = """\
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     {agprs}
    .args:
      - .offset:         0
        .size:           288
        .value_kind:     by_value
    .group_segment_fixed_size: {lds}
    .name:           {name}
    .private_segment_fixed_size: 0
    .sgpr_count:     68
    .sgpr_spill_count: 1
    .symbol:         {name}.kd
    .vgpr_count:     {vgprs}
    .vgpr_spill_count: 2
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
"""


def kernel_text(body: str, name: str = "k", *, agprs: int = 0, vgprs: int = 88, lds: int = 32768) -> str:
    """An assembly file with one kernel that has these instructions and labels."""
    return (
        f"\t.text\n\t.globl\t{name}\n\t.p2align\t8\n{name}:{' ' * 20}; @{name}\n; %bb.0:\n{body}"
        f'\ts_endpgm\n\t.section\t.rodata,"a",@progbits\n\t.amdhsa_kernel {name}\n'
        f"\t\t.amdhsa_group_segment_fixed_size {lds}\n\t.end_amdhsa_kernel\n\t.text\n.Lfunc_end0:\n"
        f"\t.size\t{name}, .Lfunc_end0-{name}\n; Kernel info:\n; codeLenInByte = 1234\n; Occupancy: 4\n"
        + METADATA.format(name=name, agprs=agprs, vgprs=vgprs, lds=lds)
    )


# A loop like that of the wavelet's load waves: stores to LDS, then (except in the last iteration) loads. When a counter
# expires, it moves a window, which is arithmetic alone.
LOAD_LOOP = """\
	s_mov_b32 s0, 0
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	s_waitcnt vmcnt(0)
	ds_write_b64 v0, v[2:3]
	s_cmp_eq_u32 s1, s0
	s_cbranch_scc1 .LBB0_4
; %bb.2:                                ;   in Loop: Header=BB0_1 Depth=1
	buffer_load_dwordx2 v[2:3], v1, s[4:7], 0 offen
	v_add_u32_e32 v1, s8, v1
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .LBB0_4
; %bb.3:                                ;   in Loop: Header=BB0_1 Depth=1
	v_mul_lo_u32 v1, v1, s9
	v_mul_hi_u32 v4, v1, s9
	v_add_u32_e32 v1, v4, v1
.LBB0_4:                                ;   in Loop: Header=BB0_1 Depth=1
	s_barrier
	s_add_i32 s0, s0, 1
	s_cmp_lt_i32 s0, s3
	s_cbranch_scc1 .LBB0_1
"""

MATH_LOOP = """\
.LBB0_9:
	s_barrier
	ds_read_b128 v[2:5], v1
	ds_read2_b64 v[6:9], v1 offset1:8
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[6:7], a[0:15]
	v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[8:9], a[0:15]
	v_accvgpr_read_b32 v0, a0
	s_cmp_eq_u32 s1, s0
	s_cbranch_scc0 .LBB0_9
"""
