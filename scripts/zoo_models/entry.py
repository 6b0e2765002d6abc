"""A network of the zoo, and the trace of one forward pass: its convolutions in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ckgen.conv.problem import ConvProblem

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """Settings of a convolution, one number per dimension. ``extra`` is the output_padding of a transposed one."""

    stride: Lengths
    pad: Lengths
    dilation: Lengths
    groups: int
    extra: Lengths


@dataclass
class Trace:
    """The convolutions of one forward pass. A transposed convolution is recorded as the convolution whose bwd_data it
    is; ``transposed`` counts these."""

    problems: list[ConvProblem] = field(default_factory=list)
    transposed: int = 0

    def add(self, shape: Lengths, weight: Lengths, how: Settings) -> Lengths:
        """Record a convolution of an input of ``shape`` (N, C, edges) with a weight of shape (K, C / groups, filter)
        and return the shape of its result."""
        k, c, *filter = weight
        assert shape[1] == c * how.groups and k % how.groups == 0, f"{weight} with {how.groups} groups on {shape}"
        edges = (tuple(filter), shape[2:], how.stride, how.dilation, how.pad, how.pad)
        self.problems.append(ConvProblem(how.groups, shape[0], k // how.groups, c, *edges))
        return (shape[0], k, *self.problems[-1].output)

    def add_transposed(self, shape: Lengths, weight: Lengths, how: Settings) -> Lengths:
        """Record a transposed convolution with a weight of shape (C, K / groups, filter) and return the shape of its
        result."""
        rows = zip(shape[2:], weight[2:], how.stride, how.pad, how.dilation, how.extra, strict=True)
        edges = [(edge - 1) * s - 2 * p + d * (f - 1) + extra + 1 for edge, f, s, p, d, extra in rows]
        image = (shape[0], weight[1] * how.groups, *edges)
        back = self.add(image, weight, how)
        assert back == shape, f"the gradient of {back} is not {shape}"
        self.transposed += 1
        return image


@dataclass(frozen=True)
class Entry:
    """A network. ``trace(batch, image)`` runs it; ``source`` is the package that has it or the paper that it is from.
    Networks of one ``family`` are in the same part of the zoo, fitted or held out."""

    name: str
    domain: str
    family: str
    source: str
    batches: Lengths
    images: tuple[Lengths, ...]
    trace: Callable[[int, Lengths], Trace]


def size_text(edges: Lengths) -> str:
    """The text of a size, for example 224x224."""
    return "x".join(map(str, edges))
