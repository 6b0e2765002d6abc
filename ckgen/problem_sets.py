"""Named problems: the sets that come with ckgen and a user's own, in YAML.

    channels: total          # out_channels and in_channels count all groups (per_group: one, as CK does)
    defaults: {batch: 32}    # for entries that do not say otherwise
    problems:
      - {name: conv2, out_channels: 256, in_channels: 256, filter: [3, 3], input: [56, 56], pad: 1}

Keys of an entry: name, groups, batch, out_channels, in_channels, filter, input, stride, dilation, pad (both
sides), right_pad, and output, which is only checked. A single number for stride, dilation or a pad stands for
dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ckgen.errors import CkgenError, Diagnostic, did_you_mean
from ckgen.paths import PACKAGE
from ckgen.problem import ConvProblem, ProblemError, make_problem
from ckgen.source import Document, load
from ckgen.spec_errors import translate


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem with a name. ``original`` is the full-size problem where this one was scaled down to fit a
    run."""

    name: str
    problem: ConvProblem
    original: ConvProblem | None = None

    def fitted(self, max_macs: int) -> NamedProblem:
        """This problem with at most ``max_macs`` multiply-accumulates if scaling can reach that, see
        ConvProblem."""
        small = self.problem.fitted(max_macs)
        return self if small == self.problem else NamedProblem(self.name, small, self.original or self.problem)

    def __str__(self) -> str:
        if self.original is None:
            return f"{self.name}: {self.problem}"
        size = "x".join(str(edge) for edge in self.original.input)
        return f"{self.name}: {self.problem} (scaled from N{self.original.batch} on {size})"


def bundled_sets() -> tuple[str, ...]:
    """The names of the problem sets that come with ckgen."""
    return tuple(sorted(path.stem for path in (PACKAGE / "problems").glob("*.yaml")))


def load_problems(name: str) -> tuple[NamedProblem, ...]:
    """The problems of a bundled set, or of a YAML file when ``name`` is its path.

    Raises CkgenError with the places of everything wrong in the file, or the nearest names when there is no
    such set.
    """
    if name in bundled_sets():
        return _read(load(PACKAGE / "problems" / f"{name}.yaml"))
    if Path(name).is_file():
        return _read(load(name))
    message = f"{name!r} is neither a problem set nor a file"
    raise CkgenError([Diagnostic(None, "problem-set", message, did_you_mean(name, bundled_sets()))])


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


_Edges = Annotated[list[int], BeforeValidator(_as_list)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    groups: int | None = None
    batch: int | None = None
    out_channels: int | None = None
    in_channels: int | None = None
    filter: _Edges | None = None
    input: _Edges | None = None
    stride: _Edges | None = None
    dilation: _Edges | None = None
    pad: _Edges | None = None
    right_pad: _Edges | None = None
    output: _Edges | None = None


class _Entry(_Fields):
    name: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    channels: Literal["total", "per_group"]
    defaults: _Fields = _Fields()
    problems: Annotated[list[_Entry], Field(min_length=1)]


def _read(document: Document) -> tuple[NamedProblem, ...]:
    try:
        file = _File.model_validate(document.root.plain())
    except ValidationError as error:
        models: dict[str, type[BaseModel]] = {"": _File, "defaults": _Fields, "problems": _Entry}
        raise CkgenError(translate(error, document, models)) from error
    found: list[Diagnostic] = []
    problems: dict[str, NamedProblem] = {}
    for index, entry in enumerate(file.problems):
        place = document.place("problems", index)
        values = file.defaults.model_dump(exclude_none=True) | entry.model_dump(exclude_none=True)
        if entry.name in problems:
            found.append(Diagnostic(place, "duplicate-name", f"there are two problems named {entry.name}"))
        findings = list(_missing_or_uneven(values, file.channels))
        if not findings:
            try:
                problems[entry.name] = NamedProblem(entry.name, _build(values, file.channels))
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
