"""A compiler launcher that records the time and memory of each compiler run.

CMake calls it as `python launcher.py LOG COMPILER ARG...` (CMAKE_CXX_COMPILER_LAUNCHER). It appends one JSON line per
run to LOG: output file, wall seconds, CPU seconds (user + system, including the compiler's child processes) and peak
RSS in KiB of the largest of these processes. It exits with the compiler's status.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def main() -> int:
    log, command = sys.argv[1], sys.argv[2:]
    begin = time.perf_counter()
    status = subprocess.call(command)
    wall = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else ""
    row = {
        "output": output,
        "wall_s": round(wall, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 3),
        "peak_kib": used.ru_maxrss,
    }
    with open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
