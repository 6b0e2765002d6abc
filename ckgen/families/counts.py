"""Integer arithmetic on counts, the same as in C++."""

from __future__ import annotations

from collections.abc import Iterable

CEILING = 1 << 40  # products saturate here, far above the size of any problem that a library takes


def saturated(factors: Iterable[int]) -> int:
    """The product of positive factors, at most CEILING."""
    result = 1
    for factor in factors:
        result = min(result * factor, CEILING)
    return result


def ceil_div(value: int, step: int) -> int:
    """The number of steps that cover a value."""
    return -(-value // step)
