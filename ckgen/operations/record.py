"""The record of an operation: everything in which operations differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ckgen.conv.dtypes import DTYPES, Float64
from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH

Gemm = tuple[int, int, int]  # M, N and K


class Extents(NamedTuple):
    """The sizes of one group as one matrix product, in factors, as the selector counts: M, N per tap, the taps that N
    runs over, and the largest GEMM-K, which is the number of terms in the longest sum."""

    m: tuple[int, ...]
    n: tuple[int, ...]
    taps: tuple[int, ...]
    k: tuple[int, ...]


class MergedExtents(NamedTuple):
    """The extents of the matrix product that count the channels of all groups where a tile computes several."""

    m: bool
    n: bool
    k: bool


class CppClass(NamedTuple):
    """A C++ alias of operators, and the header in ckgen/op that declares it."""

    operator: str
    interface: str


@dataclass(frozen=True)
class CkRows:
    """A class whose rows CK's tables of an operation list. `type_string` names the arguments that `GetTypeString`
    prints, `serialised` all template arguments, or is empty if CK's lists give only type strings. `fused` is the class
    of instances with a function, if it is another one; its type strings have the same arguments. `unit` is the word in
    its name that tells it from the operation's other classes. `transposing` names the arguments that follow those of
    `type_string` if the class copies its tensors to channels-last ones. `pipelined` is the class of instances that
    give a pipeline, if it is another one."""

    name: str
    type_string: tuple[str, ...]
    serialised: tuple[str, ...] = ()
    fused: str = ""
    unit: str = "Xdl"
    transposing: tuple[str, ...] = ()
    pipelined: CkRows | None = None

    def class_of(self, function: str) -> str:
        """The class of an instance with a function of this name."""
        return self.fused if self.fused and function != PASS_THROUGH else self.name


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation, as matrix products C = A x B.

    `short` is its name in identifiers, after the number of dimensions; `words` is its name in sentences, `results` the
    name of its results in titles. `written` is the tensor that is C; `a` and `b` are the tensors that are read. `order`
    is the order of the tensors in its layouts and in the operator's template parameters. `gemm_k` holds the letters of
    the axes of A that GEMM-K runs over. `merged` tells which extents grow where a tile computes several groups.

    `exchanges` tells if a problem's product can be computed with A and B exchanged. `products` gives (M, N, K) of each
    matrix product of one group; it is empty if no filter tap reaches an input position. Its second argument (default 1)
    is a number of positions: M counts each row of the image as a multiple of it. With a third one, K is the mean over
    tiles of so many rows, which skip taps that meet only padding. The fourth is true for the product with A and B
    exchanged. `extents` gives the sizes that the selector counts with; its second argument is the same, and the C++
    operation has the same function.
    `compulsory_bytes` gives the compulsory traffic without D tensors. `reference` computes the result with numpy in
    float64, in logical order, from the tensors that are read; `torch_reference` does the same with PyTorch, whose
    module is its first argument. `pytorch` runs PyTorch's own kernels on input, weight and output, of which the written
    tensor only gives the shape; its last argument is the rest of `aten.convolution`'s, from the stride on.

    `operator` is the C++ alias of its operators with a function and D tensors, `interface` the header in ckgen/op that
    declares it; `plain` is the same of operators without a function, if CK has another class for them. `prefix` begins
    the names of its structs of derived values and rules; `own_derived` is the C++ template in
    ckgen/config/derived_SHORT.hpp that adds derived values of its own, empty if it has none. `shares_splits` is true if
    several threads may add the partial sums of an element, as reduce_lanes() of ckgen/epilogue/split_k_reduce.hpp
    counts them. `c_reference` is the function of the C API that computes the result without optimisation. `problem_set`
    is CK's own list of problems. `ck` and `more_ck` are the classes of CK's tables.
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
    merged: MergedExtents
    own_d_layouts: tuple[str, ...]  # those of OWN_LAYOUTS that its D tensors may have
    small_vector: int | None  # elements per global access of CK's least demanding rows; None: given by the data type
    exchanges: Callable[[ConvProblem], bool] = field(repr=False)
    products: Callable[..., tuple[Gemm, ...]] = field(repr=False)
    extents: Callable[..., Extents] = field(repr=False)
    compulsory_bytes: Callable[[ConvProblem, str], int] = field(repr=False)
    reference: Callable[[ConvProblem, Mapping[TensorName, Any]], Float64] = field(repr=False)
    torch_reference: Callable[[Any, ConvProblem, Mapping[TensorName, Any]], Any] = field(repr=False)
    pytorch: Callable[[Any, Any, Any, Any, tuple[Any, ...]], Any] = field(repr=False)
    operator: str
    interface: str
    plain: CppClass | None
    prefix: str
    own_derived: str
    shares_splits: bool
    c_reference: str
    problem_set: str
    ck: CkRows = field(repr=False)
    more_ck: tuple[CkRows, ...] = ()

    @cached_property
    def layouts(self) -> tuple[str, ...]:
        """The layouts of ckgen.conv.layout that name the tensors in its order."""
        return tuple(row.name for row in LAYOUTS.values() if row.order == self.order)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """Its data types: those with one element type for all tensors that are read."""
        return tuple(row.name for row in DTYPES.values() if len({row.element(tensor) for tensor in self.read}) == 1)

    @cached_property
    def cpp(self) -> str:
        """Its name in the names of C++ types."""
        return "".join(word.capitalize() for word in self.short.split("_"))

    def has_function(self, function: str) -> bool:
        """True if the C++ type of its operators with a function of this name has the function and D tensors."""
        return self.plain is None or function != PASS_THROUGH

    def cpp_class(self, function: str) -> CppClass:
        """The class of its operators with a function of this name."""
        if self.plain is None or self.has_function(function):
            return CppClass(self.operator, self.interface)
        return self.plain

    def accumulations(self, problem: ConvProblem) -> int:
        """The largest number of products summed into one element of the result."""
        return max((k for _, _, k in self.products(problem)), default=0)

    @cached_property
    def read(self) -> tuple[TensorName, ...]:
        """The tensors that are read, in the order of the C API."""
        return tuple(tensor for tensor in ("in", "wei", "out") if tensor in (self.a, self.b))

    def home(self, ndim: int) -> str:
        """The default layout: channels last, images outermost."""
        return self.layouts[ndim - 1]

    @cached_property
    def a_k_major(self) -> bool:
        """True if A is K-major in channels-last layouts."""
        return self.k_major(self.a, self.layouts[0])

    def k_major(self, tensor: TensorName, layout: str) -> bool:
        """True if A or B is contiguous along GEMM-K, so that slots of LDS are filled without transposing it."""
        return LAYOUTS[layout].axes(tensor)[-1] in self.gemm_k

    def m_major(self, layout: str) -> bool:
        """True if C is contiguous along GEMM-M, which runs over the axes of A that GEMM-K does not run over."""
        fastest = LAYOUTS[layout].axes(self.written)[-1]
        return fastest in LAYOUTS[layout].axes(self.a) and fastest not in self.gemm_k
