"""Named problems: the bundled sets and users' own, in YAML.

    operation: grouped_conv_bwd_data   # optional: problems of one operation
    channels: total          # out_channels and in_channels count all groups (per_group: one group, as in CK)
    defaults: {batch: 32}    # for keys that an entry omits
    problems:
      - {name: conv2, out_channels: 256, in_channels: 256, filter: [3, 3], input: [56, 56], pad: 1}

Keys of an entry: name, groups, batch, out_channels, in_channels, filter, input, stride, dilation, pad (both sides),
right_pad, output (only checked) and published_wavelet_uplift (shown in reports beside measured values). A single
number for stride, dilation or a pad holds for every dimension. Instead of `problems` or besides, a file may list whole
networks with `models`: see `ckgen.problems.models`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckgen.conv.problem import ConvProblem, ProblemError, make_problem
from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.operations.operation import OPERATIONS
from ckgen.paths import PACKAGE
from ckgen.problems.file import entries
from ckgen.problems.models import Model, Setting, occurrences
from ckgen.text.source import Document, load

# The bundled sets whose problems every instance is checked and ranked on.
STANDARD_SETS = ("retinanet", *(operation.problem_set for operation in OPERATIONS.values()))
PARTS = ("fitted", "held_out")
_START = "start with `channels: per_group` and `problems:`"


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem with a name, for some ``operations``. ``original`` is the full-size problem if this one was scaled down
    to fit a run. ``published_uplift`` is the published speed of a wavelet kernel relative to the best other kernel, on
    the hardware that the problem set names. ``models`` are the names of the models of the set that have the problem.
    ``held_out`` is true if there are such models and all of them are held out: the problem is for validation only.
    """

    name: str
    problem: ConvProblem
    original: ConvProblem | None = None
    published_uplift: float | None = None
    operations: tuple[str, ...] = tuple(OPERATIONS)
    models: tuple[str, ...] = ()
    held_out: bool = False

    @property
    def part(self) -> str:
        """`held_out` if the problem is for validation only, else `fitted`."""
        return PARTS[self.held_out]

    def fitted(self, max_macs: int) -> NamedProblem:
        """Return this problem scaled down to at most ``max_macs`` multiply-accumulates where possible, see
        ConvProblem."""
        small = self.problem.fitted(max_macs)
        if small == self.problem:
            return self
        return replace(self, problem=small, original=self.original or self.problem)

    def with_batch(self, batch: int) -> NamedProblem:
        """Return this problem with another batch size."""
        return replace(self, problem=replace(self.problem, batch=batch))

    def __str__(self) -> str:
        whole = self.original or self.problem
        named = str(self.problem) if self.name == str(whole) else f"{self.name}: {self.problem}"
        if self.original is None:
            return named
        size = "x".join(str(edge) for edge in self.original.input)
        return f"{named} (scaled from N{self.original.batch} on {size})"


def bundled_sets() -> tuple[str, ...]:
    """Names of the bundled problem sets."""
    return tuple(sorted(path.stem for path in (PACKAGE / "problems").glob("*.yaml")))


def problem_file(name: str) -> Path:
    """The file of a bundled set, or ``name`` itself if it is the path of a file. Raises CkgenError if it is neither,
    with the nearest names."""
    if name in bundled_sets():
        return PACKAGE / "problems" / f"{name}.yaml"
    if Path(name).is_file():
        return Path(name)
    message = f"{name!r} is neither a problem set nor a file"
    raise CkgenError([Diagnostic(None, "problem-set", message, did_you_mean(name, bundled_sets()))])


def load_problems(name: str) -> tuple[NamedProblem, ...]:
    """Load the problems of a bundled set, or of a YAML file if ``name`` is its path.

    Raises CkgenError with the place of every error in the file, or with the nearest names if there is no such set.
    """
    return _read(_document(name))


def load_models(name: str) -> tuple[Model, ...]:
    """Load the models of a set or file; a set of single problems has none. Raises CkgenError as `load_problems`
    does."""
    document = _document(name)
    entries(document)
    return _models(document)[0]


def _document(name: str) -> Document:
    return load(problem_file(name), _START)


def _read(document: Document) -> tuple[NamedProblem, ...]:
    channels, operations, rows = entries(document)
    found: list[Diagnostic] = []
    problems: dict[str, NamedProblem] = {}
    for index, values in enumerate(rows):
        place, name = document.place("problems", index), values["name"]
        if name in problems:
            found.append(Diagnostic(place, "duplicate-name", f"there are two problems named {name}"))
        findings = list(_missing_or_uneven(values, channels))
        if not findings:
            try:
                uplift = values.get("published_wavelet_uplift")
                made = _build(values, channels)
                problems[name] = NamedProblem(name, made, published_uplift=uplift, operations=operations)
            except ProblemError as error:
                findings = list(error.diagnostics)
        found += [replace(finding, place=place) for finding in findings]
    if found:
        raise CkgenError(found)
    of_models = _models(document)[1]
    return (*problems.values(), *(replace(named, operations=operations) for named in of_models))


def _models(document: Document) -> tuple[tuple[Model, ...], tuple[NamedProblem, ...]]:
    """The models of a file and their distinct problems, each named after its first occurrence."""
    rows = document.root.plain().get("models", ())
    names: dict[ConvProblem, str] = {}
    users: dict[ConvProblem, dict[int, None]] = {}
    uses: list[dict[Setting, dict[str, int]]] = [{} for _ in rows]
    for found in occurrences(document):
        name = names.setdefault(found.problem, found.name)
        users.setdefault(found.problem, {})[found.model] = None
        counts = uses[found.model].setdefault(found.setting, {})
        counts[name] = counts.get(name, 0) + found.count
    _refuse_namesakes(document, rows)
    models = tuple(
        Model(
            *(row["name"], row["domain"], row["source"], row["held_out"]),
            *(tuple(row["batches"]), tuple(map(str, row["images"])), counts),
        )
        for row, counts in zip(rows, uses, strict=True)
    )
    problems = []
    for problem, name in names.items():
        having = [models[index] for index in users[problem]]
        held_out = all(model.held_out for model in having)
        problems.append(NamedProblem(name, problem, models=tuple(model.name for model in having), held_out=held_out))
    return models, tuple(problems)


def _refuse_namesakes(document: Document, rows: Sequence[Mapping[str, Any]]) -> None:
    names = [row["name"] for row in rows]
    found = [
        Diagnostic(document.place("models", index, "name"), "duplicate-name", f"there are two models named {name}")
        for index, name in enumerate(names)
        if name in names[:index]
    ]
    if found:
        raise CkgenError(found)


def _missing_or_uneven(values: Mapping[str, Any], channels: str) -> Iterator[Diagnostic]:
    for field in ("out_channels", "in_channels", "filter", "input"):
        if field not in values:
            yield Diagnostic(None, "missing-field", f"`{field}` is missing", f"add `{field}:`")
        elif field.endswith("channels") and channels == "total" and values[field] % max(1, values.get("groups", 1)):
            message = f"{field} {values[field]} cannot be shared out evenly to {values['groups']} groups"
            yield Diagnostic(None, "problem-channels", message)


def _build(values: Mapping[str, Any], channels: str) -> ConvProblem:
    share = max(1, values.get("groups", 1)) if channels == "total" else 1
    single = {key: value[0] if len(value) == 1 else value for key, value in values.items() if key in _SPREAD}
    problem = make_problem(
        groups=values.get("groups", 1),
        batch=values.get("batch", 1),
        k=values["out_channels"] // share,
        c=values["in_channels"] // share,
        filter=values["filter"],
        input=values["input"],
        **single,
    )
    output = tuple(values.get("output", problem.output))
    if output != problem.output:
        message = f"output is given as {list(output)}, but these sizes make {list(problem.output)}"
        raise ProblemError([Diagnostic(None, "problem-mismatched-lengths", message)])
    return problem


_SPREAD = ("stride", "dilation", "pad", "right_pad")
