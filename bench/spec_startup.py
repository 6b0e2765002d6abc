"""Measure the time of whole commands on the default spec, including the start of the interpreter.

    python bench/spec_startup.py [--repeat 7]

Prints the median wall and CPU time of each command in a new process, with cached byte code as in an installation. A
cold run renders the tree (CKGEN_NO_TREE_CACHE), the others compare its files with the digests that the cache has. Bar:
`generate` with nothing to do takes at most 0.5 s, and touches no file.
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

from ckgen.generate.known import SWITCH

ROOT = Path(__file__).resolve().parent.parent
BAR_S = 0.5
NOTHING_TO_DO = "generate, nothing to do"


def cost(folder: str, *command: str, cold: bool = False) -> tuple[float, float]:
    """Wall and CPU seconds that one `ckgen` command takes in a new process; `folder` holds the byte code and the
    cache."""
    cached = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", SWITCH)}
    cached |= {"PYTHONPYCACHEPREFIX": f"{folder}/byte-code", "XDG_CACHE_HOME": f"{folder}/cache"}
    if cold:
        cached[SWITCH] = "1"
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "ckgen", *command], cwd=ROOT, capture_output=True, text=True, env=cached
    )
    seconds, after = time.perf_counter() - begin, os.times()
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return seconds, user + system


def stamps(tree: Path) -> dict[str, int]:
    """Modification time of every file under `tree`, in nanoseconds."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(tree.rglob("*")) if path.is_file()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory(prefix="ckgen-bench-") as folder:
        out = ("--out", f"{folder}/warm")
        cost(folder, "generate", *out)
        for command in (("list",), ("validate",), ("check", *out)):  # they write byte code
            cost(folder, *command)
        times = {
            "--version": [cost(folder, "--version") for _ in range(repeat)],
            "list": [cost(folder, "list") for _ in range(repeat)],
            "list --set full": [cost(folder, "list", "--set", "full") for _ in range(repeat)],
            "validate": [cost(folder, "validate") for _ in range(repeat)],
            "generate, new tree": [cost(folder, "generate", "--out", f"{folder}/{i}") for i in range(repeat)],
        }
        before = stamps(Path(folder, "warm"))
        times["generate, cold, nothing to do"] = [cost(folder, "generate", *out, cold=True) for _ in range(repeat)]
        times[NOTHING_TO_DO] = [cost(folder, "generate", *out) for _ in range(repeat)]
        touched = before != stamps(Path(folder, "warm"))
        times["check, cold"] = [cost(folder, "check", *out, cold=True) for _ in range(repeat)]
        times["check"] = [cost(folder, "check", *out) for _ in range(repeat)]
    for what, pairs in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"  {what:30} {wall:6.3f} s, {cpu:6.3f} CPU s   (min {min(pairs)[0]:.3f} s)")
    kept = statistics.median(wall for wall, _ in times[NOTHING_TO_DO]) <= BAR_S
    print(f"  bar for `{NOTHING_TO_DO}`: {BAR_S} s   {'ok' if kept else 'OVER'}")
    print(f"  a second run {'touched files: WRONG' if touched else 'touched no file: ok'}")
    return 0 if kept and not touched else 1


if __name__ == "__main__":
    sys.exit(main())
