"""Summarise measured rows: the best instance per shape, relative to the roofline, the reference and other families."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from ckgen.bench.store import Origin, ResultRow, Store
from ckgen.conv.dtypes import DTYPES
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError, Diagnostic
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance, parse
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS

TOP = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """All measurements of one problem with one operation, function and data type.

    ``wavelet`` and ``other`` are the best instance of that family and the best of all other instances; ``top`` holds
    the fastest few, best first. ``floor_ms`` is the time at the roofline, None without measured ceilings. For a
    function other than PassThrough, ``plain`` is the best instance without a function on the same problem, and ``d_ms``
    the time to transfer the D tensors at full bandwidth.
    """

    problem_name: str
    problem: str
    dtype: str
    floor_ms: float | None
    best: ResultRow | None
    reference: ResultRow | None
    wavelet: ResultRow | None
    other: ResultRow | None
    published_uplift: float | None
    top: tuple[ResultRow, ...]
    operation: str = DEFAULT_OPERATION
    function: str = PASS_THROUGH
    plain: ResultRow | None = None
    d_ms: float | None = None

    @property
    def subject(self) -> str:
        """Operation, function and data type in words, by which shapes are grouped: `backward data with AddResidual,
        f16`."""
        fused = f" with {self.function}" if self.function != PASS_THROUGH else ""
        return f"{OPERATIONS[self.operation].words}{fused}, {self.dtype}"

    @property
    def speed_up(self) -> float | None:
        """Speed-up of the best instance over the reference."""
        return _ratio(_ms(self.reference), _ms(self.best))

    @property
    def over_floor(self) -> float | None:
        """The best instance's time divided by the time at the roofline."""
        return _ratio(_ms(self.best), self.floor_ms)

    @property
    def uplift(self) -> float | None:
        """Speed-up of the best wavelet instance over the best other instance."""
        return _ratio(_ms(self.other), _ms(self.wavelet))

    @property
    def over_plain(self) -> float | None:
        """The best instance's time divided by the sum of the best time without a function and the transfer time of the
        D tensors. At most 1 if the function costs no more than the bytes that it reads."""
        plain = _ms(self.plain)
        return None if plain is None or self.d_ms is None else _ratio(_ms(self.best), plain + self.d_ms)


@dataclass(frozen=True, slots=True)
class Total:
    """Summary of one subject over all its shapes. A mean is geometric, over the shapes that have the number."""

    subject: str
    dtype: str
    shapes: int
    compared: int
    not_slower: int
    mean_speed_up: float | None
    least_speed_up: float | None
    least_shape: str
    mean_over_floor: float | None
    mean_over_plain: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Shapes of runs that measured the same thing, and the newest run's origin. ``ceilings`` are the highest of the
    runs: bytes/s under `bytes`, FLOP/s under each data type."""

    origin: Origin
    ceilings: Mapping[str, float]
    shapes: tuple[Shape, ...]
    totals: tuple[Total, ...]
    rows: tuple[ResultRow, ...]
    failures: tuple[ResultRow, ...]

    @property
    def reference_name(self) -> str:
        """The name of the reference, for headings."""
        return next((shape.reference.name for shape in self.shapes if shape.reference), "reference")


def load_summary(store: Store, run: int | None = None) -> Summary:
    """The summary of run number ``run`` (default: the newest) and of all runs in the store that measured the same
    thing. Raise CkgenError when there is no such run or it has no rows."""
    runs = store.runs()
    number = max(runs, default=0) if run is None else run
    if number not in runs:
        known = ", ".join(map(str, runs)) or "none"
        message = f"{store.path} has no run {number}" if run is not None else f"{store.path} holds no run"
        raise CkgenError((Diagnostic(None, "results", message, f"runs: {known}"),))
    alike = store.alike(runs[number])
    return summarise(runs[number], [runs[i].ceilings for i in alike], store.rows(alike))


def summarise(origin: Origin, ceilings: Iterable[Mapping[str, float]], rows: Sequence[ResultRow]) -> Summary:
    """The summary of ``rows``, the shapes in the order of their first rows. A problem that has several names is one
    shape, under the first."""
    highest: dict[str, float] = {}
    for measured in ceilings:
        for name, value in measured.items():
            highest[name] = max(value, highest.get(name, 0.0))
    grouped: dict[tuple[str, ...], list[ResultRow]] = {}
    for row in rows:
        key = (row.operation, row.function, row.dtype, row.problem)
        grouped.setdefault(key, []).append(row)
    shapes = tuple(_beside_plain([_shape(group, highest) for group in grouped.values()], highest))
    subjects = dict.fromkeys(shape.subject for shape in shapes)
    totals = tuple(_total([shape for shape in shapes if shape.subject == subject]) for subject in subjects)
    wrong = tuple(row for row in rows if not row.timed)
    return Summary(origin, highest, shapes, totals, tuple(rows), wrong)


def floor_ms(row: ResultRow, ceilings: Mapping[str, float]) -> float | None:
    """The time at the roofline: the longer of the arithmetic at the matrix peak and the compulsory bytes at full
    bandwidth, D tensors included."""
    kind = DTYPES[row.dtype].operand_type
    peak, bandwidth = ceilings.get(row.dtype) or ceilings.get(kind), ceilings.get("bytes")
    if not peak or not bandwidth:
        return None
    return 1e3 * max(row.flops / peak, row.least_bytes / bandwidth)


def instance_of(row: ResultRow) -> Instance | None:
    """The instance that a row measured; None for a reference."""
    return parse(row.name) if row.kind == "instance" else None


def _shape(rows: Sequence[ResultRow], ceilings: Mapping[str, float]) -> Shape:
    timed = sorted((row for row in rows if row.timed), key=lambda row: row.ms or math.inf)
    instances = {row.name: instance for row in timed if (instance := instance_of(row))}
    own = [row for row in timed if row.name in instances]
    wavelet = [row for row in own if _is_wavelet(instances[row.name])]
    other = [row for row in own if not _is_wavelet(instances[row.name])]
    first = rows[0]
    return Shape(
        problem_name=first.problem_name,
        problem=first.problem,
        dtype=first.dtype,
        floor_ms=floor_ms(first, ceilings),
        best=_first(own),
        reference=_first([row for row in timed if row.kind == "reference"]),
        wavelet=_first(wavelet),
        other=_first(other),
        published_uplift=next((row.published_uplift for row in rows if row.published_uplift is not None), None),
        top=tuple(own[:TOP]),
        operation=first.operation,
        function=first.function,
    )


def _beside_plain(shapes: Sequence[Shape], ceilings: Mapping[str, float]) -> Iterator[Shape]:
    """The shapes; those with a function also get the best result without one on the same problem."""
    plain = {_problem_of(shape): shape.best for shape in shapes if shape.function == PASS_THROUGH}
    bandwidth = ceilings.get("bytes")
    for shape in shapes:
        beside = plain.get(_problem_of(shape))
        if shape.function == PASS_THROUGH or shape.best is None or beside is None:
            yield shape
            continue
        d_bytes = max(0, shape.best.least_bytes - beside.least_bytes)
        yield replace(shape, plain=beside, d_ms=1e3 * d_bytes / bandwidth if bandwidth else None)


def _problem_of(shape: Shape) -> tuple[str, ...]:
    return shape.operation, shape.dtype, shape.problem


def _is_wavelet(instance: Instance) -> bool:
    """True if separate waves load and multiply, for any copy instruction."""
    return FAMILIES[instance.family].wavelet


def _total(shapes: Sequence[Shape]) -> Total:
    compared = [(shape.speed_up, shape.problem_name) for shape in shapes if shape.speed_up is not None]
    least = min(compared, default=(None, ""))
    return Total(
        subject=shapes[0].subject,
        dtype=shapes[0].dtype,
        shapes=len(shapes),
        compared=len(compared),
        not_slower=sum(1 for speed_up, _ in compared if speed_up >= 1),
        mean_speed_up=mean([speed_up for speed_up, _ in compared]),
        least_speed_up=least[0],
        least_shape=least[1],
        mean_over_floor=mean([shape.over_floor for shape in shapes if shape.over_floor]),
        mean_over_plain=mean([shape.over_plain for shape in shapes if shape.over_plain]),
    )


def mean(values: Sequence[float]) -> float | None:
    """The geometric mean; None of no values."""
    return geometric_mean(values) if values else None


def _ms(row: ResultRow | None) -> float | None:
    return None if row is None else row.ms


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _first(rows: Sequence[ResultRow]) -> ResultRow | None:
    return rows[0] if rows else None
