"""Measure the time of whole commands on the default spec, including the start of the interpreter.

    python bench/spec_startup.py [--repeat 7]

Prints the median wall time of each command in a new process, with cached byte code as in an installation. Bar:
generating the default spec takes at most 0.5 s, and a second run touches no file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BAR_S = 0.5


def wall(folder: str, *command: str) -> float:
    """Seconds that one `ckgen` command takes in a new process; `folder` holds the byte code."""
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cached["PYTHONPYCACHEPREFIX"] = f"{folder}/byte-code"
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ckgen", *command], cwd=ROOT, capture_output=True, text=True, env=cached
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return seconds


def stamps(tree: Path) -> dict[str, int]:
    """Modification time of every file under `tree`, in nanoseconds."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(tree.rglob("*")) if path.is_file()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as folder:
        wall(folder, "generate", "--out", f"{folder}/warm")
        times = {
            "--version": [wall(folder, "--version") for _ in range(repeat)],
            "list": [wall(folder, "list") for _ in range(repeat)],
            "generate (nothing there)": [wall(folder, "generate", "--out", f"{folder}/{i}") for i in range(repeat)],
        }
        before = stamps(Path(folder, "warm"))
        times["generate (nothing to do)"] = [wall(folder, "generate", "--out", f"{folder}/warm") for _ in range(repeat)]
        touched = before != stamps(Path(folder, "warm"))
        times["check"] = [wall(folder, "check", "--out", f"{folder}/warm") for _ in range(repeat)]
    for what, seconds in times.items():
        print(f"  {what:26} {statistics.median(seconds):6.3f} s   (min {min(seconds):.3f})")
    kept = statistics.median(times["generate (nothing there)"]) <= BAR_S
    print(f"  bar for generate: {BAR_S} s   {'ok' if kept else 'OVER'}")
    print(f"  a second run {'touched files: WRONG' if touched else 'touched no file: ok'}")
    return 0 if kept and not touched else 1


if __name__ == "__main__":
    sys.exit(main())
