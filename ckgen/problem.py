"""The path of `make_problem` in version 0.1, kept for programs; new ones use `ckgen.make_problem`."""

from ckgen.conv.problem import ConvProblem, make_problem

__all__ = ["ConvProblem", "make_problem"]
