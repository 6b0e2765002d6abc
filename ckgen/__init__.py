"""ckgen: one YAML file becomes a CK-style HIP instance library, built and proven right.

The names below are what programs use; each is imported on first use, so `import ckgen` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckgen.conv.problem import ConvProblem, make_problem
    from ckgen.errors import CkgenError
    from ckgen.library.choose import select
    from ckgen.library.library import Library

__version__ = "0.1.0"
__all__ = ["CkgenError", "ConvProblem", "Library", "__version__", "make_problem", "select"]

_HOME = {
    "CkgenError": "ckgen.errors",
    "ConvProblem": "ckgen.conv.problem",
    "Library": "ckgen.library.library",
    "make_problem": "ckgen.conv.problem",
    "select": "ckgen.library.choose",
}


def __getattr__(name: str) -> Any:
    if name == "torch":  # needs PyTorch, so it is imported when somebody asks for it
        return importlib.import_module("ckgen.torch")
    if name not in _HOME:
        raise AttributeError(f"module 'ckgen' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
