"""The spec file as written: pydantic models of instances.yaml, and the parsing of its text into them.

    version: 1
    defaults: {xdl: {block_size: 256}}
    groups:
      - {name: aligned, family: xdl, layout: NHWGC/GKYXC/NHWGK, dtype: [f16, bf16], tile: [128x128, 128x64]}
    sets: {default: ["*"]}

Each key of `Axes` except archs is an axis: one value or a list of values. A group stands for the product of its axes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr, create_model

from ckgen.elementwise.function import Function
from ckgen.families.registry import FAMILIES
from ckgen.operations.operation import DEFAULT_OPERATION, OPERATIONS
from ckgen.spec.functions import FunctionEntry
from ckgen.spec.limits_model import Limits, LoopLimits
from ckgen.spec.names import GroupName, SetName, exactly
from ckgen.spec.translate import Path
from ckgen.spec.types import (
    MAX_GROUPS,
    ArchName,
    Axis,
    BlockSize,
    ConvSpecName,
    Count,
    DTypeName,
    Extent,
    FamilyName,
    InvalidWord,
    LayoutName,
    ListOf,
    Many,
    Model,
    OneOrMany,
    Operands,
    OperationName,
    PipelineName,
    SchedulerName,
    Tile,
    Transpose,
    Vector,
    WaveRatio,
)
from ckgen.text.source import Document

# The axes in the order of the product: the last one varies fastest.
AXES = (
    "layout",
    "function",
    "dtype",
    "conv_spec",
    "tile",
    "block_size",
    "wave_ratio",
    "k_per_block",
    "m_per_xdl",
    "vector",
    "lds_write",
    "copy_k1",
    "pipeline_version",
    "scheduler",
    "stages",
    "groups_to_merge",
    "exchange",
    "cluster",
    "transpose",
)


class Axes(Model):
    """The properties of an instance; every key may be omitted if a default or a rule gives its value."""

    layout: Axis[LayoutName] | None = Field(
        None, description="Layouts of the operation's tensors, slowest axis first: input/weight/output or the reverse."
    )
    function: Axis[str] | None = Field(
        None, description="Element-wise functions of the result, built in or of `functions`; by default PassThrough."
    )
    dtype: Axis[DTypeName] | None = Field(None, description="Element types; one name means all three tensors.")
    conv_spec: Axis[ConvSpecName] | None = Field(None, description="Any problem, or 1x1 stride 1 pad 0 only.")
    tile: Axis[Tile] | None = Field(None, description="GEMM tile, m_per_block x n_per_block [x k_per_block].")
    block_size: Axis[BlockSize] | None = Field(None, description="Threads of a workgroup (xdl).")
    wave_ratio: Annotated[tuple[WaveRatio, ...], OneOrMany(pairs=True)] | None = Field(
        None, description="[load waves, math waves] of a workgroup (wavelet); by rule for wavelet_tma and halo."
    )
    k_per_block: Axis[Extent] | None = Field(
        None, description="GEMM-K of a tile; by rule 64 bytes, 64 elements for wavelet_tma, 16 or 32 for halo."
    )
    m_per_xdl: Axis[Extent] | None = Field(
        None, description="Matrix atom, 32 (default) or 16; 64 for wavelet_tma, 16 or 64 for halo, 16 for streaming."
    )
    vector: Axis[Vector] | None = Field(None, description="Elements per global access; by rule if absent.")
    lds_write: Axis[Operands] | None = Field(
        None,
        description="Elements of GEMM-K per LDS write of A and of B; by rule what a thread has (xdl, wavelet).",
    )
    copy_k1: Axis[Operands] | None = Field(
        None,
        description="CK's AK1 and BK1, elements of GEMM-K that a copy treats as one; by rule 16 bytes (xdl, wavelet).",
    )
    pipeline_version: Axis[PipelineName] | None = Field(
        None,
        description="CK's pipeline of the loop, v1 to v5 (xdl, backward weight); by rule a loop like v1's.",
    )
    scheduler: Axis[SchedulerName] | None = Field(
        None, description="CK's scheduler of a pipeline, Intrawave (default) or Interwave (v1 and v2)."
    )
    stages: Axis[Count] | None = Field(
        None,
        description="LDS buffers; by rule 1 (xdl), 4 or 2 (wavelet), what fits but at most 6 (wavelet_tma, halo). Of"
        " streaming tiles of the weight in LDS, by rule 64 KiB.",
    )
    groups_to_merge: Axis[Count] | None = Field(
        None,
        description="Neighbouring groups that a tile computes as one; 1 (two_stage, wmma, dl; xdl in backward data).",
    )
    exchange: Axis[bool] | None = Field(
        None,
        description="True: A and B are exchanged; in backward weight for few output channels, stride 1 only; in"
        " backward data for tf32 without a copy of the weight (wavelet_tma).",
    )
    cluster: Axis[Count] | None = Field(
        None,
        description="Workgroups that run together and share the copies of the input, 1 (default) or 2 (wavelet_tma in"
        " backward weight).",
    )
    transpose: Axis[Transpose] | None = Field(
        None,
        description="Widths that only CK's type strings of layouts like NGCHW have: it copies to NHWGC (two_stage).",
    )
    archs: Annotated[tuple[ArchName, ...], OneOrMany()] | None = Field(
        None, description="Architectures to build for, not an axis; by rule all that can run the instance."
    )


class Limited(Axes):
    """Axes with limits for the machine code of their instances."""

    limits: Limits | None = Field(None, description="Limits of the machine code; `ckgen isa --check` checks it.")


def _optional(model: type[Model], description: str) -> Any:
    return model | None, Field(None, description=description)


def _operation_defaults() -> type[Limited]:
    """The model Limited with one more key per family."""
    own = {
        family.name: _optional(Limited if family.loops else Axes, f"Defaults of family {family.name}.")
        for family in FAMILIES.values()
    }
    text = "Values for the groups of one operation; those of a family win over those for all."
    return create_model("OperationDefaults", __base__=Limited, __module__=__name__, __doc__=text, **own)


def _defaults() -> type[Limited]:
    """The model of the defaults for all operations, with one more key per operation."""
    own = {
        operation.name: _optional(OperationDefaults, f"Defaults of {operation.words}.")
        for operation in OPERATIONS.values()
    }
    text = "Values for the groups that do not give their own; those of an operation win over those for all operations."
    return create_model("Defaults", __base__=OperationDefaults, __module__=__name__, __doc__=text, **own)


OperationDefaults = _operation_defaults()
if TYPE_CHECKING:
    Defaults = Limited
else:
    Defaults = _defaults()


class Group(Limited):
    """A group of instances: the product of its axes, plus include, minus exclude."""

    name: GroupName = Field(description="Unique name, for messages.")
    family: FamilyName = Field(
        description="; ".join(f"{family.name}: {family.summary}" for family in FAMILIES.values()) + "."
    )
    operation: OperationName = Field(DEFAULT_OPERATION, description="What the kernels compute.")
    generic: bool = Field(False, description="Instances that take every valid problem, one element at a time.")
    invalid: InvalidWord = Field("error", description="What happens to a combination that breaks a rule.")
    include: ListOf[Axes] = Field((), description="More products: these keys replace the group's.")
    exclude: ListOf[Axes] = Field((), description="Combinations to leave out: all keys given must match.")
    sets: Annotated[tuple[SetName, ...], OneOrMany()] = Field((), description="Sets that these instances belong to.")


class Spec(Model):
    """One instances.yaml."""

    version: Annotated[Literal[1], exactly(1)] = Field(description="Version of this format.")
    defaults: Defaults = Field(default_factory=Defaults, description="Values for all groups, or all of a family.")
    groups: Annotated[tuple[Group, ...], Many(False, MAX_GROUPS)] = Field(description="What exists.")
    functions: ListOf[FunctionEntry] = Field((), description="Element-wise functions beside the built-in ones.")
    sets: dict[SetName, ListOf[str]] = Field(
        default_factory=dict,
        description="Named selections; each line is a filter whose terms must all hold, lines add up. `set=NAME` may "
        "name only sets above.",
        json_schema_extra={"additionalProperties": False},
    )
    _document: Document = PrivateAttr()
    _kept: tuple[int, ...] = PrivateAttr(())
    _own_functions: tuple[Function, ...] = PrivateAttr(())

    @property
    def document(self) -> Document:
        """The text from which the spec was read, for places."""
        return self._document

    @property
    def own_functions(self) -> tuple[Function, ...]:
        """The valid functions of `functions`, ready for use."""
        return self._own_functions

    def group_path(self, index: int) -> Path:
        """The path of a group in the document, whose groups include the invalid ones that are missing here."""
        return ("groups", self._kept[index])

    def without(self, dropped: Collection[int]) -> Spec:
        """The spec without some of its groups; the others keep their places."""
        left = [index for index in range(len(self.groups)) if index not in dropped]
        spec = self.model_copy(update={"groups": tuple(self.groups[index] for index in left)})
        spec._kept = tuple(self._kept[index] for index in left)
        return spec


MODELS: dict[str, type[Model]] = {
    "": Spec,
    "defaults": Defaults,
    **dict.fromkeys(OPERATIONS, OperationDefaults),
    "functions": FunctionEntry,
    **{family.name: Limited if family.loops else Axes for family in FAMILIES.values()},
    "limits": Limits,
    "main": LoopLimits,
    "math": LoopLimits,
    "load": LoopLimits,
    "groups": Group,
    "include": Axes,
    "exclude": Axes,
    "tile": Tile,
    "vector": Vector,
    "lds_write": Operands,
    "copy_k1": Operands,
    "transpose": Transpose,
}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of instances.yaml, for editors and other checkers."""
    schema = _tidy(Spec.model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ckgen instances.yaml",
        "description": "The only place that says which kernel instances exist.",
        **schema,
    }


def _tidy(schema: Any) -> Any:
    """The schema without pydantic's titles and without null, which the file may not contain: it omits absent keys."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _tidy(item) for name, item in value.items()}
        elif key != "title" and not (key == "default" and value is None):
            out[key] = _tidy(value)
    options = [option for option in out.pop("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        return {**options[0], **out}
    if options:
        out["anyOf"] = [inner for option in options for inner in option.get("anyOf", [option])]
    return out
