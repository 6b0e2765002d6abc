"""Random instances that satisfy every rule, drawn from everything that a spec may request.

They are drawn as groups of a spec and validated like any spec, so that these tests compile instances that `ckgen
validate` accepts. A seed gives the same instances everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import yaml

from ckgen.conv.layout import LAYOUTS
from ckgen.elementwise.function import BUILTINS, PASS_THROUGH
from ckgen.families.registry import FAMILIES, FAMILIES_OF
from ckgen.instance.checker import Checker
from ckgen.instance.instance import CONV_SPECS, Instance
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from ckgen.spec.expand import Expansion, expand_document
from ckgen.spec.models import AXES
from ckgen.spec.products import Kind, build
from ckgen.spec.types import PIPELINES, Operands, Tile, Transpose, Vector
from ckgen.text.source import loads

# Functions of the spec: D tensors of each kind, scalars, every function of expressions.
OWN_FUNCTIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "BiasAct",
        "tensors": [{"name": "bias", "layout": "GC", "dtype": "f32"}, "skip"],
        "scalars": {"scale": 0.5},
        "expression": "scale * tanh(e + bias) + skip",
    },
    {
        "name": "Gate",
        "tensors": [{"name": "gate", "layout": "G_NHW_C"}, {"name": "mask", "layout": "G_C", "dtype": "bf16"}],
        "expression": "e * sigmoid(gate) if mask > 0 else max(min(e, 1), abs(gate))",
    },
    {"name": "Root", "expression": "sqrt(abs(e)) + exp(-relu(e)) + clamp(e, -1, 1)"},
)
FUNCTIONS = (*BUILTINS, *(function["name"] for function in OWN_FUNCTIONS))

_EXTENTS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
_KS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 256)
_WIDTHS = (None, "full", "small", 1, 2, 4, 8, 16)
_COPY_TILES = {
    "wavelet_tma": ((64, 128, 192, 256), (64, 128, 160, 192, 256)),
    "stationary": ((64, 128), (128, 256)),
    "col2im": ((64, 128), (64, 128, 192, 256)),
    "halo": ((8, 16, 32, 40, 64), (8, 16, 32, 64)),
    "depthwise_tma": ((1, 2, 3, 5, 7), (32, 64)),
}
_DRAWS = 20_000  # per kind, before the kind counts as having no valid instance


def kinds() -> list[Kind]:
    """All existing combinations of operation, family and whether the instance is generic."""
    return [
        Kind(operation.name, family, generic)
        for operation in OPERATIONS.values()
        for family in FAMILIES_OF[operation.name]
        for generic in (False, True)
        if not generic or family == "xdl"
    ]


def random_instances(seed: int, count: int) -> Expansion:
    """``count`` valid instances with different names, in rotation over the kinds, as the spec with one group each."""
    rng, checker = random.Random(seed), Checker()
    groups: list[dict[str, Any]] = []
    names: set[str] = set()
    streams = [_valid(kind, rng, checker) for kind in kinds()]
    for number in range(_DRAWS):
        if len(groups) == count:
            break
        values, instance = next(streams[number % len(streams)])
        if instance.name not in names:
            names.add(instance.name)
            groups.append({"name": f"g{len(groups)}", **values})
    assert len(groups) == count, f"there are {len(groups)} instances for seed {seed}"
    text = yaml.safe_dump({"version": 1, "functions": list(OWN_FUNCTIONS), "groups": groups}, sort_keys=False)
    expansion = expand_document(loads(text))
    assert {instance.name for instance in expansion.instances} == names
    return expansion


def _valid(kind: Kind, rng: random.Random, checker: Checker) -> Iterator[tuple[dict[str, Any], Instance]]:
    """Yield keys of a group and its instance, of one kind, without end."""
    while True:
        for _ in range(_DRAWS):
            values = _draw(kind, rng)
            instance = build(kind, {axis: _as_read(axis, values[axis]) for axis in AXES if axis in values})
            if not checker.violations(instance):
                yield {"operation": kind.operation, "family": kind.family, "generic": kind.generic, **values}, instance
                break
        else:
            raise AssertionError(f"{_DRAWS} draws of {kind} have no valid instance")


def _draw(kind: Kind, rng: random.Random) -> dict[str, Any]:
    """Keys of a group; each optional key is sometimes absent."""
    operation = OPERATIONS[kind.operation]
    values: dict[str, Any] = {"layout": rng.choice(operation.layouts), "dtype": rng.choice(operation.dtypes)}
    functions = FUNCTIONS if "G_NHW_C" in operation.own_d_layouts else [name for name in FUNCTIONS if name != "Gate"]
    values["function"] = rng.choice((PASS_THROUGH, rng.choice(functions)))
    if FAMILIES[kind.family].uses_tma:
        _draw_copy_family(kind, rng, values)
        return values
    if kind.family in _OWN_DRAWS:
        _OWN_DRAWS[kind.family](rng, values)
        return values
    values["conv_spec"] = rng.choice(tuple(CONV_SPECS))
    tile: dict[str, Any] = {"m_per_block": rng.choice(_EXTENTS), "n_per_block": rng.choice(_EXTENTS)}
    if rng.random() < 0.7:
        tile["k_per_block"] = rng.choice(_KS)
    values["tile"] = tile
    if FAMILIES[kind.family].wave_key == "block_size":
        values["block_size"] = FAMILIES[kind.family].wave_size * rng.choice((1, 2, 4, 8))
        values["stages"] = rng.choice((1, 2))
    else:
        values["wave_ratio"] = [rng.randint(1, 8), rng.choice((1, 2, 4, 8))]
        values["stages"] = rng.choice((2, 4))
    own = {"wmma": (16,), "dl": (32,)}
    values["m_per_xdl"] = rng.choice(own.get(kind.family, (16, 32)))
    if not kind.generic and rng.random() < 0.8:
        values["vector"] = {part: rng.choice(_WIDTHS) for part in "abc"}
        values["vector"] = {part: width for part, width in values["vector"].items() if width is not None}
        if not values["vector"]:
            del values["vector"]
    if not kind.generic and rng.random() < 0.4:
        values["lds_write"] = {part: rng.choice((1, 2, 4, 8)) for part in ("a", "b") if rng.random() < 0.7} or {"b": 1}
    if kind.family == "dl" and rng.random() < 0.3:
        values["copy_k1"] = {"a": 1, "b": 1}
    elif kind.operation == BWD_DATA and rng.random() < 0.3:
        values["copy_k1"] = {"a": rng.choice((4, 8, 16)), "b": rng.choice((2, 4, 8, 16))}
    if kind.family == "xdl" and kind.operation != BWD_DATA and not kind.generic and rng.random() < 0.4:
        values["pipeline_version"] = rng.choice(tuple(PIPELINES))
        values["stages"] = 2 if values["pipeline_version"] == "v4" else 1
        if values["pipeline_version"] in ("v1", "v2") and rng.random() < 0.5:
            values["scheduler"] = "Interwave"
    if kind.operation in FAMILIES[kind.family].merges_groups:
        values["groups_to_merge"] = rng.choice((1, 2, 3, 4, 8, 16, 32))
        if FAMILIES[kind.family].transposes and rng.random() < 0.2:
            values["transpose"] = {part: rng.choice((1, 2, 4, 8)) for part in ("dst", "vector", "lds_write")}
    if kind.operation in FAMILIES[kind.family].exchanges and not kind.generic and rng.random() < 0.2:
        values["exchange"] = True
        values["vector"] = {**values.get("vector", {}), "c": 1}
    for axis in ("stages", "m_per_xdl"):
        if rng.random() < 0.3:
            del values[axis]
    return values


def _draw_depthwise(rng: random.Random, values: dict[str, Any]) -> None:
    values["conv_spec"] = "Default"
    values["block_size"] = 256
    values["tile"] = {"m_per_block": rng.randint(1, 9), "n_per_block": rng.choice((1, 1, 8, 16, 32, 64, 128))}
    if rng.random() < 0.7:
        values["tile"]["k_per_block"] = rng.choice((16, 32, 64, 128, 256, 1024))
    if rng.random() < 0.7:
        values["stages"] = rng.randint(1, 5)
    if rng.random() < 0.7:
        values["vector"] = {"a": rng.choice((1, 2, 4, 8)), "b": 1, "c": 1}


def _draw_streaming(rng: random.Random, values: dict[str, Any]) -> None:
    values["conv_spec"] = "Filter1x1Stride1Pad0"
    values["block_size"] = rng.choice((64, 128, 256))
    values["tile"] = {"m_per_block": rng.choice(_EXTENTS), "n_per_block": rng.choice(_EXTENTS)}
    if rng.random() < 0.7:
        values["tile"]["k_per_block"] = rng.choice((16, 32, 48, 64, 128))
    if rng.random() < 0.5:
        values["stages"] = rng.randint(1, 12)
    if rng.random() < 0.7:
        width = rng.choice((2, 4, 8))
        values["vector"] = {"a": width, "b": rng.choice((1, 2, 4, 8)), "c": rng.choice((width, width, 2, 4, 8))}


def _draw_warp_split(rng: random.Random, values: dict[str, Any]) -> None:
    values["conv_spec"] = rng.choice(("Filter1x1Stride1Pad0", "Default"))
    warps = rng.choice((2, 4, 8, 8, 16))
    values["block_size"] = 32 * warps
    values["tile"] = {"m_per_block": rng.choice((16, 32, 64)), "n_per_block": rng.choice((16, 32, 64))}
    if warps != 8 or rng.random() < 0.2:
        values["tile"]["k_per_block"] = rng.choice((16, 32)) * warps


_OWN_DRAWS = {"depthwise": _draw_depthwise, "streaming": _draw_streaming, "warp_split": _draw_warp_split}


def _draw_copy_family(kind: Kind, rng: random.Random, values: dict[str, Any]) -> None:
    rows, columns = _COPY_TILES[kind.family]
    values["tile"] = {"m_per_block": rng.choice(rows), "n_per_block": rng.choice(columns)}
    if rng.random() < 0.3:
        values["tile"]["k_per_block"] = rng.choice((16, 32, 48, 64, 128))
    if rng.random() < 0.5:
        values["m_per_xdl"] = rng.choice((16, 64, 128))
    if values["tile"]["m_per_block"] == 256:
        values |= {"m_per_xdl": 128, "wave_ratio": [2, 4]}
    if rng.random() < 0.3:
        values["wave_ratio"] = [2, rng.choice((1, 2, 4, 6, 8))]
    if rng.random() < 0.5:
        values["stages"] = rng.randint(2, 12)
    if kind.operation in FAMILIES[kind.family].clusters and rng.random() < 0.3:
        values["cluster"] = rng.choice((1, 2, 2, 4))
    if kind.family in ("wavelet_tma", "stationary"):
        planes = not LAYOUTS[values["layout"]].channels_last
        if planes:
            values["conv_spec"] = "Filter1x1Stride1Pad0"
        if rng.random() < 0.5 and (planes or kind.operation != BWD_DATA):
            any_planes = {"a": 1, "c": 1}
            if kind.operation != BWD_DATA or rng.random() < 0.3:
                any_planes["b"] = 1
            values["vector"] = any_planes if planes and rng.random() < 0.7 else {"c": 1}


def _as_read(axis: str, value: Any) -> Any:
    """A value of an axis as the spec's models read it."""
    if axis == "tile":
        return Tile(**value)
    if axis == "vector":
        return Vector(**value)
    if axis in ("lds_write", "copy_k1"):
        return Operands(**value)
    if axis == "transpose":
        return Transpose(**value)
    return tuple(value) if axis == "wave_ratio" else value
