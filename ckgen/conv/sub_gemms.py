"""Backward data as matrix products: input positions grouped by the taps that reach them.

The gradient of an input position is a sum over the taps that read it in the forward convolution. In one spatial
dimension, tap x at output position o reads input position

    i = o * stride + x * dilation - pad

so i + pad - x * dilation must be a multiple of the stride. With tilde = stride / gcd(stride, dilation), a position that
satisfies this for tap x also satisfies it for tap x + tilde, and for no tap between them. The positions of a dimension
therefore split into sequences of step `stride`, one per first tap below tilde; every tilde-th tap from the first on
reaches all positions of the sequence, and no other tap does. If the filter is shorter than tilde, or stride and
dilation have a common factor, no tap reaches some of the positions.

One such sequence per dimension makes one matrix product (SubGemm). Positions without a tap belong to no product but are
part of the result: their gradient is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import ceil, gcd, prod

from ckgen.conv.problem import ConvProblem

LONGEST_SKIPPED = 512  # positions of the first dimension in which kernels skip taps
ROUNDING = 1e-9  # of a mean number of taps; a share of 2/3 of 9 taps is 6


@dataclass(frozen=True, slots=True)
class Progression:
    """An arithmetic progression of ``count`` numbers from ``start`` on, ``step`` apart."""

    start: int
    step: int
    count: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.start + self.step * self.count, self.step))


@dataclass(frozen=True, slots=True)
class AxisClass:
    """Positions of one dimension and the taps that reach all of them; there is at least one of each.

    Position number t and tap number j meet at output position ``origin + t - shift * j``. If that is outside the
    output, the forward convolution has no such output and the product is zero.
    """

    positions: Progression
    taps: Progression
    origin: int
    shift: int

    def seen(self, first: int, last: int, length: int) -> int:
        """The number of taps with an output position below ``length`` for some of the positions ``first`` to
        ``last``."""
        end = min(self.taps.count, (self.origin + last) // self.shift + 1)
        return max(0, end - max(0, -(-(self.origin + first - length + 1) // self.shift)))

    def output(self, position: int, tap: int) -> int:
        """The output position of position number ``position`` and tap number ``tap``; it may be outside the output."""
        return self.origin + position - self.shift * tap


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial dimension: its positions that taps reach, by first tap, and progressions of the positions without a
    tap."""

    length: int
    classes: tuple[AxisClass, ...]
    without_taps: tuple[Progression, ...]


@dataclass(frozen=True, slots=True)
class SubGemm:
    """One matrix product. Its rows are images x positions of all dimensions, its GEMM-K is output channels x taps of
    all dimensions."""

    axes: tuple[AxisClass, ...]

    @property
    def positions(self) -> int:
        """Input positions per image."""
        return prod(axis.positions.count for axis in self.axes)

    @property
    def taps(self) -> int:
        """Filter taps that reach each position."""
        return prod(axis.taps.count for axis in self.axes)

    def gemm(self, problem: ConvProblem, row_vector: int = 1, tile_rows: int = 0) -> tuple[int, int, int]:
        """(M, N, K) for one group; a row of the image counts as whole vectors of ``row_vector`` positions. With
        ``tile_rows``, K is the mean over tiles of so many rows, which skip taps of the first dimension."""
        row = self.axes[-1].positions.count
        rows = self.positions // row * (-(-row // row_vector) * row_vector)
        taps = self.taps
        if tile_rows and problem.filter[0] > 1:
            first = self.axes[0]
            inside = rows // first.positions.count
            taps = ceil(taps * _seen_share(first, inside, tile_rows, problem.output[0]) - ROUNDING)
        return problem.batch * rows, problem.c, problem.k * taps


@dataclass(frozen=True, slots=True)
class Decomposition:
    """All input positions of a problem, each exactly once: the positions of the sub-GEMMs, and boxes (one progression
    per dimension) of positions without a tap. Sub-GEMMs are sorted by descending number of taps, so that a launch ends
    with the short ones."""

    sub_gemms: tuple[SubGemm, ...]
    without_taps: tuple[tuple[Progression, ...], ...]

    @property
    def most_taps(self) -> int:
        """The largest number of taps that reach one position; 0 if no tap reaches any."""
        return max((sub.taps for sub in self.sub_gemms), default=0)


@lru_cache(maxsize=4096)
def _seen_share(axis: AxisClass, inside: int, tile_rows: int, length: int) -> float:
    """The mean share of the taps of the first dimension that a tile sees, whose rows are neighbours: ``inside`` of them
    have one position of the dimension. Kernels skip taps only if that saves a sixteenth, and rows of several images see
    all (src/plan/bwd_data_plan.cpp, skips_taps)."""
    count = axis.positions.count
    if count > LONGEST_SKIPPED:
        return 1.0

    def of_span(span: int) -> float:
        inner = sum(axis.seen(at, at + span - 1, length) for at in range(count - span + 1))
        return (inner + min(count, span - 1) * axis.taps.count) / (count * axis.taps.count)

    further, rest = divmod(tile_rows - 1, inside)
    longer = rest / inside  # the share of tiles that begin where they have one more position
    share = (1 - longer) * of_span(1 + further) + longer * of_span(2 + further)
    return share if of_span(1 + further) <= 15 / 16 else 1.0


def tilde(stride: int, dilation: int) -> int:
    """The distance, in taps, between two neighbouring taps that reach the same input positions."""
    return stride // gcd(stride, dilation)


def split_axis(length: int, filter: int, stride: int, dilation: int, left_pad: int) -> Axis:
    """The decomposition of one dimension of ``length`` input positions. It does not depend on the right pad, which only
    changes the length of the output."""
    apart = tilde(stride, dilation)
    classes = []
    tapped = set()
    for first in range(min(apart, filter)):
        start = (first * dilation - left_pad) % stride
        tapped.add(start)
        positions = Progression(start, stride, _terms(start, length, stride))
        if positions.count:  # else the first tap reads only padding
            taps = Progression(first, apart, _terms(first, filter, apart))
            origin = (start + left_pad - first * dilation) // stride
            classes.append(AxisClass(positions, taps, origin, dilation * apart // stride))
    rest = (start for start in range(min(stride, length)) if start not in tapped)
    without_taps = tuple(Progression(start, stride, _terms(start, length, stride)) for start in rest)
    return Axis(length, tuple(classes), without_taps)


def decompose(problem: ConvProblem) -> Decomposition:
    """The matrix products of a problem's backward data, the same for each group, and the positions without a tap."""
    axes = tuple(
        split_axis(*sizes)
        for sizes in zip(
            problem.input, problem.filter, problem.strides, problem.dilations, problem.left_pads, strict=True
        )
    )
    sub_gemms = [SubGemm(classes) for classes in product(*(axis.classes for axis in axes))]
    sub_gemms.sort(key=lambda sub: -sub.taps)  # stable: equal ones stay in the order of their first taps
    return Decomposition(tuple(sub_gemms), tuple(_boxes_without_taps(axes)))


def _boxes_without_taps(axes: tuple[Axis, ...]) -> Iterator[tuple[Progression, ...]]:
    """Disjoint boxes of positions without a tap: the first dimension that lacks a tap decides which box a position is
    in."""
    for at, axis in enumerate(axes):
        before = product(*([one.positions for one in outer.classes] for outer in axes[:at]))
        after = tuple(Progression(0, 1, inner.length) for inner in axes[at + 1 :])
        for tapped, own in product(before, axis.without_taps):
            yield (*tapped, own, *after)


def _terms(start: int, end: int, step: int) -> int:
    return len(range(start, end, step))
