"""The fields of a kernel instance and the properties given by its layout and data type, common to all families."""

from __future__ import annotations

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.operations.operation import OPERATIONS, Extents, Gemm


class Fields:
    """The base of ckgen.instance.instance.Instance: the attributes that a family reads.

    Derived values of the instance's family (such as `lds_bytes`) are attributes too; Instance looks them up by name.
    """

    __slots__ = ()
    family: str
    layout: str
    dtype: str
    conv_spec: str
    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_xdl: int
    load_waves: int
    math_waves: int
    a_vector: int
    b_vector: int
    c_vector: int
    stages: int
    generic: bool
    operation: str
    a_write: int
    b_write: int
    a_k1: int
    b_k1: int
    pipeline_version: int
    interwave: bool
    groups_to_merge: int
    exchange: bool
    cluster: int
    transpose_dst: int
    transpose_vector: int
    transpose_lds: int

    def __getattr__(self, name: str) -> int:
        raise AttributeError(f"{type(self).__name__} has no {name}")

    @property
    def a_tensor(self) -> TensorName:
        """The tensor that is A; `exchange` makes it the operation's B. Layouts order the axes of both alike."""
        return OPERATIONS[self.operation].b if self.exchange else OPERATIONS[self.operation].a

    @property
    def b_tensor(self) -> TensorName:
        """The tensor that is B."""
        return OPERATIONS[self.operation].a if self.exchange else OPERATIONS[self.operation].b

    @property
    def a_k_major(self) -> bool:
        """True if A is contiguous along GEMM-K, so that a slot of LDS is filled without transposing it."""
        return OPERATIONS[self.operation].k_major(OPERATIONS[self.operation].a, self.layout)

    @property
    def b_k_major(self) -> bool:
        """True if B is contiguous along GEMM-K."""
        return OPERATIONS[self.operation].k_major(OPERATIONS[self.operation].b, self.layout)

    @property
    def c_m_major(self) -> bool:
        """True if C, the tensor that is written, is contiguous along GEMM-M: its positions."""
        return OPERATIONS[self.operation].m_major(self.layout)

    @property
    def groups_outermost(self) -> bool:
        """True if the groups are the slowest axis, so that each group's tensor is separate in memory, as in GNHWC."""
        return LAYOUTS[self.layout].groups_outermost

    @property
    def channels_last(self) -> bool:
        """True if neighbouring channels of every tensor are contiguous, as in NHWGC/GKYXC/NHWGK."""
        return LAYOUTS[self.layout].channels_last

    @property
    def a_channels_last(self) -> bool:
        """True if neighbouring channels of A are contiguous."""
        return LAYOUTS[self.layout].channels_last_in(OPERATIONS[self.operation].a)

    @property
    def b_channels_last(self) -> bool:
        """True if neighbouring channels of B are contiguous."""
        return LAYOUTS[self.layout].channels_last_in(OPERATIONS[self.operation].b)

    @property
    def c_channels_last(self) -> bool:
        """True if neighbouring channels of C, the tensor that is written, are contiguous."""
        return LAYOUTS[self.layout].channels_last_in(OPERATIONS[self.operation].written)

    @property
    def pointwise(self) -> bool:
        """True if the kernel only takes 1x1 filters with stride 1 and no padding."""
        return self.conv_spec == "Filter1x1Stride1Pad0"

    @property
    def row_vector(self) -> int:
        """Backward data: a_vector if filter taps shift vectors of positions, so that a row of the image counts as whole
        vectors; else 1."""
        shifts = self.c_m_major and not self.a_channels_last and not self.pointwise
        return self.a_vector if shifts else 1

    @property
    def copies_weight(self) -> bool:
        """Backward data: True if vectors of a weight whose channels come first are read, in a copy that a kernel before
        the main one makes with its channels last."""
        return self.b_vector > 1 and not (self.b_channels_last or self.b_k_major or self.pointwise)

    @property
    def one_tap_tiles(self) -> bool:
        """Backward data with filters of several taps: True if no tile of GEMM-K has several taps, not even where their
        channels are few."""
        return self.row_vector > 1 and self.b_vector > 1 and self.groups_to_merge == 1

    def products(self, problem: ConvProblem, tile_rows: int = 0) -> tuple[Gemm, ...]:
        """(M, N, K) of each matrix product of one group, as its kernel counts them; K is the mean of tiles of
        ``tile_rows`` rows that skip taps."""
        found = OPERATIONS[self.operation].products(problem, self.row_vector, tile_rows, self.exchange)
        if not self.one_tap_tiles or problem.k >= self.k_per_block:
            return found
        return tuple((m, n, k // problem.k * self.k_per_block) for m, n, k in found)

    def extents(self, problem: ConvProblem) -> Extents:
        """The sizes of one group as one matrix product of this kernel, as the selector counts."""
        return OPERATIONS[self.operation].extents(problem, self.exchange)

    @property
    def any_filter(self) -> int:
        """0 if the kernel only takes 1x1 filters with stride 1 and no padding, else 1."""
        return int(not self.pointwise)

    @property
    def ndim(self) -> int:
        """Spatial dimensions, 1 to 3: the axes of the first tensor other than G, N and C."""
        return self.layout.index("/") - 3

    @property
    def elem_bytes(self) -> int:
        """Bytes per element of A and B."""
        return DTYPES[self.dtype].elem_bytes

    @property
    def as_stored(self) -> int:
        """1 if operands are multiplied in the types of their tensors, else 0."""
        return int(DTYPES[self.dtype].as_stored)

    @property
    def compute_bytes(self) -> int:
        """Bytes per element of A and B in LDS."""
        return DTYPES[self.dtype].compute_bytes

    @property
    def c_bytes(self) -> int:
        """Bytes per element of C, the tensor that is written."""
        return DTYPES[self.dtype].bytes_of(OPERATIONS[self.operation].written)
