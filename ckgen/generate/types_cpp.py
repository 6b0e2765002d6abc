"""The rows of data types and layouts in C++: what the rendered headers of ckgen/config/ declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ckgen.conv.dtypes import DTYPES, ELEMENTS, Element
from ckgen.conv.layout import CHANNELS_LAST, LAYOUTS, OWN_LAYOUTS, TENSORS, channels_come_last, d_layout, to_physical
from ckgen.operations.operation import OPERATIONS


@dataclass(frozen=True, slots=True)
class Tag:
    """One tensor's layout. ``axes`` are logical indices from the slowest dimension to the fastest; a layout that no
    kernel computes with has -1."""

    name: str
    axes: tuple[int, ...] = (-1,)

    @property
    def channels_last(self) -> bool:
        return channels_come_last(self.name)

    @property
    def one_a_channel(self) -> bool:
        """True if the tensor has one value per channel."""
        return self.name.replace("_", "") == "GC"


@dataclass(frozen=True, slots=True)
class Triple:
    """The layouts of an instance's tensors, input first."""

    name: str
    ndim: int
    tags: tuple[str, ...]


def type_rows() -> dict[str, Any]:
    """The values for the templates of types and layouts."""
    return {
        "dtypes": tuple(DTYPES.values()),
        "accumulators": {dtype.name: ELEMENTS[dtype.accumulator].cpp for dtype in DTYPES.values()},
        "weight_gradients": _weight_gradients(),
        "layout_tags": tuple({tag.name: tag for tag in (*_dense(), *_own(), *_of_rows())}.values()),
        "layout_triples": _triples(),
    }


def _weight_gradients() -> tuple[tuple[Element, str], ...]:
    """The element types that the second kernel of split-K writes, for operators without a function, and the C++ type of
    the sums."""
    results = (
        (DTYPES[name].element(row.written).name, ELEMENTS[DTYPES[name].accumulator].cpp)
        for row in OPERATIONS.values()
        if row.plain is not None
        for name in row.dtypes
    )
    found = dict(results)
    return tuple((element, found[element.name]) for element in ELEMENTS.values() if element.name in found)


def _of_rows() -> Iterator[Tag]:
    for row in LAYOUTS.values():
        for tensor in TENSORS:
            yield Tag(row.axes(tensor), to_physical(tensor, row.name))


def _dense() -> Iterator[Tag]:
    """The layouts of dense convolution: the channels-last ones without groups."""
    for name in CHANNELS_LAST.values():
        for tensor in TENSORS:
            yield Tag(LAYOUTS[name].axes(tensor).replace("G", ""))


def _own() -> Iterator[Tag]:
    """The layouts that D tensors alone have."""
    for own in OWN_LAYOUTS:
        for name in CHANNELS_LAST.values():
            yield Tag(d_layout(own, name))


def _triples() -> tuple[Triple, ...]:
    found = {}
    for row in LAYOUTS.values():
        tags = tuple(row.axes(tensor) for tensor in TENSORS)
        found[tags] = Triple("_".join(tags), row.ndim, tags)
    return tuple(found.values())
