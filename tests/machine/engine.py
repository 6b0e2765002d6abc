"""Bind instructions to actions on a wave: memory and matrix instructions are this package's, all others tinygrad's."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.machine import accesses, matrix
from tests.machine.accesses import Action, bits
from tests.machine.memory import Fault
from tests.machine.wave import Wave

_PAUSES = ("S_NOP", "S_CLAUSE", "S_DELAY_ALU", "S_SETPRIO", "S_SLEEP", "S_SENDMSG", "S_INST_PREFETCH")
_PAUSES += ("S_SET_INST_PREFETCH", "S_ICACHE_INV", "S_DCACHE_INV", "S_WAITCNT_VSCNT", "S_WAITCNT_DEPCTR")
_PAUSES += ("S_SET_GPR_IDX_OFF", "S_TTRACEDATA", "BUFFER_GL0_INV", "BUFFER_GL1_INV", "BUFFER_INV", "BUFFER_WBL2")
# gfx90a's matrix instructions whose numbers later CDNA reuses for other instructions; tinygrad decodes the later ones.
_GFX90A_NAMES = {0x66: "V_MFMA_F32_32X32X8_BF16_1K", 0x67: "V_MFMA_F32_16X16X16_BF16_1K"}
_VOP3P = 0b110100
_DS, _FLAT, _MUBUF, _SMEM = 0b110110, 0b110111, 0b111000, {"cdna": 0b110000, "rdna3": 0b111101}


@dataclass(frozen=True)
class Step:
    """An instruction bound to its address: its action, its bytes, and whether the wave stops after it."""

    name: str
    size: int
    action: Action
    stop: str  # "barrier", "end" or empty


def load_tinygrad(source: Path) -> ModuleType:
    """tinygrad's emulator module from a checkout. Raise ImportError if the folder is not one."""
    if not (source / "test" / "mockgpu" / "amd" / "emu.py").is_file():
        raise ImportError(f"{source} is not a checkout of tinygrad with test/mockgpu/amd/emu.py")
    # tinygrad and Python both have modules called `test`: the checkout must come first.
    sys.path.insert(0, os.fspath(source))
    try:
        sys.modules.pop("test", None)
        return importlib.import_module("test.mockgpu.amd.emu")
    finally:
        sys.path.remove(os.fspath(source))
        sys.path.append(os.fspath(source))  # later imports of tinygrad use the package name tinygrad


class Engine:
    """Decoder and binder of instructions of one architecture family, "cdna" or "rdna3"; it caches bound
    instructions."""

    def __init__(self, emulator: ModuleType, arch: str, is_gfx90a: bool) -> None:
        self.emulator, self.arch, self.is_gfx90a = emulator, arch, is_gfx90a
        self.decode = importlib.import_module("tinygrad.renderer.amd").decode_inst
        self._rdna3 = importlib.import_module("tinygrad.runtime.autogen.amd.rdna3.ins")
        self._steps: dict[int, Step] = {}

    def step(self, pc: int) -> Step:
        """The instruction at an address."""
        known = self._steps.get(pc)
        if known is None:
            known = self._steps[pc] = self._bind(pc)
        return known

    def forget(self) -> None:
        """Clear the cache: another code object may be loaded at the same addresses."""
        self._steps.clear()

    def _bind(self, pc: int) -> Step:
        data = ctypes.string_at(pc, 16)
        raw, kind = int.from_bytes(data[:8], "little"), data[3] >> 2
        if kind == _MUBUF and self.arch == "rdna3":  # tinygrad does not decode these
            name = self._rdna3.MUBUFOp(bits(raw, 18, 25)).name
            if name in _PAUSES:
                return Step(name, 8, _nothing, "")
            return Step(name, 8, accesses.buffer_access(name, raw, False), "")
        instruction = self.decode(data, self.arch)
        name, size = self.emulator._op_name(instruction), instruction.size()
        action, stop = self._action(name, instruction, raw, kind, data)
        return Step(name, size, action, stop)

    def _action(self, name: str, instruction: Any, raw: int, kind: int, data: bytes) -> tuple[Action, str]:
        is_cdna = self.arch == "cdna"
        if name == "S_ENDPGM":
            return _nothing, "end"
        if name == "S_BARRIER":
            return _nothing, "barrier"
        if name == "S_WAITCNT":
            return _wait(bits(raw, 0, 15), is_cdna), ""
        if name in _PAUSES:
            return _nothing, ""
        if kind == _DS and "PERMUTE" not in name and "SWIZZLE" not in name:
            return accesses.lds_access(name, raw, is_cdna), ""
        if kind == _FLAT and not name.startswith("SCRATCH"):
            return accesses.global_access(name, raw, is_cdna), ""
        if kind == _MUBUF:
            return accesses.buffer_access(name, raw, is_cdna), ""
        if kind == _SMEM[self.arch]:
            return accesses.scalar_load(name, raw, is_cdna), ""
        if kind == _VOP3P and self.is_gfx90a:
            name = _GFX90A_NAMES.get(bits(raw, 16, 22), name)
        if name.startswith(("V_MFMA", "V_SMFMAC")):
            return _mfma(name, raw), ""
        return self._compiled(instruction, data), "self"

    def _compiled(self, instruction: Any, data: bytes) -> Action:
        program, runtime = self.emulator._get_runner(data[: instruction.size() + 4], self.arch)
        run, arguments = runtime.fxn, tuple(program.arg.globals)

        def action(wave: Wave, lazy: bool) -> None:
            run(*[wave.buffers[number] for number in arguments])

        return action


def _nothing(wave: Wave, lazy: bool) -> None:
    """Ignore pauses, hints and cache control, which have no effect in a model without time."""


def _wait(immediate: int, is_cdna: bool) -> Action:
    """s_waitcnt: wait until at most the given numbers of memory and LDS operations are pending."""
    if is_cdna:
        loads, lds_loads = bits(immediate, 0, 3) | bits(immediate, 14, 15) << 4, bits(immediate, 8, 11)
    else:
        loads, lds_loads = bits(immediate, 10, 15), bits(immediate, 4, 9)

    def action(wave: Wave, lazy: bool) -> None:
        land(wave.loads, loads)
        land(wave.lds_loads, lds_loads)

    return action


def land(waiting: deque[Callable[[], None]], left: int) -> None:
    """Complete the oldest pending operations until `left` are left."""
    while len(waiting) > left:
        waiting.popleft()()


def _mfma(name: str, raw: int) -> Action:
    shape = matrix.shape_of(name)
    if shape is None:
        raise NotImplementedError(name)
    size, depth, kind = shape
    if bits(raw, 8, 14) or bits(raw, 61, 63):
        raise NotImplementedError(f"{name} with broadcast or permuted inputs")
    inputs = depth * size // 64 * (4 if kind == "F32" else 2) // 4
    target, c_field = bits(raw, 0, 7), bits(raw, 50, 58)
    results = size * size // 64

    def operand(wave: Wave, field: int, accumulators: int, count: int) -> matrix.U32:
        if field < 256:
            return np.tile(wave.scalar[field], (count, 64))
        return wave.file(accumulators)[field - 256 : field - 256 + count].copy()

    def action(wave: Wave, lazy: bool) -> None:
        a = operand(wave, bits(raw, 32, 40), bits(raw, 59, 59), inputs)
        b = operand(wave, bits(raw, 41, 49), bits(raw, 60, 60), inputs)
        in_accumulators = bits(raw, 15, 15)
        c = operand(wave, c_field, in_accumulators, results)
        wave.file(in_accumulators)[target : target + results] = matrix.multiply(shape, a, b, c)

    return action


def run_step(wave: Wave, step: Step, pc: int, lazy: bool) -> None:
    """Execute one instruction; tinygrad's actions advance the program counter themselves. Raise Fault with the
    instruction's name."""
    try:
        step.action(wave, lazy)
    except Fault as fault:
        raise Fault(f"{step.name} {fault}") from fault
    if step.stop != "self":
        wave.pc = pc + step.size
