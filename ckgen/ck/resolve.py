"""A row of CK as keys of a spec: the instance that it becomes, or the rules that it breaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import WAVE_SIZE
from ckgen.instance.checker import Checker
from ckgen.instance.instance import CONV_SPECS, Instance
from ckgen.operations.operation import OPERATIONS
from ckgen.spec.products import Kind, build
from ckgen.spec.types import PIPELINES, Operands, Tile, Transpose, Vector

_ATOMS = (16, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The numbers of a row; None where its notation does not have them. `k` is GEMM-K of the block, `pipeline` and
    `scheduler` are CK's pipeline."""

    family: str
    operation: str
    layout: str
    dtype: str
    conv_spec: str
    block_size: int
    m: int
    n: int
    k: int
    a: int
    b: int
    c: int | None = None
    a_dst: int | None = None
    b_dst: int | None = None
    ak1: int | None = None
    bk1: int | None = None
    m_per_xdl: int | None = None
    m_xdl_per_wave: int | None = None
    n_xdl_per_wave: int | None = None
    pipeline: int | None = None
    scheduler: str = ""
    groups_to_merge: int | None = None
    transpose_src: int | None = None
    transpose_dst: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule against a row, and the sentence that states it with the row's numbers."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A row's keys, and its instance unless a rule stands against it."""

    keys: Mapping[str, Any]
    instance: Instance | None
    refusals: tuple[Refusal, ...] = ()


def family_of(operation: str, flags: frozenset[str]) -> str | None:
    """The family of an entry of CK's dispatcher in which these keys of families are true; None if there is none."""
    known = (family for family in FAMILIES.values() if family.has_ck_rows and family.ck_class(operation) is not None)
    wanted = (family.name for family in known if frozenset({family.ck_flag} - {""}) == flags)
    return next(wanted, None)


def resolve(row: Row, checker: Checker) -> Resolved:
    """The instance of a row."""
    unknown = _unknown_words(row)
    atom = row.m_per_xdl or _atom(row)
    if unknown or atom is None:
        more = Refusal("ck-waves", "the atoms of a wave do not make the tile: no square atom of 16 or 32 does")
        return Resolved({}, None, unknown or (more,))
    values = _values(row, atom)
    kind = Kind(row.operation, row.family, False)
    values |= _of_family(kind, values, row)
    instance = build(kind, values)
    broken = checker.violations(instance)
    if [violation.rule.id for violation in broken] == ["lds-write-width"] and row.b_dst is None:
        # CK's rows copy with fewer threads here, so its notation does not show that ours write less at once.
        values["lds_write"] = Operands(b=instance.b_dst_vector)
        instance = build(kind, values)
        broken = checker.violations(instance)
    refusals = [Refusal(violation.rule.id, violation.message) for violation in broken]
    if not refusals:
        refusals = _other_waves(row, instance)
    return Resolved(keys_of(values, row), None if refusals else instance, tuple(refusals))


def keys_of(values: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """The keys of a group as the file writes them."""
    keys: dict[str, Any] = {"operation": row.operation, "family": row.family}
    for key, value in values.items():
        if isinstance(value, Tile):
            keys[key] = str(value)
        elif isinstance(value, (Vector, Operands, Transpose)):
            keys[key] = {name: number for name, number in value.model_dump().items() if number is not None}
        else:
            keys[key] = value
    return keys


def _gives_pipeline(row: Row) -> bool:
    """True for a row of a class with pipelines whose family has the keys for them."""
    return FAMILIES[row.family].pipelines and row.scheduler != ""


def _unknown_words(row: Row) -> tuple[Refusal, ...]:
    operation = OPERATIONS[row.operation]
    known = {"layout": operation.layouts, "dtype": operation.dtypes, "conv_spec": tuple(CONV_SPECS)}
    if _gives_pipeline(row) and row.pipeline not in PIPELINES.values():
        return (Refusal("ck-argument", f"no family has pipeline v{row.pipeline}"),)
    return tuple(
        Refusal(f"foreign-{key.replace('_', '-')}", f"{row.operation} has no {key} {getattr(row, key)}")
        for key, words in known.items()
        if getattr(row, key) not in words
    )


def _values(row: Row, atom: int) -> dict[str, Any]:
    """The arguments of `build`."""
    c = row.c if row.c is not None else 1 if row.b == 1 else None
    values: dict[str, Any] = {
        "layout": row.layout,
        "dtype": row.dtype,
        "conv_spec": row.conv_spec,
        "block_size": row.block_size,
        "tile": Tile(m_per_block=row.m, n_per_block=row.n, k_per_block=row.k),
        "m_per_xdl": atom,
        "vector": Vector(a=row.a, b=row.b, c=c),
    }
    if row.transpose_src is not None and row.transpose_dst is not None and row.a_dst is not None:
        # CK reads that many positions of both tensors at once, this family of those that no tap shifts.
        b = row.transpose_src if row.conv_spec == "Filter1x1Stride1Pad0" else 1
        values["vector"] = Vector(a=row.transpose_src, b=b, c=c)
        values["transpose"] = Transpose(dst=row.transpose_dst, vector=row.a, lds_write=row.a_dst)
    elif row.a_dst is not None or row.b_dst is not None:
        values["lds_write"] = Operands(a=row.a_dst, b=row.b_dst)
    if row.ak1 is not None:
        values["copy_k1"] = Operands(a=row.ak1, b=row.bk1)
    return values


def _of_family(kind: Kind, values: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """The keys that only rows of some classes give; other numbers than those of an instance differ later."""
    if _gives_pipeline(row):
        return {"pipeline_version": f"v{row.pipeline}", "scheduler": row.scheduler}
    if not FAMILIES[row.family].transposes:
        return {}
    versions = {build(kind, {**values, "stages": stages}).ck_pipeline: stages for stages in (1, 2)}
    return {"stages": versions.get(row.pipeline or 0, 1), "groups_to_merge": row.groups_to_merge}


def _atom(row: Row) -> int | None:
    """The edge of the square atom whose number per wave is given, by rule where the class has no such argument."""
    if row.m_xdl_per_wave is None:
        return FAMILIES[row.family].m_per_xdl(row.n)
    atoms = (row.m_xdl_per_wave or 0) * (row.n_xdl_per_wave or 0) * (row.block_size // WAVE_SIZE)
    if atoms == 0 or row.m * row.n % atoms:
        return None
    edge = math.isqrt(row.m * row.n // atoms)
    return edge if edge in _ATOMS and edge * edge * atoms == row.m * row.n else None


def _other_waves(row: Row, instance: Instance) -> list[Refusal]:
    """Waves that divide the tile in another way than ours."""
    wanted = (row.m_xdl_per_wave, row.n_xdl_per_wave)
    ours = (instance.m_xdl_per_wave, instance.n_xdl_per_wave)
    if None in wanted or wanted == ours:
        return []
    text = f"{wanted[0]}x{wanted[1]} atoms per wave, by rule {ours[0]}x{ours[1]}"
    return [Refusal("ck-waves", text)]
