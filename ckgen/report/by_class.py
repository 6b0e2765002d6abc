"""Predicted times of a problem set's layers relative to the roofline, by class of layer: for unmeasured GPUs.

Each layer is predicted with the cost model (`ckgen.cost.rank`) on the fastest instance that takes it, a generic one
only if no other does, as in the selector's tables of predictions. A file has one row per operation, order of channels,
type, set of instances, class and part. `ckgen report --predicted` writes it; docs/amd_classes.md and
docs/amd_domains.md show the committed ones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from math import exp, log
from pathlib import Path

from ckgen.conv.classes import CLASSES, class_of
from ckgen.conv.layout import CONTIGUOUS
from ckgen.conv.notation import problem_fields
from ckgen.conv.problem import ConvProblem
from ckgen.cost.rank import CodeBook, Prediction, rank, read_book, roofline_seconds
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError, Diagnostic
from ckgen.hardware.compute_units import RATES
from ckgen.instance.instance import Instance
from ckgen.library.digest import file_digest
from ckgen.operations.operation import OPERATIONS
from ckgen.problems.choice import sample
from ckgen.problems.sets import PARTS, NamedProblem, load_problems, problem_file
from ckgen.selection.takes import takes
from ckgen.spec.expand import Expansion, expand_document
from ckgen.text import source

PROBLEMS = "zoo"  # unless another set is named
SETS = ("full", "default")  # of instances
DTYPES = ("f16", "bf16", "f32")
ORDERS = ("channels last", "channels first")  # PyTorch's memory formats
BAR = 4.0  # a class is slow if the geometric mean of its layers is more than this multiple of the roofline
TOLERANCE = 1e-4  # of numbers in a file, which are rounded


@dataclass(frozen=True, slots=True)
class Layer:
    """The prediction of one layer with the fastest instance of a set; ``times`` is relative to the roofline."""

    named: NamedProblem
    prediction: Prediction
    times: float


@dataclass(frozen=True, slots=True)
class ClassRow:
    """The layers of one class and part. ``mean`` is geometric, ``within`` the share of layers at most BAR times the
    roofline; ``worst`` is the largest multiple, that of ``problem`` with ``instance``."""

    operation: str
    order: str
    dtype: str
    set_name: str
    class_name: str
    part: str
    layers: int
    mean: float
    within: float
    worst: float
    problem: str
    instance: str

    @property
    def slow(self) -> bool:
        """True if the class misses the bar."""
        return self.mean > BAR


KEYS = tuple(field.name for field in fields(ClassRow))


@dataclass(frozen=True, slots=True)
class Study:
    """The code of an architecture, the instances of a spec, the name or path of a problem set, and the digests of the
    files that they are from."""

    book: CodeBook
    expansion: Expansion
    problems: str
    origin: Mapping[str, str]

    @property
    def arch(self) -> str:
        """The architecture."""
        return self.book.arch

    def instances(self, operation: str, dtype: str, order: str, ndim: int) -> list[Instance]:
        """The instances for problems of one kind. Narrow LDS writes of the spec are left out, as in the tables."""
        layout = _layout(operation, order, ndim)
        return [
            instance
            for instance in self.expansion.instances
            if (instance.operation, instance.layout, instance.dtype) == (operation, layout, dtype)
            and self.arch in instance.archs
            and instance.function == PASS_THROUGH
            and not instance.given_copy
        ]


def make_study(code: str, spec: str, root: Path, problems: str = PROBLEMS) -> Study:
    """Read a table of `ckgen isa`, with its simulated cycles if there are some, and a spec; the paths are relative to
    ``root``. ``problems`` is the name of a bundled set or the path of a file. Raises CkgenError if a file cannot be
    read."""
    book, (code, *cycles) = read_book(root, code)
    origin = {path: file_digest(root / path) for path in (code, spec, *cycles)}
    origin[problems] = file_digest(problem_file(problems))
    return Study(book, expand_document(source.load(root / spec)), problems, origin)


def _layout(operation: str, order: str, ndim: int) -> str:
    if order == ORDERS[0]:
        return OPERATIONS[operation].home(ndim)
    tensors = CONTIGUOUS[ndim].split("/")
    return "/".join(tensors if OPERATIONS[operation].order[0] == "in" else reversed(tensors))


def layers_of(
    study: Study, operation: str, dtype: str, order: str, problems: Iterable[NamedProblem]
) -> Iterator[tuple[str, Layer]]:
    """Yield each problem that a set of instances takes, with the name of the set."""
    own = {ndim: study.instances(operation, dtype, order, ndim) for ndim in CONTIGUOUS}
    members = {name: frozenset(study.expansion.sets[name]) for name in SETS}
    rates = RATES[study.arch]
    for named in problems:
        problem = named.problem
        takers = rank((instance for instance in own[problem.ndim] if takes(instance, problem)), problem, study.book)
        ranked = sorted(takers, key=lambda found: found.instance.generic)
        floor = roofline_seconds(problem, operation, dtype, rates)
        for name in SETS:
            best = next((found for found in ranked if found.instance.name in members[name]), None)
            if best is not None:
                yield name, Layer(named, best, best.seconds / floor)


def class_rows(study: Study, problems: Sequence[NamedProblem]) -> Iterator[ClassRow]:
    """The rows of all operations, orders and types, in the order of the fields."""
    for operation in OPERATIONS:
        for order in ORDERS:
            for dtype in DTYPES:
                found: dict[tuple[str, str, str], list[Layer]] = {}
                for set_name, layer in layers_of(study, operation, dtype, order, problems):
                    key = set_name, class_of(layer.named.problem), layer.named.part
                    found.setdefault(key, []).append(layer)
                for set_name in SETS:
                    for name in CLASSES:
                        for part in PARTS:
                            if layers := found.get((set_name, name, part)):
                                yield _row((operation, order, dtype, set_name, name, part), layers)


def _row(key: tuple[str, str, str, str, str, str], layers: Sequence[Layer]) -> ClassRow:
    worst = max(layers, key=lambda layer: layer.times)
    mean = exp(sum(log(layer.times) for layer in layers) / len(layers))
    within = sum(layer.times <= BAR for layer in layers) / len(layers)
    described = str(worst.named.problem), worst.prediction.instance.name
    return ClassRow(*key, len(layers), round(mean, 4), round(within, 4), round(worst.times, 4), *described)


def to_text(study: Study, rows: Iterable[ClassRow]) -> str:
    """The text of a file: its sources with their digests, then the rows."""
    out = io.StringIO()
    out.writelines(f"# {path} {digest}\n" for path, digest in study.origin.items())
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(KEYS)
    writer.writerows(map(astuple, rows))
    return out.getvalue()


def read_rows(path: Path) -> tuple[dict[str, str], list[ClassRow]]:
    """The sources of a file with their digests, and its rows. Raises CkgenError if it is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    sources = [(name, digest) for line in lines if line.startswith("# ") for _, name, digest in [line.split()]]
    rows = list(csv.reader(line for line in lines if not line.startswith("# ")))
    if len(sources) < 3 or not rows or tuple(rows[0]) != KEYS:
        message = f"{path} is not a file of predicted times by class"
        raise CkgenError([Diagnostic(None, "predicted", message, "write it with `ckgen report --predicted`")])
    return dict(sources), [_parsed(row) for row in rows[1:]]


def _parsed(cells: Sequence[str]) -> ClassRow:
    operation, order, dtype, set_name, name, part, layers, mean, within, worst, problem, instance = cells
    numbers = int(layers), float(mean), float(within), float(worst)
    return ClassRow(operation, order, dtype, set_name, name, part, *numbers, problem, instance)


def find_drift(path: Path, root: Path) -> list[str]:
    """Compare a file with its sources below ``root``, and the worst layer of each row with a new prediction. Returns a
    sentence per mismatch."""
    sources, rows = read_rows(path)
    code, spec, *_, problems = sources
    study = make_study(code, spec, root, problems)
    again = "; run ckgen report --predicted"
    changed = [name for name in {**sources, **study.origin} if study.origin.get(name) != sources.get(name)]
    if changed:
        return [f"{path.name}: {', '.join(changed)} changed since{again}"]
    return [f"{path.name}: {row.problem} differs from its prediction{again}" for row in rows if not _holds(study, row)]


def _holds(study: Study, row: ClassRow) -> bool:
    problem = ConvProblem(**problem_fields(row.problem))
    found = dict(layers_of(study, row.operation, row.dtype, row.order, [NamedProblem("", problem)]))
    layer = found.get(row.set_name)
    return layer is not None and abs(layer.times - row.worst) <= TOLERANCE * row.worst


def study_problems(study: Study, count: int | None = None) -> tuple[NamedProblem, ...]:
    """The layers of the study's set, or a sample of ``count`` of them with a share of each class and part."""
    every = load_problems(study.problems)
    return every if count is None else sample(every, count)
