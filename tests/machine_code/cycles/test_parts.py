"""Parts of the cycle model on records made by hand, without a compiler."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ckgen.hardware.timing import MAX_LOADS, TIMINGS
from ckgen.machine_code.cycles.access import LdsAccess, MemoryAccess
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.cycles.operation import (
    LDS,
    LDS_QUEUE,
    LOADS,
    MEMORY_UNIT,
    NO_UNIT,
    VECTOR,
    Operation,
)
from ckgen.machine_code.cycles.result import measure
from ckgen.machine_code.cycles.timeline import timeline
from ckgen.machine_code.cycles.unit import ComputeUnit, Record
from ckgen.machine_code.cycles.wave import COUNTER_FULL, WAITS
from ckgen.machine_code.emulator.instruction import ALU, BARRIER, BARRIER_WAIT, END, MEMORY, WAIT

END_OF_WAVE = Operation("s_endpgm()", "other", NO_UNIT, END)
BARRIERS = Operation("s_barrier()", "barrier", NO_UNIT, BARRIER)
LOAD = Operation("load", "load", MEMORY_UNIT, MEMORY, lane_bytes=4, queue=LOADS)
READ = Operation("read", "lds", LDS, MEMORY, lane_bytes=16, queue=LDS_QUEUE)
WAIT_LOADS = Operation("wait loads", "wait", NO_UNIT, WAIT, wait=(0, None, None, None))
WAIT_LDS = Operation("wait LDS", "wait", NO_UNIT, WAIT, wait=(None, None, 0, None))
MATRIX = Operation("mfma", "matrix", VECTOR, ALU, busy=4, matrix=32, latency=48)
ADD = Operation("add", "vector", VECTOR, ALU, busy=4, latency=4)
LINE = MemoryAccess(4, (7,))
WHOLE = LdsAccess(4, 8, 0, 16)


def step(matrix: int) -> Record:
    """A step of a main loop: a load, a read from LDS, a few products, and a barrier."""
    body = [(LOAD, LINE), (READ, WHOLE), (WAIT_LDS, None), *[(MATRIX, None)] * matrix, (WAIT_LOADS, None)]
    return [*body, (BARRIERS, None)]


def loop(steps: int, matrix: int) -> Record:
    return [*list(step(matrix)) * steps, (END_OF_WAVE, None)]


def placed(record: Record) -> Record:
    """Each operation at a place of its own, so that no branch seems to be taken."""
    return [(replace(operation, place=at), access) for at, (operation, access) in enumerate(record)]


def test_a_loop_is_measured_and_nothing_is_lost() -> None:
    unit = ComputeUnit("gfx942", [[placed(loop(20, 8))] * 4])
    unit.run()
    result = measure(unit, work="matrix", per_step=8, has_load_waves=False, most_places=3)
    (role,) = result.roles
    assert result.groups == 1 and (role.role, role.waves) == ("main", 4)
    assert 8 * 32 < result.cycles_per_tile < 8 * 32 + 250
    assert role.instructions == pytest.approx(13, rel=0.02)
    assert role.issuing + sum(role.stalls.values()) == pytest.approx(result.cycles_per_step, rel=0.01)
    assert result.matrix_busy == pytest.approx(8 * 32 / result.cycles_per_tile, rel=0.02)
    assert len(result.places) == 3


def test_a_second_workgroup_fills_the_gaps_of_the_first() -> None:
    results = []
    for groups in (1, 2):
        unit = ComputeUnit("gfx942", [[placed(loop(30, 8))] * 4] * groups)
        unit.run()
        results.append(measure(unit, work="matrix", per_step=8, has_load_waves=False, most_places=1))
    one, two = results
    assert 8 * 32 <= two.cycles_per_tile < 0.85 * one.cycles_per_tile
    assert two.cycles_per_step == 2 * two.cycles_per_tile
    assert two.matrix_busy > 1.15 * one.matrix_busy


def test_load_waves_and_math_waves_have_roles() -> None:
    math = placed([*[(MATRIX, None), (BARRIERS, None)] * 20, (END_OF_WAVE, None)])
    load = placed([*[(LOAD, LINE), (WAIT_LOADS, None), (BARRIERS, None)] * 20, (END_OF_WAVE, None)])
    unit = ComputeUnit("gfx942", [[load] * 4 + [math] * 4])
    unit.run()
    result = measure(unit, work="matrix", per_step=1, has_load_waves=True, most_places=8)
    assert [(role.role, role.waves) for role in result.roles] == [("load", 4), ("math", 4)]
    loads, maths = result.roles
    assert max(loads.stalls, key=lambda reason: loads.stalls[reason]) == WAITS[0]
    assert maths.stalls["barrier"] > 80, "math waves wait for the load waves, which wait for their loads"
    picture = ElementTree.fromstring(timeline(unit, result, True, "a < b"))
    texts = [item.text for item in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "a < b" and "SIMD 3, workgroup 0, math" in texts


def test_a_loop_that_is_too_short_is_refused() -> None:
    unit = ComputeUnit("gfx942", [[placed(loop(3, 8))]])
    unit.run()
    with pytest.raises(ValueError, match="too few"):
        measure(unit, work="matrix", per_step=8, has_load_waves=False, most_places=1)


def test_waves_that_wait_for_ever_are_found() -> None:
    """A wait for a barrier that nobody signals, as gfx12 could have it."""
    wait = Operation("s_barrier_wait", "barrier", NO_UNIT, BARRIER_WAIT)
    unit = ComputeUnit("gfx1201", [[placed([(wait, None), (ADD, None), (END_OF_WAVE, None)])]])
    with pytest.raises(AssertionError, match="wait at a barrier for ever"):
        unit.run()


def test_loads_stop_when_the_counter_is_full() -> None:
    lines = [(LOAD, MemoryAccess(4, (at,))) for at in range(MAX_LOADS + 20)]
    unit = ComputeUnit("gfx942", [[placed([*lines, (END_OF_WAVE, None)])]], Source.MEMORY)
    unit.run()
    (wave,) = unit.groups[0].waves
    assert sum(stall.cycles for stall in wave.stalls if stall.reason == COUNTER_FULL) > 500


def test_memory_is_shared_with_the_other_compute_units() -> None:
    """1,000 lines at the bandwidth of one unit's share."""
    lines = [(LOAD, MemoryAccess(4, tuple(range(20 * at, 20 * at + 20)))) for at in range(50)]
    record = placed([*lines, (WAIT_LOADS, None), (END_OF_WAVE, None)])
    timing = TIMINGS["gfx942"]
    for source, rate in ((Source.L2, timing.l2_rate), (Source.MEMORY, timing.memory_rate)):
        unit = ComputeUnit("gfx942", [[record]], source)
        unit.run()
        least = 1000 * timing.l1_line / rate
        assert least < unit.end < least + timing.memory_latency + 100
        assert (unit.memory.misses, unit.memory.cold) == (1000, 1000 if source is Source.MEMORY else 0)
