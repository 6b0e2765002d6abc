"""Run one C source as machine code on the emulator and natively, and compare every output word.

python -m tests.machine_code.emulator.compare [--arch GFX]... [--first SEED] [--count N]
"""

from __future__ import annotations

import argparse
import ctypes
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckgen.build.cmake import DEVICE_FLAGS
from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.decode import FAMILIES
from ckgen.machine_code.emulator.launch import Emulator, Memory, Schedule
from ckgen.machine_code.emulator.unsupported import Unsupported
from tests.machine_code.emulator.random_kernels import INPUTS, OUTPUTS, RandomKernel, make

THREADS = 160  # two workgroups and a half: the last one has inactive lanes
_SPECIAL = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x8000, 0x3F800000, 0x7F7FFFFF, 255, 256)
Words = NDArray[np.uint32]


def inputs(seed: int) -> Words:
    """Random words, some of them special."""
    chance = np.random.default_rng(seed)
    words = chance.integers(0, 1 << 32, (THREADS, INPUTS), dtype=np.uint32)
    special = chance.random(words.shape) < 0.2
    words[special] = chance.choice(np.array(_SPECIAL, np.uint32), int(special.sum()))
    return words


def native(kernel: RandomKernel, folder: Path, words: Words) -> Words:
    """The outputs of the kernel compiled for this machine, by the clang that compiles device code."""
    source, library = folder / f"{kernel.seed}.cpp", folder / f"{kernel.seed}.so"
    source.write_text(kernel.host)
    compiler = find_toolchain().assembly_compiler("gfx942")
    flags = ("-O1", "-std=c++17", "-ffp-contract=off", "-fwrapv", "-mf16c", "-mfma", "-shared", "-fPIC", "-w")
    subprocess.run((*compiler, *flags, str(source), "-o", str(library)), check=True, capture_output=True)
    out = np.zeros((THREADS, OUTPUTS), np.uint32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (words, out)]
    ctypes.CDLL(str(library)).kernel(*pointers, ctypes.c_uint32(THREADS))
    return out


def compiled(kernel: RandomKernel, folder: Path, arch: str) -> CodeObject:
    """The kernel as a code object."""
    source, target = folder / f"{kernel.seed}.hip", folder / f"{kernel.seed}-{arch}.co"
    source.write_text(kernel.device)
    flags = [flag for flag in DEVICE_FLAGS if not flag.startswith("-DCKGEN")]
    command = (*find_toolchain().device_compiler(arch), f"--offload-arch={arch}", *flags, "-w", "-ffp-contract=off")
    done = subprocess.run((*command, "-c", str(source), "-o", str(target)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return CodeObject.read(target)


def emulated(emulator: Emulator, code: CodeObject, words: Words) -> Words:
    """The outputs of the code object."""
    memory, out = Memory(), np.zeros((THREADS, OUTPUTS), np.uint32)
    addresses = memory.add("in", words, writable=False), memory.add("out", out, writable=True)
    arguments = struct.pack("<QQI4x", *addresses, THREADS)
    prepared = emulator.prepare(code, "kernel")
    emulator.launch(prepared, code.arch, -(-THREADS // 64), 64, arguments, memory, Schedule(True, 3))
    memory.need_written("out")
    return out


def difference(emulator: Emulator, seed: int, arch: str, folder: Path) -> str:
    """The first difference between the two results of a kernel; empty if there is none."""
    kernel, words = make(seed), inputs(seed)
    wanted = native(kernel, folder, words)
    found = emulated(emulator, compiled(kernel, folder, arch), words)
    wrong = np.argwhere(wanted != found)
    if not wrong.size:
        return ""
    thread, at = wrong[0]
    return (
        f"seed {seed}, {arch}: thread {thread}, out[{at}] is {found[thread, at]:#x}, natively {wanted[thread, at]:#x}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", action="append", choices=tuple(FAMILIES))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=Path("build/emulator"))
    options = parser.parse_args()
    emulator, failed = Emulator(options.folder / "handlers"), 0
    for seed in range(options.first, options.first + options.count):
        for arch in options.arch or FAMILIES:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    said = difference(emulator, seed, arch, Path(folder))
                except Unsupported as error:
                    said = f"seed {seed}, {arch}: {error}"
            failed += bool(said)
            if said:
                print(said, flush=True)
    print(f"{options.count} kernels, {failed} different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
