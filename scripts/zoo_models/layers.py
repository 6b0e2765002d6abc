"""Layers that compute shapes only: networks of papers are written with them, without PyTorch."""

from __future__ import annotations

from zoo_models.entry import Lengths, Settings, Trace

Edge = int | Lengths


def spread(value: Edge, ndim: int) -> Lengths:
    """A number for each dimension."""
    return (value,) * ndim if isinstance(value, int) else value


class Net:
    """A forward pass on shapes (N, C, edges), which records its convolutions."""

    def __init__(self) -> None:
        self.trace = Trace()

    def conv(
        self,
        x: Lengths,
        k: int,
        filter: Edge,
        stride: Edge = 1,
        *,
        pad: Edge | None = None,
        dilation: Edge = 1,
        groups: int = 1,
    ) -> Lengths:
        """A convolution to ``k`` channels. Without ``pad``, pads keep the size of an odd filter of stride 1."""
        n = len(x) - 2
        filters, dilations = spread(filter, n), spread(dilation, n)
        same = tuple((f - 1) * d // 2 for f, d in zip(filters, dilations, strict=True))
        pads = same if pad is None else spread(pad, n)
        how = Settings(spread(stride, n), pads, dilations, groups, (0,) * n)
        return self.trace.add(x, (k, x[1] // groups, *filters), how)

    def causal(self, x: Lengths, k: int, filter: int, *, dilation: int = 1, groups: int = 1) -> Lengths:
        """A causal 1-D convolution: the input is padded on the left by a separate operation."""
        padded = (*x[:2], x[2] + (filter - 1) * dilation)
        return self.conv(padded, k, filter, pad=0, dilation=dilation, groups=groups)

    def up(
        self, x: Lengths, k: int, filter: Edge, stride: Edge, pad: Edge = 0, *, extra: Edge = 0, groups: int = 1
    ) -> Lengths:
        """A transposed convolution to ``k`` channels."""
        n = len(x) - 2
        how = Settings(spread(stride, n), spread(pad, n), (1,) * n, groups, spread(extra, n))
        return self.trace.add_transposed(x, (x[1], k // groups, *spread(filter, n)), how)


def pool(x: Lengths, filter: Edge, stride: Edge, pad: Edge = 0) -> Lengths:
    """The shape after pooling."""
    n = len(x) - 2
    rows = zip(x[2:], spread(filter, n), spread(stride, n), spread(pad, n), strict=True)
    return (*x[:2], *((edge + 2 * p - f) // s + 1 for edge, f, s, p in rows))


def scale(x: Lengths, factor: Edge) -> Lengths:
    """The shape after upsampling by ``factor``."""
    return (*x[:2], *(edge * f for edge, f in zip(x[2:], spread(factor, len(x) - 2), strict=True)))


def channels(x: Lengths, count: int) -> Lengths:
    """The shape with another number of channels: what a concatenation, a split or a gate makes of it."""
    return (x[0], count, *x[2:])
