"""Execute kernels of a checkout of Composable Kernel (CK) on the emulator, compare their results with float64, simulate
the time of their main loops beside ckgen's with the same tile, and write docs/ck_beside.md.

CK_SRC=/path/to/composable_kernel python scripts/ck_beside.py [--arch gfx942] [--row '*128x128*'] [--write]

A clang with HIP headers compiles one instance of CK at a time, about a minute each. Results stay in the folder --work,
where the next run finds them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this checkout's ckgen, installed or not

from ck_beside_page import page
from ck_beside_rows import LIBRARY, LISTS, MORE, POINTWISE, ROWS, Found, Row

from ckgen.build.toolchain import find_toolchain
from ckgen.conv.dtypes import element_of
from ckgen.conv.encoding import decode
from ckgen.conv.layout import TENSORS, TensorName, to_physical
from ckgen.conv.problem import ConvProblem
from ckgen.errors import CkgenError
from ckgen.machine_code.analyse import count
from ckgen.machine_code.compile import identify
from ckgen.machine_code.emulator.launch import Emulator, Fault, Memory, Schedule
from ckgen.machine_code.emulator.unsupported import Unsupported
from ckgen.machine_code.loops import find_loops
from ckgen.machine_code.programs.program import Program, Run, compile_program
from ckgen.machine_code.programs.simulation import Timed, execute, main_launch, simulate
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.run_tensors import Data, make_data
from ckgen.verify.simulated import problem_of_tile

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ck_beside.md"
PARTS = Path(__file__).with_suffix("")
LAYOUT = "NHWGC/GKYXC/NHWGK"
FLAGS = ("-std=c++17", "-D__HIP_PLATFORM_AMD__=1", "-DCK_ENABLE_FP16", "-Wno-everything")
# The options for code generation that CK's CMakeLists.txt adds for ROCm's compilers of that time.
CK_FLAGS = tuple(
    word
    for option in ("-lsr-drop-solution=1", "-enable-post-misched=0", "-amdgpu-early-inline-all=true")
    for word in ("-mllvm", option)
) + ("-mllvm", "-amdgpu-function-calls=false")
_PLACES = 4


def compiled(ck: Path, row: Row, arch: str, folder: Path) -> Program:
    """CK's instance as a program that launches it."""
    header, chosen = LISTS[row.kind]
    (folder / "include" / "ck").mkdir(parents=True, exist_ok=True)
    (folder / "include" / "ck" / "config.h").touch()  # CK's CMake files write it; all its macros have a default
    instance = f"std::tuple_element_t<{row.index}, ck_list::{chosen.format(row.special)}>"
    includes = [f"-I{path}" for path in (ck / "include", ck / "library" / "include", folder / "include")]
    macros = [f'-DCKGEN_HEADER="{LIBRARY}/{header}"', f"-DCKGEN_INSTANCE={instance}"]
    macros += [f"-DCKGEN_BWD_DATA={int(row.kind == 'data')}"]
    return compile_program(
        PARTS / "instance.cpp",
        arch,
        folder / "objects",
        flags=[*FLAGS, *includes, *macros],
        device=CK_FLAGS if row.with_flags else (),
        first=PARTS / "runtime.hpp",
    )


@dataclass
class Job:
    """A problem in memory, with the launches that CK asks for."""

    run: Run
    memory: Memory
    result: Any
    data: Data
    written: TensorName
    type: str


def job_of(program: Program, row: Row, problem: ConvProblem) -> Job:
    """Let CK plan a problem. The caller of CK's kernels that add to the weights sets these to zero."""
    data, memory = make_data(problem, "f16", 1, row.operation), Memory()
    written = OPERATIONS[row.operation].written
    result = np.empty(problem.shape(written, LAYOUT), element_of("f16", written).storage)
    result.reshape(-1).view(np.uint16)[:] = 0xFFFD  # NaN
    address: dict[TensorName, int] = {}
    for name in TENSORS:
        order = to_physical(name, LAYOUT)
        given = result if name == written else np.ascontiguousarray(data.tensors[name].transpose(order))
        address[name] = memory.add(name, given, writable=name == written)
    numbers = [number for name in TENSORS for number in problem.lengths(name)]
    numbers += [number for name in TENSORS for number in problem.strides_of(name, LAYOUT)]
    numbers += [*problem.strides, *problem.dilations, *problem.left_pads, *problem.right_pads, 1]
    # Arrays are equally far from each other, so the workspace's address is known before its size is.
    workspace = 2 * address[TENSORS[2]] - address[TENSORS[1]]
    run = program.run(*map(str, numbers), *(hex(value) for value in (*address.values(), workspace)))
    title, size = run.printed.splitlines()
    placed = memory.add("workspace", np.empty(max(1, int(size) // 2), np.uint16), writable=True)
    assert placed == workspace
    if row.kind == "xdl":
        memory.fill(address["wei"], 0, result.nbytes)
    return Job(run, memory, result, data, written, title)


def check(emulator: Emulator, program: Program, row: Row, problem: ConvProblem) -> tuple[str, float]:
    """CK's name for the instance, and the largest error in units of the tolerance, over two orders of the waves."""
    worst = 0.0
    for schedule in (Schedule(False, 1), Schedule(True, 3)):
        job = job_of(program, row, problem)
        execute(emulator, program, job.run.steps, job.memory, schedule)
        job.memory.need_written(job.written)
        element, order = element_of("f16", job.written), to_physical(job.written, LAYOUT)
        error = np.abs(decode(job.result, element) - job.data.expected.transpose(order))
        worst = max(worst, float((error / job.data.allowance(element).transpose(order)).max()))
    return job.type, worst


def find(ck: Path, row: Row, arch: str, folder: Path) -> Found:
    """Compile, check and simulate a row. An instance whose result is wrong is not timed."""
    found, emulator = Found(row.name, arch), Emulator(folder / "handlers")
    program = compiled(ck, row, arch, folder)
    for problem in row.problems:
        found.type, found.checks[str(problem)] = check(emulator, program, row, problem)
    if not max(found.checks.values()) <= 1:
        found.failed = "a result differs from float64 by more than the tolerance"
        return found
    problem = problem_of_tile(row.operation, 2, row.tile, pointwise=row.special == POINTWISE)
    job = job_of(program, row, problem)
    timed = simulate(emulator, program, job.run.steps, job.memory, row.tile, _PLACES)
    kernel = program.kernels[main_launch(program, job.run.steps).kernel]
    resources, loop = kernel.resources, max(find_loops(kernel), key=lambda each: count(each.hot).matrix)
    found.resources = asdict(resources)
    found.static = asdict(count(loop.hot))
    found.workgroups, found.bound = timed.workgroups, timed.bound
    found.sources, found.turned = _sources(timed, turned=False), _sources(timed, turned=True)
    return found


def _sources(timed: Timed, turned: bool) -> dict[str, Any]:
    return {
        source.value: {
            "cycles_per_tile": result.cycles_per_tile,
            "cycles_per_step": result.cycles_per_step,
            "roles": [asdict(role) for role in result.roles],
            "places": [asdict(place) for place in result.places],
        }
        for source, result in (timed.turned if turned else timed.results).items()
    }


def simulate_ours(names: Sequence[str], arch: str, folder: Path) -> dict[str, Any]:
    """The records of `ckgen isa --simulate` by name, with the resources of `ckgen isa`; an earlier run's are kept
    if it had the same instances."""
    file = folder / f"ours_{arch}.json"
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not set(names) <= set(known):
        known = {item["name"]: item for item in _isa(names, arch, "--simulate")}
        for item in _isa(names, arch):
            known[item["name"]]["resources"] = item["resources"]
        file.write_text(json.dumps(known), encoding="utf-8")
    return known


def _isa(names: Sequence[str], arch: str, *options: str) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "ckgen", "isa", *names, "--arch", arch, *options, "--json", "--quiet"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _words(error: Exception) -> str:
    """The first line of an error, without names of kernels, which are long, and paths."""
    return re.sub(
        r"_Z\w+", "the kernel", re.sub(r"\S*/\S+\.host.* ended", "the program ended", str(error).splitlines()[0])
    )


@click.command()
@click.option("--work", "folder", type=click.Path(path_type=Path), default=ROOT / "build" / "ck_beside")
@click.option("--arch", "archs", multiple=True, default=("gfx942", "gfx90a"), show_default=True)
@click.option("--row", "patterns", multiple=True, help="Only rows whose name matches, as in '*128x128*'.")
@click.option("--write", is_flag=True, help="Write docs/ck_beside.md from all rows that are known.")
def main(folder: Path, archs: Sequence[str], patterns: Sequence[str], write: bool) -> None:
    """Check and simulate CK's instances from CK_SRC beside ckgen's."""
    ck = os.environ.get("CK_SRC")
    if not ck or not (Path(ck) / "include" / "ck").is_dir():
        raise click.UsageError("set CK_SRC to a checkout of composable_kernel")
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    file = folder / "rows.json"
    known = [Found(**each) for each in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []
    known = [each for each in known if not each.failed]  # these are tried again
    rows = [row for row in ROWS if not patterns or any(fnmatch(row.name, pattern) for pattern in patterns)]
    for arch in archs:
        for row in rows:
            if any((each.row, each.arch) == (row.name, arch) for each in known):
                continue
            try:
                known.append(find(Path(ck), row, arch, folder))
            except (CkgenError, Fault, Unsupported, ValueError) as error:
                known.append(Found(row.name, arch, failed=_words(error)))
            click.echo(f"{arch} {row.name}: {known[-1].failed or 'right, and simulated'}", err=True)
            file.write_text(json.dumps([asdict(each) for each in known], indent=1), encoding="utf-8")
    names = list(dict.fromkeys([*(row.ours for row in ROWS), *MORE]))
    ours = {arch: simulate_ours(names, arch, folder) for arch in archs}
    compiler = identify(find_toolchain().device_compiler(archs[0])).release
    order = {row.name: at for at, row in enumerate(ROWS)}
    known = sorted((each for each in known if each.arch in archs), key=lambda each: (each.arch, order[each.row]))
    text = page(ROWS, known, ours, MORE, compiler)
    click.echo(text)
    if write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
