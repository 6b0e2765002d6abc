"""The table of operations, the only one in ckgen."""

from __future__ import annotations

from collections.abc import Iterable

from ckgen.errors import CkgenError, Diagnostic
from ckgen.operations.bwd_data import BWD_DATA as BWD_DATA_ROW
from ckgen.operations.bwd_weight import BWD_WEIGHT as BWD_WEIGHT_ROW
from ckgen.operations.record import CkRows, Extents, Gemm, Operation

__all__ = [
    "BWD_DATA",
    "BWD_WEIGHT",
    "CkRows",
    "DEFAULT_OPERATION",
    "Extents",
    "Gemm",
    "LAYOUTS",
    "OPERATIONS",
    "Operation",
    "operation_in",
]

# The list of operations: a new one is a file of this folder, and a name in this line.
OPERATIONS: dict[str, Operation] = {row.name: row for row in (BWD_WEIGHT_ROW, BWD_DATA_ROW)}
BWD_WEIGHT, BWD_DATA = BWD_WEIGHT_ROW.name, BWD_DATA_ROW.name  # for families, whose rules may name an operation
DEFAULT_OPERATION = BWD_WEIGHT  # where a spec, a stored row or a caller names no operation
LAYOUTS = tuple(dict.fromkeys(layout for operation in OPERATIONS.values() for layout in operation.layouts))


def operation_in(layout: str, held: Iterable[str] = OPERATIONS) -> str:
    """The operation that has a layout, for callers that name none.

    The search prefers operations in ``held``; if none of these has the layout, it takes any operation that has it.
    Raises CkgenError with the candidates unless there is exactly one.
    """
    having = [operation.name for operation in OPERATIONS.values() if layout in operation.layouts]
    preferred = set(held)
    found = [name for name in having if name in preferred] or having
    if len(found) != 1:
        message = f"{' and '.join(found) or 'no operation'} {'have' if found else 'has'} the layout {layout}"
        raise CkgenError((Diagnostic(None, "operation", message, "say which operation" if found else ""),))
    return found[0]
