"""Small kernels in assembly, executed by the emulator and replayed by the cycle model."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np

from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.cycles.replay import Records, read_records
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Emulator, Memory, Prepared, Schedule
from ckgen.machine_code.emulator.trace import Trace
from tests.support.host_library import ROOT

FOLDER = ROOT / "build/test-objects/handlers"
_KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{body}
\ts_endpgm
.rodata
.p2align 6
.amdhsa_kernel kernel
\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t.amdhsa_next_free_vgpr 128
\t.amdhsa_next_free_sgpr 32
\t.amdhsa_group_segment_fixed_size 32768
\t.amdhsa_float_denorm_mode_32 3
\t{extra}
.end_amdhsa_kernel
"""


def execute(folder: Path, arch: str, lines: list[str], waves: int = 1) -> Records:
    """The records of one workgroup. v0 is the thread, s[0:1] the address of a pointer to 64 KiB."""
    return read_records(*_run(folder, arch, lines, waves)[:2], arch)


def traced(folder: Path, arch: str, lines: list[str], waves: int) -> tuple[Trace, int]:
    """The trace of one workgroup, and the number of wave instructions of a launch that is not recorded."""
    _, trace, steps = _run(folder, arch, lines, waves)
    return trace, steps


def _run(folder: Path, arch: str, lines: list[str], waves: int) -> tuple[Prepared, Trace, int]:
    wave = 64 if arch.startswith("gfx9") else 32
    extra = ".amdhsa_accum_offset 128" if wave == 64 else ".amdhsa_wavefront_size32 1"
    source, target = folder / "kernel.s", folder / "kernel.co"
    body = "\n".join(line if line.endswith(":") else f"\t{line}" for line in lines)
    source.write_text(_KERNEL.format(arch=arch, body=body, extra=extra))
    command = (*find_toolchain().device_compiler(arch), "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}")
    done = subprocess.run(
        (*command, "-x", "assembler", str(source), "-o", str(target)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    memory = Memory()
    pointer = memory.add("data", np.zeros(1 << 16, np.uint8), writable=False)
    emulator = Emulator(FOLDER)
    prepared = emulator.prepare(CodeObject.read(target), "kernel")
    size, arguments = waves * wave, struct.pack("<Q", pointer)
    steps = emulator.launch(prepared, arch, 1, size, arguments, memory, Schedule(False, 1)).steps
    return prepared, emulator.traced(prepared, arch, 1, size, arguments, memory), steps
