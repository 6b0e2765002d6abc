"""The element types and data types, one table row each, and their storage in numpy arrays.

numpy has no bfloat16, so a bf16 element is stored as a uint16 that holds the upper half of a float32. The dtype of a
kernel names one element type per tensor: ``f16`` means that all three are f16, ``bf16_f32_bf16`` means bf16 input and
output with f32 weights. It may also name the types in which the operands are multiplied: ``f16_comp_bf8_f8`` has
tensors of f16, A is rounded to bf8 and B to f8. ckgen.conv.encoding converts values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckgen.conv.layout import TensorName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Float64 = NDArray[np.float64]
else:  # numpy takes a third of the time in which `ckgen generate` starts, and does nothing for it
    Array = Float64 = Any


@dataclass(frozen=True)
class Element:
    """One element type, with its names in C++ and in other libraries.

    ``precision`` is the number of significand bits, including the hidden one. ``least`` is the smallest positive value,
    which is also the spacing of the subnormal numbers. numpy arrays store elements as ``storage``, which holds the
    upper bits of a ``wide`` number; the two are the same type where numpy has the element type. ``cpp`` is the name of
    the type in C++, ``torch`` its name in PyTorch, ``dlpack`` its DLPack type code and number of bits.

    A type of 8 bits may be the upper half of no numpy type. Then ``wide`` is a type that holds its values, and
    ``specials`` says which codes are NaN: ``fn``, those with all bits but the sign set, without an infinity; ``inf``,
    all after infinity, which has the greatest exponent; or ``fnuz``, minus zero alone. The number of exponent bits and
    their bias follow from ``precision`` and ``least``. The types that no tensor has (f8, bf8, tf32) are those in which
    operands are multiplied; tf32 is kept in a float32.
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
        assert self.wide_code[0] in "fi", f"{self.name}: {self.wide_code} is not a number"
        assert self.storage_code in (self.wide_code, f"u{self.bytes}"), f"{self.name}: kept as {self.storage_code}"
        assert self.specials in ("ieee", "fn", "inf", "fnuz"), f"{self.name}: specials {self.specials}"
        assert self.specials == "ieee" or self.bytes == 1, f"{self.name}: a table of {self.bytes} bytes"

    @cached_property
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
    def integer(self) -> bool:
        """True for integers, whose sums and products are exact and which saturate."""
        return self.wide_code[0] == "i"

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of rounding to nearest: half a unit in the last place."""
        return 0.0 if self.integer else float(2.0**-self.precision)

    def in_range(self, values: Any) -> Any:
        """An array of numpy or PyTorch, saturated to this type if it is an integer."""
        return values.clip(-(2.0**self.precision), 2.0**self.precision - 1) if self.integer else values

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
        Element("i8", "i1", "i1", 7, 1.0, "int8", "int8", (0, 8)),
        Element("i32", "i4", "i4", 31, 1.0, "int32", "int32", (0, 32)),
        Element("f8", "u1", "f4", 4, 2.0**-9, "f8_t", "float8_e4m3fn", (10, 8), "fn"),
        Element("bf8", "u1", "f4", 3, 2.0**-16, "bf8_t", "float8_e5m2", (12, 8), "inf"),
        Element("f8_fnuz", "u1", "f4", 4, 2.0**-10, "f8_t", "float8_e4m3fnuz", (11, 8), "fnuz"),
        Element("bf8_fnuz", "u1", "f4", 3, 2.0**-17, "bf8_t", "float8_e5m2fnuz", (13, 8), "fnuz"),
        Element("tf32", "f4", "f4", 11, 2.0**-136, "tf32_t", "float32", (2, 32)),
    )
}


@dataclass(frozen=True)
class DType:
    """The element types of one problem: two tensors share one, the third may have another. An operation has the data
    type if all tensors that it reads have one type, so every operation has it, or only the one that writes the third.

    ``small_vector`` is the number of elements per global access in those of CK's tuned rows that require the least
    divisibility: two where all tensors are 16 bit (CK's packed 16-bit atomics need pairs), else one. ``by_pytorch`` is
    true if PyTorch's own gradients (cuDNN, MIOpen) take these types, so that kernels can be compared with them.
    ``accumulator`` is the element type in which products are summed. ``compute_a`` and ``compute_b`` are the types in
    which the operands A and B are multiplied, empty for those of the tensors; they have the same size.
    """

    name: str
    in_type: str
    wei_type: str
    out_type: str
    small_vector: int
    by_pytorch: bool = True
    accumulator: str = "f32"
    compute_a: str = ""
    compute_b: str = ""

    @cached_property
    def operand_type(self) -> str:
        """The name of the element type that two tensors share at least: that of all tensors that are read."""
        return self.in_type if self.in_type in (self.wei_type, self.out_type) else self.out_type

    @cached_property
    def elem_bytes(self) -> int:
        """Bytes per element that is read."""
        return ELEMENTS[self.operand_type].bytes

    @cached_property
    def compute_bytes(self) -> int:
        """Bytes per element of an operand in LDS."""
        return self.compute("a").bytes

    @cached_property
    def as_stored(self) -> bool:
        """True if operands are multiplied in the types of their tensors."""
        return self.matrix_type == self.operand_type

    @cached_property
    def multiplies_tf32(self) -> bool:
        """True if float32 operands are rounded to tf32 before they are multiplied."""
        return self.compute("a").name == "tf32"

    @cached_property
    def matrix_type(self) -> str:
        """The operand types of its matrix instructions: one name, or those of A and B."""
        return "_".join(dict.fromkeys((self.compute("a").name, self.compute("b").name)))

    def compute(self, operand: str, codes: str = "") -> Element:
        """The type in which operand ``a`` or ``b`` is multiplied, in the encoding ``codes`` where it has several."""
        name = (self.compute_a if operand == "a" else self.compute_b) or self.operand_type
        return ELEMENTS.get(f"{name}_{codes}", ELEMENTS[name])

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
        assert {self.compute_a, self.compute_b} <= {"", *ELEMENTS}, f"{self.name}: unknown type of an operand"
        assert self.compute("a").bytes == self.compute("b").bytes, f"{self.name}: operands of two sizes"
        assert self.small_vector in (1, 2), f"{self.name}: small_vector {self.small_vector}"


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("f16", "f16", "f16", "f16", 2),
        DType("bf16", "bf16", "bf16", "bf16", 2),
        DType("f32", "f32", "f32", "f32", 1),
        DType("bf16_f32_bf16", "bf16", "f32", "bf16", 1, by_pytorch=False),
        DType("i8", "i8", "i8", "i8", 1, by_pytorch=False, accumulator="i32"),
        DType("f32_comp_tf32", "f32", "f32", "f32", 1, by_pytorch=False, compute_a="tf32", compute_b="tf32"),
        DType("f16_comp_bf8_f8", "f16", "f16", "f16", 2, by_pytorch=False, compute_a="bf8", compute_b="f8"),
    )
}


def element_of(dtype: str, tensor: TensorName) -> Element:
    """The element type of ``tensor`` for kernel dtype ``dtype``. Raises KeyError for an unknown dtype."""
    return DTYPES[dtype].element(tensor)
