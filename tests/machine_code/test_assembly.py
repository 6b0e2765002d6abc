"""Assembly text -> instructions and resources."""

from __future__ import annotations

import pytest

from ckgen.errors import CkgenError
from ckgen.machine_code.assembly import KINDS, kind_of, make_instruction, read_kernels
from tests.support.amd_assembly import LOAD_LOOP, MATH_LOOP, kernel_text


@pytest.mark.parametrize(
    ("mnemonic", "operands", "kind"),
    [
        ("v_mfma_f32_32x32x8_f16", "a[0:15], v[0:1], v[2:3], a[0:15]", "matrix"),
        ("v_wmma_f32_16x16x16_f16", "v[0:7], v[8:15], v[16:23], v[0:7]", "matrix"),
        ("v_accvgpr_read_b32", "v0, a0", "valu"),
        ("v_readfirstlane_b32", "s0, v0", "valu"),
        ("v_dual_mov_b32", "v0, v1 :: v_dual_mov_b32 v2, v3", "valu"),
        ("ds_read_b128", "v[0:3], v4", "lds_read"),
        ("ds_load_b128", "v[0:3], v4", "lds_read"),
        ("ds_read_b64_tr_b16", "v[0:1], v4", "lds_read"),
        ("ds_write2_b64", "v0, v[2:3], v[4:5] offset1:1", "lds_write"),
        ("ds_store_b128", "v0, v[2:5]", "lds_write"),
        ("ds_bpermute_b32", "v0, v1, v2", "lds_other"),
        ("buffer_load_dwordx4", "v[0:3], v4, s[0:3], 0 offen", "global_load"),
        ("buffer_load_dwordx4", "v4, s[0:3], 0 offen lds", "to_lds"),
        ("global_load_lds_dwordx4", "v[0:1], off", "to_lds"),
        ("global_store_dwordx2", "v[0:1], v[2:3], off", "global_store"),
        ("global_atomic_add_f32", "v[0:1], v2, off", "global_store"),
        ("scratch_load_dword", "v0, off, s32", "global_load"),
        ("buffer_gl0_inv", "", "other"),
        ("buffer_wbl2", "sc1", "other"),
        ("s_waitcnt", "vmcnt(0)", "wait"),
        ("s_wait_dscnt", "0x0", "wait"),
        ("s_barrier", "", "barrier"),
        ("s_barrier_signal", "-1", "barrier"),
        ("s_cbranch_scc1", ".LBB0_1", "branch"),
        ("s_load_dwordx4", "s[0:3], s[4:5], 0x0", "smem"),
        ("s_add_u32", "s0, s0, s1", "salu"),
        ("s_nop", "0", "other"),
        ("s_setprio", "1", "other"),
        ("s_delay_alu", "instid0(VALU_DEP_1)", "other"),
        ("s_endpgm", "", "other"),
    ],
)
def test_kinds(mnemonic: str, operands: str, kind: str) -> None:
    assert kind in KINDS
    assert kind_of(mnemonic, operands) == kind


@pytest.mark.parametrize(
    ("mnemonic", "lane_bytes"),
    [
        ("ds_read_b128", 16),
        ("ds_read2_b64", 16),
        ("ds_read_b64_tr_b16", 8),
        ("ds_read2st64_b32", 8),
        ("ds_write_b16", 2),
        ("buffer_load_dwordx4", 16),
        ("buffer_load_ushort", 2),
        ("buffer_load_short_d16_hi", 2),
        ("buffer_load_b128", 16),
        ("global_load_lds_dwordx4", 16),
        ("v_add_u32", 0),
    ],
)
def test_bytes_of_a_lane(mnemonic: str, lane_bytes: int) -> None:
    assert make_instruction(mnemonic).lane_bytes == lane_bytes


def test_products_are_slow_and_additions_are_not() -> None:
    assert make_instruction("v_mul_lo_u32").slow and make_instruction("v_rcp_f32_e32").slow
    assert not make_instruction("v_add_u32_e32").slow and not make_instruction("v_mul_f32").slow


def test_a_kernel_has_its_instructions_labels_and_resources() -> None:
    kernel = read_kernels(kernel_text(LOAD_LOOP + MATH_LOOP, agprs=16, vgprs=104))["k"]
    assert kernel.instructions[0].mnemonic == "s_mov_b32"
    assert kernel.instructions[-1].mnemonic == "s_endpgm"
    assert kernel.instructions[kernel.labels[".LBB0_9"]].mnemonic == "s_barrier"
    assert kernel.instructions[kernel.labels[".LBB0_1"] + 1].operands == "v0, v[2:3]"
    resources = kernel.resources
    assert (resources.vgprs, resources.agprs, resources.sgprs, resources.lds_bytes) == (104, 16, 68, 32768)
    assert (resources.vgpr_spills, resources.sgpr_spills, resources.wave_size) == (2, 1, 64)
    assert resources.code_bytes == 1234


def test_what_stands_behind_a_kernel_is_not_its_code() -> None:
    """Device functions are printed before the kernels that call them, other sections after."""
    text = "helper:\n\tv_add_u32_e32 v0, v0, v1\n\ts_setpc_b64 s[30:31]\n" + kernel_text(MATH_LOOP)
    kernel = read_kernels(text + "\tv_add_u32_e32 v0, v0, v1\n")["k"]
    assert len(kernel.instructions) == MATH_LOOP.count("\n")


def test_other_text_is_refused() -> None:
    with pytest.raises(CkgenError, match="no AMDGPU metadata"):
        read_kernels('\t.file\t1 "k.cpp"\nmain:\n\tretq\n')
