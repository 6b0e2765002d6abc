"""Runners of jobs: they work in a child process, so that a crash or a hang of a kernel costs only the current row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome, Settings
from ckgen.bench.numpy_timing import NumpyBench
from ckgen.bench.torch_timing import TorchBench, find_torch
from ckgen.errors import CkgenError
from ckgen.library.library import Library


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


def open_bench(library: Path, settings: Settings) -> Callable[..., tuple[Any, bool]]:
    """Load a library; for ``ChildProcess``."""
    bench = make_bench(Library(library), settings)
    return lambda do, *given: answer(bench, do, given)


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
