"""The hardware tables are consistent, and a wrong row raises an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckgen.conv.dtypes import DTYPES, DType
from ckgen.hardware.archs import (
    ARCHES,
    ATOMS,
    MATRIX_ARCHES,
    NVIDIA_ARCHES,
    TF32_PARTS,
    WARP_ATOMS,
    Arch,
    Atom,
    WarpAtom,
    find_arch,
    find_atom,
)

HEADERS = Path(__file__).parents[2] / "templates" / "include" / "ckgen"


def test_a_matrix_architecture_has_an_atom_of_each_size_for_every_dtype_with_a_peak() -> None:
    assert MATRIX_ARCHES == ("gfx908", "gfx90a", "gfx942", "gfx950")
    for arch in MATRIX_ARCHES:
        peaks = dict(ARCHES[arch].peak)
        assert {"f16", "bf16", "f32"} <= set(peaks)
        for dtype, row in DTYPES.items():
            for size in (32, 16):
                atom = find_atom(arch, dtype, size)
                assert (atom is not None) is (row.in_type in peaks)
                assert atom is None or (atom.arch, atom.m_per_xdl) == (arch, size)
    assert find_atom("gfx1100", "f16", 32) is None
    assert find_atom("gfx942", "f32", 64) is None


def test_tables_are_keyed_by_what_their_rows_say() -> None:
    assert all(key == (atom.arch, atom.input_type, atom.m_per_xdl) for key, atom in ATOMS.items())
    assert all(name == arch.name for name, arch in ARCHES.items())
    assert all(name == dtype.name for name, dtype in DTYPES.items())


def test_gfx950_doubles_k_of_16_bit_atoms_and_has_160_kib_of_lds() -> None:
    for dtype in ("f16", "bf16"):
        for size in (32, 16):
            assert ATOMS["gfx950", dtype, size].k == 2 * ATOMS["gfx942", dtype, size].k
    assert ARCHES["gfx950"].lds_limit == 163840
    assert {ARCHES[name].lds_limit for name in ARCHES if name != "gfx950"} == {65536}


def test_bf16_with_f32_weights_multiplies_bf16() -> None:
    dtype = DTYPES["bf16_f32_bf16"]
    assert (dtype.in_type, dtype.wei_type, dtype.elem_bytes, dtype.bytes_of("wei")) == ("bf16", "f32", 2, 4)
    assert find_atom("gfx90a", "bf16_f32_bf16", 32) is find_atom("gfx90a", "bf16", 32)


def test_rows_check_themselves() -> None:
    with pytest.raises(AssertionError, match="16384 FLOP in 32 cycles"):
        Atom("gfx90a", "f16", 32, 8, 32, "v_mfma_f32_32x32x8f16")
    with pytest.raises(AssertionError, match="size"):
        Atom("gfx90a", "f16", 32, 8, 64, "v_mfma_f32_16x16x16f16")
    with pytest.raises(AssertionError, match="no two tensors have one type"):
        DType("f16", "f16", "bf16", "f32", 2)
    with pytest.raises(AssertionError, match="wave"):
        Arch("gfx1100", "rdna", 64, 65536, ())


def test_f32_takes_tensor_cores_where_the_header_says() -> None:
    header = HEADERS.joinpath("atom", "mma_sync.hpp").read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"__CUDA_ARCH__ == (\d+)", header)}
    assert numbers == {10 * int(re.sub(r"\D", "", arch)) for arch in TF32_PARTS}
    assert set(TF32_PARTS) <= set(NVIDIA_ARCHES)


def test_nvidia_has_atoms_and_as_much_shared_memory_as_a_block_may_have() -> None:
    assert set(WARP_ATOMS) == {"f16", "bf16", "tf32", "i8"}
    assert not set(NVIDIA_ARCHES) & set(ARCHES)
    assert find_arch("sm_90a").lds_limit == 232448 and find_arch("gfx950") is ARCHES["gfx950"]
    with pytest.raises(AssertionError, match="size"):
        WarpAtom("f16", 16, 8, 8, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    with pytest.raises(AssertionError, match="not a whole number"):
        WarpAtom("f16", 64, 8, 16, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
