"""How fast a spec becomes a tree: a synthetic spec of more than 10,000 instances, one source file each.

    python bench/generate_speed.py [--repeat 5]

Times the whole way in one process, from the YAML's text to files on disk: `generate` into an empty folder, a
second run that finds nothing to do, and `check`. Prints the median of the runs in instances a second beside
its bar, and how the time of `generate` divides. Start-up of the interpreter is in bench/spec_startup.py.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ckgen import outputs
from ckgen.context import load_context
from ckgen.expand import expand_document
from ckgen.render import render_tree
from ckgen.source import load

BARS = {"generate": 6_000, "second run": 6_000, "check": 12_000}
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


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def tree_of(spec: Path, phases: dict[str, list[float]]) -> tuple[int, dict[str, str]]:
    """The number of instances of a spec and its tree; adds the seconds of each phase to `phases`."""
    marks = [time.perf_counter()]
    document = load(spec)
    expansion = expand_document(document)
    marks.append(time.perf_counter())
    context = load_context(spec.name, document.text, "ckgen generate", expansion.sets)
    tree = render_tree(expansion.instances, context)
    marks.append(time.perf_counter())
    phases.setdefault("read and expand", []).append(marks[1] - marks[0])
    phases.setdefault("render", []).append(marks[2] - marks[1])
    return len(expansion.instances), tree


def measure(
    spec: Path, folder: Path, repeat: int
) -> tuple[int, dict[str, list[float]], dict[str, list[float]]]:
    """Instances, seconds of each command, and seconds of the phases of `generate`, each `repeat` times."""
    count, _ = tree_of(spec, {})
    commands: dict[str, list[float]] = {name: [] for name in BARS}
    phases: dict[str, list[float]] = {}
    for _ in range(repeat):
        shutil.rmtree(folder / "tree", ignore_errors=True)
        times: dict[str, list[float]] = {}
        begin = time.perf_counter()
        tree = tree_of(spec, times)[1]
        times["write"] = [seconds(lambda tree=tree: outputs.apply(tree, folder / "tree"))]
        commands["generate"].append(time.perf_counter() - begin)
        commands["second run"].append(seconds(lambda: outputs.apply(tree_of(spec, {})[1], folder / "tree")))
        commands["check"].append(seconds(lambda: outputs.check(tree_of(spec, {})[1], folder / "tree")))
        for name, values in times.items():
            phases.setdefault(name, []).extend(values)
    return count, commands, phases


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as name:
        spec = Path(name, "instances.yaml")
        spec.write_text(SPEC, encoding="utf-8")
        count, commands, phases = measure(spec, Path(name), repeat)
    print(f"{count} instances, one source file each; median of {repeat}")
    kept = True
    for command, times in commands.items():
        median = statistics.median(times)
        ok = count / median >= BARS[command]
        kept &= ok
        rates = f"{count / median:9,.0f} instances/s (best {count / min(times):,.0f})"
        print(f"  {command:12} {median:7.2f} s {rates}   bar {BARS[command]:,}   {'ok' if ok else 'MISSED'}")
    for phase, times in phases.items():
        print(f"    {phase:16} {statistics.median(times):6.2f} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
