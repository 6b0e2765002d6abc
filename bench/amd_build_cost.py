"""Measure the AMD build of a generated tree: CPU seconds per instance, peak memory, the largest translation unit.

    python bench/amd_build_cost.py [--tree generated | --set full] [--arch gfx90a] [--jobs 2] [--platform amd]

Configures a new build folder in which launcher.py wraps every compiler run, builds everything (device and host code,
one architecture) and prints the totals beside the bars. `--set` generates a set of instances.yaml and builds it in
shards of one layout each; it prints the totals of each shard and of all. Bars: at most 2 CPU seconds per instance, no
translation unit over 30 s or 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ckgen.operations.operation import LAYOUTS  # noqa: E402

BAR_CPU_S_PER_INSTANCE = 2.0
BAR_UNIT_S = 30.0
BAR_UNIT_KIB = 1 << 20


def build(tree: Path, build_dir: Path, platform: str, arch: str, jobs: int) -> tuple[list[dict[str, float]], float]:
    """Build `tree` from scratch in `build_dir`. Returns one row per compiler run, and the wall seconds of the build."""
    log = build_dir / "compiler-runs.jsonl"
    launcher = ";".join([sys.executable, str(ROOT / "bench" / "launcher.py"), str(log)])
    configure = ["cmake", "-S", str(tree), "-B", str(build_dir), "-DCMAKE_BUILD_TYPE=Release"]
    configure += [f"-DCKGEN_PLATFORM={platform}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
    environment = dict(os.environ)
    if platform == "amd":
        configure += ["-DCMAKE_CXX_COMPILER=hipcc", f"-DGPU_TARGETS={arch}", f"-DAMDGPU_TARGETS={arch}"]
        environment["HIP_PLATFORM"] = "amd"
    subprocess.run(configure, check=True, env=environment, stdout=subprocess.DEVNULL)
    begin = time.perf_counter()
    command = ["cmake", "--build", str(build_dir), "--parallel", str(jobs)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - begin
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()], wall


def report(rows: list[dict[str, float]], instances: int, wall: float) -> bool:
    """Print the totals beside their bars. Returns True if all bars are met."""
    cpu = sum(row["cpu_s"] for row in rows)
    slowest = max(rows, key=lambda row: row["cpu_s"])
    fattest = max(rows, key=lambda row: row["peak_kib"])
    lines = [
        ("CPU seconds per instance", cpu / instances, BAR_CPU_S_PER_INSTANCE, ""),
        ("largest translation unit, CPU s", slowest["cpu_s"], BAR_UNIT_S, slowest["output"]),
        (
            "peak memory of one compiler, MiB",
            fattest["peak_kib"] / 1024,
            BAR_UNIT_KIB / 1024,
            fattest["output"],
        ),
    ]
    print(f"{instances} instances, {len(rows)} compiler runs, {cpu:.1f} CPU s, {wall:.1f} s wall")
    for what, value, bar, where in lines:
        verdict = "ok" if value <= bar else "OVER"
        print(f"  {what:34} {value:9.2f}   bar {bar:7.1f}   {verdict:4}   {Path(str(where)).name}")
    return all(value <= bar for _, value, bar, _ in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT / "generated")
    parser.add_argument("--set", help="build a set of instances.yaml in shards, instead of a tree")
    parser.add_argument("--arch", default="gfx90a")
    parser.add_argument("--platform", default="amd", choices=["amd", "host"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.platform == "amd" and shutil.which("hipcc") is None:
        print("hipcc is not installed: nothing to measure")
        return 0
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as folder:
        return measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> int:
    """Build the tree, or the shards of a set, and report the totals of each shard and of all."""
    everything: list[dict[str, float]] = []
    count, seconds = 0, 0.0
    for name, tree in shards(options, folder):
        instances = len(json.loads((tree / "manifest.json").read_text(encoding="utf-8"))["instances"])
        build_dir = folder / "build"
        rows, wall = build(tree.resolve(), build_dir, options.platform, options.arch, options.jobs)
        shutil.rmtree(build_dir)
        everything += rows
        count, seconds = count + instances, seconds + wall
        if options.set:
            print(f"{name}: ", end="")
            report(rows, instances, wall)
    if options.set:
        print("all: ", end="")
    return 0 if report(everything, count, seconds) else 1


def shards(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the trees to build with their names. The trees of a set, one per layout, are generated on demand."""
    if not options.set:
        yield options.tree.name, options.tree
        return
    for layout in LAYOUTS:
        command = [sys.executable, "-m", "ckgen", "generate", "--set", options.set, f"layout={layout}"]
        command += ["--out", str(folder / "tree")]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        yield layout, folder / "tree"


if __name__ == "__main__":
    sys.exit(main())
