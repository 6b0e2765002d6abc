"""ckgen: one YAML file becomes a CK-style HIP instance library, built and proven right.

The names below are what programs use; each is imported on first use, so `import ckgen` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckgen.errors import CkgenError
    from ckgen.library import Library
    from ckgen.problem import ConvProblem
    from ckgen.selection import select

__version__ = "0.1.0"
__all__ = ["CkgenError", "ConvProblem", "Library", "__version__", "select"]

_HOME = {
    "CkgenError": "ckgen.errors",
    "ConvProblem": "ckgen.problem",
    "Library": "ckgen.library",
    "select": "ckgen.selection",
}


def __getattr__(name: str) -> Any:
    if name == "torch":  # needs PyTorch, so it is imported when somebody asks for it
        return importlib.import_module("ckgen.torch")
    if name not in _HOME:
        raise AttributeError(f"module 'ckgen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
