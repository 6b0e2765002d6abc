"""Test machine code on a CPU: the package's own parts always; real kernels if TINYGRAD_SRC names a checkout of
tinygrad.

The checkout is of github.com/tinygrad/tinygrad, and CC must name a clang. `python -m tests.machine` runs all of set
`ci`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.build.toolchain import find_toolchain
from ckgen.conv.problem import make_problem
from ckgen.library.library import Library
from ckgen.machine_code.compile import assemble
from ckgen.selection.takes import takes
from ckgen.verify.run_tensors import make_data
from tests.machine import matrix
from tests.machine.accesses import Width, _to_registers, _transposed, signed, width_of
from tests.machine.campaign import DATA_SAMPLE, Campaign, Result, in_table, problems_of
from tests.machine.code_object import CodeObject
from tests.machine.convolution import Outcome
from tests.machine.memory import Fault, Lds, Memory
from tests.machine.table import TABLE, code_digests, is_current, read_table, table_text
from tests.support.host_library import tree_of
from tests.support.specs import default_expansion

TINYGRAD = os.environ.get("TINYGRAD_SRC")
needs_tinygrad = pytest.mark.skipif(TINYGRAD is None, reason="TINYGRAD_SRC names no checkout of tinygrad")
PLANE = make_problem(groups=1, batch=5, k=16, c=8, filter=(3, 3), input=(9, 5), pad=1)
WAVELET = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_64x64x32_w4x4_xdl32_v2x2x2_s4"
XDL = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_bf16_default_128x128x32_w0x4_xdl32_v8x8x8_s1"
DIRECT = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v8x8x8_s4"
GENERIC = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f32_default_64x64x16_w0x4_xdl32_v1x1x1_s1_generic"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("V_MFMA_F32_32X32X8_F16", (32, 8, "F16")),
        ("V_MFMA_F32_32X32X8F16", (32, 8, "F16")),
        ("V_MFMA_F32_16X16X16_BF16_1K", (16, 16, "BF16")),
        ("V_MFMA_F32_32X32X8BF16_1K", (32, 8, "BF16")),
        ("V_MFMA_F32_32X32X16_BF16", (32, 16, "BF16")),
        ("V_MFMA_F32_16X16X4_F32", (16, 4, "F32")),
        ("V_MFMA_F32_32X32X4_2B_F16", None),
        ("V_MFMA_F32_32X32X4F16", None),
        ("V_MFMA_F64_16X16X4_F64", None),
    ],
)
def test_which_matrix_instructions_are_known(name: str, shape: tuple[int, int, str] | None) -> None:
    assert matrix.shape_of(name) == shape


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize(("kind", "per_lane"), [("F16", 4), ("BF16", 8), ("F32", 1)])
def test_a_matrix_instruction_multiplies_matrices(size: int, kind: str, per_lane: int) -> None:
    depth = per_lane * 64 // size
    random = np.random.default_rng(size)
    a, b = (random.integers(-8, 8, (size, depth)).astype(np.float32) for _ in range(2))
    c = random.integers(-8, 8, (size, size)).astype(np.float32)

    def registers(values: np.ndarray) -> np.ndarray:
        lanes = values.reshape(size, 64 // size, per_lane).transpose(1, 0, 2).reshape(64, per_lane)
        if kind == "F32":
            return np.ascontiguousarray(lanes.view(np.uint32).T)
        halves = lanes.astype(np.float16).view(np.uint16) if kind == "F16" else lanes.view(np.uint32) >> 16
        return np.ascontiguousarray(np.ascontiguousarray(halves.astype(np.uint16)).view(np.uint32).T)

    lane, register = np.meshgrid(np.arange(64), np.arange(size * size // 64))
    # As in templates/include/ckgen/atom/lane_map.hpp.
    row = 8 * (register // 4) + 4 * (lane // 32) + register % 4 if size == 32 else 4 * (lane // 16) + register
    made = matrix.multiply((size, depth, kind), registers(a), registers(b), c[row, lane % size].view(np.uint32))
    assert np.array_equal(made.view(np.float32), (a @ b.T + c)[row, lane % size])


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("BUFFER_LOAD_DWORDX4", Width(16, False, None)),
        ("BUFFER_LOAD_B128", Width(16, False, None)),
        ("BUFFER_LOAD_USHORT", Width(2, False, None)),
        ("BUFFER_LOAD_SHORT_D16_HI", Width(2, False, 1)),
        ("BUFFER_LOAD_D16_B16", Width(2, False, 0)),
        ("GLOBAL_LOAD_SBYTE", Width(1, True, None)),
        ("DS_WRITE2ST64_B64", Width(8, False, None)),
        ("DS_LOAD_2ADDR_B32", Width(4, False, None)),
        ("DS_READ_B64_TR_B16", Width(8, False, None)),
    ],
)
def test_widths_of_accesses(name: str, width: Width) -> None:
    assert width_of(name) == width


def test_what_is_not_a_plain_access_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        width_of("GLOBAL_ATOMIC_ADD_F32")
    assert (signed(0x1FFF, 13), signed(5, 13)) == (-1, 5)


def test_half_a_register_is_written_and_a_byte_is_extended() -> None:
    file = np.full((2, 64), 0x11112222, np.uint32)
    lanes = np.array([0, 3])
    _to_registers(file, 0, lanes, np.array([[0xCD, 0xAB]] * 2, np.uint8), Width(2, False, 1))
    _to_registers(file, 1, lanes, np.array([[0x80]] * 2, np.uint8), Width(1, True, None))
    assert file[0, [0, 1, 3]].tolist() == [0xABCD2222, 0x11112222, 0xABCD2222]
    assert file[1, [0, 1]].tolist() == [0xFFFFFF80, 0x11112222]


def test_a_transposing_read_gives_columns() -> None:
    """Sixteen lanes read four rows of sixteen; each lane gets its column."""
    halves = np.arange(256, dtype=np.uint16).reshape(64, 4)
    columns = _transposed(halves.view(np.uint8), np.arange(64)).view(np.uint16)
    assert columns[1].tolist() == [1, 17, 33, 49]
    assert columns[16].tolist() == [64, 80, 96, 112]


def test_accesses_outside_arrays_and_writes_to_inputs_are_faults() -> None:
    memory = Memory()
    data, result = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    start, target = memory.add("data", data, writable=False), memory.add("result", result, writable=True)
    assert memory.load(np.array([start + 4]), 4).view(np.float32)[0] == 1
    memory.store(np.array([target]), np.array([[0, 0, 128, 63]], np.uint8))
    assert result[0] == 1
    with pytest.raises(Fault, match=r"reads bytes -?\d+\.\.-?\d+ of (data, which has 32|result, which has 16)"):
        memory.load(np.array([start, start + 30]), 4)
    with pytest.raises(Fault, match="writes to data, which is input"):
        memory.store(np.array([start]), np.zeros((1, 4), np.uint8))
    with pytest.raises(Fault, match=r"touches bytes 12..19 of 16 bytes of LDS"):
        Lds(16, np.random.default_rng(0)).load(np.array([12]), 8)


def test_nan_is_wrong() -> None:
    assert Outcome(1e-4, 1e-3, 1, 1).ok and not Outcome(2e-3, 1e-3, 1, 1).ok
    assert not Outcome(float("nan"), 1e-3, 1, 1).ok


def test_every_instance_of_set_ci_has_problems() -> None:
    expansion = default_expansion()
    for instance in expansion.instances:
        if instance.name in expansion.sets["ci"]:
            for problem in problems_of(instance):
                assert takes(instance, problem)
                assert problem.macs < 20_000_000


def test_the_committed_table_holds_set_ci_and_nothing_wrong() -> None:
    rows = read_table(TABLE.read_text(encoding="utf-8"))
    expansion = default_expansion()
    for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100"):
        own = [i for i in expansion.instances if i.name in expansion.sets["ci"] and in_table(i)]
        wanted = {i.name for i in own if arch in i.archs}
        assert {name for of, name in rows if of == arch} == wanted
    assert {name for _, name in rows} >= set(DATA_SAMPLE)
    assert all(row.runs > 0 and row.wrong == 0 and row.error <= row.tolerance for row in rows.values())
    assert table_text(list(rows.values())) == TABLE.read_text(encoding="utf-8")


def test_the_committed_table_is_of_the_code_as_it_is() -> None:
    rows = read_table(TABLE.read_text(encoding="utf-8"))
    stale = [
        f"{arch} {name}"
        for arch in ("gfx90a", "gfx942", "gfx950")
        for digests in (code_digests(arch),)
        for name in digests
        if (arch, name) in rows and not is_current(rows[arch, name], digests)
    ]
    if stale:  # a new run takes an hour of emulation, so warn instead of failing
        pytest.skip(
            f"{len(stale)} rows of docs/machine_code_runs.csv are of older code: python -m tests.machine --changed"
        )


def test_rows_of_other_code_are_stale(tmp_path: Path) -> None:
    (tmp_path / "gfx942.csv").write_text("# gfx942, clang 19\ninstance,vgprs\na,64\nb,32\n")
    digests = code_digests("gfx942", tmp_path)
    row = Result("gfx942", "c", "a", digests["a"], 2, 0, 0.25, 0.5, 9, "")
    assert is_current(row, digests) and not is_current(None, digests)
    assert not is_current(replace(row, code=digests["b"]), digests)
    assert not is_current(replace(row, wrong=1), digests)
    assert code_digests("gfx1100", tmp_path) == {} and not is_current(row, {})
    assert table_text([row]).endswith(f"gfx942,c,a,{digests['a']},2,0,0.25,0.5,9,\n")
    assert read_table(table_text([row])) == {("gfx942", "a"): row}
    assert read_table("arch,instance\n") == {}


@pytest.fixture(scope="module")
def campaign_of(host_library: Library, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Campaign]:
    """Campaigns by architecture."""
    made: dict[str, Campaign] = {}

    def make(arch: str) -> Campaign:
        if arch not in made:
            folder = tmp_path_factory.mktemp("machine")
            made[arch] = Campaign(Path(str(TINYGRAD)), host_library, tree_of(), arch, "", folder)
        return made[arch]

    return make


@needs_tinygrad
@pytest.mark.parametrize(
    ("arch", "name"),
    [
        *(("gfx90a", XDL), ("gfx942", WAVELET), ("gfx942", XDL)),
        *(("gfx950", WAVELET), ("gfx950", DIRECT), ("gfx1100", GENERIC)),
        *(("gfx942", DATA_SAMPLE[0]), ("gfx950", DATA_SAMPLE[1]), ("gfx1100", DATA_SAMPLE[2])),
    ],
)
def test_kernels_are_right_as_machine_code(campaign_of: Callable[[str], Campaign], arch: str, name: str) -> None:
    outcomes = list(campaign_of(arch).outcomes(name, [PLANE], (1, 3)))
    assert len(outcomes) == 4 and all(outcome.ok for outcome in outcomes)
    assert {outcome.split_k for outcome in outcomes} == {1, 3}


@needs_tinygrad
def test_a_read_past_a_tensor_is_found(campaign_of: Callable[[str], Campaign]) -> None:
    """The plan is for twice as many images as the input holds."""
    campaign = campaign_of("gfx942")
    data = make_data(PLANE, "f16", 1)
    half = dataclasses.replace(data, tensors={**data.tensors, "in": np.ascontiguousarray(data.in_[:, :2])})
    with pytest.raises(
        Fault, match=r"workgroup 0, wave 0, byte \d+: BUFFER_LOAD_DWORD reads bytes .* of in, which has"
    ):
        campaign.machine.run(campaign.code_of(WAVELET), WAVELET, PLANE, half, 1, lazy=False, seed=0)


@needs_tinygrad
@pytest.mark.parametrize(
    ("arch", "name", "removed", "instead", "lazy"),
    [
        ("gfx942", WAVELET, r"s_waitcnt lgkmcnt\(\d+\)", "s_nop 0", True),
        ("gfx942", WAVELET, "s_barrier", "s_nop 0", False),
        ("gfx950", DIRECT, r"s_waitcnt vmcnt\(0\) lgkmcnt\(0\)", "s_waitcnt lgkmcnt(0)", True),
    ],
)
def test_missing_waits_and_barriers_are_found(
    campaign_of: Callable[[str], Campaign], tmp_path: Path, arch: str, name: str, removed: str, instead: str, lazy: bool
) -> None:
    """The code becomes wrong without its waits for LDS, without its waits for loads to LDS, and without its
    barriers."""
    campaign, data = campaign_of(arch), make_data(PLANE, "f16", 1)
    text = (tmp_path / "k.s", tmp_path / "broken.s", tmp_path / "broken.co")
    source = next(campaign.tree.rglob(f"{name}.cpp"))
    compiler = find_toolchain().assembly_compiler(arch)
    assemble(compiler, campaign.tree, source, arch, text[0])
    changed, count = re.subn(rf"^\t{removed}$", f"\t{instead}", text[0].read_text(), flags=re.MULTILINE)
    assert count > 1
    text[1].write_text(changed)
    target = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-x", "assembler")
    linker = find_toolchain().device_compiler(arch)
    subprocess.run((*linker, *target, str(text[1]), "-o", str(text[2])), check=True, capture_output=True)
    outcome = campaign.machine.run(CodeObject(text[2]), name, PLANE, data, 1, lazy=lazy, seed=0)
    assert not outcome.ok
