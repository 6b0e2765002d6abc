"""Backward data as matrix products: which input positions have taps in common, and which have none.

The gradient of an input position is a sum over the taps that saw it. In one spatial dimension, tap x at output
position o sees input position

    i = o * stride + x * dilation - pad

so i + pad - x * dilation must be a multiple of the stride. With tilde = stride / gcd(stride, dilation), this holds for
tap x + tilde wherever it holds for tap x, and for no tap between them. The positions of a dimension therefore fall into
classes of step `stride`, one for each of the first tilde taps, each seen by every tilde-th tap and by no other. Where
the filter is shorter than tilde, or stride and dilation have a common factor, some positions are seen by no tap.

One class of each dimension makes one matrix product (SubGemm). Positions without a tap belong to no product but to the
result: the gradient there is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from ckgen.conv.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class Progression:
    """``count`` numbers from ``start`` on, ``step`` apart."""

    start: int
    step: int
    count: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.start + self.step * self.count, self.step))


@dataclass(frozen=True, slots=True)
class ResidueClass:
    """Positions of one dimension and the taps that see all of them; there is at least one of each.

    Number t of the positions and number j of the taps meet at output position ``origin + t - shift * j``. Where that
    lies outside the output, the filter never stood there and the product is zero.
    """

    positions: Progression
    taps: Progression
    origin: int
    shift: int

    def output(self, position: int, tap: int) -> int:
        """The output position, possibly outside the output, of position number ``position`` and tap number ``tap``."""
        return self.origin + position - self.shift * tap


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial dimension: the classes with taps, by first tap, and the progressions of positions without."""

    length: int
    classes: tuple[ResidueClass, ...]
    tapless: tuple[Progression, ...]


@dataclass(frozen=True, slots=True)
class SubGemm:
    """One matrix product: a class of each dimension. Its rows are images x positions of all dimensions, its GEMM-K is
    output channels x taps of all dimensions."""

    axes: tuple[ResidueClass, ...]

    @property
    def positions(self) -> int:
        """Input positions of one image."""
        return prod(axis.positions.count for axis in self.axes)

    @property
    def taps(self) -> int:
        """Filter taps that see each of them."""
        return prod(axis.taps.count for axis in self.axes)

    def gemm(self, problem: ConvProblem) -> tuple[int, int, int]:
        """(M, N, K) for one group."""
        return problem.batch * self.positions, problem.c, problem.k * self.taps


@dataclass(frozen=True, slots=True)
class Decomposition:
    """All input positions of a problem, each exactly once: those of a sub-GEMM, and boxes (one progression a dimension)
    of positions without a tap. Sub-GEMMs with the most taps come first, so that short ones end a launch."""

    sub_gemms: tuple[SubGemm, ...]
    tapless: tuple[tuple[Progression, ...], ...]

    @property
    def most_taps(self) -> int:
        """The largest number of taps that see one position; 0 where no position has any."""
        return max((sub.taps for sub in self.sub_gemms), default=0)


def tilde(stride: int, dilation: int) -> int:
    """How many taps apart two taps are that see the same input positions."""
    return stride // gcd(stride, dilation)


def split_axis(length: int, filter: int, stride: int, dilation: int, left_pad: int) -> Axis:
    """The classes of one dimension of ``length`` input positions. The right pad only decides how long the output is."""
    apart = tilde(stride, dilation)
    classes = []
    tapped = set()
    for first in range(min(apart, filter)):
        start = (first * dilation - left_pad) % stride
        tapped.add(start)
        positions = Progression(start, stride, _terms(start, length, stride))
        if positions.count:  # else it sees padding only
            taps = Progression(first, apart, _terms(first, filter, apart))
            origin = (start + left_pad - first * dilation) // stride
            classes.append(ResidueClass(positions, taps, origin, dilation * apart // stride))
    rest = (start for start in range(min(stride, length)) if start not in tapped)
    tapless = tuple(Progression(start, stride, _terms(start, length, stride)) for start in rest)
    return Axis(length, tuple(classes), tapless)


def decompose(problem: ConvProblem) -> Decomposition:
    """The matrix products of a problem's backward data, the same for each group, and the positions without a tap."""
    axes = tuple(
        split_axis(*sizes)
        for sizes in zip(
            problem.input, problem.filter, problem.strides, problem.dilations, problem.left_pads, strict=True
        )
    )
    sub_gemms = [SubGemm(classes) for classes in product(*(axis.classes for axis in axes))]
    sub_gemms.sort(key=lambda sub: -sub.taps)  # stable: equals stay in the order of their first taps
    return Decomposition(tuple(sub_gemms), tuple(_tapless_boxes(axes)))


def _tapless_boxes(axes: tuple[Axis, ...]) -> Iterator[tuple[Progression, ...]]:
    """Boxes that share no position: the first dimension without a tap decides which box a position is in."""
    for at, axis in enumerate(axes):
        before = product(*([one.positions for one in outer.classes] for outer in axes[:at]))
        after = tuple(Progression(0, 1, inner.length) for inner in axes[at + 1 :])
        for tapped, own in product(before, axis.tapless):
            yield (*tapped, own, *after)


def _terms(start: int, end: int, step: int) -> int:
    return len(range(start, end, step))
