"""Test bench/two_gpus.py, which compares several workers with one, on the host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.two_gpus import Timed, compared
from ckgen.library.library import Library
from tests.bench.test_runner import FILE
from tests.support.bench_rows import row

ROOT = Path(__file__).resolve().parents[2]


def timed(workers: int, seconds: float, ms: float, lines: int = 2) -> Timed:
    rows = [row(ms, split_k=split_k) for split_k in (1, 2)]
    return Timed(workers, seconds, {item.key: item for item in rows}, lines)


def test_medians_and_ratios() -> None:
    one = [timed(1, 10.0, 1.0), timed(1, 12.0, 1.0), timed(1, 30.0, 1.0)]
    two = [timed(2, 6.0, 1.1), timed(2, 6.5, 1.1), timed(2, 1.0, 1.1)]
    lines, same = compared(one, two)
    assert same
    assert lines == [
        "2 rows: the same jobs in every run, each once",
        "1 worker(s): median 12.0 s of 10.0, 12.0, 30.0",
        "2 worker(s): median 6.0 s of 6.0, 6.5, 1.0",
        "ratio of wall times 2.00, of equal rows 1.100",
    ]


def test_a_row_that_is_missing_or_there_twice_is_found() -> None:
    fewer = Timed(2, 6.0, dict(list(timed(2, 1.0, 1.0).rows.items())[:1]), 1)
    for wrong in (fewer, timed(2, 6.0, 1.0, lines=3)):
        lines, same = compared([timed(1, 10.0, 1.0)], [wrong])
        assert not same and lines[0] == "2 rows: THE RUNS DIFFER"


def test_two_workers_of_the_host_measure_what_one_does(tmp_path: Path, stub: Library) -> None:
    (tmp_path / "mine.yaml").write_text(FILE)
    words = ["--library", str(stub.path), "--platform", "host", "--repeats", "1", "--"]
    words += ["--problems", str(tmp_path / "mine.yaml"), "--split-k", "1", "--samples", "1", "2", "dtype=f16"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "two_gpus.py"), *words], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "4 rows: the same jobs in every run, each once" in done.stdout and "ratio of wall times" in done.stdout
