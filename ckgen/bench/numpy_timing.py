"""Measure with numpy alone: on the host platform, and on a GPU without PyTorch.

Runs are verified as the smoke test verifies them and timed by the library's own clock. There is no reference library to
compare with.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from ckgen.bench import job as bench_job
from ckgen.bench.job import Job, Outcome, Settings, timed
from ckgen.conv.dtypes import Array, element_of
from ckgen.conv.layout import TENSORS, to_physical
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library, Tensor
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.plan import Case
from ckgen.verify.run_tensors import Data, make_data
from ckgen.verify.smoke import run_case

_MATMUL_EDGE = 1024
_COPY_BYTES = 128 * 1024 * 1024


class NumpyBench:
    """Runner of the jobs of one library."""

    references: tuple[str, ...] = ()

    def __init__(self, library: Library, settings: Settings) -> None:
        self._library, self._settings = library, settings
        self._on_host = self.survives_failures = library.platform == "host"
        self._known: tuple[object, Data] | None = None

    def origin(self) -> dict[str, str]:
        """The machine as text: device, driver, software. Raise LibraryError if the library's GPU is not there, which
        the first job would find only after minutes, in which the CPU computes its reference."""
        if not self._on_host:
            self._library.memory.synchronize()
        cpu = f"{_cpu_name()}, {os.cpu_count()} cores"
        device = cpu if self._on_host else f"{self._library.platform} GPU (no PyTorch to name it)"
        return {"device": device, "driver": platform.release(), "software": f"numpy {np.__version__}"}

    def ceilings(self, dtypes: Iterable[str]) -> dict[str, float]:
        """FLOP/s of a float32 matrix product (used for every data type) and bytes/s of a copy, both on the CPU."""
        if not self._on_host:
            return {}
        edge = np.random.default_rng(0).standard_normal((_MATMUL_EDGE, _MATMUL_EDGE)).astype(np.float32)
        source = np.ones(_COPY_BYTES, np.uint8)
        target = np.empty_like(source)
        flops = 2 * _MATMUL_EDGE**3 / _seconds(lambda: edge @ edge)
        copied = 2 * _COPY_BYTES / _seconds(lambda: np.copyto(target, source))
        return {"bytes": copied, **dict.fromkeys(dtypes, flops)}

    def measure(self, job: Job, limit_ms: float | None) -> Outcome:
        """Verify the job, then time it if its result is correct. Raise CkgenError when a timed run fails."""
        assert job.split_k is not None, "instances have a factor"
        function = self._library.function_of(job.name)
        key = job.problem.problem, job.dtype, job.operation, function
        if self._known is None or self._known[0] != key:
            codes = self._library.f8_codes
            data = make_data(job.problem.problem, job.dtype, self._settings.seed, job.operation, function, codes)
            self._known = key, data
        data, seed = self._known[1], self._settings.seed
        case = Case(job.name, job.problem, job.split_k, job.split_k != 1)
        row = run_case(self._library, case, data, seed=seed)
        if not row.ok:
            verdict = bench_job.FAILED if row.max_error is None else bench_job.WRONG
            message = row.verdict.removeprefix("FAIL: ")
            return Outcome(verdict, message, max_error=row.max_error, tolerance=row.tolerance)
        size = self._library.workspace_size(job.name, job.problem.problem, split_k=job.split_k)
        return timed(
            bench_job.OK,
            "",
            self._times(job, data, size, limit_ms),
            max_error=row.max_error,
            tolerance=row.tolerance,
            workspace_bytes=size,
        )

    def _times(self, job: Job, data: Data, size: int, limit_ms: float | None) -> list[float]:
        problem, instance = job.problem.problem, self._library.instance(job.name)
        if self._on_host:
            self._library.configure_host()
        written, layout = OPERATIONS[job.operation].written, instance.layout
        slots = d_slots(instance, self._library.function_of(job.name))
        tensors = {name: array.transpose(to_physical(name, layout)) for name, array in data.tensors.items()}
        tensors[written] = np.empty(problem.shape(written, layout), element_of(job.dtype, written).storage)
        read = [np.ascontiguousarray(tensors[name]) for name in TENSORS]
        read += [np.ascontiguousarray(data.d_array(at, slot)) for at, slot in enumerate(slots)]
        with self._placed(*read, np.empty(size, np.uint8)) as (i, w, o, *ds, workspace):

            def sample() -> float:
                run = self._library.run(
                    *(job.name, problem, i, w, o),
                    ds=ds,
                    split_k=job.split_k or 1,
                    workspace=workspace if size else None,
                    time_kernel=True,
                )
                assert run.milliseconds is not None, "the run was timed"
                return run.milliseconds

            first = sample()
            # The library's own clock gives a mean over several runs, so one sample of a slow kernel is enough.
            slow = first > self._settings.sample_ms
            return [first, *(sample() for _ in range(0 if slow else self._settings.samples(first, limit_ms) - 1))]

    @contextmanager
    def _placed(self, *arrays: Array) -> Iterator[tuple[Tensor, ...]]:
        if self._on_host:
            yield arrays
            return
        with self._library.memory.holding(arrays, written=()) as addresses:
            yield addresses


def _seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest time of a few runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named else platform.machine()
