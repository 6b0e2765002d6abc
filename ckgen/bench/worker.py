"""The process that runs jobs; if it crashes or hangs, its parent loses only the current row.

It reads one JSON request per line from standard input and writes one line per answer. Output of a library or a GPU
runtime is redirected to standard error, so that it cannot corrupt an answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome, Settings
from ckgen.bench.numpy_timing import NumpyBench
from ckgen.bench.torch_timing import TorchBench, find_torch
from ckgen.errors import CkgenError
from ckgen.library.library import Library

_PR_SET_PDEATHSIG = 1


class Bench(Protocol):
    """Interface of a runner of jobs on one kind of device."""

    references: tuple[str, ...]
    survives_failures: bool

    def origin(self) -> dict[str, str]: ...
    def ceilings(self, dtypes: Sequence[str]) -> dict[str, float]: ...
    def measure(self, job: Job, limit_ms: float | None) -> Outcome: ...


def make_bench(library: Library, settings: Settings) -> Bench:
    """A runner that uses PyTorch if it is installed and sees a GPU, else numpy."""
    torch = None if library.platform == "host" else find_torch()
    return NumpyBench(library, settings) if torch is None else TorchBench(torch, library, settings)


def answer(bench: Bench, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one request. A failed job has an outcome too, with `stale` set if the process should end."""
    if request["do"] == "origin":
        return {**bench.origin(), "references": bench.references}
    if request["do"] == "ceilings":
        return bench.ceilings(request["dtypes"])
    job = Job.from_json(request["job"])
    try:
        return dataclasses.asdict(bench.measure(job, request["limit_ms"]))
    except (CkgenError, RuntimeError, MemoryError, ValueError) as error:
        message = "; ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())
        failed = Outcome(bench_job.FAILED, message or type(error).__name__)
        return {**dataclasses.asdict(failed), "stale": not bench.survives_failures}


def main(arguments: Sequence[str]) -> int:
    """Serve requests about the library ``arguments[0]`` with the settings ``arguments[1]`` until the input ends."""
    _die_with_parent()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    bench = make_bench(Library(arguments[0]), Settings(**json.loads(arguments[1])))
    for line in sys.stdin:
        print(json.dumps(answer(bench, json.loads(line))), file=replies, flush=True)
    return 0


def _die_with_parent() -> None:
    """Let Linux end this process when its parent dies: a worker that hangs in a kernel never reads the end of its
    input."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
