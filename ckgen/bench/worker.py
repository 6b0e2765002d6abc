"""The process that runs jobs; if it crashes or hangs, its parent loses only the current row."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
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


def answer(bench: Bench, do: str, given: Sequence[Any]) -> tuple[Any, bool]:
    """The answer to one request, and whether the process should end. A failed job has an outcome too."""
    if do == "origin":
        return (bench.origin(), bench.references), False
    if do == "ceilings":
        return bench.ceilings(*given), False
    try:
        outcome = bench.measure(*given)
    except (CkgenError, RuntimeError, MemoryError, ValueError) as error:
        message = "; ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())
        outcome = Outcome(bench_job.FAILED, message or type(error).__name__)
    return outcome, outcome.verdict == bench_job.FAILED and not bench.survives_failures


def serve(requests: Connection, output: Path, library: Path, settings: Settings) -> None:
    """Answer requests about a library until the connection closes. The output of the library and of a GPU runtime is
    redirected to the file ``output``."""
    _die_with_parent()
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    bench = make_bench(Library(library), settings)
    with contextlib.suppress(EOFError):
        while True:
            do, *given = requests.recv()
            requests.send(answer(bench, do, given))


def _die_with_parent() -> None:
    """Let Linux end this process when its parent dies: a worker that hangs in a kernel never reads the end of its
    requests."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
