"""The record of an operation: everything in which operations differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ckgen.conv.dtypes import DTYPES, Float64
from ckgen.conv.layout import LAYOUTS, TensorName, layouts_of
from ckgen.conv.problem import ConvProblem

Gemm = tuple[int, int, int]  # M, N and K


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation, as matrix products C = A x B.

    `short` is its name in identifiers, after the number of dimensions; `words` is its name in sentences, `results` the
    name of its results in titles. `written` is the tensor that is C; `a` and `b` are the tensors that are read. `order`
    is the order of the tensors in its layouts and in the operator's template parameters. `gemm_k` holds the letters of
    the axes of A that GEMM-K runs over.

    `products` gives (M, N, K) of each matrix product of one group; it is empty if no filter tap reaches an input
    position. `longest_sum` gives the factors of the number of terms in the longest sum, as the selector counts them.
    `compulsory_bytes` gives the compulsory traffic without D tensors. `reference` computes the result with numpy in
    float64, in logical order, from the tensors that are read; `torch_reference` does the same with PyTorch, whose
    module is its first argument.

    `operator` is the C++ alias of its operators. `prefix` begins the names of its structs of derived values and rules.
    `c_reference` is the function of the C API that computes the result without optimisation. `problem_set` is CK's own
    list of problems.
    """

    name: str
    short: str
    words: str
    results: str
    written: TensorName
    a: TensorName
    b: TensorName
    order: tuple[TensorName, TensorName, TensorName]
    gemm_k: str
    fused: bool  # takes an element-wise function and D tensors
    small_vector: int | None  # elements per global access of CK's least demanding rows; None: given by the data type
    products: Callable[[ConvProblem], tuple[Gemm, ...]] = field(repr=False)
    longest_sum: Callable[[ConvProblem], tuple[int, ...]] = field(repr=False)
    compulsory_bytes: Callable[[ConvProblem, str], int] = field(repr=False)
    reference: Callable[[ConvProblem, Mapping[TensorName, Any]], Float64] = field(repr=False)
    torch_reference: Callable[[Any, ConvProblem, Mapping[TensorName, Any]], Any] = field(repr=False)
    operator: str
    prefix: str
    c_reference: str
    problem_set: str

    @cached_property
    def layouts(self) -> tuple[str, ...]:
        """The layouts of ckgen.conv.layout that name the tensors in its order."""
        return layouts_of(self.name, self.order)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """Its data types."""
        rows = DTYPES.values()
        return tuple(row.name for row in rows if not row.operations or self.name in row.operations)

    @cached_property
    def read(self) -> tuple[TensorName, ...]:
        """The tensors that are read, in the order of the C API."""
        return tuple(tensor for tensor in ("in", "wei", "out") if tensor in (self.a, self.b))

    def home(self, ndim: int) -> str:
        """The default layout: channels last, images outermost."""
        return self.layouts[ndim - 1]

    @cached_property
    def a_k_major(self) -> bool:
        """True if a slot of LDS along GEMM-K is filled without transposing A in registers, because A is K-major in
        channels-last layouts. In other layouts A is read element by element, and LDS is filled in the same way."""
        return LAYOUTS[self.layouts[0]].axes(self.a)[-1] in self.gemm_k
