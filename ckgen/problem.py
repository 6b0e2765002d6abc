"""The path of `make_problem` in version 0.1, kept for programs; new ones use `ckgen.make_problem`."""

import warnings

from ckgen.conv.problem import ConvProblem, make_problem

__all__ = ["ConvProblem", "make_problem"]

warnings.warn("ckgen.problem is deprecated: import from ckgen; it goes in 0.3", DeprecationWarning, stacklevel=2)
