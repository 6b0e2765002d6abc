"""Element-wise functions in a spec, and their problems with places.

- name: ScaledResidual
  tensors: [skip]              # D tensors, in the order in which operators take them; like the result, or
                               # {name: bias, layout: GC, dtype: f32}
  scalars: {scale: 0.5}        # values that a caller may set, with their defaults
  expression: e + scale * skip # e is the result of the convolution
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import OWN_LAYOUTS
from ckgen.elementwise.function import BUILTINS, Finding, Function, Kind, check_function
from ckgen.errors import MAX_SHOWN, Diagnostic
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import function_tag
from ckgen.spec.translate import Path
from ckgen.spec.types import ListOf, Model, Word
from ckgen.text.source import Document
from ckgen.text.span import place_inside

# File names are limited to 255 bytes: the longest instance name, this tag and the suffixes that compilers add must fit.
MAX_TAG = 60
DDTypeName = Annotated[str, Word("dtype", tuple(dict.fromkeys(dtype.in_type for dtype in DTYPES.values())))]
DLayoutName = Annotated[str, Word("layout", OWN_LAYOUTS)]


class TensorEntry(Model):
    """One D tensor: its name, or a map with its name and the properties in which it differs from the result."""

    name: str = Field(description="Its name in the expression.")
    dtype: DDTypeName | None = Field(None, description="Element type; by default the result's.")
    layout: DLayoutName | None = Field(
        None, description="GC, G_C: one value per channel. G_NHW_C: groups, positions and channels with own strides."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(schema)]}


class FunctionEntry(Model):
    """One function; `ckgen.elementwise.function` defines the valid names and expressions."""

    name: str = Field(description="Unique name: a capital, then small letters.")
    expression: str = Field(description="An element of the result, computed from e, the tensors and the scalars.")
    tensors: ListOf[TensorEntry] = Field((), description="The D tensors, in the order of the operator's arguments.")
    scalars: dict[str, float] = Field(default_factory=dict, description="Names of scalars and their default values.")


def check_functions(
    document: Document, entries: Sequence[FunctionEntry], path: Path
) -> tuple[tuple[Function, ...], list[Diagnostic]]:
    """The valid functions of a list of entries at ``path``, and every problem."""
    functions: dict[str, Function] = {}
    problems: list[Diagnostic] = []
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        here = (*path, index)
        names = [tensor.name for tensor in entry.tensors]
        kinds = [Kind(tensor.dtype, tensor.layout) for tensor in entry.tensors]
        function, findings = check_function(entry.name, entry.expression, names, entry.scalars, kinds)
        exact = len(problems) < MAX_SHOWN  # finding characters inside a value is slow
        problems += [_diagnostic(document, here, finding, exact=exact) for finding in findings]
        problems += _taken(document, (*here, "name"), entry.name, first.setdefault(entry.name, index))
        if function:
            functions.setdefault(function.name, function)
    return tuple(functions.values()), problems


def _taken(document: Document, path: Path, name: str, first: int) -> Iterator[Diagnostic]:
    if first != path[-2]:
        notes = (f"the first is at {document.place(*path[:-2], first, 'name')}",)
        message = f"there are two functions called `{name}`"
        yield Diagnostic(document.place(*path), "duplicate-function", message, "give each its own name", notes=notes)
    elif _reads_as_family(name):
        message = f"`{name}` reads as a part of a family in the names of instances"
        yield Diagnostic(document.place(*path), "function-name", message, "begin with another word")
    elif len(function_tag(name)) > MAX_TAG:
        message = f"`{name}` has {len(function_tag(name))} characters in the names of instances, where {MAX_TAG} fit"
        yield Diagnostic(document.place(*path), "function-name", message, "give it a shorter name")
    elif name in BUILTINS:
        message = f"`{name}` is built in: {BUILTINS[name].text}"
        yield Diagnostic(document.place(*path), "duplicate-function", message, "give yours another name")


def _reads_as_family(name: str) -> bool:
    """True if family and function together read as another family's name, as `wavelet` and `Tma` do."""
    tag = function_tag(name) + "_"
    pairs = ((one, other) for one in FAMILIES for other in FAMILIES)
    return any(f"{one}_{tag}".startswith(f"{other}_") and len(other) > len(one) for one, other in pairs)


def _diagnostic(document: Document, entry: Path, finding: Finding, *, exact: bool) -> Diagnostic:
    path = (*entry, *finding.path)
    if finding.span is not None and exact:
        place = place_inside(document, path, *finding.span)
        notes = () if place else (f"at character {finding.span[0] + 1} of the expression",)
        return Diagnostic(place or document.place(*path), finding.rule, finding.message, finding.help, notes=notes)
    value_at_fault = finding.rule == "scalar-range" or isinstance(path[-1], int) or path[-1] in ("name", "expression")
    place = document.place(*path) if value_at_fault else document.key_place(*path)
    return Diagnostic(place, finding.rule, finding.message, finding.help)
