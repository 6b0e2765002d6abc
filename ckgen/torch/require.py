"""Import PyTorch for the modules of ckgen.torch, untyped: neither lint nor the rest of ckgen needs it."""

from __future__ import annotations

import importlib
from typing import Any

try:
    torch: Any = importlib.import_module("torch")
except ImportError as error:
    raise ImportError(f"ckgen.torch needs PyTorch, which cannot be imported: {error}") from error
