"""Run single instructions, written in assembly, on random registers, and get their results.

A scalar instruction runs once per lane, in a loop that moves the lane's inputs to s10 to s17, results from s20 on.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Emulator, Memory, Schedule

Words = NDArray[np.uint32]
LANES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
SOURCES = 8  # v10 to v17 hold the inputs of a lane, v20 and on its results
LDS = 8192
_KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
\ts_endpgm
.rodata
.p2align 6
.amdhsa_kernel {name}
\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t.amdhsa_next_free_vgpr 256
\t.amdhsa_next_free_sgpr 40
\t.amdhsa_group_segment_fixed_size {lds}
\t.amdhsa_float_denorm_mode_32 3
\t{extra}
.end_amdhsa_kernel
"""


@dataclass(frozen=True)
class Case:
    """An instruction: its assembly, and the number of registers of its result from v20 (s20) on. In the text, $vcc is
    the mask of the wave's size, $wait waits for all loads, and $n is the case's number, for labels."""

    text: str
    results: int = 1
    scalar: bool = False  # the last result is SCC


def wait(arch: str) -> str:
    """Waits for all loads."""
    if arch == "gfx1201":
        return "\ts_wait_kmcnt 0\n\ts_wait_loadcnt 0\n\ts_wait_dscnt 0\n\ts_wait_storecnt 0"
    stores = "\n\ts_waitcnt_vscnt null, 0" if arch == "gfx1100" else ""
    return f"\ts_waitcnt vmcnt(0) lgkmcnt(0){stores}"


def _body(arch: str, case: Case) -> str:
    load, store = ("dwordx4", "dword") if LANES[arch] == 64 else ("b128", "b32")
    scalar = "s_load_dwordx4" if LANES[arch] == 64 else "s_load_b128"
    lines = [f"\t{scalar} s[4:7], s[0:1], 0x0", wait(arch), "\tv_lshlrev_b32 v1, 5, v0"]
    lines += [f"\tglobal_load_{load} v[10:13], v1, s[4:5]", f"\tglobal_load_{load} v[14:17], v1, s[4:5] offset:16"]
    lines += [wait(arch), *(f"\tv_mov_b32 v{20 + k}, 0x5a5a5a5a" for k in range(case.results))]
    if LANES[arch] == 64:
        lines += [f"\tv_accvgpr_write_b32 a{k}, v{10 + k}" for k in range(SOURCES)]
    else:
        lines.append("\ts_mov_b32 vcc_hi, 0")
    lines += _per_lane(arch, case) if case.scalar else ["\tv_cmp_gt_u32 $vcc, 0x80000000, v17", f"\t{case.text}"]
    lines += [wait(arch), "\tv_lshlrev_b32 v1, 6, v0"]
    lines += [f"\tglobal_store_{store} v1, v{20 + k}, s[6:7] offset:{4 * k}" for k in range(case.results)]
    vcc = "vcc" if LANES[arch] == 64 else "vcc_lo"
    return "\n".join(lines).replace("$vcc", vcc).replace("$wait", wait(arch).strip())


def _per_lane(arch: str, case: Case) -> list[str]:
    """The loop of a scalar instruction: SCC and VCC come from the seventh and eighth input."""
    out = case.results - 1
    lines = ["\ts_mov_b32 m0, 0", ".Lagain$n:"]
    lines += [f"\tv_readlane_b32 s{10 + k}, v{10 + k}, m0" for k in range(SOURCES)]
    lines += [f"\ts_mov_b32 s{20 + k}, 0x5a5a5a5a" for k in range(max(2, out))]
    lines += ["\ts_and_b32 vcc_lo, s16, 0x10000", "\ts_mov_b32 vcc_hi, 0", "\ts_bitcmp1_b32 s17, 31"]
    lines += [f"\t{case.text}", "\ts_cselect_b32 s28, 1, 0"]
    lines += [f"\tv_writelane_b32 v{20 + k}, s{20 + k}, m0" for k in range(out)]
    lines += [f"\tv_writelane_b32 v{20 + out}, s28, m0", f"\ts_add_{'co_' if arch == 'gfx1201' else ''}i32 m0, m0, 1"]
    return [*lines, f"\ts_cmp_lt_u32 m0, {LANES[arch]}", "\ts_cbranch_scc1 .Lagain$n"]


class Bench:
    """Cases of an architecture, assembled into one code object."""

    def __init__(self, arch: str, cases: Sequence[Case], folder: Path, emulator: Emulator) -> None:
        self._arch, self._cases, self._emulator = arch, cases, emulator
        code = CodeObject.read(_assembled(arch, cases, folder))
        emulator.compile(code)
        self.prepared = [emulator.prepare(code, f"case{at}") for at in range(len(cases))]

    def run(self, inputs: Words, *, results: int = 16) -> list[Words]:
        """The results of each case, as [register][lane]. `inputs` is [lane][source]."""
        found, arch = list[Words](), self._arch
        for case, prepared in zip(self._cases, self.prepared, strict=True):
            memory, out = Memory(), np.zeros((LANES[arch], results), np.uint32)
            addresses = memory.add("in", inputs, writable=False), memory.add("out", out, writable=True)
            arguments = struct.pack("<QQ", *addresses)
            self._emulator.launch(prepared, arch, 1, LANES[arch], arguments, memory, Schedule(False, 1))
            found.append(np.ascontiguousarray(out[:, : case.results].T))
        return found


def _assembled(arch: str, cases: Sequence[Case], folder: Path) -> Path:
    extra = ".amdhsa_accum_offset 256" if LANES[arch] == 64 else ".amdhsa_wavefront_size32 1"
    if arch != "gfx90a":  # which has scratch at an address that registers hold
        extra += "\n\t.amdhsa_private_segment_fixed_size 128"
    text = "".join(
        _KERNEL.format(arch=arch, name=f"case{at}", body=_body(arch, case).replace("$n", str(at)), extra=extra, lds=LDS)
        for at, case in enumerate(cases)
    )
    source, target = folder / f"{arch}.s", folder / f"{arch}.co"
    source.write_text(re.sub(r"\n\t\n", "\n", text))
    command = (*find_toolchain().device_compiler(arch), "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}")
    done = subprocess.run(
        (*command, "-x", "assembler", str(source), "-o", str(target)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:6000]
    return target


def run_cases(arch: str, cases: Sequence[Case], inputs: Words, folder: Path, emulator: Emulator) -> list[Words]:
    """The results of each case on one set of inputs."""
    return Bench(arch, cases, folder, emulator).run(inputs)
