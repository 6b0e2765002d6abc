"""Fit the coefficients of the selector's time model, and measure how far its choices are from the fastest.

python bench/fit_times.py             cross-validates on sm_90a and compares with the cost model on AMD; run it at the
                                      root of a checkout
python bench/fit_times.py --write     fits to all and writes ckgen/selection/times.json; with --family NAME, all other
                                      coefficients stay as they are, and with --operation NAME those of the other

It needs numpy and scipy. sm_90a is fitted to the measured rows of the tables and to the times of models' layers that
ckgen.torch.enable kept (choices of bench/results), without those of held-out networks and of networks outside the zoo.
AMD architectures are fitted to the cost model's times of fitted layers of the zoo, drawn at random. A time's deviation
from the mean deviation of its problem counts more than that mean, and a fast candidate's more than a slow one's: the
model is there to order candidates.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this checkout's ckgen, installed or not

from time_points import (  # noqa: E402
    NVIDIA,
    Point,
    choice_files,
    chosen_points,
    measured_files,
    measured_points,
    modelled_points,
)

from ckgen.conv.problem import ConvProblem  # noqa: E402
from ckgen.library.digest import file_digest  # noqa: E402
from ckgen.operations.operation import OPERATIONS  # noqa: E402
from ckgen.selection import time_model  # noqa: E402
from ckgen.selection.terms import NAMES, Coefficients, evaluate  # noqa: E402

MODELLED = ("gfx90a", "gfx942", "gfx950")
START = Coefficients(4.0, 1.1, 0.9, 0.4, 0.05, 0.05, 70.0, 450.0, 1100.0, 1.4, 0.02)  # as found for most families
SPREAD = np.array([0.5, 0.5, 0.7, 1.0, 1.0, 1.5, 1.0, 0.7, 1.0, 1.0, 1.5])  # of the logarithms, as weak knowledge
MEAN, DEVIATION, NEAR = 1.5, 6.0, 0.5  # weights, and how fast they fall with the logarithm of a time
FOLDS = 6
_ARRAYS: dict[str, Callable[..., Any]] = {
    "max": np.maximum,
    "min": np.minimum,
    "ceil_div": lambda value, step: np.ceil(value / step),
    "floor_div": lambda value, step: np.floor(value / step),
    "pick": np.where,
}


class Sample:
    """Points as arrays."""

    def __init__(self, points: Sequence[Point], arch: str) -> None:
        self.points, self.arch = points, arch
        self.keys = sorted({point.key for point in points})
        self.times = np.log([point.microseconds for point in points])
        columns = [self._numbers(point) for point in points]
        self._members = {key: [at for at, point in enumerate(points) if point.key == key] for key in self.keys}
        self._numbers_of = {
            key: {name: np.array([columns[at][name] for at in members], float) for name in columns[0]}
            for key, members in self._members.items()
        }

    def _numbers(self, point: Point) -> dict[str, float]:
        unit = time_model.times_of(Coefficients(*[1.0] * len(NAMES)), self.arch, *point.key[1:], point.instance.dtype)
        numbers = {
            **time_model.device_numbers(self.arch),
            **time_model.instance_numbers(point.instance),
            **time_model.problem_numbers(point.instance, point.problem),
            "split_k": point.split_k,
        }
        numbers["memory"] *= point.memory
        return numbers | {f"unit {name}": value for name, value in unit.items()}

    def predicted(self, fitted: Mapping[tuple[str, str], Coefficients]) -> np.ndarray:
        """Logarithms of the model's microseconds; infinite for a family without coefficients."""
        found = np.full(len(self.points), np.inf)
        for key, members in self._members.items():
            if key in fitted:
                numbers = dict(self._numbers_of[key])
                numbers |= {name: getattr(fitted[key], name) * numbers[f"unit {name}"] for name in NAMES}
                found[members] = np.log(evaluate(numbers, _ARRAYS))
        return found


def fit(points: Sequence[Point], arch: str) -> dict[tuple[str, str], Coefficients]:
    """The coefficients of each family and operation that has points."""
    sample, start = Sample(points, arch), np.log(list(asdict(START).values()))
    numbers: dict[tuple[object, ...], int] = {}
    question = np.array([numbers.setdefault(point.question, len(numbers)) for point in points])
    best = np.full(len(numbers), np.inf)
    np.minimum.at(best, question, sample.times)
    near = np.exp(-(sample.times - best[question]) / NEAR)
    total, several = np.bincount(question, near), np.bincount(question)[question] > 1
    scale = DEVIATION * np.sqrt(near / np.sqrt(total)[question])

    def residuals(values: np.ndarray) -> np.ndarray:
        rows = values.reshape(len(sample.keys), len(NAMES))
        error = sample.predicted(_as_coefficients(sample.keys, rows)) - sample.times
        mean = np.bincount(question, error * near) / total
        rare = MEAN * np.sign(mean) * 2 * (np.sqrt(1 + np.abs(mean)) - 1)  # outliers count less
        known = (rows - start) / SPREAD / 2
        return np.concatenate([((error - mean[question]) * scale)[several], rare, known.ravel()])

    many = len(sample.keys)
    found = least_squares(residuals, np.tile(start, many), x_scale=np.tile(SPREAD, many), max_nfev=60)
    return _as_coefficients(sample.keys, found.x.reshape(len(sample.keys), len(NAMES)))


def _as_coefficients(keys: Sequence[tuple[str, str]], rows: np.ndarray) -> dict[tuple[str, str], Coefficients]:
    return {key: Coefficients(*np.exp(row)) for key, row in zip(keys, rows, strict=True)}


@dataclass(frozen=True)
class Choice:
    """The time of the model's choice, and of the best split-K factors of its first four instances, / the best time."""

    problem: ConvProblem
    first: float
    four: float


def choices(points: Sequence[Point], fitted: Mapping[tuple[str, str], Coefficients], arch: str) -> list[Choice]:
    """The model's choices among the points of each question."""
    predicted = Sample(points, arch).predicted(fitted)
    questions: dict[tuple[object, ...], list[tuple[float, Point]]] = defaultdict(list)
    for time, point in zip(predicted, points, strict=True):
        questions[point.question].append((time, point))
    found = []
    for candidates in questions.values():
        ordered = [point for _, point in sorted(candidates, key=lambda item: item[0])]
        best = min(point.microseconds for point in ordered)
        names = list(dict.fromkeys(point.instance.name for point in ordered))[:4]
        four = min(point.microseconds for point in ordered if point.instance.name in names)
        found.append(Choice(ordered[0].problem, ordered[0].microseconds / best, four / best))
    return found


def cross_validated(points: Sequence[Point], always: Sequence[Point]) -> list[Choice]:
    """The choices for each problem by a model that was fitted without it."""
    problems = sorted({point.problem for point in points}, key=str)
    random.Random(1).shuffle(problems)
    found = []
    for fold in range(FOLDS):
        out = set(problems[fold::FOLDS])
        fitted = fit([point for point in (*points, *always) if point.problem not in out], NVIDIA)
        found += choices([point for point in points if point.problem in out], fitted, NVIDIA)
    return found


def report(what: str, found: Sequence[Choice]) -> None:
    """Print the geometric mean and the worst of the first choice and of the best of four."""
    worst = max(found, key=lambda choice: choice.first)
    first, four = (_mean(getattr(choice, name) for choice in found) for name in ("first", "four"))
    print(
        f"{what}: {first:.3f} times the best, at worst {worst.first:.2f} ({worst.problem}); "
        f"best of four instances {four:.3f}, at worst {max(choice.four for choice in found):.2f}; {len(found)} in all"
    )


def _mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def report_errors(fitted: Mapping[tuple[str, str], Coefficients]) -> None:
    """Print predicted / measured times of the layers of models, by part."""
    for part in ("fitted", "held_out", "outside"):
        points = list(chosen_points(part))
        errors = Sample(points, NVIDIA).predicted(fitted) - [math.log(point.microseconds) for point in points]
        errors = errors[np.isfinite(errors)]
        low, middle, high = np.exp(np.quantile(errors, (0.1, 0.5, 0.9)))
        print(f"layers of models, {part}: predicted / measured {middle:.2f} ({low:.2f} to {high:.2f}), {len(errors)}")


def write(fitted: Mapping[str, Mapping[tuple[str, str], Coefficients]]) -> None:
    """Write the coefficients with the files that they come from."""
    rows: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for arch, families in fitted.items():
        for (operation, family), own in sorted(families.items()):
            rounded = {name: float(f"{value:.4g}") for name, value in asdict(own).items()}
            rows.setdefault(arch, {}).setdefault(operation, {})[family] = rounded
    files = {file: file_digest(ROOT / file) for file in (*measured_files(), *choice_files())}
    note = "python bench/fit_times.py --write. Do not edit"
    data = {"generated_by": note, "measured": files, "coefficients": rows}
    time_model.COEFFICIENTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="fit to everything and write the file")
    parser.add_argument("--family", action="append", help="with --write: fit only this family on sm_90a; repeatable")
    parser.add_argument("--operation", help="with --family: only its coefficients of this operation")
    options = parser.parse_args()
    if options.operation and not options.family:
        parser.error("--operation needs --family")
    measured, chosen = list(measured_points()), list(chosen_points("fitted"))
    if options.write:
        found = fit([*measured, *chosen], NVIDIA)
        if options.family is None:
            modelled = {arch: fit(list(modelled_points(arch, "fitted", 1)), arch) for arch in MODELLED}
        else:
            modelled = {arch: _known(arch) for arch in MODELLED}
            operations = [options.operation] if options.operation else list(OPERATIONS)
            fitted = {key: row for key, row in found.items() if key[1] in options.family and key[0] in operations}
            found = _known(NVIDIA) | fitted
        write({**modelled, NVIDIA: found})
        return 0
    for operation in OPERATIONS:
        own = [[point for point in points if point.instance.operation == operation] for points in (measured, chosen)]
        report(f"{NVIDIA} {operation}, left out", cross_validated(*own))
    report_errors(_known(NVIDIA))
    for arch in MODELLED:
        for part in ("fitted", "held_out"):
            drawn = list(modelled_points(arch, part, 2))
            for operation in OPERATIONS:
                points = [point for point in drawn if point.instance.operation == operation]
                report(f"{arch} {operation}, {part} layers by the cost model", choices(points, _known(arch), arch))
    return 0


def _known(arch: str) -> dict[tuple[str, str], Coefficients]:
    fitted = time_model.load_fitted().items()
    return {(operation, family): row for (name, operation, family), row in fitted if name == arch}


if __name__ == "__main__":
    sys.exit(main())
