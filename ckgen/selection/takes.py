"""The checks, possible without a library, of whether an instance takes a problem.

The plans in templates/src refuse for more reasons (sizes of 31 bits, addresses, strides), all of which only a library
can check. The checks here depend on the instance's filter, vectors, copies and groups.
"""

from __future__ import annotations

from ckgen.conv.problem import ConvProblem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS


def takes(instance: Instance, problem: ConvProblem) -> bool:
    """True if no check here prevents an instance from running a problem of its layout."""
    if problem.ndim != instance.ndim or (instance.pointwise and not _is_pointwise(problem)):
        return False
    operation, family = OPERATIONS[instance.operation], FAMILIES[instance.family]
    if problem.run_of(operation.written, instance.layout) % instance.c_vector:
        return False
    if not family.fills(instance, problem, operation.b, instance.b_vector):
        return False
    if instance.c_m_major and instance.c_vector > 1 and max(problem.strides) > 1:
        return False
    return family.takes(instance, problem)


def _is_pointwise(problem: ConvProblem) -> bool:
    one = all(size == 1 for size in (*problem.filter, *problem.strides))
    return one and not any((*problem.left_pads, *problem.right_pads))
