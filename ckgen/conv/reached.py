"""The number of positions along an input edge that the taps of a filter read."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

Axis = tuple[int, int, int, int, int]  # output edge, taps, stride, dilation and left pad of a dimension


@lru_cache(maxsize=4096)
def reached(edge: int, axis: Axis) -> int:
    """The number of positions of an input edge that are output * stride + tap * dilation - pad.

    Positions with the same remainder of one step are intervals in units of this step, equally far apart. Of the two
    steps, the one with fewer remainders is used.
    """
    outputs, taps, stride, dilation, pad = axis
    pairs = ((outputs, stride), (taps, dilation))
    common = gcd(stride, dilation)
    (length, step), (count, jump) = min(pairs, pairs[::-1], key=lambda pair: min(pair[1][0], pair[0][1] // common))
    period, apart = step // common, jump // common
    found = 0
    for first in range(min(count, period)):
        start, intervals = first * jump - pad, -((first - count) // period)
        low, high = -(start // step), -((start - edge) // step)
        found += _covered(high, length, intervals, apart) - _covered(low, length, intervals, apart)
    return found


def _covered(end: int, length: int, intervals: int, apart: int) -> int:
    """The number of integers from 0 to below ``end`` in intervals of this length, which begin at multiples of
    ``apart``."""
    if length >= apart:  # they overlap or touch
        length, intervals, apart = length + (intervals - 1) * apart, 1, length + (intervals - 1) * apart
    whole, rest = divmod(max(0, end), apart)
    return intervals * length if whole >= intervals else whole * length + min(rest, length)
