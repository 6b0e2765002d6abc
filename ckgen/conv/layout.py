"""Memory layouts of a convolution's three tensors.

A layout such as ``NHWGC/GKYXC/NHWGK`` names the axes of the input, weight and output tensors from the slowest to the
fastest. Operations that write the input name the output first: ``NHWGK/GKYXC/NHWGC``; the letters K and C show which
tensor is which. Lengths and strides that cross the C API are in *logical* order in every layout, as in Composable
Kernel: G, N, C, spatial for the input; G, K, C, filter for the weight; G, N, K, spatial for the output. Only the values
of the strides depend on the layout. This module converts between the two orders and is independent of sizes. `LAYOUTS`
holds the layouts that operations have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from ckgen.errors import CkgenError, Diagnostic, one_of

TensorName = Literal["in", "wei", "out"]
TENSORS: tuple[TensorName, TensorName, TensorName] = ("in", "wei", "out")

# Layouts that a D tensor may have, independent of the result's layout. As an array, G_NHW_C has the axes of GNHWC; its
# forms in one and three dimensions follow the same pattern. GC and G_C hold one value per channel, which applies to
# every image and position.
OWN_LAYOUTS = ("GC", "G_C", "G_NHW_C")

_HEAD: dict[TensorName, str] = {"in": "GNC", "wei": "GKC", "out": "GNK"}
_IMAGE = {1: "W", 2: "HW", 3: "DHW"}
_FILTER = {1: "X", 2: "YX", 3: "ZYX"}


@dataclass(frozen=True)
class Layout:
    """A layout that operations have. `form` is its name in two dimensions."""

    name: str
    form: str

    def __post_init__(self) -> None:
        assert self.form.split("/")[1] in ("GKYXC", "GKCYX"), f"{self.name}: kernels have no such weight"

    def axes(self, tensor: TensorName) -> str:
        """The axis letters of a tensor from slowest to fastest."""
        return physical_axes(tensor, self.name)

    @cached_property
    def ndim(self) -> int:
        """The number of spatial dimensions."""
        return ndim_of(self.name)

    @cached_property
    def order(self) -> tuple[TensorName, ...]:
        """The tensors in the order in which the layout names them."""
        return TENSORS if "C" in self.name.split("/")[0] else TENSORS[::-1]

    @cached_property
    def channels_last(self) -> bool:
        """True if neighbouring channels of every tensor are contiguous."""
        return all(self.channels_last_in(tensor) for tensor in TENSORS)

    def channels_last_in(self, tensor: TensorName) -> bool:
        """True if neighbouring channels of this tensor are contiguous; those of the weight are C."""
        return channels_come_last(self.axes(tensor))

    @cached_property
    def groups_outermost(self) -> bool:
        """True if the groups are the slowest axis, so that each group's tensors are separate in memory."""
        return self.axes("in")[0] == "G"


def _rows(form: str) -> Iterator[Layout]:
    """The layouts of one form in one, two and three dimensions."""
    for ndim, image in _IMAGE.items():
        yield Layout(form.replace("HW", image).replace("YX", _FILTER[ndim]), form)


# Each row is a form, written for two dimensions; operations that write the input name the output first. The default
# layouts of the operations come first.
LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        *_rows("NHWGC/GKYXC/NHWGK"),
        *_rows("GNHWC/GKYXC/GNHWK"),
        *_rows("NHWGK/GKYXC/NHWGC"),
        *_rows("GNHWK/GKYXC/GNHWC"),
        *_rows("NGKHW/GKYXC/NGCHW"),
        *_rows("NGCHW/GKYXC/NGKHW"),
        *_rows("NGCHW/GKCYX/NGKHW"),
        *_rows("NGKHW/GKCYX/NGCHW"),
    )
}


def channels_come_last(axes: str) -> bool:
    """True if the channels are the fastest axis of a tensor with these axes; those of a weight are C."""
    return axes[-1] == ("C" if "C" in axes else "K")


def same_form(layout: str, ndim: int) -> str | None:
    """The layout with the same axis order in another number of dimensions; None if there is none."""
    forms = (row.name for row in LAYOUTS.values() if row.form == LAYOUTS[layout].form and row.ndim == ndim)
    return next(forms, None)


def logical_axes(tensor: TensorName, ndim: int) -> str:
    """The axis letters of ``tensor`` in logical order, for example ``GNCHW`` for a 2-D input."""
    return _HEAD[tensor] + (_FILTER if tensor == "wei" else _IMAGE)[ndim]


@cache
def physical_axes(tensor: TensorName, layout: str) -> str:
    """The axis letters of ``tensor`` from slowest to fastest, for example ``NHWGC``.

    Raises ValueError unless ``layout`` consists of three axis orders with the same number of spatial dimensions, 1 to
    3.
    """
    parts = layout.upper().split("/")
    ndim = len(parts[0]) - 3
    if len(parts) != 3 or ndim not in _IMAGE:
        raise ValueError(f"layout {layout!r} is not of the form in/wei/out, for example NHWGC/GKYXC/NHWGK")
    order = TENSORS if "C" in parts[0] else TENSORS[::-1]
    for name, part in zip(order, parts, strict=True):
        if sorted(part) != sorted(logical_axes(name, ndim)):
            raise ValueError(f"layout {layout!r}: {part!r} is not an order of the axes {logical_axes(name, ndim)}")
    return parts[order.index(tensor)]


def ndim_of(layout: str) -> int:
    """The number of spatial dimensions, 1 to 3, of ``layout``. Raises ValueError as ``physical_axes`` does."""
    return len(physical_axes("in", layout)) - 3


def check_layout(tensor: object, layout: object, ndim: int) -> None:
    """Raise CkgenError unless these are a tensor and a layout of so many spatial dimensions."""
    if tensor not in TENSORS:
        message = f"there is no tensor {tensor!r:.80}"
        raise CkgenError([Diagnostic(None, "tensor", message, f"give {one_of(TENSORS)}")])
    try:
        found = ndim_of(layout) if isinstance(layout, str) else 0
    except ValueError:
        found = 0
    if found != ndim:
        form = next(row.name for row in LAYOUTS.values() if row.ndim == ndim)
        message = f"layout is {layout!r:.80}, none of a {ndim}D problem"
        raise CkgenError([Diagnostic(None, "layout", message, f"write it as {form}")])


def d_layout(own: str | None, layout: str, written: TensorName = "in") -> str:
    """The layout of a D tensor of an operation that writes ``written`` in ``layout``: ``own``, adapted to the number of
    dimensions, or the layout of the result if ``own`` is None."""
    if own is None:
        return physical_axes(written, layout)
    return own.replace("NHW", "N" + _IMAGE[ndim_of(layout)])


def tensors_first_to_last(layout: str) -> str:
    """The layout with the input's axes first, as C++ names it: ``NHWGC/GKYXC/NHWGK``."""
    return "/".join(physical_axes(tensor, layout) for tensor in TENSORS)


def to_logical(tensor: TensorName, layout: str) -> tuple[int, ...]:
    """The permutation from an array in physical order to a view in logical order: ``array.transpose(...)``."""
    physical = physical_axes(tensor, layout)
    return tuple(physical.index(axis) for axis in logical_axes(tensor, ndim_of(layout)))


def to_physical(tensor: TensorName, layout: str) -> tuple[int, ...]:
    """The permutation from an array in logical order to one in physical order; the inverse of ``to_logical``."""
    logical = logical_axes(tensor, ndim_of(layout))
    return tuple(logical.index(axis) for axis in physical_axes(tensor, layout))


def physical_shape(tensor: TensorName, layout: str, lengths: Sequence[int]) -> tuple[int, ...]:
    """The shape of an array in physical order whose logical lengths are ``lengths``."""
    return tuple(lengths[axis] for axis in to_physical(tensor, layout))


def packed_strides(tensor: TensorName, layout: str, lengths: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements, in logical order, of a gap-free tensor with logical lengths ``lengths``."""
    order = to_physical(tensor, layout)
    strides = [0] * len(order)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= lengths[axis]
    return tuple(strides)


# The channels-last layouts by number of dimensions; PyTorch's channels-last tensors have them too.
CHANNELS_LAST = {row.ndim: row.name for row in LAYOUTS.values() if row.form == "NHWGC/GKYXC/NHWGK"}
# The layouts of PyTorch's contiguous tensors, by number of dimensions.
CONTIGUOUS = {row.ndim: row.name for row in LAYOUTS.values() if row.form == "NGCHW/GKCYX/NGKHW"}
