"""The process that runs jobs: it may crash or hang, and its parent only loses the row at hand.

It reads one JSON request a line from standard input and answers with one line. What a library or a GPU
runtime prints goes to standard error, so that it cannot garble an answer.
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
    """What measures jobs on one kind of device."""

    references: tuple[str, ...]
    survives_failures: bool

    def origin(self) -> dict[str, str]: ...
    def ceilings(self, dtypes: Sequence[str]) -> dict[str, float]: ...
    def measure(self, job: Job, limit_ms: float | None) -> Outcome: ...


def make_bench(library: Library, settings: Settings) -> Bench:
    """PyTorch where there is a GPU and PyTorch sees it, else numpy."""
    torch = None if library.platform == "host" else find_torch()
    return NumpyBench(library, settings) if torch is None else TorchBench(torch, library, settings)


def answer(bench: Bench, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one request; a job that fails is an outcome, and `stale` if the process should end."""
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
    """Serve requests about the library ``arguments[0]`` with the settings in ``arguments[1]`` until the input
    ends."""
    _die_with_parent()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    bench = make_bench(Library(arguments[0]), Settings(**json.loads(arguments[1])))
    for line in sys.stdin:
        print(json.dumps(answer(bench, json.loads(line))), file=replies, flush=True)
    return 0


def _die_with_parent() -> None:
    """A worker that hangs in a kernel never sees its input end: have Linux end it when its parent is gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
