"""The operations, and what differs between them that more than one part of ckgen has to know.

    backward weight    dWei = dOut x In    M = K, N = C x filter, GEMM-K = N x output positions
    backward data      dIn  = dOut x Wei   M = N x input positions of a residue class, N = C, GEMM-K = K x its taps

In both A is dOut. C is what is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.conv.layout import TensorName

BWD_WEIGHT, BWD_DATA = "grouped_conv_bwd_weight", "grouped_conv_bwd_data"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    `short` stands in names after the number of dimensions, `words` is what a sentence calls it. `written` is the tensor
    that is C, `b` the one that is B. `layouts` are in the order of the operator's template parameters, `order` says
    which tensor each part is of. `a_rows` is true where A is contiguous along GEMM-K in channels-last layouts, so that
    its copy need not transpose. `operator` is the C++ alias of its operators, `prefix` what its structs of derived
    values and rules begin with.
    """

    name: str
    short: str
    words: str
    written: TensorName
    b: TensorName
    order: tuple[TensorName, TensorName, TensorName]
    layouts: tuple[str, ...]
    dtypes: tuple[str, ...]
    fused: bool  # takes an element-wise function and D tensors
    a_rows: bool
    small_vector: int | None  # elements a global access of CK's least demanding rows; None: as the data type says
    operator: str
    prefix: str


OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            BWD_WEIGHT,
            "bwd_weight",
            "backward weight",
            "wei",
            "in",
            ("in", "wei", "out"),
            (
                "NWGC/GKXC/NWGK",
                "NHWGC/GKYXC/NHWGK",
                "NDHWGC/GKZYXC/NDHWGK",
                "GNWC/GKXC/GNWK",
                "GNHWC/GKYXC/GNHWK",
                "GNDHWC/GKZYXC/GNDHWK",
            ),
            ("f16", "bf16", "f32", "bf16_f32_bf16"),
            False,
            False,
            None,
            "BwdWeightOperator",
            "",
        ),
        Operation(
            BWD_DATA,
            "bwd_data",
            "backward data",
            "in",
            "wei",
            ("out", "wei", "in"),
            (
                "NWGK/GKXC/NWGC",
                "NHWGK/GKYXC/NHWGC",
                "NDHWGK/GKZYXC/NDHWGC",
                "GNWK/GKXC/GNWC",
                "GNHWK/GKYXC/GNHWC",
                "GNDHWK/GKZYXC/GNDHWC",
                "NGKW/GKXC/NGCW",
                "NGKHW/GKYXC/NGCHW",
                "NGKDHW/GKZYXC/NGCDHW",
            ),
            ("f16", "bf16", "f32"),
            True,
            True,
            1,
            "BwdDataOperator",
            "Data",
        ),
    )
}
LAYOUTS = tuple(layout for operation in OPERATIONS.values() for layout in operation.layouts)
