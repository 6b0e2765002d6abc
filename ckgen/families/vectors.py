"""Default widths of global accesses, and the widths that the file's words `full` and `small` stand for."""

from __future__ import annotations

from typing import NamedTuple

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.families.fields import Fields
from ckgen.operations.operation import OPERATIONS

ACCESS_BYTES = 16  # the widest global or LDS access of a lane
BANK_BYTES = 4

Width = int | str | None  # of one tensor, as the file gives it: elements, a word or None


class Shape(NamedTuple):
    """The fields that the vectors depend on."""

    operation: str
    layout: str
    conv_spec: str
    generic: bool
    dtype: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    copy_threads: int


def k_major(known: Shape | Fields, which: str) -> bool:
    """True if operand a or b is contiguous along GEMM-K."""
    return OPERATIONS[known.operation].k_major(_tensor(known, which), known.layout)


def single(known: Shape | Fields, which: str) -> bool:
    """True if operand a or b is read element by element by rule: its channels are not last, and taps shift its
    positions or, in the weight, lie between its channels. In a pointwise filter vectors of A would exclude those of C.
    """
    if LAYOUTS[known.layout].channels_last_in(_tensor(known, which)):
        return False
    return not k_major(known, "a") if which == "a" else known.conv_spec != "Filter1x1Stride1Pad0"


def _tensor(known: Shape | Fields, which: str) -> TensorName:
    operation = OPERATIONS[known.operation]
    return operation.a if which == "a" else operation.b


def small(shape: Shape) -> int:
    """The fewest elements that CK's rows access at once."""
    return OPERATIONS[shape.operation].small_vector or DTYPES[shape.dtype].small_vector


def full_read(shape: Shape, extent: int) -> int:
    """The widest read of A or B along `extent` that leaves each thread 4 bytes of GEMM-K for an LDS write."""
    dtype = DTYPES[shape.dtype]
    width = ACCESS_BYTES // dtype.elem_bytes
    elements = extent * shape.k_per_block // shape.copy_threads
    while width > 1 and (extent % width or elements // width * dtype.compute_bytes < BANK_BYTES):
        width //= 2
    return width


def full_write(shape: Shape) -> int:
    """The widest write of C that divides a row of the tile."""
    width = ACCESS_BYTES // DTYPES[shape.dtype].bytes_of(OPERATIONS[shape.operation].written)
    while shape.n_per_block % width:
        width //= 2
    return width
