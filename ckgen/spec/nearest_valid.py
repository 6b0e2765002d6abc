"""The nearest change that makes a combination satisfy every rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckgen.families.registry import FAMILIES
from ckgen.instance.checker import Checker
from ckgen.instance.instance import CONV_SPECS
from ckgen.operations.operation import OPERATIONS
from ckgen.spec.products import Kind, build
from ckgen.spec.provenance import show
from ckgen.spec.types import Tile, Vector

_POWERS = (1, 2, 4, 8)
_EXTENTS = (16, 32, 64, 128, 256)
_K_EXTENTS = (8, 16, 32, 64, 128)


def repairs(
    kind: Kind,
    values: Mapping[str, Any],
    axes: Sequence[str],
    checker: Checker,
    archs: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Changes of one axis that lead to a valid instance, as (axis, value as the file writes it).

    `values` are the arguments of `build`; `archs` are the architectures that the instance must run on (empty: any). The
    axes are tried in the order given, the nearest value of each first; only the first axis with a result is reported.
    """
    for axis in axes:
        found: list[tuple[str, str]] = []
        for value in _candidates(axis, kind, values):
            instance = build(kind, {**values, axis: value})
            if not checker.violations(instance, archs):
                found.append((axis, show(value)))
            if len(found) == 2:
                break
        if found:
            return found
    return []


def _candidates(axis: str, kind: Kind, values: Mapping[str, Any]) -> Iterator[Any]:
    """Other values of one axis, the nearest first."""
    tile: Tile = values["tile"]
    if axis == "k_per_block":
        if tile.k_per_block is None:
            yield from _near(_K_EXTENTS, values.get(axis, 32))
    elif axis == "tile":
        pairs = [(m, n) for m in _EXTENTS for n in _EXTENTS if (m, n) != (tile.m_per_block, tile.n_per_block)]
        pairs.sort(key=lambda pair: _distance(pair[0], tile.m_per_block) + _distance(pair[1], tile.n_per_block))
        yield from (tile.model_copy(update={"m_per_block": m, "n_per_block": n}) for m, n in pairs)
    elif axis == "block_size" and FAMILIES[kind.family].wave_key == axis and tile.block_size is None:
        wave = FAMILIES[kind.family].wave_size
        yield from (wave * waves for waves in _near(_POWERS, values.get(axis, wave) // wave))
    elif axis == "wave_ratio" and values.get(axis) is not None:
        load, math_waves = values[axis]
        yield from ((load, waves) for waves in _near(_POWERS, math_waves))
        yield from ((waves, math_waves) for waves in _near(_POWERS, load))
    elif axis == "m_per_xdl":
        yield from _near((32, 16, 64), values.get(axis, 32))
    elif axis == "stages":
        yield from _near((1, 2, 3, 4, 5, 6, 7, 8), values.get(axis, 1))
    elif axis == "vector" and values.get(axis) is not None:
        yield from (Vector.model_validate(word) for word in ("full", "small"))
    elif axis == "dtype":
        yield from (dtype for dtype in OPERATIONS[kind.operation].dtypes if dtype != values[axis])
    elif axis == "conv_spec":
        yield from (spec for spec in CONV_SPECS if spec != values.get(axis))


def _near(numbers: Sequence[int], number: int) -> list[int]:
    return sorted((n for n in numbers if n != number), key=lambda n: _distance(n, number))


def _distance(a: int, b: int) -> float:
    return abs(math.log2(a) - math.log2(b))
