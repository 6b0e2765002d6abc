"""Recorded launches on the emulator, and the time of a launch's main loop in the model of a compute unit.

A kernel of others has no instance that would name its tile and the roles of its waves. The tile is the caller's to say;
waves of one workgroup that multiply and load equally often have one role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ckgen.hardware.compute_units import UNITS
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.replay import Records, read_records
from ckgen.machine_code.cycles.result import Result, measure
from ckgen.machine_code.cycles.unit import ComputeUnit
from ckgen.machine_code.cycles.wave import Wave
from ckgen.machine_code.emulator.launch import Emulator, Memory, Schedule
from ckgen.machine_code.programs.program import Fill, Launch, Program

_PRODUCT = re.compile(r"v_mfma_\w+?_(\d+)x(\d+)x(\d+)", re.IGNORECASE)
_SHARES = 8  # counts that differ by less than an eighth of the largest are equal


@dataclass(frozen=True)
class Timed:
    """The simulations of one launch, by where its inputs come from. `bound` is the least number of cycles per tile that
    the matrix units of the compute unit take. `turned`, if the waves have different roles, has the simulations in which
    each workgroup begins on another SIMD than the one before."""

    kernel: str
    workgroups: int
    waves: int
    bound: float
    results: dict[Source, Result]
    turned: dict[Source, Result]


def execute(
    emulator: Emulator, program: Program, steps: Sequence[Launch | Fill], memory: Memory, schedule: Schedule
) -> int:
    """Run what a program asked for, in order; return the number of wave instructions. Raises Fault."""
    done = 0
    for step in steps:
        if isinstance(step, Fill):
            memory.fill(step.address, step.value, step.size)
            continue
        prepared = emulator.prepare(program.code, step.kernel)
        extents = step.grid[:2]
        done += emulator.launch(
            prepared,
            program.arch,
            step.blocks,
            step.block[0],
            step.arguments,
            memory,
            schedule,
            extents=extents,
        ).steps
    return done


def main_launch(program: Program, steps: Sequence[Launch | Fill]) -> Launch:
    """The launch of the kernel with the most matrix instructions."""
    launches = [step for step in steps if isinstance(step, Launch)]
    return max(launches, key=lambda step: sum(i.kind == "matrix" for i in program.kernels[step.kernel].instructions))


def simulate(
    emulator: Emulator,
    program: Program,
    steps: Sequence[Launch | Fill],
    memory: Memory,
    tile: tuple[int, int, int],
    most_places: int,
) -> Timed:
    """Simulate the main loop of the launch with the most matrix instructions. A step of the loop works on `tile`, the
    rows, columns and depth of a product. Raises Fault, or ValueError if the loop has too few steps."""
    launch, unit = main_launch(program, steps), UNITS[program.arch]
    execute(emulator, program, steps[: steps.index(launch)], memory, Schedule(False, 1))
    records = _records(emulator, program, launch, memory)
    per_step, cycles = _matrix_work(records, tile)

    def measured(source: Source, turned: int) -> Result:
        simulated = records.simulate(source, turned)
        return measure(
            simulated,
            work="matrix",
            per_step=per_step,
            has_load_waves=_has_load_waves(simulated),
            most_places=most_places,
            role=roles_of(simulated),
        )

    waves, bound = len(records.groups[0]), per_step * cycles * _math_waves(records) / unit.simds
    results = {source: measured(source, 0) for source in Source}
    roles = len(results[Source.L2].roles)
    groups = len(records.groups)
    return Timed(launch.kernel, groups, waves, bound, results, {s: measured(s, 1) for s in Source if roles > 1})


def _records(emulator: Emulator, program: Program, launch: Launch, memory: Memory) -> Records:
    """The records of the workgroups of a launch that are resident on a compute unit."""
    resources, threads = program.kernels[launch.kernel].resources, launch.block[0]
    resident = workgroups_per_unit(
        UNITS[program.arch],
        vgprs=resources.vgprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        threads=threads,
    )
    prepared = emulator.prepare(program.code, launch.kernel)
    blocks, extents = min(launch.blocks, max(1, resident)), launch.grid[:2]
    trace = emulator.traced(prepared, program.arch, blocks, threads, launch.arguments, memory, extents)
    return read_records(prepared, trace, program.arch)


def roles_of(unit: ComputeUnit) -> Callable[[Wave], str]:
    """A name for each wave: the numbers of the waves of a workgroup that multiply and load about equally often."""
    alike: dict[tuple[int, ...], list[int]] = {}
    counts = {
        wave.number: [sum(operation.kind == kind for operation, _ in wave.record) for kind in ("matrix", "load")]
        for wave in unit.groups[0].waves
    }
    most = [max(1, *column) for column in zip([1, 1], *counts.values(), strict=True)]
    for number, found in counts.items():
        key = tuple(round(_SHARES * value / top) for value, top in zip(found, most, strict=True))
        alike.setdefault(key, []).append(number)
    if len(alike) == 1:
        return lambda _: "main"
    names = {number: _name(numbers) for numbers in alike.values() for number in numbers}
    return lambda wave: names[wave.number]


def _name(numbers: Sequence[int]) -> str:
    runs = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"waves {numbers[0]}-{numbers[-1]}" if runs else f"wave {', '.join(map(str, numbers))}"


def _math_waves(records: Records) -> int:
    return sum(any(operation.matrix for operation, _ in record) for record in records.groups[0])


def _has_load_waves(unit: ComputeUnit) -> bool:
    return any(not any(operation.matrix for operation, _ in wave.record) for wave in unit.groups[0].waves)


def _matrix_work(records: Records, tile: tuple[int, int, int]) -> tuple[int, int]:
    """Matrix instructions of a wave per step, and the cycles of one."""
    texts = {(operation.text, operation.matrix) for operation in records.operations if operation.matrix}
    found = {(prod(map(int, match.groups())), cycles) for text, cycles in texts if (match := _PRODUCT.search(text))}
    if len(found) != 1:
        raise ValueError(f"the kernel has matrix instructions of {len(found)} sizes")
    ((products, cycles),) = found
    return prod(tile) // (products * _math_waves(records)), cycles
