"""Compare the measurements of two runs, shape by shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.bench.store import Store
from ckgen.errors import CkgenError, Diagnostic
from ckgen.report.digest import summary_of
from ckgen.report.imports import read_results
from ckgen.report.summary import Shape, Summary, load_summary, mean


@dataclass(frozen=True, slots=True)
class Pair:
    """One problem in both runs. ``speed`` is the first run's time divided by the second's: above 1 if the second is
    faster; None if the second has no correct result."""

    problem_name: str
    problem: str
    subject: str
    old: Shape
    new: Shape

    @property
    def old_ms(self) -> float | None:
        """Time of the best instance in the first run."""
        return self.old.best.ms if self.old.best else None

    @property
    def new_ms(self) -> float | None:
        """Time of the best instance in the second run."""
        return self.new.best.ms if self.new.best else None

    @property
    def speed(self) -> float | None:
        """Speed of the second run relative to the first."""
        return self.old_ms / self.new_ms if self.old_ms and self.new_ms else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The problems that both runs measured, in the first run's order, and the numbers of those that only one has."""

    old: Summary
    new: Summary
    pairs: tuple[Pair, ...]
    only_old: int
    only_new: int

    @property
    def speeds(self) -> list[float]:
        """The speeds of the problems for which both runs have a correct result."""
        return [pair.speed for pair in self.pairs if pair.speed is not None]

    @property
    def mean_speed(self) -> float | None:
        """The geometric mean of the speeds."""
        return mean(self.speeds)

    def below(self, least: float) -> tuple[Pair, ...]:
        """The pairs whose second run is slower than ``least`` times the first, or lost its correct result."""
        lost = [pair for pair in self.pairs if pair.old_ms is not None and pair.new_ms is None]
        slow = [pair for pair in self.pairs if pair.speed is not None and pair.speed < least]
        return (*lost, *sorted(slow, key=lambda pair: pair.speed or 0.0))


def compare(old: Summary, new: Summary) -> Comparison:
    """Pair the shapes of two summaries by problem, operation, function and data type."""
    later = _by_key(new.shapes)
    earlier = _by_key(old.shapes)
    pairs = [
        Pair(shape.problem_name, shape.problem, shape.subject, shape, later[key])
        for key, shape in earlier.items()
        if key in later and (shape.best is not None or later[key].best is not None)
    ]
    return Comparison(old, new, tuple(pairs), len(earlier.keys() - later.keys()), len(later.keys() - earlier.keys()))


def load_run(name: str, store: Path) -> Summary:
    """The summary of a run: its number in ``store``, or a file of results (.csv, .csv.gz, .sqlite). Raises CkgenError
    if there is no such run."""
    if name.isascii() and name.isdigit():
        with Store(store, create=False) as opened:
            return load_summary(opened, int(name))
    path, colon, number = name.rpartition(":")
    if colon and number.isdigit() and path.endswith(".sqlite"):
        return load_run(number, Path(path))
    if name.endswith(".sqlite"):
        with Store(Path(name), create=False) as opened:
            return load_summary(opened)
    rows, runs = read_results(Path(name))
    if not rows:
        raise CkgenError([Diagnostic(None, "results", f"{name} holds no rows", "")])
    return summary_of(rows, runs.values())


def _by_key(shapes: Sequence[Shape] | Iterable[Shape]) -> dict[tuple[str, ...], Shape]:
    return {(shape.operation, shape.function, shape.dtype, shape.problem): shape for shape in shapes}
