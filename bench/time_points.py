"""The times that bench/fit_times.py fits the selector's time model to: of measured rows, of the choices that
ckgen.torch.enable kept, and of the cost model."""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this checkout's ckgen, installed or not

from ckgen.bench.job import OK, problem_from_json  # noqa: E402
from ckgen.conv.problem import ConvProblem  # noqa: E402
from ckgen.cost.rank import predict, read_book  # noqa: E402
from ckgen.elementwise.function import PASS_THROUGH  # noqa: E402
from ckgen.families.counts import ceil_div  # noqa: E402
from ckgen.families.registry import FAMILIES  # noqa: E402
from ckgen.families.tile_cost import Code  # noqa: E402
from ckgen.hardware.compute_units import RATES  # noqa: E402
from ckgen.instance.instance import Instance, parse  # noqa: E402
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT  # noqa: E402
from ckgen.paths import spec_file  # noqa: E402
from ckgen.problems.sets import load_problems  # noqa: E402
from ckgen.selection import time_model  # noqa: E402
from ckgen.selection.measured import load_tables  # noqa: E402
from ckgen.selection.takes import takes  # noqa: E402
from ckgen.spec.expand import expand_document  # noqa: E402
from ckgen.text import source  # noqa: E402
from ckgen.tuning.from_rows import read_measured  # noqa: E402

NVIDIA = "sm_90a"
H100_MEMORY = 3.35 / 4.8  # of an H200's bandwidth
# Kernels copy weights whose rows do not begin at cache lines, with the channels last and with planes.
ALIGNED_SINCE, PLANES_ALIGNED_SINCE = "bench/results/2026-11-28", "bench/results/2026-11-29-h200-wide-tiles"
WHOLE_STORES = "bench/results/2026-11-28-h200-plane-stores"
# Since then, and in WHOLE_STORES, kernels store planes 16 bytes at once; since then, tensor cores multiply f32 in
# all families but depthwise ones, and in Hopper's own by wgmma.
LATER = "bench/results/2026-11-29"
# Since then, family depthwise divides small problems among more workgroups. Sweeps of problems with at least this many
# rows for the threads of all workgroups are as they were. Other kernels, which have more splits, take 0.8 to 1.01 times
# as long, most of them 1.0.
DIVIDED_SINCE, DIVIDED_ROWS = "bench/results/2026-11-29-h200-work-division", {BWD_DATA: 4224, BWD_WEIGHT: 8448}
FROM_CACHE = 0.8  # time of memory in runs that follow each other on the same tensors
AMD_LAYERS, AMD_ROWS = 150, 40  # layers drawn, and rows of each with a type and layout


@dataclass(frozen=True)
class Point:
    """One time: an instance, a problem, a split-K factor, microseconds, and the device's memory bandwidth relative to
    the architecture's. `alone` is true if no other candidate of the problem was timed under the same conditions."""

    instance: Instance
    problem: ConvProblem
    split_k: int
    microseconds: float
    memory: float = 1.0
    alone: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.instance.operation, self.instance.family

    @property
    def question(self) -> tuple[object, ...]:
        """The question that it is a candidate for."""
        return (self.instance.operation, self.problem, self.instance.dtype, self.instance.layout, self.alone)


def measured_files() -> tuple[str, ...]:
    """The files with the rows of the tables of sm_90a."""
    return tuple(dict.fromkeys(file for t in load_tables() if t.arch == NVIDIA for file in t.origin.results))


def choice_files() -> tuple[str, ...]:
    """The files with the choices of models' layers."""
    return tuple(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("bench/results/*/choices*.jsonl.gz")))


def measured_points() -> Iterator[Point]:
    """Correct rows of instances that are not generic."""
    for file in measured_files():
        memory = H100_MEMORY if "h100" in file else 1.0
        for row in read_measured([file], ROOT).rows:
            if row.kind == "instance" and row.verdict == OK and row.ms and row.split_k:
                instance = parse(row.name)
                problem = problem_from_json(row.problem_fields)
                if not instance.generic and not _outdated(file, instance, problem):
                    yield Point(instance, problem, row.split_k, row.ms * 1e3, memory)


def chosen_points(part: str) -> Iterator[Point]:
    """The fastest candidate of each layer of models whose networks are `fitted`, `held_out` or `outside` the zoo, where
    the instance read the tensors without copies."""
    parts: dict[ConvProblem, set[str]] = defaultdict(set)
    for named in load_problems("zoo"):
        parts[replace(named.problem, batch=1)].add(named.part)
    for file in choice_files():
        memory = H100_MEMORY if "h100" in file else 1.0
        with gzip.open(ROOT / file, "rt", encoding="utf-8") as lines:
            last = {key: rest for key, *rest in map(json.loads, lines)}
        for key, (name, split_k, microseconds, *_) in last.items():
            if not name:
                continue
            instance, (problem, channels_last) = parse(name), _layer(key)
            known = parts.get(replace(problem, batch=1), {"outside"})
            own = "fitted" if "fitted" in known else next(iter(known))
            if own == part and instance.channels_last == channels_last and not _outdated(file, instance, problem):
                yield Point(instance, problem, split_k, microseconds, memory / FROM_CACHE, alone=True)


def _outdated(file: str, instance: Instance, problem: ConvProblem) -> bool:
    """True for a time of a kernel that copies the weight, stores planes in whole vectors, multiplies f32 by tensor
    cores, or divides small problems among more workgroups, since then."""
    family = FAMILIES[instance.family]
    if file < DIVIDED_SINCE and instance.family == "depthwise" and instance.stages > 1:
        image = problem.input if instance.operation == BWD_DATA else problem.output
        rows = problem.batch * prod(image) / instance.k_per_block * ceil_div(problem.groups, instance.n_per_block)
        if rows < DIVIDED_ROWS[instance.operation]:
            return True
    if file < LATER and instance.dtype == "f32" and not family.single_channel:
        return True
    since = ALIGNED_SINCE if instance.channels_last else PLANES_ALIGNED_SINCE
    if file < since and family.aligns_weight(instance, problem):
        return True
    planes = instance.operation == BWD_DATA and not instance.channels_last and family.uses_tma
    return planes and file < LATER and not file.startswith(WHOLE_STORES)


_TENSOR = r"(\(\[.*?\], \[.*?\], \d+\))"
_KEY = re.compile(rf"\w+ \w+ {_TENSOR} {_TENSOR} {_TENSOR} (\(\(.*?\), \d+\))")


def _layer(key: str) -> tuple[ConvProblem, bool]:
    """The problem of a key of ckgen.torch's choices, and whether its tensors have channels last."""
    match = _KEY.match(key)
    assert match, key
    out, in_, wei, (strides, pads, dilations, groups) = (ast.literal_eval(text) for text in match.groups())
    (k, c, *filter_), (batch, _, *image) = wei[0], in_[0]
    problem = ConvProblem(groups, batch, k // groups, c, *map(tuple, (filter_, image, strides, dilations, pads, pads)))
    return problem, all(strides[1] == 1 or lengths[1] == 1 for lengths, strides, _ in (out, in_))


def modelled_points(arch: str, part: str, seed: int) -> Iterator[Point]:
    """Times by the cost model of all candidates of random layers of the zoo, in f16 and f32, channels last and first;
    of each, fast ones and others drawn at random."""
    book, _ = read_book(ROOT, f"docs/isa/{arch}.csv")
    instances = [
        one
        for one in expand_document(source.load(spec_file())).instances
        if (not one.archs or arch in one.archs) and one.function == PASS_THROUGH and not one.generic
        if one.dtype in ("f16", "f32") and not one.given_copy
    ]
    draw = random.Random(seed)
    layers = [named.problem for named in load_problems("zoo") if named.part == part]
    for problem in draw.sample(layers, AMD_LAYERS):
        groups: dict[tuple[str, str, str], list[Instance]] = defaultdict(list)
        for one in instances:
            if takes(one, problem):
                groups[one.operation, one.dtype, one.layout].append(one)
        for own in groups.values():
            points = [point for one in own for point in _modelled(one, problem, book.code_of(one), arch)]
            least = min(point.microseconds for point in points)
            yield from draw.sample(points, min(len(points), AMD_ROWS))
            yield from (point for point in points if point.microseconds < 1.1 * least)


def _modelled(instance: Instance, problem: ConvProblem, code: Code, arch: str) -> Iterator[Point]:
    tiles = int(time_model.problem_numbers(instance, problem)["tiles"])
    for factor in time_model.split_ks(instance, problem, tiles, RATES[arch].units):
        seconds = predict(instance, problem, factor, code, RATES[arch]).seconds
        yield Point(instance, problem, factor, seconds * 1e6)
