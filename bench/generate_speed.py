"""Measure the speed of generation with a synthetic spec of more than 10,000 instances, one source file each.

    python bench/generate_speed.py [--repeat 5] [--cutlass FOLDER]

Times all steps in one process, from the YAML text to files on disk: `generate` into an empty folder, a second run that
has nothing to do, and `check`. Prints the median in instances per second beside its bar, and the time of each phase of
`generate`. bench/spec_startup.py measures whole processes, with the start of the interpreter.

With --cutlass, the folder of CUTLASS's `cutlass_library` (`pip download --no-deps nvidia-cutlass`, unpacked), whole
commands are timed alternately in new processes instead: `ckgen generate` and `ckgen check` against CUTLASS's generator
with --operations conv2d --kernels all. The bars are ratios of instances, or kernels, per second. Python caches the byte
code of both, as in an installation. A cold run renders the tree (CKGEN_NO_TREE_CACHE), a warm one compares its files
with the digests that the cache has.

Each run has its own folder, and all folders are deleted at the end: a file system that has just deleted many files
creates new ones more slowly.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ckgen.generate import writer
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.known import SWITCH
from ckgen.generate.render import render_tree
from ckgen.spec.expand import expand_document
from ckgen.text.source import load

BARS = {"generate": 6_000, "second run": 6_000, "check": 12_000}
# The words of each command, whether it is cold, and the ratio of its rate to CUTLASS's. All work on one tree, in this
# order: the first one writes it.
COMMANDS = {
    "generate, new tree": (("generate",), True, 3),
    "generate, warm": (("generate",), False, 6),
    "check, cold": (("check",), True, 6),
    "check, warm": (("check",), False, 6),
}
SPEC = """\
version: 1
groups:
  - name: synthetic
    family: xdl
    layout: [NWGC/GKXC/NWGK, NHWGC/GKYXC/NHWGK, NDHWGC/GKZYXC/NDHWGK,
             GNWC/GKXC/GNWK, GNHWC/GKYXC/GNHWK, GNDHWC/GKZYXC/GNDHWK]
    dtype: [f16, bf16, bf16_f32_bf16]
    conv_spec: [Default, Filter1x1Stride1Pad0]
    tile: [64x64, 64x128, 128x64, 128x128, 64x256, 256x64]
    block_size: 256
    k_per_block: [32, 64]
    m_per_xdl: [16, 32]
    stages: [1, 2]
    vector: [{a: 1, b: 1, c: 1}, {a: 1, b: 2, c: 2}, {a: 2, b: 1, c: 2}, {a: 2, b: 2, c: 2},
             {a: 2, b: 4, c: 2}, {a: 4, b: 2, c: 4}, {a: 4, b: 4, c: 4}]
"""


@dataclass(frozen=True)
class Cost:
    """Wall and CPU seconds of one run; on a busy machine only the CPU seconds are meaningful."""

    wall: float
    cpu: float


def cost(work: Callable[[], object]) -> Cost:
    """Measure one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def tree_of(spec: Path, phases: dict[str, list[float]]) -> tuple[int, dict[str, str]]:
    """Return the number of instances of a spec and its tree; add the seconds of each phase to `phases`."""
    marks = [time.perf_counter()]
    document = load(spec)
    expansion = expand_document(document)
    marks.append(time.perf_counter())
    context = load_context(GenerateCommand(spec.name), document.text, expansion.sets, expansion.spec.own_functions)
    tree = render_tree(expansion.instances, context)
    marks.append(time.perf_counter())
    phases.setdefault("read and expand", []).append(marks[1] - marks[0])
    phases.setdefault("render", []).append(marks[2] - marks[1])
    return len(expansion.instances), tree


def generate(spec: Path, out: Path, phases: dict[str, list[float]]) -> None:
    """Do what `ckgen generate` does; add the seconds of each phase to `phases`."""
    tree = tree_of(spec, phases)[1]
    phases.setdefault("write", []).append(cost(lambda: writer.apply(tree, out)).wall)


def check(spec: Path, out: Path) -> None:
    """Do what `ckgen check` does."""
    writer.check(tree_of(spec, {})[1], out)


def measure(spec: Path, out: Path, repeat: int) -> tuple[int, dict[str, list[Cost]], dict[str, list[float]]]:
    """Measure each command `repeat` times. Returns the number of instances, the costs per command, and the wall seconds
    per phase of `generate`."""
    count, _ = tree_of(spec, {})
    commands: dict[str, list[Cost]] = {name: [] for name in BARS}
    phases: dict[str, list[float]] = {}
    for at in range(repeat):
        tree = out / str(at)
        commands["generate"].append(cost(partial(generate, spec, tree, phases)))
        commands["second run"].append(cost(partial(generate, spec, tree, {})))
        commands["check"].append(cost(partial(check, spec, tree)))
    return count, commands, phases


def command_cost(*words: str, folder: Path, cold: bool = False) -> tuple[Cost, str]:
    """Run a command in a new process; return its cost and its output."""
    wall, before = time.perf_counter(), os.times()
    cached = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", SWITCH)}
    cached |= {"PYTHONPYCACHEPREFIX": str(folder / "byte-code"), "XDG_CACHE_HOME": str(folder / "cache")}
    if cold:
        cached[SWITCH] = "1"
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, env=cached)
    wall, after = time.perf_counter() - wall, os.times()
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall, cpu), done.stdout + done.stderr


def versus(cutlass: Path, spec: Path, repeat: int) -> bool:
    """Print the rates of whole commands beside CUTLASS's, measured alternately. Returns True if all ratios of medians
    meet their bars."""
    count, folder = len(expand_document(load(spec)).instances), spec.parent
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in ("CUTLASS", *COMMANDS)}

    def note(name: str, made: int, spent: Cost) -> None:
        rates[name].append((made / spent.wall, made / spent.cpu))

    for at in range(repeat):
        tree = ("--out", f"tree{at}")
        for name, (words, cold, _) in COMMANDS.items():
            if name.endswith("warm"):  # the first run of its kind fills the cache
                command_cost("-m", "ckgen", *words, *tree, folder=folder)
            note(name, count, command_cost("-m", "ckgen", *words, *tree, folder=folder, cold=cold)[0])
        (out := folder / f"cutlass{at}").mkdir()
        generator = str(cutlass.resolve() / "cutlass_library" / "generator.py")
        theirs = ("--operations", "conv2d", "--kernels", "all", "--build-dir", str(out), "--curr-build-dir", str(out))
        spent, said = command_cost(generator, *theirs, folder=folder)
        note("CUTLASS", said.count(":Emitting "), spent)
    medians = {
        name: [statistics.median(column) for column in zip(*pairs, strict=True)] for name, pairs in rates.items()
    }
    kept = True
    for name, (wall, cpu) in medians.items():
        print(f"  {name:20}{wall:8,.0f} per second, {cpu:8,.0f} per CPU second", end="")
        if name in COMMANDS:
            ratio, ratio_cpu, bar = wall / medians["CUTLASS"][0], cpu / medians["CUTLASS"][1], COMMANDS[name][2]
            kept &= (ok := ratio >= bar)
            verdict = f"bar {bar}  {'ok' if ok else 'MISSED'}"
            print(f"   {ratio:.1f} times CUTLASS's, {ratio_cpu:.1f} by CPU; {verdict}", end="")
        print()
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cutlass", type=Path, help="a folder with cutlass_library, to compare with")
    options = parser.parse_args()
    repeat = options.repeat
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as name:
        spec = Path(name, "instances.yaml")
        spec.write_text(SPEC, encoding="utf-8")
        if options.cutlass:
            return 0 if versus(options.cutlass, spec, repeat) else 1
        count, commands, phases = measure(spec, Path(name), repeat)
    print(f"{count} instances, one source file each; median of {repeat}")
    kept = True
    for command, costs in commands.items():
        wall = statistics.median(each.wall for each in costs)
        cpu = statistics.median(each.cpu for each in costs)
        ok = count / wall >= BARS[command]
        kept &= ok
        rates = f"{count / wall:8,.0f} instances/s, {count / cpu:8,.0f} per CPU second"
        print(f"  {command:12}{wall:6.2f} s {rates}   bar {BARS[command]:,}/s  {'ok' if ok else 'MISSED'}")
    for phase, times in phases.items():
        print(f"    {phase:16} {statistics.median(times):6.2f} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
