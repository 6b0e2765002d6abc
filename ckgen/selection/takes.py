"""The checks, possible without a library, of whether an instance takes a problem.

The plans in templates/src refuse for more reasons (sizes of 31 bits, addresses, strides), all of which only a library
can check. The checks here depend on the instance's filter, vectors, copies and groups.
"""

from __future__ import annotations

from math import prod

from ckgen.conv.problem import ConvProblem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS

_ROW_BITS = 32
_SLOT = 16  # most positions of a thread


def takes(instance: Instance, problem: ConvProblem) -> bool:
    """True if no check here prevents an instance from running a problem of its layout."""
    if problem.ndim != instance.ndim or (instance.pointwise and not _is_pointwise(problem)):
        return False
    operation, family = OPERATIONS[instance.operation], FAMILIES[instance.family]
    if instance.exchange and not operation.exchanges(problem):
        return False
    if not family.fills(instance, problem, operation.written, instance.c_vector):
        return False
    if not family.fills(instance, problem, instance.b_tensor, instance.b_vector):
        return False
    if instance.b_k_major and instance.b_vector > 1 and not instance.pointwise and not _shifts_vectors(problem):
        return False
    if instance.c_m_major and instance.c_vector > 1 and max(problem.strides) > 1:
        return False
    return family.takes(instance, problem)


def _shifts_vectors(problem: ConvProblem) -> bool:
    """True if a tap shifts all positions of an image equally, and by less than the 32 positions of a row that a kernel
    keeps as bits."""
    last = (problem.filter[-1] - 1) * problem.dilations[-1] - problem.left_pads[-1]
    return (
        max(problem.strides) == 1
        and problem.output == problem.input
        and (problem.output[-1] < _ROW_BITS or max(problem.left_pads[-1], last) < _ROW_BITS)
        and (problem.ndim < 3 or prod(problem.output[1:]) >= _SLOT)
    )


def _is_pointwise(problem: ConvProblem) -> bool:
    one = all(size == 1 for size in (*problem.filter, *problem.strides))
    return one and not any((*problem.left_pads, *problem.right_pads))
