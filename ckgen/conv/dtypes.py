"""The element types and data types, one table row each, and their storage in numpy arrays.

numpy has no bfloat16, so a bf16 element is stored as a uint16 that holds the upper half of a float32. The dtype of a
kernel names one element type per tensor: ``f16`` means that all three are f16, ``bf16_f32_bf16`` means bf16 input and
output with f32 weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckgen.conv.layout import TensorName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Float64 = NDArray[np.float64]
else:  # numpy takes a third of the time in which `ckgen generate` starts, and does nothing for it
    Array = Float64 = Any


@dataclass(frozen=True, slots=True)
class Element:
    """One element type, with its names in C++ and in other libraries.

    ``precision`` is the number of significand bits, including the hidden one. ``least`` is the smallest positive value,
    which is also the spacing of the subnormal numbers. numpy arrays store elements as ``storage``, which holds the
    upper bits of a ``wide`` number; the two are the same type where numpy has the element type. ``cpp`` is the name of
    the type in C++, ``torch`` its name in PyTorch, ``dlpack`` its DLPack type code and number of bits.

    A type of 8 bits may be the upper half of no numpy type. Then ``wide`` is a type that holds its values, and
    ``specials`` says which codes are NaN: ``fn``, those with all bits but the sign set, without an infinity, or
    ``fnuz``, minus zero alone. The number of exponent bits and their bias follow from ``precision`` and ``least``.
    """

    name: str
    storage_code: str
    wide_code: str
    precision: int
    least: float
    cpp: str
    torch: str
    dlpack: tuple[int, int]
    specials: str = "ieee"

    def __post_init__(self) -> None:
        assert self.dlpack[1] == 8 * self.bytes, f"{self.name}: {self.dlpack[1]} bits in {self.bytes} bytes"
        assert self.wide_code[0] == "f", f"{self.name}: {self.wide_code} is not floating-point"
        assert self.storage_code in (self.wide_code, f"u{self.bytes}"), f"{self.name}: kept as {self.storage_code}"
        assert self.specials in ("ieee", "fn", "fnuz"), f"{self.name}: specials {self.specials}"
        assert self.specials == "ieee" or self.bytes == 1, f"{self.name}: a table of {self.bytes} bytes"

    @property
    def bytes(self) -> int:
        """Bytes per element in memory."""
        return int(self.storage_code[1:])

    @property
    def storage(self) -> np.dtype[Any]:
        """numpy's type of the stored elements."""
        import numpy as np

        return np.dtype(self.storage_code)

    @property
    def wide(self) -> np.dtype[Any]:
        """numpy's type whose upper bits ``storage`` holds."""
        import numpy as np

        return np.dtype(self.wide_code)

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding to nearest: half a unit in the last place."""
        return float(2.0**-self.precision)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the array types that can hold such elements: numpy's storage type and PyTorch's own type."""
        return tuple(dict.fromkeys((str(self.storage), self.torch)))


ELEMENTS = {
    element.name: element
    for element in (
        Element("f16", "f2", "f2", 11, 2.0**-24, "half_t", "float16", (2, 16)),
        Element("bf16", "u2", "f4", 8, 2.0**-133, "bhalf_t", "bfloat16", (4, 16)),
        Element("f32", "f4", "f4", 24, 2.0**-149, "float", "float32", (2, 32)),
    )
}


@dataclass(frozen=True, slots=True)
class DType:
    """The element types of one problem: two tensors share one, the third may have another. An operation has the data
    type if all tensors that it reads have one type, so every operation has it, or only the one that writes the third.

    ``small_vector`` is the number of elements per global access in those of CK's tuned rows that require the least
    divisibility: two where all tensors are 16 bit (CK's packed 16-bit atomics need pairs), else one. ``by_pytorch`` is
    true if PyTorch's own gradients (cuDNN, MIOpen) take these types, so that kernels can be compared with them.
    ``accumulator`` is the element type in which products are summed.
    """

    name: str
    in_type: str
    wei_type: str
    out_type: str
    small_vector: int
    by_pytorch: bool = True
    accumulator: str = "f32"

    @property
    def operand_type(self) -> str:
        """The name of the element type that two tensors share at least: that of all tensors that are read."""
        return self.in_type if self.in_type in (self.wei_type, self.out_type) else self.out_type

    @property
    def elem_bytes(self) -> int:
        """Bytes per element that is read."""
        return ELEMENTS[self.operand_type].bytes

    def element(self, tensor: TensorName) -> Element:
        """The element type of a tensor."""
        return ELEMENTS[{"in": self.in_type, "wei": self.wei_type, "out": self.out_type}[tensor]]

    def bytes_of(self, tensor: TensorName) -> int:
        """Bytes per element of a tensor."""
        return self.element(tensor).bytes

    def __post_init__(self) -> None:
        types = (self.in_type, self.wei_type, self.out_type)
        assert len(set(types)) <= 2, f"{self.name}: no two tensors have one type"
        assert {*types, self.accumulator} <= set(ELEMENTS), f"{self.name}: unknown element type"
        assert self.small_vector in (1, 2), f"{self.name}: small_vector {self.small_vector}"


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("f16", "f16", "f16", "f16", 2),
        DType("bf16", "bf16", "bf16", "bf16", 2),
        DType("f32", "f32", "f32", "f32", 1),
        DType("bf16_f32_bf16", "bf16", "f32", "bf16", 1, by_pytorch=False),
    )
}


def element_of(dtype: str, tensor: TensorName) -> Element:
    """The element type of ``tensor`` for kernel dtype ``dtype``. Raises KeyError for an unknown dtype."""
    return DTYPES[dtype].element(tensor)


def encode(values: Array, element: Element) -> Array:
    """Round real ``values`` to ``element`` (nearest, ties to even) and return its storage array of the same
    shape.

    Values too large for the type become infinity, or NaN if it has none; NaN stays NaN.
    """
    import numpy as np

    with np.errstate(over="ignore"):
        wide: Array = np.asarray(values, dtype=element.wide)
    if element.storage == element.wide:
        return wide
    if element.specials != "ieee":
        return _encode_by_table(wide, element)
    unit = np.dtype(f"u{wide.itemsize}").type
    bits, cut = wide.view(unit), unit(8 * (wide.itemsize - element.bytes))
    half = (unit(1) << (cut - unit(1))) - unit(1)
    rounded = (bits + (half + ((bits >> cut) & unit(1)))) >> cut
    quiet = (bits >> cut) | unit(1 << (element.precision - 2))
    result: Array = np.where(np.isnan(wide), quiet, rounded).astype(element.storage)
    return result


def decode(stored: Array, element: Element) -> Float64:
    """The exact values of a storage array, as float64. Raises TypeError if the array has another storage type."""
    import numpy as np

    if stored.dtype != element.storage:
        raise TypeError(f"{element.name} is stored as {element.storage}, this array is {stored.dtype}")
    if element.storage == element.wide:
        return stored.astype(np.float64)
    if element.specials != "ieee":
        by_code: Float64 = _codes(element)[stored]
        return by_code
    unit = np.dtype(f"u{element.wide.itemsize}")
    cut = unit.type(8 * (unit.itemsize - element.bytes))
    wide: Array = (stored.astype(unit) << cut).view(element.wide)
    exact: Float64 = wide.astype(np.float64)
    return exact


def _codes(element: Element) -> Float64:
    """The values of all 256 codes of a type of 8 bits."""
    import numpy as np

    code, hidden = np.arange(256), 1 << (element.precision - 1)
    exponent, fraction = (code & 0x7F) // hidden, code % hidden
    steps = np.where(exponent > 0, fraction + hidden, fraction)  # of the spacing at this exponent
    values: Float64 = np.where(code < 128, 1.0, -1.0) * element.least * np.ldexp(steps, np.maximum(exponent - 1, 0))
    values[[0x80] if element.specials == "fnuz" else [0x7F, 0xFF]] = np.nan
    return values


def _encode_by_table(values: Array, element: Element) -> Array:
    """The nearest code of each value. A tie goes to the even code, which has the even significand."""
    import numpy as np

    numbers = _codes(element)[:128]
    numbers = numbers[~np.isnan(numbers)]
    size = np.abs(values.astype(np.float64))
    beyond = numbers.size  # where the code after the last would be
    middles = (numbers + np.append(numbers[1:], 2 * numbers[-1] - numbers[-2])) / 2
    above = np.searchsorted(middles, size)  # a tie is not above the middle
    tie = (above < beyond) & (size == middles[np.minimum(above, beyond - 1)])
    code = above + (tie & (above % 2 == 1))
    negative = np.signbit(values) & ((code > 0) | (element.specials != "fnuz"))
    nan = np.isnan(values) | (code >= beyond)
    result: Array = np.where(nan, 0x80 if element.specials == "fnuz" else 0x7F, code + 128 * negative)
    return result.astype(element.storage)
