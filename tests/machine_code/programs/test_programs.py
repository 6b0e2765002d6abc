"""A HIP program of another author on the emulator: what it launches, its results, and the time of its loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.errors import CkgenError
from ckgen.machine_code.cycles.memory import Source
from ckgen.machine_code.emulator.launch import Emulator, Fault, Memory, Schedule
from ckgen.machine_code.programs.program import Fill, Launch, Program, Run, compile_program
from ckgen.machine_code.programs.simulation import execute, main_launch, simulate
from tests.support.host_library import ROOT

pytestmark = [pytest.mark.compiles, pytest.mark.quick]
SOURCE = ROOT / "tests/data/hip_program/program.cpp"
FLAGS = ("-nogpuinc", "-std=c++17", "-munsafe-fp-atomics", "-Wno-unused-command-line-argument")
EMULATOR = Emulator(ROOT / "build/test-objects/handlers")
ARCHS = ("gfx942", "gfx90a")
GROUPS, STEPS = 6, 24


class Arrays:
    """The arrays of the program, in the order of its command line, poisoned where it writes."""

    def __init__(self) -> None:
        chance, self.memory = np.random.default_rng(5), Memory()
        self.given = chance.normal(size=24 * 64).astype(np.float32)
        self.a, self.b = (chance.integers(-3, 4, (STEPS, 32, 8)).astype(np.float16) for _ in range(2))
        self.numbered = np.full(24 * 64, np.nan, np.float32)
        self.sums = np.full((32, 32), np.nan, np.float32)
        self.addresses = [
            self.memory.add(name, array, writable=name in ("numbered", "sums"))
            for name, array in (
                ("given", self.given),
                ("numbered", self.numbered),
                ("a", self.a),
                ("b", self.b),
                ("sums", self.sums),
            )
        ]

    def run(self, program: Program) -> Run:
        return program.run(*map(hex, self.addresses))


@pytest.fixture(scope="module", params=ARCHS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compile_program(SOURCE, request.param, tmp_path_factory.mktemp("program"), flags=FLAGS)


def test_launches_and_memsets_are_recorded_in_order(program: Program) -> None:
    arrays = Arrays()
    run = arrays.run(program)
    first, zeros, last = run.steps
    assert run.printed == "launched\n"
    assert isinstance(first, Launch) and (first.grid, first.block, first.blocks) == ((3, 2, 4), (64, 1, 1), 24)
    assert zeros == Fill(arrays.addresses[4], 0, 4096)
    assert isinstance(last, Launch) and last.kernel.startswith("_Z8multiply")
    words = np.frombuffer(first.arguments[:16], np.uint64)
    assert words[0] == arrays.addresses[1] and words[1] & 0xFF == 7
    hidden = {item.kind: item.offset for item in program.arguments[first.kernel]}
    counts = np.frombuffer(first.arguments, np.uint32, 3, hidden["hidden_block_count_x"])
    assert counts.tolist() == [3, 2, 4]


@pytest.mark.parametrize("schedule", [Schedule(False, 1), Schedule(True, 9)])
def test_recorded_launches_give_the_program_s_results(program: Program, schedule: Schedule) -> None:
    arrays = Arrays()
    execute(EMULATOR, program, arrays.run(program).steps, arrays.memory, schedule)
    for name in ("numbered", "sums"):
        arrays.memory.need_written(name)
    z, y, x, _ = np.indices((4, 2, 3, 64))
    wanted = arrays.given + (7 + x + 10 * y + 100 * z).reshape(-1).astype(np.float32)
    assert np.allclose(arrays.numbered, wanted, rtol=1e-6)
    product = np.einsum("srk,sck->rc", arrays.a.astype(np.float64), arrays.b.astype(np.float64))
    assert np.array_equal(arrays.sums, 2 * GROUPS * product)  # two waves of each workgroup add; integers are exact


def test_the_loop_is_timed_by_the_roles_that_its_waves_have(program: Program) -> None:
    arrays = Arrays()
    steps = arrays.run(program).steps
    assert main_launch(program, steps) is steps[2]
    timed = simulate(EMULATOR, program, steps, arrays.memory, (64, 32, 8), 3)
    assert (timed.workgroups, timed.waves) == (GROUPS, 2)
    cycles = 32 if program.arch == "gfx942" else 64
    assert timed.bound == cycles * 2 / 4  # one product for each of two waves, on four SIMDs
    for results in (timed.results, timed.turned):
        result = results[Source.L2]
        assert result.cycles_per_tile > timed.bound
        first, second = result.roles
        assert (first.role, second.role) == ("wave 0", "wave 1")
        assert first.kinds["load"] == pytest.approx(2, rel=0.1) and "load" not in second.kinds
        assert first.kinds["matrix"] == pytest.approx(1, rel=0.1)
        assert second.stalls["barrier"] > first.stalls.get("barrier", 0)


def test_what_is_wrong_is_told(program: Program) -> None:
    arrays = Arrays()
    first, zeros, last = arrays.run(program).steps
    assert isinstance(zeros, Fill) and isinstance(first, Launch)
    with pytest.raises(Fault, match="atomic_add_f32.* adds to memory that nobody wrote"):
        execute(EMULATOR, program, [last], arrays.memory, Schedule(False, 1))
    with pytest.raises(Fault, match="a memset of 4100 bytes"):
        execute(EMULATOR, program, [replace(zeros, size=4100)], arrays.memory, Schedule(False, 1))
    wide = replace(first, grid=(4, 2, 4))
    with pytest.raises(Fault, match="races: it writes a byte that workgroup 3 wrote"):
        execute(EMULATOR, program, [wide], arrays.memory, Schedule(False, 1))
    with pytest.raises(ValueError, match="too few"):
        simulate(EMULATOR, program, [zeros, last], arrays.memory, (64, 32, 24 * 8), 3)


def test_errors_of_a_program_are_told(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text(SOURCE.read_text(encoding="utf-8").replace("sums[at]", "sum[at]"), encoding="utf-8")
    with pytest.raises(CkgenError, match="sum"):
        compile_program(wrong, "gfx942", tmp_path, flags=FLAGS)
    failing = tmp_path / "failing.cpp"
    failing.write_text(SOURCE.read_text(encoding="utf-8").replace('puts("launched");', "return 4;"), encoding="utf-8")
    with pytest.raises(CkgenError, match="ended with 4"):
        Arrays().run(compile_program(failing, "gfx942", tmp_path, flags=FLAGS))
