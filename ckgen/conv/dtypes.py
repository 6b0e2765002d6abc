"""How numbers of the library's element types are kept in numpy arrays, and how exactly they are rounded.

numpy has no bfloat16, so bf16 travels as uint16 holding the upper half of a float32. A kernel's dtype names
one element type for each tensor: ``f16`` means all three, ``bf16_f32_bf16`` means bf16 input and output with
f32 weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.conv.layout import TensorName

Array = NDArray[Any]
Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Element:
    """One element type. ``precision`` counts significand bits with the hidden one; ``least`` is the smallest
    positive value, which is also the spacing of the subnormal numbers."""

    name: str
    storage: np.dtype[Any]
    precision: int
    least: float

    @property
    def bytes(self) -> int:
        """Bytes an element takes in memory."""
        return int(self.storage.itemsize)

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding to nearest: half a unit in the last place."""
        return float(2.0**-self.precision)


ELEMENTS = {
    element.name: element
    for element in (
        Element("f16", np.dtype(np.float16), 11, 2.0**-24),
        Element("bf16", np.dtype(np.uint16), 8, 2.0**-133),
        Element("f32", np.dtype(np.float32), 24, 2.0**-149),
    )
}


@dataclass(frozen=True, slots=True)
class DType:
    """Element types of one problem: In and dOut (B and A of the GEMM) share one, the weight may be wider."""

    name: str
    in_type: str
    wei_type: str
    out_type: str
    elem_bytes: int  # of in_type and out_type
    wei_bytes: int
    small_vector: int  # elements a global access of the least demanding tuned row: see below

    def bytes_of(self, tensor: TensorName) -> int:
        """Bytes of an element of a tensor."""
        return self.wei_bytes if tensor == "wei" else self.elem_bytes

    def __post_init__(self) -> None:
        sizes = {"f16": 2, "bf16": 2, "f32": 4}
        assert self.in_type == self.out_type, f"{self.name}: In and dOut must have one type"
        assert self.elem_bytes == sizes[self.in_type], f"{self.name}: elem_bytes {self.elem_bytes}"
        assert self.wei_bytes == sizes[self.wei_type], f"{self.name}: wei_bytes {self.wei_bytes}"
        assert self.small_vector in (1, 2), f"{self.name}: small_vector {self.small_vector}"


# small_vector: CK's least demanding tuned rows access two elements at once where all tensors are 16 bit (its
# packed 16-bit atomics need pairs) and one element elsewhere.
DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("f16", "f16", "f16", "f16", 2, 2, 2),
        DType("bf16", "bf16", "bf16", "bf16", 2, 2, 2),
        DType("f32", "f32", "f32", "f32", 4, 4, 1),
        DType("bf16_f32_bf16", "bf16", "f32", "bf16", 2, 4, 1),
    )
}


def element_of(dtype: str, tensor: TensorName) -> Element:
    """The element type of ``tensor`` for kernel dtype ``dtype``. Raises KeyError for a dtype that does not
    exist."""
    kinds = DTYPES[dtype]
    return ELEMENTS[{"in": kinds.in_type, "wei": kinds.wei_type, "out": kinds.out_type}[tensor]]


def encode(values: Array, element: Element) -> Array:
    """Round real ``values`` to ``element`` (nearest, ties to even) and return its storage array of the same
    shape.

    Values too large for the type become infinity, NaN stays NaN.
    """
    with np.errstate(over="ignore"):
        if element.name != "bf16":
            return np.asarray(values, dtype=element.storage)
        bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x0040)
    return np.where(nan, quiet, rounded).astype(np.uint16)


def decode(stored: Array, element: Element) -> Float64:
    """The values of a storage array as float64, exactly. Raises TypeError when the array has another storage
    type."""
    if stored.dtype != element.storage:
        raise TypeError(f"{element.name} is stored as {element.storage}, this array is {stored.dtype}")
    if element.name == "bf16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)
