"""Compare tuning on several workers with one: the same measurements in both, wall times and their ratio.

    python bench/two_gpus.py --library libckgen_conv.so --platform nvidia [--workers 2] [--repeats 3] [-- BENCH WORDS]
    python bench/two_gpus.py --library build/ci/host/libckgen_conv.so --platform host -- --problems tiny dtype=f16

Runs `ckgen bench --cluster N` into a fresh store, alternately with 1 worker and with --workers, each pinned to its own
GPU, and prints the median wall times, their ratio, and the median ratio of the times of equal rows: it is near 1 if the
workers do not disturb each other. Exits with 1 if the rows are not the same jobs. The start of the cluster is included.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ckgen.bench.store import ResultRow, Store  # noqa: E402


@dataclass(frozen=True, slots=True)
class Timed:
    """A run: its number of workers, wall seconds, the rows by key, and the lines of the store."""

    workers: int
    seconds: float
    rows: dict[tuple[object, ...], ResultRow]
    lines: int


def run(library: Path, platform: str, workers: int, words: list[str], store: Path) -> Timed:
    """Measure everything into a new store."""
    command = [sys.executable, "-m", "ckgen", "bench", "--library", str(library), "--platform", platform]
    command += ["--cluster", str(workers), "--store", str(store), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1):  # 1: an instance is wrong, which both runs find
        raise SystemExit(done.stderr)
    with Store(store, create=False) as opened:
        rows = opened.rows(list(opened.runs()))
    with closing(sqlite3.connect(store)) as database:
        (lines,) = database.execute("SELECT count(*) FROM rows").fetchone()
    return Timed(workers, seconds, {row.key: row for row in rows}, lines)


def compared(one: list[Timed], many: list[Timed]) -> tuple[list[str], bool]:
    """The lines to print, and whether all runs measured the same jobs, each once."""
    keys = one[0].rows.keys()
    same = all(timed.rows.keys() == keys and timed.lines == len(keys) for timed in (*one, *many))
    walls = [median(timed.seconds for timed in runs) for runs in (one, many)]
    ratios = [
        b.rows[key].ms / a.rows[key].ms  # type: ignore[operator]
        for a, b in zip(one, many, strict=True)
        for key in keys & b.rows.keys()
        if a.rows[key].ms and b.rows[key].ms
    ]
    lines = [f"{len(keys)} rows: {'the same jobs in every run, each once' if same else 'THE RUNS DIFFER'}"]
    for wall, runs in zip(walls, (one, many), strict=True):
        every = ", ".join(f"{timed.seconds:.1f}" for timed in runs)
        lines.append(f"{runs[0].workers} worker(s): median {wall:.1f} s of {every}")
    lines.append(f"ratio of wall times {walls[0] / walls[1]:.2f}, of equal rows {median(ratios or [1.0]):.3f}")
    return lines, same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--platform", choices=["host", "amd", "nvidia"], default="nvidia")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("words", nargs="*", help="further words of `ckgen bench`, after --")
    options = parser.parse_args()
    runs: dict[int, list[Timed]] = {1: [], options.workers: []}
    with tempfile.TemporaryDirectory(prefix="ckgen-two-") as folder:
        for repeat in range(options.repeats):
            for workers, own in runs.items():
                store = Path(folder, f"{workers}-{repeat}.sqlite")
                own.append(run(options.library, options.platform, workers, options.words, store))
    lines, same = compared(runs[1], runs[options.workers])
    print("\n".join(lines))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
