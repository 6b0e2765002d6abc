"""The products of one group of the spec, and the instance of one combination of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import Place
from ckgen.families.registry import FAMILIES
from ckgen.families.vectors import BANK_BYTES, Shape, Width
from ckgen.instance.instance import Instance
from ckgen.spec.checks import layers
from ckgen.spec.models import AXES, Axes, Group, Spec
from ckgen.spec.provenance import Choice
from ckgen.spec.translate import Path, find_place
from ckgen.spec.types import PIPELINES, SCHEDULERS, Operands, Tile, Transpose, Vector

Combination = tuple["Choice | None", ...]  # one choice per axis of AXES, None if the value is given by rule
CONV_SPEC = "Default"  # by rule
NO_CHOICE: tuple[Choice | None, ...] = (None,)
_TILE = AXES.index("tile")


@dataclass(frozen=True, slots=True)
class Product:
    """The axes of a group, or of one of its include entries (`included`), each with its choices."""

    axes: Mapping[str, tuple[Choice, ...]]
    archs: Choice | None
    place: Place
    included: bool

    def combinations(self) -> Iterator[Combination]:
        """Every combination; the last of AXES varies fastest. A tile's own K and block size replace those axes."""
        outer = [self.axes.get(axis) or NO_CHOICE for axis in AXES[:_TILE]]
        for head in product(*outer):
            for tile in self.axes["tile"]:
                inner = [self._beside(axis, tile.value) for axis in AXES[_TILE + 1 :]]
                for tail in product(*inner):
                    yield (*head, tile, *tail)

    def _beside(self, axis: str, tile: Tile) -> tuple[Choice | None, ...]:
        if axis in ("k_per_block", "block_size") and getattr(tile, axis) is not None:
            return NO_CHOICE
        return self.axes.get(axis) or NO_CHOICE


def products(spec: Spec, index: int) -> list[Product]:
    """The products of a group: its own, then one per include entry, whose keys replace those of the group."""
    group = spec.groups[index]
    path = spec.group_path(index)
    sources: list[tuple[Axes, Path, str]] = [(group, path, f"group `{group.name}`")]
    sources += [(axes, where, "the defaults") for axes, where in layers(spec, index)[1:]]
    found = [_product(spec, sources, spec.document.place(*path, "name"), False)]
    for number, axes in enumerate(group.include):
        where = (*path, "include", number)
        entry = (axes, where, f"an include of group `{group.name}`")
        found.append(_product(spec, [entry, *sources], spec.document.place(*where), True))
    return found


def product_sizes(spec: Spec, index: int) -> list[int]:
    """The largest possible number of combinations of each product of a group, without making them (a tile may replace
    an axis, which makes fewer)."""
    inherited = [axes for axes, _ in layers(spec, index)]
    parts = [inherited, *([axes, *inherited] for axes in spec.groups[index].include)]
    return [math.prod(_length(part, axis) for axis in AXES) for part in parts]


def _length(part: Sequence[Axes], axis: str) -> int:
    return next((len(values) for axes in part if (values := getattr(axes, axis)) is not None), 1)


def excluded_values(group: Group) -> int:
    """The number of values with which the exclude entries of a group compare a combination."""
    return sum(len(getattr(axes, axis) or ()) for axes in group.exclude for axis in AXES)


def _product(spec: Spec, sources: list[tuple[Axes, Path, str]], place: Place, included: bool) -> Product:
    axes: dict[str, tuple[Choice, ...]] = {}
    archs: Choice | None = None
    for layer, where, source in sources:
        for axis in AXES:
            values = getattr(layer, axis)
            if values is not None and axis not in axes:
                axes[axis] = tuple(
                    Choice(axis, value, find_place(spec.document, (*where, axis, number)), source)
                    for number, value in enumerate(values)
                )
        if layer.archs is not None and archs is None:
            archs = Choice("archs", layer.archs, spec.document.place(*where, "archs"), source)
    return Product(axes, archs, place, included)


class Kind(NamedTuple):
    """The properties that all instances of a group share."""

    operation: str
    family: str
    generic: bool


def kind_of(group: Group | Instance) -> Kind:
    """The kind of a group's instances, or of an instance."""
    return Kind(group.operation, group.family, group.generic)


def build(kind: Kind, values: Mapping[str, Any]) -> Instance:
    """The instance of one value per axis (absent: by rule), not yet checked and without archs."""
    family = FAMILIES[kind.family]
    tile: Tile = values["tile"]
    dtype: str = values["dtype"]
    by_rule = family.k_per_block(kind.operation, dtype, tile.n_per_block)
    k_per_block = tile.k_per_block or values.get("k_per_block") or by_rule
    block_size = tile.block_size or values.get("block_size") or family.wave_size
    extents = (tile.m_per_block, tile.n_per_block, k_per_block)
    load_waves, math_waves = values.get("wave_ratio") or family.waves(kind.operation, extents, block_size)
    copy_threads = family.wave_size * (load_waves or math_waves)
    conv_spec = values.get("conv_spec") or CONV_SPEC
    shape = Shape(kind.operation, values["layout"], conv_spec, kind.generic, dtype, *extents, copy_threads)
    a, b, c = family.vectors(_widths(values.get("vector")), shape)
    instance = Instance(
        **kind._asdict(),
        layout=values["layout"],
        dtype=dtype,
        conv_spec=conv_spec,
        m_per_block=extents[0],
        n_per_block=extents[1],
        k_per_block=k_per_block,
        m_per_xdl=values.get("m_per_xdl") or family.m_per_xdl(tile.n_per_block),
        load_waves=load_waves,
        math_waves=math_waves,
        a_vector=a,
        b_vector=b,
        c_vector=c,
        stages=values.get("stages") or 1,
        pipeline_version=PIPELINES.get(values.get("pipeline_version", ""), 0),
        interwave=SCHEDULERS.get(values.get("scheduler", ""), False),
        groups_to_merge=values.get("groups_to_merge") or 1,
        exchange=values.get("exchange") or False,
        cluster=values.get("cluster") or 1,
        function=values.get("function") or PASS_THROUGH,
    )
    instance = _with_keys_of_rows(instance, values)
    stages = values.get("stages") or family.stages(instance)
    return instance if stages == instance.stages else replace(instance, stages=stages)


def _with_keys_of_rows(instance: Instance, values: Mapping[str, Any]) -> Instance:
    """The instance with the keys that exist for CK's rows."""
    if FAMILIES[instance.family].lds_keys:
        instance = _with_lds_keys(instance, values.get("lds_write"), values.get("copy_k1"))
    given: Transpose | None = values.get("transpose")
    if given is None:
        return instance
    return replace(instance, transpose_dst=given.dst, transpose_vector=given.vector, transpose_lds=given.lds_write)


def _with_lds_keys(instance: Instance, write: Operands | None, k1: Operands | None) -> Instance:
    """The instance with CK's K1 and LDS writes; values that a rule gives stay 0, so that each kernel has one name."""
    if k1 is not None:
        given = (k1.a or instance.ak1, k1.b or instance.bk1)
        if given != (instance.ak1, instance.bk1):
            instance = replace(instance, a_k1=given[0], b_k1=given[1])
    if write is not None:
        by_rule = (instance.a_dst_vector, instance.b_dst_vector)
        given = (write.a or by_rule[0], write.b or by_rule[1])
        if given != by_rule or min(given) * instance.compute_bytes < BANK_BYTES:
            instance = replace(instance, a_write=given[0], b_write=given[1])
    return instance


def _widths(vector: Vector | None) -> tuple[Width, Width, Width]:
    """The widths of A, B and C as the file gives them."""
    return (vector.a, vector.b, vector.c) if vector else (None, None, None)


def values_of(combination: Combination) -> dict[str, Any]:
    """The values of a combination by axis, without the axes whose values are given by rule."""
    return {choice.axis: choice.value for choice in combination if choice is not None}


def exclusions(group: Group) -> list[Callable[[Instance], bool]]:
    """One predicate per exclude entry: true if it matches an instance."""
    return [_exclusion(axes) for axes in group.exclude]


def _exclusion(axes: Axes) -> Callable[[Instance], bool]:
    tests = [(axis, getattr(axes, axis)) for axis in AXES if getattr(axes, axis) is not None]

    def excludes(instance: Instance) -> bool:  # loops, because millions of generator calls take seconds
        for axis, values in tests:
            for value in values:
                if _matches(axis, value, instance):
                    break
            else:
                return False
        return True

    return excludes


def _matches(axis: str, value: Any, instance: Instance) -> bool:
    if axis == "tile":
        return (
            value.m_per_block == instance.m_per_block
            and value.n_per_block == instance.n_per_block
            and value.k_per_block in (None, instance.k_per_block)
            and value.block_size in (None, instance.block_size)
        )
    if axis == "wave_ratio":
        return bool(value == (instance.load_waves, instance.math_waves))
    if axis in ("lds_write", "copy_k1"):
        return FAMILIES[instance.family].lds_keys and _matches_operands(axis, value, instance)
    if axis == "transpose":
        widths = (instance.transpose_dst, instance.transpose_vector, instance.transpose_lds)
        return (value.dst, value.vector, value.lds_write) == widths
    if axis == "pipeline_version":
        return PIPELINES[value] == instance.pipeline_version
    if axis == "scheduler":
        return instance.given_pipeline and SCHEDULERS[value] == instance.interwave
    if axis == "vector":
        extents = (instance.m_per_block, instance.n_per_block, instance.k_per_block)
        copy_threads = FAMILIES[instance.family].wave_size * (instance.load_waves or instance.math_waves)
        kind = (instance.operation, instance.layout, instance.conv_spec, instance.generic, instance.dtype)
        shape = Shape(*kind, *extents, copy_threads)
        widths = (instance.a_vector, instance.b_vector, instance.c_vector)
        by_rule = FAMILIES[instance.family].vectors(_widths(value), shape)
        wanted = zip(_widths(value), by_rule, widths, strict=True)
        return all(given is None or expected == actual for given, expected, actual in wanted)
    return bool(getattr(instance, axis) == value)


def _matches_operands(axis: str, value: Operands, instance: Instance) -> bool:
    writes = (instance.a_dst_vector, instance.b_dst_vector) if axis == "lds_write" else (instance.ak1, instance.bk1)
    return value.a in (None, writes[0]) and value.b in (None, writes[1])
