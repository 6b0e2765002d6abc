"""Run random C kernels as machine code on the emulator and natively, and compare every output word.

scripts/emulator_trust.py runs thousands of them.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckgen.build.cmake import DEVICE_FLAGS
from ckgen.build.toolchain import find_toolchain
from ckgen.machine_code.emulator.code_object import CodeObject
from ckgen.machine_code.emulator.launch import Emulator, Fault, Memory, Schedule
from ckgen.machine_code.emulator.unsupported import Unsupported
from tests.machine_code.emulator.names import names_of
from tests.machine_code.emulator.random_kernels import (
    GROUP,
    INPUTS,
    OUTPUTS,
    RandomKernel,
    device_source,
    host_source,
    make,
)
from tests.machine_code.emulator.single import LANES

_SPECIAL = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x8000, 0x3F800000, 0x7F7FFFFF, 255, 256)
# Every operation of 16-bit floats is rounded, on both sides.
_ROUNDED = (
    "-ffp-contract=off",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-Xclang",
    "-fbfloat16-excess-precision=none",
)
Words = NDArray[np.uint32]


@dataclass
class Result:
    """A comparison: the differences, the kernels that the emulator refused to run, and for each instruction
    the kernels and the values that it took part in (threads of the kernels that contain it)."""

    said: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    kernels: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)

    def add(self, other: Result) -> None:
        """Take another result in."""
        self.said += other.said
        self.refused += other.refused
        self.kernels += other.kernels
        self.values += other.values


def inputs(seed: int) -> Words:
    """Random words, some of them special."""
    chance = np.random.default_rng(seed)
    words = chance.integers(0, 1 << 32, (3 * GROUP, INPUTS), dtype=np.uint32)
    special = chance.random(words.shape) < 0.2
    words[special] = chance.choice(np.array(_SPECIAL, np.uint32), int(special.sum()))
    return words


class Native:
    """Kernels compiled for this machine, by the clang that compiles device code."""

    def __init__(self, kernels: Sequence[RandomKernel], folder: Path) -> None:
        source, library = folder / f"{kernels[0].seed}.cpp", folder / f"{kernels[0].seed}.so"
        source.write_text(host_source(kernels))
        compiler = find_toolchain().assembly_compiler("gfx942")
        flags = ("-O1", "-std=c++17", *_ROUNDED, "-fwrapv", "-mf16c", "-mfma", "-shared", "-fPIC", "-w")
        done = subprocess.run((*compiler, *flags, str(source), "-o", str(library)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
        self._library = ctypes.CDLL(str(library))

    def run(self, kernel: RandomKernel, words: Words, wave: int) -> Words:
        """The outputs of a kernel in which `wave` threads are a wave."""
        out = np.zeros((kernel.count, OUTPUTS), np.uint32)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (words, out)]
        self._library[f"k{kernel.seed}"](*pointers, ctypes.c_uint32(kernel.count), ctypes.c_uint32(wave))
        return out


def compiled(kernels: Sequence[RandomKernel], folder: Path, arch: str) -> CodeObject:
    """The kernels as a code object."""
    source, target = folder / f"{kernels[0].seed}.hip", folder / f"{kernels[0].seed}-{arch}.co"
    source.write_text(device_source(kernels))
    flags = [flag for flag in DEVICE_FLAGS if not flag.startswith("-DCKGEN")]
    command = (*find_toolchain().device_compiler(arch), f"--offload-arch={arch}", *flags, "-w", *_ROUNDED)
    done = subprocess.run((*command, "-c", str(source), "-o", str(target)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return CodeObject.read(target)


def compare(
    emulator: Emulator, seeds: Iterable[int], archs: Iterable[str], folder: Path
) -> Iterator[tuple[str, Result]]:
    """Compile the kernels of some seeds as one source and compare them, architecture by architecture."""
    kernels = [make(seed) for seed in seeds]
    native = Native(kernels, folder)
    for arch in archs:
        code, result = compiled(kernels, folder, arch), Result()
        emulator.compile(code, lenient=True)
        for kernel in kernels:
            try:
                said, names = _difference(emulator, native, kernel, code)
            except Unsupported as error:
                result.refused.append(f"seed {kernel.seed}, {arch}: {error}")
                continue
            except Fault as error:
                said, names = str(error), set()
            if said:
                result.said.append(f"seed {kernel.seed}, {arch}: {said}")
            else:
                result.kernels.update(names)
                result.values.update(dict.fromkeys(names, kernel.count))
        yield arch, result


def _difference(emulator: Emulator, native: Native, kernel: RandomKernel, code: CodeObject) -> tuple[str, set[str]]:
    """The first difference between the results of a kernel, empty if there is none, and its instructions."""
    words = inputs(kernel.seed)
    wanted = native.run(kernel, words, LANES[code.arch])
    memory, found = Memory(), np.zeros((kernel.count, OUTPUTS), np.uint32)
    addresses = memory.add("in", words, writable=False), memory.add("out", found, writable=True)
    prepared = emulator.prepare(code, f"k{kernel.seed}")
    arguments = struct.pack("<QQI4x", *addresses, kernel.count)
    emulator.launch(prepared, code.arch, -(-kernel.count // GROUP), GROUP, arguments, memory, Schedule(True, 3))
    memory.need_written("out")
    names = {name for item in prepared.code for name in names_of(item)}
    wrong = np.argwhere(wanted != found)
    if not wrong.size:
        return "", names
    thread, at = wrong[0]
    return f"thread {thread}, out[{at}] is {found[thread, at]:#x}, natively {wanted[thread, at]:#x}", names
