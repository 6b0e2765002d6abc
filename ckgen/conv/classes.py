"""Classes of convolutions, by geometry alone: reports and samples group problems by them.

Each problem has exactly one class, the first of `CLASSES` whose test holds. The batch never matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ckgen.conv.problem import ConvProblem

FEW_CHANNELS = 16  # a dense convolution with fewer has a matrix dimension shorter than one MFMA or MMA tile
TINY_GROUP = 4  # channels per group that fill no 16-byte vector of any element type of 4 bytes or less, or just one
VECTOR = 8  # 16-bit elements of a 16-byte access
SMALL_IMAGE = 256  # positions: 16 x 16
LONG_EDGE = 7  # the longest edge of an ordinary filter


@dataclass(frozen=True, slots=True)
class ConvClass:
    """One class. ``meaning`` describes it in a few words for tables."""

    name: str
    meaning: str
    holds: Callable[[ConvProblem], bool]


def _odd(problem: ConvProblem) -> bool:
    return bool(problem.k % VECTOR or problem.c % VECTOR)


def _point(problem: ConvProblem) -> bool:
    return prod(problem.filter) == 1


def _long(problem: ConvProblem) -> bool:
    return len(set(problem.filter)) > 1 or max(problem.filter) > LONG_EDGE


CLASSES: dict[str, ConvClass] = {
    row.name: row
    for row in (
        ConvClass("depthwise", "one input and one output channel per group", lambda p: p.groups > 1 == p.k == p.c),
        ConvClass(
            "depthwise_multiplier", "one input channel per group, several outputs", lambda p: p.groups > 1 == p.c
        ),
        ConvClass(
            "grouped_tiny",
            "groups of at most 4 input or output channels",
            lambda p: p.groups > 1 and min(p.k, p.c) <= TINY_GROUP,
        ),
        ConvClass("grouped_odd", "groups of channels that are not multiples of 8", lambda p: p.groups > 1 and _odd(p)),
        ConvClass("grouped", "groups of multiples of 8 channels", lambda p: p.groups > 1),
        ConvClass("few_channels", "fewer than 16 input or output channels", lambda p: min(p.k, p.c) < FEW_CHANNELS),
        ConvClass("odd_channels", "channels that are not multiples of 8", _odd),
        ConvClass(
            "point_small",
            "1x1 filter, at most 256 output positions per image",
            lambda p: _point(p) and prod(p.output) <= SMALL_IMAGE,
        ),
        ConvClass("point_large", "1x1 filter, more output positions", _point),
        ConvClass("long_filter", "filter with unequal edges or an edge longer than 7", _long),
        ConvClass("dense_1d", "any other in one dimension", lambda p: p.ndim == 1),
        ConvClass("dense_2d", "any other in two dimensions", lambda p: p.ndim == 2),
        ConvClass("dense_3d", "any other in three dimensions", lambda p: p.ndim == 3),
    )
}


def class_of(problem: ConvProblem) -> str:
    """The name of the problem's class."""
    return next(name for name, row in CLASSES.items() if row.holds(problem))
