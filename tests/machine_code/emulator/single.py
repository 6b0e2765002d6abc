"""Run one instruction, written in assembly, on random registers, and get its results."""

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
\t.amdhsa_next_free_sgpr 32
\t.amdhsa_float_denorm_mode_32 3
\t{extra}
.end_amdhsa_kernel
"""


@dataclass(frozen=True)
class Case:
    """An instruction: its assembly, and the number of registers of its result from v20 on."""

    text: str
    results: int = 1


def _wait(arch: str) -> str:
    return "\ts_wait_kmcnt 0\n\ts_wait_loadcnt 0" if arch == "gfx1201" else "\ts_waitcnt vmcnt(0) lgkmcnt(0)"


def _body(arch: str, case: Case) -> str:
    load, store = ("dwordx4", "dword") if LANES[arch] == 64 else ("b128", "b32")
    scalar = "s_load_dwordx4" if LANES[arch] == 64 else "s_load_b128"
    lines = [f"\t{scalar} s[4:7], s[0:1], 0x0", _wait(arch), "\tv_lshlrev_b32 v1, 5, v0"]
    lines += [f"\tglobal_load_{load} v[10:13], v1, s[4:5]", f"\tglobal_load_{load} v[14:17], v1, s[4:5] offset:16"]
    lines += [_wait(arch), *(f"\tv_mov_b32 v{20 + k}, 0x5a5a5a5a" for k in range(case.results))]
    if LANES[arch] == 64:
        lines += [f"\tv_accvgpr_write_b32 a{k}, v{10 + k}" for k in range(SOURCES)]
    else:
        lines.append("\ts_mov_b32 vcc_hi, 0")
    lines += ["\tv_cmp_gt_u32 vcc, 0x80000000, v17", f"\t{case.text}", _wait(arch), "\tv_lshlrev_b32 v1, 6, v0"]
    if arch == "gfx1201":
        lines[-2] = lines[-2] + "\n\ts_wait_dscnt 0"
    lines += [f"\tglobal_store_{store} v1, v{20 + k}, s[6:7] offset:{4 * k}" for k in range(case.results)]
    return "\n".join(lines).replace("vcc, 0x8", "vcc_lo, 0x8" if LANES[arch] == 32 else "vcc, 0x8")


def run_cases(arch: str, cases: Sequence[Case], inputs: Words, folder: Path, emulator: Emulator) -> list[Words]:
    """The results of each case, as [register][lane]. `inputs` is [lane][source]."""
    extra = ".amdhsa_accum_offset 256" if LANES[arch] == 64 else ".amdhsa_wavefront_size32 1"
    text = "".join(
        _KERNEL.format(arch=arch, name=f"case{at}", body=_body(arch, case), extra=extra)
        for at, case in enumerate(cases)
    )
    source, target = folder / f"{arch}.s", folder / f"{arch}.co"
    source.write_text(re.sub(r"\n\t\n", "\n", text))
    command = (*find_toolchain().device_compiler(arch), "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}")
    done = subprocess.run(
        (*command, "-x", "assembler", str(source), "-o", str(target)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    code, found = CodeObject.read(target), []
    for at, case in enumerate(cases):
        memory, out = Memory(), np.zeros((LANES[arch], 16), np.uint32)
        addresses = memory.add("in", inputs, writable=False), memory.add("out", out, writable=True)
        prepared = emulator.prepare(code, f"case{at}")
        emulator.launch(prepared, arch, 1, LANES[arch], struct.pack("<QQ", *addresses), memory, Schedule(False, 1))
        found.append(np.ascontiguousarray(out[:, : case.results].T))
    return found
