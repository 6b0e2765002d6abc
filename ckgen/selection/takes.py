"""What can be said without a library about whether an instance takes a problem.

The plans in templates/src refuse for more reasons (sizes of 31 bits, addresses, strides); a library knows them all.
These are the ones that depend on what an instance is: its filter, its vectors, its copies and its groups.
"""

from __future__ import annotations

from ckgen.conv.problem import ConvProblem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance


def takes(instance: Instance, problem: ConvProblem) -> bool:
    """Whether nothing known here keeps an instance from a problem of its layout."""
    if problem.ndim != instance.ndim or (instance.pointwise and not _is_pointwise(problem)):
        return False
    if problem.c % instance.b_vector or problem.c % instance.c_vector:
        return False
    return FAMILIES[instance.family].takes(instance, problem)


def _is_pointwise(problem: ConvProblem) -> bool:
    one = all(size == 1 for size in (*problem.filter, *problem.strides))
    return one and not any((*problem.left_pads, *problem.right_pads))
