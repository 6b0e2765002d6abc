"""A kernel launch: workgroups run one after another, their waves alternately."""

from __future__ import annotations

import numpy as np

from tests.machine.code_object import CodeObject
from tests.machine.engine import Engine, run_step
from tests.machine.memory import Fault, Lds, Memory
from tests.machine.wave import Wave

MAX_STEPS = 20_000_000  # per workgroup; more means an endless loop


def launch(
    engine: Engine,
    code: CodeObject,
    name: str,
    blocks: int,
    threads: int,
    arguments: bytes,
    memory: Memory,
    *,
    lazy: bool,
    seed: int,
) -> int:
    """Run `blocks` workgroups of `threads` threads and return the number of wave instructions executed.

    `memory` holds all arrays that the arguments point to. With `lazy`, loads arrive only when a wait requires them.
    Seed 0 runs each wave up to a barrier, in order; other seeds shuffle the order and the number of steps between
    switches. Raise Fault, with workgroup, wave and instruction, for everything that the code must not do.
    """
    kernel = code.kernels[name]
    if kernel.scratch_bytes:
        raise NotImplementedError(f"{name} uses scratch")
    struct = np.frombuffer(arguments, np.uint8).copy()
    kernarg = memory.add("the kernel's arguments", struct, writable=False)
    done = 0
    for block in range(blocks):
        random = np.random.default_rng([seed, block])
        lds = Lds(kernel.lds_bytes, random)
        waves = []
        for first in range(0, threads, kernel.wave_size):
            lanes = min(kernel.wave_size, threads - first)
            wave = Wave(engine.emulator, kernel.wave_size, first, lanes, memory, lds, random)
            wave.pc = kernel.entry
            wave.scalar[kernel.kernarg_register] = kernarg & 0xFFFFFFFF
            wave.scalar[kernel.kernarg_register + 1] = kernarg >> 32
            wave.scalar[kernel.user_registers] = block
            waves.append(wave)
        done += _run_workgroup(
            engine, waves, lazy, random if seed else None, f"{name}: workgroup {block}", kernel.entry
        )
    return done


def _run_workgroup(
    engine: Engine, waves: list[Wave], lazy: bool, random: np.random.Generator | None, where: str, entry: int
) -> int:
    running, at_barrier, steps = list(waves), list[Wave](), 0
    while running:
        index = 0 if random is None else int(random.integers(len(running)))
        turn = MAX_STEPS if random is None else int(random.integers(8, 400))
        wave = running[index]
        stop, used = _take_turn(engine, wave, turn, lazy, f"{where}, wave {wave.first // wave.size}", entry)
        steps += used
        if steps > MAX_STEPS:
            raise Fault(f"{where} does not end")
        if stop:
            running.pop(index)
        if stop == "barrier":
            at_barrier.append(wave)
        if not running:  # all waves that have not ended are at the barrier
            running, at_barrier = at_barrier, []
    return steps


def _take_turn(engine: Engine, wave: Wave, turn: int, lazy: bool, where: str, entry: int) -> tuple[str, int]:
    """Run up to `turn` instructions of a wave; return the reason why it stopped (empty: `turn` is reached) and their
    number."""
    for used in range(1, turn + 1):
        pc = wave.pc
        try:
            step = engine.step(pc)
            run_step(wave, step, pc, lazy)
        except Fault as fault:
            raise Fault(f"{where}, byte {pc - entry}: {fault}") from fault
        if step.stop in ("barrier", "end"):
            return step.stop, used
    return "", turn
