"""The kinds of value in a spec: words of a table, axes, tiles, wave ratios and vectors.

Each type validates its values, with an error that names the nearest valid word, and describes itself in the JSON
Schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ckgen.conv.dtypes import DTYPES
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import ARCHES, SMALLEST_WAVE
from ckgen.instance.instance import CONV_SPECS
from ckgen.operations.operation import LAYOUTS, OPERATIONS
from ckgen.spec.shown import shown

T = TypeVar("T")
VECTOR_WORDS = ("full", "small")
MAX_EXTENT = 4096  # of a tile in one direction; larger than any LDS holds
MAX_LIST = 1000  # entries of a list, except the list of groups
MAX_GROUPS = 5000
_SMALL = re.compile(r"(\d{1,2})x(\d{1,2})(?:x(\d{1,2}))?", re.ASCII)
_TILE = re.compile(r"(\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?", re.ASCII)
_TILE_HELP = "write m_per_block x n_per_block [x k_per_block], for example 128x64 or 128x64x32"


def refuse(rule: str, message: str, help_text: str = "", known: tuple[str, ...] | None = None) -> PydanticCustomError:
    """A pydantic error that carries ckgen's rule, message and help, or the words that the user may have meant."""
    context: dict[str, Any] = {"message": message, "help": help_text}
    return PydanticCustomError(rule, "{message}", context if known is None else {**context, "known": known})


@dataclass(frozen=True)
class Word:
    """Annotation: a word from a table."""

    kind: str
    known: tuple[str, ...]
    noun: str = ""  # the name of a value in a sentence, if it is not the key

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.known)}

    def _check(self, value: str) -> str:
        if value not in self.known:
            message = f"`{value}` is not a known {self.noun or self.kind}"
            rule = f"unknown-{self.kind.replace('_', '-')}"
            raise refuse(rule, message, known=self.known)
        return value


@dataclass(frozen=True)
class OneOrMany:
    """Annotation: an axis of the product, as a list of values or as a single value."""

    pairs: bool = False  # each value is itself a list of two numbers
    at_most: int = MAX_LIST

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = handler(schema)
        many["minItems"] = 1
        many["uniqueItems"] = True
        return {"anyOf": [many["items"], many]}

    def _listed(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or (self.pairs and value and isinstance(value[0], int)):
            return (value,)
        if not value:
            raise refuse("empty-list", "an empty list has no instances", "give a value or leave the key out")
        _check_length(value, self.at_most)
        return tuple(value)


@dataclass(frozen=True)
class Many:
    """Annotation: a list, kept as a tuple."""

    may_be_empty: bool = True
    at_most: int = MAX_LIST

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def _listed(self, value: Any) -> Any:
        if value == [] and not self.may_be_empty:
            raise refuse("empty-list", "this list is empty", "a spec needs at least one group")
        if not isinstance(value, list):
            return value
        _check_length(value, self.at_most)
        return tuple(value)


def _check_length(value: list[Any], at_most: int) -> None:
    if len(value) > at_most:
        raise refuse("too-long", f"this list has {len(value)} entries, it may have {at_most}")


Axis = Annotated[tuple[T, ...], OneOrMany()]
ListOf = Annotated[tuple[T, ...], Many()]
OperationName = Annotated[str, Word("operation", tuple(OPERATIONS))]
FamilyName = Annotated[str, Word("family", tuple(FAMILIES))]
LayoutName = Annotated[str, Word("layout", LAYOUTS)]
DTypeName = Annotated[str, Word("dtype", tuple(DTYPES))]
ConvSpecName = Annotated[str, Word("conv_spec", tuple(CONV_SPECS))]
PIPELINES = {"v1": 1, "v2": 2, "v3": 3, "v4": 4, "v5": 5}
SCHEDULERS = {"Intrawave": False, "Interwave": True}
PipelineName = Annotated[str, Word("pipeline_version", tuple(PIPELINES))]
SchedulerName = Annotated[str, Word("scheduler", tuple(SCHEDULERS))]
ArchName = Annotated[str, Word("arch", tuple(ARCHES), "architecture")]
InvalidWord = Annotated[str, Word("invalid", ("error", "skip"), "way to treat invalid combinations")]
Extent = Annotated[int, Field(ge=1, le=MAX_EXTENT)]
Count = Annotated[int, Field(ge=1, le=64)]


@dataclass(frozen=True)
class Threads:
    """Annotation: a number of threads, a multiple of the smallest wave; ckgen.spec.checks knows that of the family."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "multipleOf": SMALLEST_WAVE, "minimum": SMALLEST_WAVE}

    def _check(self, value: int) -> int:
        if value < SMALLEST_WAVE or value % SMALLEST_WAVE:
            message = f"{value} threads are not a whole number of waves of {SMALLEST_WAVE}"
            raise refuse("bad-block-size", message, "use 64, 128, 256 or 512")
        return value


BlockSize = Annotated[int, Threads()]


@dataclass(frozen=True)
class Pair:
    """Annotation: the load waves and the math waves, as two numbers or as text: `4x2`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 1, "maximum": 16}
        text = {"type": "string", "pattern": r"^\d+x\d+$", "examples": ["4x4"]}
        return {"anyOf": [text, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]}

    def _check(self, value: Any) -> tuple[int, int]:
        numbers = (
            _numbers(value) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
        )
        if len(numbers) != 2 or not all(type(n) is int and 1 <= n <= 16 for n in numbers):
            help_text = "write load waves x math waves, for example 4x2 or [4, 2]"
            raise refuse("bad-wave-ratio", f"{shown(value)} is not a pair of wave counts", help_text)
        return numbers[0], numbers[1]


WaveRatio = Annotated[tuple[int, int], Pair()]


@dataclass(frozen=True)
class Width:
    """Annotation: elements per global access, as a number or as the word full or small."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "enum": list(VECTOR_WORDS)}, {"type": "integer", "minimum": 1}]}

    def _check(self, value: Any) -> int | str:
        if value in VECTOR_WORDS or (type(value) is int and 1 <= value <= 64):
            return value  # type: ignore[no-any-return]
        help_text = "write a number of elements, or full or small"
        raise refuse("bad-vector", f"{shown(value)} is not a vector width", help_text)


class Model(BaseModel):
    """Base of the spec's models: frozen, no unknown keys, no conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Tile(Model):
    """The GEMM tile of a workgroup: `128x64`, `128x64x32`, or a map that may also give the block size."""

    m_per_block: Extent
    n_per_block: Extent
    k_per_block: Extent | None = None
    block_size: BlockSize | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        match = _TILE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise refuse("bad-tile", f"{shown(value)} is not a tile", _TILE_HELP)
        numbers = [int(text) for text in match.groups() if text is not None]
        for number in numbers:
            if not 1 <= number <= MAX_EXTENT:
                raise refuse("bad-tile", f"{number} is not a valid extent of a tile", f"use 1 to {MAX_EXTENT}")
        return dict(zip(("m_per_block", "n_per_block", "k_per_block"), numbers, strict=False))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        text = {"type": "string", "pattern": r"^\d+x\d+(x\d+)?$", "examples": ["128x64", "128x64x32"]}
        return {"anyOf": [text, handler(schema)]}

    def __str__(self) -> str:
        extents = [self.m_per_block, self.n_per_block] + ([self.k_per_block] if self.k_per_block else [])
        return "x".join(str(extent) for extent in extents)


class Vector(Model):
    """Elements per global access of A, B and C of the matrix product: a word, `8x8x2` or a map; a rule gives the
    absent ones."""

    a: Annotated[int | str, Width()] | None = None
    b: Annotated[int | str, Width()] | None = None
    c: Annotated[int | str, Width()] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        if isinstance(value, str) and len(numbers := _numbers(value)) == 3:
            return dict(zip(("a", "b", "c"), numbers, strict=True))
        if value not in VECTOR_WORDS:
            help_text = "write full, small, 8x8x2 or a map such as {a: 8, b: small, c: 2}"
            raise refuse("bad-vector", f"{shown(value)} is not a vector", help_text)
        return dict.fromkeys(("a", "b", "c"), value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        text = {"type": "string", "pattern": r"^\d+x\d+x\d+$", "examples": ["8x8x2"]}
        return {"anyOf": [{"type": "string", "enum": list(VECTOR_WORDS)}, text, handler(schema)]}

    def __str__(self) -> str:
        if self.a == self.b == self.c and self.a in VECTOR_WORDS:
            return str(self.a)
        if all(isinstance(width, int) for width in (self.a, self.b, self.c)):
            return f"{self.a}x{self.b}x{self.c}"
        parts = [f"{name}: {value}" for name, value in (("a", self.a), ("b", self.b), ("c", self.c)) if value]
        return "{" + ", ".join(parts) + "}"


class Operands(Model):
    """Elements of GEMM-K for A and B of the matrix product: one number for both, or a map."""

    a: Annotated[int, Field(ge=1, le=64)] | None = None
    b: Annotated[int, Field(ge=1, le=64)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        if type(value) is not int:
            message = f"{shown(value)} is not a number of elements"
            raise refuse("bad-operands", message, "write a number, or a map such as {a: 8, b: 2}")
        return {"a": value, "b": value}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 64}, handler(schema)]}

    def __str__(self) -> str:
        if self.a == self.b:
            return str(self.a)
        return "{" + ", ".join(f"{name}: {value}" for name, value in (("a", self.a), ("b", self.b)) if value) + "}"


class Transpose(Model):
    """Widths of CK's copy from positions to channels, and of its kernel that reads the copy."""

    dst: int = Field(ge=1, le=64, description="TransposeTransferDstScalarPerVector.")
    vector: int = Field(ge=1, le=64, description="SrcScalarPerVector of A and of B.")
    lds_write: int = Field(ge=1, le=64, description="DstScalarPerVector_K1 of A and of B.")


def _numbers(text: str) -> tuple[int, ...]:
    match = _SMALL.fullmatch(text)
    return tuple(int(number) for number in match.groups() if number) if match else ()
