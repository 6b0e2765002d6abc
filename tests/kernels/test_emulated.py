"""Kernels as machine code on the emulator: right ones pass, and each planted fault is reported with its place."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ckgen.build.toolchain import find_toolchain
from ckgen.conv.problem import make_problem
from ckgen.library.library import Library
from ckgen.machine_code.compile import assemble
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Fault, Memory, Schedule
from ckgen.selection.takes import takes
from ckgen.verify.emulated import Machine, Outcome
from ckgen.verify.emulated_plan import problems_of, rows_of
from ckgen.verify.run_tensors import make_data
from tests.support.host_library import ROOT, tree_of
from tests.support.specs import default_expansion
from tests.support.sweep.sampled import chosen

PLANE = make_problem(groups=1, batch=5, k=16, c=8, filter=(3, 3), input=(9, 5), pad=1)
WAVELET = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_64x64x32_w4x4_xdl32_v2x2x2_s4"
XDL = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_bf16_default_128x128x32_w0x4_xdl32_v8x8x8_s1"
DIRECT = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v8x8x8_s4"
DATA_DIRECT = "grouped_conv2d_bwd_data_wavelet_nhwgk_gkyxc_nhwgc_f16_default_128x128x32_w1x4_xdl32_v8x8x8_s2"
ROWS = "grouped_conv2d_bwd_data_xdl_ngkhw_gkcyx_ngchw_f16_default_128x16x32_w0x2_xdl16_v4x1x1_s1"
MERGED_ROWS = "grouped_conv2d_bwd_data_xdl_ngkhw_gkcyx_ngchw_bf16_default_64x16x32_w0x1_xdl16_v4x4x1_s1_m4"
GENERIC = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_f32_default_64x64x16_w0x4_xdl32_v1x1x1_s1_generic"
MachineOf = Callable[[str], Machine]


def machines(library: Library, set_name: str) -> MachineOf:
    """Machines by architecture. Code objects and handlers stay in build/, for the next run."""
    made: dict[str, Machine] = {}
    folder = ROOT / "build" / set_name / "emulated"
    return lambda arch: made.setdefault(arch, Machine(library, tree_of(set_name), arch, folder))


@pytest.fixture(scope="module")
def machine_of(host_library: Library) -> MachineOf:
    return machines(host_library, "ci")


@pytest.fixture(scope="module")
def quick_machine_of(quick_library: Library) -> MachineOf:
    return machines(quick_library, "quick")


SAMPLES = list(product(("bwd_weight", "bwd_data"), ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")))


@pytest.mark.parametrize("sample", chosen(SAMPLES, SAMPLES[::2]), ids="-".join)  # each architecture once
def test_a_sample_is_right_on_every_architecture(quick_machine_of: MachineOf, sample: tuple[str, str]) -> None:
    operation, arch = sample
    name = GENERIC if operation == "bwd_weight" else GENERIC.replace("bwd_weight", "bwd_data")
    name = name if operation == "bwd_weight" else name.replace("nhwgc_gkyxc_nhwgk", "nhwgk_gkyxc_nhwgc")
    problem = problems_of(quick_machine_of(arch).library.instance(name))[0]
    rows = list(rows_of(quick_machine_of(arch), name, problems=[problem], split_ks=[3]))
    assert [row.verdict for row in rows] == ["ok"]


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        *(("gfx90a", XDL), ("gfx942", WAVELET), ("gfx942", XDL)),
        *(("gfx950", WAVELET), ("gfx950", DIRECT), ("gfx950", DATA_DIRECT)),
    ],
)
def test_kernels_with_matrix_instructions_are_right(machine_of: MachineOf, arch: str, name: str) -> None:
    rows = list(rows_of(machine_of(arch), name, problems=[PLANE], split_ks=(1, 3)))
    assert [(row.verdict, row.used_split_k) for row in rows] == [("ok", 1), ("ok", 3)]


def test_kernels_whose_arguments_have_a_division_of_work_are_right(quick_machine_of: MachineOf) -> None:
    """Family depthwise passes more than the arguments of its problem; taps of a filter as long as the input."""
    machine = quick_machine_of("gfx942")
    names = [name for name in machine.library.names if "bwd_data_depthwise_n" in name]
    problem = make_problem(groups=3, batch=2, k=2, c=1, filter=(9, 1), input=(9, 7))
    rows = [row for name in names for row in rows_of(machine, name, problems=[problem], split_ks=[1])]
    assert rows and {row.verdict for row in rows} == {"ok"}


@pytest.mark.parametrize(("name", "groups", "k"), [(ROWS, 1, 5), (ROWS, 1, 13), (ROWS, 1, 40), (MERGED_ROWS, 5, 4)])
def test_slices_of_vectors_have_their_own_taps(machine_of: MachineOf, name: str, groups: int, k: int) -> None:
    """gfx950 copies A in slices of a few rows, so that those of a tile of several taps differ in their taps."""
    problem = make_problem(groups=groups, batch=2, k=k, c=4, filter=(3, 2), input=(7, 9), stride=(1, 2), pad=1)
    rows = list(rows_of(machine_of("gfx950"), name, problems=[problem], split_ks=(1, 3)))
    assert {row.verdict for row in rows} == {"ok"}


def test_every_instance_of_set_ci_has_problems() -> None:
    expansion = default_expansion()
    for instance in expansion.instances:
        if instance.name in expansion.sets["ci"]:
            problems = problems_of(instance)
            assert any(takes(instance, problem) for problem in problems), instance.name
            assert all(problem.macs < 20_000_000 for problem in problems)


def patched(machine: Machine, name: str, folder: Path, pattern: str, instead: str) -> CodeObject:
    """The code object of an instance whose assembly was changed."""
    before, after, made = folder / "kernel.s", folder / "changed.s", folder / "changed.co"
    compiler = find_toolchain().assembly_compiler(machine.arch)
    assemble(compiler, machine.tree, next(machine.tree.rglob(f"{name}.cpp")), machine.arch, before)
    text, count = re.subn(pattern, instead, before.read_text(), flags=re.MULTILINE)
    assert count > 0
    after.write_text(text)
    target = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={machine.arch}", "-x", "assembler", str(after), "-o", str(made))
    subprocess.run((*find_toolchain().device_compiler(machine.arch), *target), check=True, capture_output=True)
    return CodeObject.read(made)


def run(machine: Machine, code: CodeObject, name: str) -> Outcome:
    """One run with waves in shuffled order."""
    instance = machine.library.instance(name)
    data = make_data(PLANE, instance.dtype, 1, instance.operation)
    return machine.run(code, name, PLANE, data, 1, Schedule(True, 5))


# Planted faults: architecture, instance, pattern in the assembly, replacement, and the report.
FAULTS = {
    "no wait for LDS": (
        *("gfx942", WAVELET, r"^\ts_waitcnt lgkmcnt\(\d+\)\n(\tv_mfma)", r"\ts_nop 0\n\1"),
        r"reads register v\d+ before its load has arrived; the other side, wave \d: ds_read",
    ),
    "no wait for arguments": (
        *("gfx1100", GENERIC, r"^\ts_waitcnt lgkmcnt\(0\)$", "\ts_nop 0"),
        r"misses a wait: it reads register s\d+ before its load has arrived; the other side, wave \d: s_load",
    ),
    "no wait for memory": (
        *("gfx1201", GENERIC, r"^\ts_wait_loadcnt 0x\w+$", "\ts_nop 0"),
        r"misses a wait: it reads register v\d+ before its load has arrived; the other side, wave \d: \w+_load",
    ),
    "no wait for loads to LDS": (
        *("gfx950", DIRECT, r"^\ts_waitcnt vmcnt\(0\)( lgkmcnt\(0\))?$", "\ts_waitcnt lgkmcnt(0)"),
        r"races: it reads LDS that another wave wrote.* after a completed wait.*; the other side, .*buffer_load",
    ),
    "no wait for loads to LDS in backward data": (
        *("gfx950", DATA_DIRECT, r"^\ts_waitcnt vmcnt\(0\)( lgkmcnt\(0\))?$", "\ts_waitcnt lgkmcnt(0)"),
        r"races: it reads LDS that another wave wrote.* after a completed wait.*; the other side, .*buffer_load",
    ),
    "no barrier": (
        *("gfx942", WAVELET, "^\ts_barrier$", "\ts_nop 0"),
        r"races: it \w+ LDS that another wave \w+ with no barrier between them; the other side, wave \d: ds_\w+",
    ),
    "half a barrier": (
        *("gfx1201", GENERIC, r"^\ts_barrier_wait .*$", "\ts_nop 0"),
        r"races: it \w+ LDS that another wave \w+",
    ),
    "the other half": (
        *("gfx1201", GENERIC, r"^\ts_barrier_signal .*$", "\ts_nop 0"),
        r"is a barrier that not all waves reach",
    ),
    "less LDS": (
        *("gfx942", XDL, r"(\.amdhsa_group_segment_fixed_size) \d+", r"\1 8192"),
        r"touches bytes \d+\.\.\d+ of 8192 bytes of LDS",
    ),
    "no first sum": (
        *("gfx942", WAVELET, r"^\tv_mov_b32_e32 v\d+, 0$", "\ts_nop 0"),
        r"uses register [va]\d+, which has no value, as",
    ),
    "half a store to LDS": (
        *("gfx942", WAVELET, r"ds_write2_b64 (v\d+), (\S+), .*$", r"ds_write_b64 \1, \2"),
        r"uses register v\d+, which has no value, as .*; the other side, wave \d: ds_read",
    ),
    "a load beside its place": (
        *("gfx942", WAVELET, r"^(\tglobal_store_dword\w* .*, off)$", r"\1 offset:2048"),
        r"writes bytes \d+\.\.\d+ of wei, which has \d+",
    ),
    "an endless loop": (
        *("gfx942", WAVELET, r"^\ts_endpgm$", "\ts_branch 65535"),
        r"is reached too often: the kernel does not end",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_reported(machine_of: MachineOf, tmp_path: Path, fault: str) -> None:
    arch, name, pattern, instead, report = FAULTS[fault]
    machine = machine_of(arch)
    code = patched(machine, name, tmp_path, pattern, instead)
    with pytest.raises(Fault, match=rf"^{name}_kernel: workgroup \d+, wave \d+: .*at byte \d+.*({report})"):
        run(machine, code, name)


@pytest.mark.parametrize(
    ("arch", "pattern", "instead"),
    [
        ("gfx942", r"(v_mfma_\S+ \S+), (\S+), (\S+), ", r"\1, \3, \2, "),
        ("gfx950", r"ds_read_b64_tr_b16", "ds_read_b64"),
    ],
)
def test_a_swapped_lane_map_gives_a_wrong_result(
    machine_of: MachineOf, tmp_path: Path, arch: str, pattern: str, instead: str
) -> None:
    machine = machine_of(arch)
    assert not run(machine, patched(machine, WAVELET, tmp_path, pattern, instead), WAVELET).ok


def test_a_read_one_element_past_a_tensor_is_reported(machine_of: MachineOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffer's descriptor holds one element more than the tensor has."""
    add = Memory.add

    def shorter(self: Memory, name: str, array: NDArray[Any], *, writable: bool) -> int:
        return add(
            self, name, np.ascontiguousarray(array.reshape(-1)[:-1]) if name == "in" else array, writable=writable
        )

    monkeypatch.setattr(Memory, "add", shorter)
    machine = machine_of("gfx942")
    with pytest.raises(Fault, match=r"buffer_load.* \(amd\.hpp:\d+\) reads bytes 3596\.\.3599 of in, which has 3598"):
        run(machine, machine.code_of(WAVELET), WAVELET)
