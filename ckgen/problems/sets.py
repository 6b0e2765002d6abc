"""Named problems: the bundled sets and users' own, in YAML.

    operation: grouped_conv_bwd_data   # optional: problems of one operation
    channels: total          # out_channels and in_channels count all groups (per_group: one group, as in CK)
    defaults: {batch: 32}    # for keys that an entry omits
    problems:
      - {name: conv2, out_channels: 256, in_channels: 256, filter: [3, 3], input: [56, 56], pad: 1}

Keys of an entry: name, groups, batch, out_channels, in_channels, filter, input, stride, dilation, pad (both sides),
right_pad, output (only checked) and published_wavelet_uplift (shown in reports beside measured values). A single
number for stride, dilation or a pad holds for every dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckgen.conv.problem import ConvProblem, ProblemError, make_problem
from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.operations.operation import OPERATIONS
from ckgen.paths import PACKAGE
from ckgen.problems.file import entries
from ckgen.text.source import Document, load

# The bundled sets whose problems every instance is checked and ranked on.
STANDARD_SETS = ("retinanet", *(operation.problem_set for operation in OPERATIONS.values()))


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem with a name, for some ``operations``. ``original`` is the full-size problem if this one was scaled down
    to fit a run. ``published_uplift`` is the published speed of a wavelet kernel relative to the best other kernel, on
    the hardware that the problem set names."""

    name: str
    problem: ConvProblem
    original: ConvProblem | None = None
    published_uplift: float | None = None
    operations: tuple[str, ...] = tuple(OPERATIONS)

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
        if self.original is None:
            return f"{self.name}: {self.problem}"
        size = "x".join(str(edge) for edge in self.original.input)
        return f"{self.name}: {self.problem} (scaled from N{self.original.batch} on {size})"


def bundled_sets() -> tuple[str, ...]:
    """Names of the bundled problem sets."""
    return tuple(sorted(path.stem for path in (PACKAGE / "problems").glob("*.yaml")))


def load_problems(name: str) -> tuple[NamedProblem, ...]:
    """Load the problems of a bundled set, or of a YAML file if ``name`` is its path.

    Raises CkgenError with the place of every error in the file, or with the nearest names if there is no such set.
    """
    if name in bundled_sets():
        return _read(load(PACKAGE / "problems" / f"{name}.yaml"))
    if Path(name).is_file():
        return _read(load(name))
    message = f"{name!r} is neither a problem set nor a file"
    raise CkgenError([Diagnostic(None, "problem-set", message, did_you_mean(name, bundled_sets()))])


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
    return tuple(problems.values())


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
