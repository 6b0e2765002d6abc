"""Jobs to measure and their results, as plain data that travels to a worker process and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Literal

from ckgen.cluster import child
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.operations.operation import DEFAULT_OPERATION
from ckgen.problems.sets import NamedProblem

Kind = Literal["instance", "reference"]
CacheMode = Literal["flush", "warm"]

OK, WRONG, INEXACT = "ok", "wrong", "inexact"
FAILED, CRASHED, TIMEOUT = "failed", child.CRASHED, child.TIMEOUT


@dataclass(frozen=True, slots=True)
class Settings:
    """Timing settings of a job.

    ``warm_up`` runs come first. Then as many samples are taken as fit into ``sample_ms`` milliseconds, but at least
    ``min_samples`` and at most ``max_samples``. ``cache`` is the state of the cache before each sample: `flush` reads a
    large buffer, `warm` does nothing.
    """

    warm_up: int = 3
    min_samples: int = 7
    max_samples: int = 50
    sample_ms: float = 20.0
    cache: CacheMode = "flush"
    seed: int = 1

    def samples(self, first_ms: float, limit_ms: float | None) -> int:
        """Number of samples for a job whose first sample took ``first_ms``; at most 3 if that exceeds the limit."""
        if limit_ms is not None and first_ms > limit_ms:
            return min(3, self.min_samples)
        fitting = int(self.sample_ms / max(first_ms, 1e-6))
        return max(self.min_samples, min(self.max_samples, fitting))


@dataclass(frozen=True, slots=True)
class Job:
    """A measurement to make: an instance or a reference (`cudnn`) on a problem. ``split_k`` is the factor that the run
    actually uses; ``automatic`` is true if the library would choose this factor itself. References have neither.
    ``d_bytes`` is the size of the function's D tensors in bytes."""

    kind: Kind
    name: str
    dtype: str
    problem: NamedProblem
    split_k: int | None = None
    automatic: bool = False
    operation: str = DEFAULT_OPERATION
    function: str = PASS_THROUGH
    d_bytes: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Values that identify the measurement: jobs with equal keys measure the same thing."""
        work = self.operation, self.function, self.dtype, str(self.problem.problem)
        return self.kind, self.name, *work, self.split_k


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a job. Times are in milliseconds: the median, minimum and quartiles of ``samples`` samples, or None if
    nothing could be timed. ``message`` is empty if the verdict is ok."""

    verdict: str
    message: str = ""
    ms: float | None = None
    ms_min: float | None = None
    ms_q1: float | None = None
    ms_q3: float | None = None
    samples: int = 0
    max_error: float | None = None
    tolerance: float | None = None
    workspace_bytes: int | None = None


def timed(verdict: str, message: str, times: list[float], **more: Any) -> Outcome:
    """An outcome with the statistics of ``times``, which holds at least one sample."""
    q1, median, q3 = quantiles(times if len(times) > 1 else times * 2, n=4, method="inclusive")
    return Outcome(verdict, message, median, min(times), q1, q3, len(times), **more)


def problem_from_json(data: Mapping[str, Any]) -> ConvProblem:
    """The problem whose fields came from ``dataclasses.asdict``; its tuples have become lists in JSON."""
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}
    return ConvProblem(**fields)
