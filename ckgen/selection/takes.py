"""What can be said without a library about whether an instance takes a problem.

The plans in templates/src refuse for more reasons (sizes of 31 bits, addresses, strides); a library knows them all.
These are the ones that depend on what an instance is: its filter, its vectors, its copies and its groups.
"""

from __future__ import annotations

from ckgen.conv.problem import ConvProblem
from ckgen.instance.derived_halo import HALO_CHANNELS
from ckgen.instance.instance import Instance

HALO_TAPS = 3
COPY_BYTES = 16  # what a bulk copy addresses
MOST_COPY_STRIDE = 8
COPY_STEP = 16  # output channels that backward data multiplies at once
# Farthest corner of a box outside the image and farthest tap, by ndim: CUDA driver API, cuTensorMapEncodeIm2col.
CORNERS, FARTHEST_TAPS = (32767, 127, 15), (65535, 255, 31)


def takes(instance: Instance, problem: ConvProblem) -> bool:
    """Whether nothing known here keeps an instance from a problem of its layout."""
    if problem.ndim != instance.ndim or (instance.pointwise and not _is_pointwise(problem)):
        return False
    if problem.c % instance.b_vector or problem.c % instance.c_vector:
        return False
    if instance.is_halo:
        return _halo_takes(instance, problem)
    if instance.uses_tma:
        return _copies_take(instance, problem)
    return problem.k % instance.a_vector == 0


def _is_pointwise(problem: ConvProblem) -> bool:
    one = all(size == 1 for size in (*problem.filter, *problem.strides))
    return one and not any((*problem.left_pads, *problem.right_pads))


def _halo_takes(instance: Instance, problem: ConvProblem) -> bool:
    """Filters of 3x3, strides of 1 or 2, and groups that fill a workgroup's channels."""
    if any(size != HALO_TAPS for size in problem.filter) or max(problem.strides) > 2:
        return False
    if instance.a_rows:
        if len(set(problem.strides)) > 1 or (problem.strides[0] == 2 and any(d % 2 == 0 for d in problem.dilations)):
            return False
        return problem.k == problem.c == instance.n_per_block
    if instance.by_filter_rows and max(problem.strides) > 1:
        return False
    beside = problem.c == instance.n_per_block and problem.k == instance.m_per_block
    return beside or instance.n_per_block == HALO_CHANNELS


def _copies_take(instance: Instance, problem: ConvProblem) -> bool:
    """What a tensor map in im2col order describes."""
    corner, farthest = CORNERS[problem.ndim - 1], FARTHEST_TAPS[problem.ndim - 1]
    reaches = [(taps - 1) * dilation for taps, dilation in zip(problem.filter, problem.dilations, strict=True)]
    if max(reaches) > farthest or max((*problem.left_pads, *problem.right_pads, *reaches)) > corner:
        return False
    if instance.a_rows:
        return problem.groups == 1 or problem.k % COPY_STEP == 0
    step = COPY_BYTES // instance.elem_bytes
    return max(problem.strides) <= MOST_COPY_STRIDE and problem.c * problem.groups % step == 0
