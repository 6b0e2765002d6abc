"""One grouped convolution problem: its sizes, the numbers that follow from them, and the reasons that make it invalid.

Channels are counted per group, as in Composable Kernel: the input tensor has ``groups * c`` channels. A problem is
independent of memory layouts and element types; callers pass these to the methods that need them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from ckgen.conv.dtypes import element_of
from ckgen.conv.layout import (
    TENSORS,
    TensorName,
    channels_come_last,
    check_layout,
    packed_strides,
    physical_axes,
    physical_shape,
)
from ckgen.conv.reached import Axis, reached
from ckgen.errors import CkgenError, Diagnostic

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
LARGEST_ELEMENT_BYTES = 8

Lengths = tuple[int, ...]


class ProblemError(CkgenError):
    """The error for an impossible convolution problem; it lists all reasons at once."""


@dataclass(frozen=True, slots=True)
class ConvProblem:
    """A grouped convolution in 1 to 3 spatial dimensions.

    ``k`` and ``c`` are the output and input channels per group. Each of the six tuples holds one entry per spatial
    dimension, slowest first (depth, height, width). Raises ProblemError, with all reasons, if a size is zero or
    negative, the tuples differ in length, the filter does not fit into the padded input, or a size exceeds the range of
    the C API.
    """

    groups: int
    batch: int
    k: int
    c: int
    filter: Lengths
    input: Lengths
    strides: Lengths
    dilations: Lengths
    left_pads: Lengths
    right_pads: Lengths

    def __post_init__(self) -> None:
        findings = tuple(_shape_findings(self)) or tuple(_size_findings(self))
        if findings:
            raise ProblemError(findings)

    @property
    def ndim(self) -> int:
        """The number of spatial dimensions."""
        return len(self.input)

    @property
    def output(self) -> Lengths:
        """The spatial size of the convolution's output."""
        return tuple(_output_edge(self, axis) for axis in range(self.ndim))

    @property
    def gemm(self) -> tuple[int, int, int]:
        """(M, N, K) of one group's weight gradient as a matrix product; K is the number of accumulations."""
        return self.k, self.c * prod(self.filter), self.batch * prod(self.output)

    @property
    def macs(self) -> int:
        """Multiply-accumulates over all groups."""
        return self.groups * prod(self.gemm)

    @property
    def flops(self) -> int:
        """Floating-point operations as CK counts them: two per multiply-accumulate."""
        return 2 * self.macs

    def lengths(self, tensor: TensorName) -> Lengths:
        """Logical lengths: (G, N, C, input), (G, K, C, filter) or (G, N, K, output)."""
        if tensor == "wei":
            return (self.groups, self.k, self.c, *self.filter)
        if tensor == "in":
            return (self.groups, self.batch, self.c, *self.input)
        return (self.groups, self.batch, self.k, *self.output)

    def strides_of(self, tensor: TensorName, layout: str) -> Lengths:
        """Strides in elements, in logical order, of the gap-free tensor in ``layout``."""
        check_layout(tensor, layout, self.ndim)
        return packed_strides(tensor, layout, self.lengths(tensor))

    def shape(self, tensor: TensorName, layout: str) -> Lengths:
        """The shape of the numpy array that holds the tensor in the axis order of ``layout``, for example (N, H, W, G,
        C)."""
        check_layout(tensor, layout, self.ndim)
        return physical_shape(tensor, layout, self.lengths(tensor))

    def elements(self, tensor: TensorName) -> int:
        """The number of elements of the tensor."""
        return prod(self.lengths(tensor))

    def run_of(self, tensor: TensorName, layout: str) -> int:
        """The number of elements that vectors of a tensor must divide: its channels if these are last, else the
        positions of an image, or the taps and channels of a weight."""
        kept = {"in": self.c, "wei": self.c, "out": self.k}[tensor]
        if channels_come_last(physical_axes(tensor, layout)):
            return kept
        return prod(self.filter) * self.c if tensor == "wei" else prod(self.lengths(tensor)[3:])

    def bytes(self, dtype: str) -> int:
        """Total bytes of the three tensors."""
        return sum(self.elements(tensor) * element_of(dtype, tensor).bytes for tensor in TENSORS)

    def compulsory_bytes(self, dtype: str) -> int:
        """Compulsory bytes of an operation that reads the input: ``bytes`` without the input positions that no tap
        reaches.

        For example, a 1x1 filter with stride 2 reads a quarter of its input.
        """
        unread = prod(self.input) - prod(map(reached, self.input, self._axes))
        pixel = self.groups * self.batch * self.c * element_of(dtype, "in").bytes
        return self.bytes(dtype) - unread * pixel

    @property
    def _axes(self) -> Iterable[Axis]:
        return zip(self.output, self.filter, self.strides, self.dilations, self.left_pads, strict=True)

    def scaled(self, max_batch: int, edge_power: float = 0.5) -> ConvProblem:
        """A smaller problem of the same kind: channels, groups, filter, strides, dilations and pads stay as they are.

        Every input edge ``e`` becomes ``ceil(e ** edge_power)``, so that larger layers stay larger than smaller ones
        and remain distinct problems. An edge never becomes so small that the output is empty. The batch is limited to
        ``max_batch``.
        """
        edges = []
        for axis, edge in enumerate(self.input):
            pads = self.left_pads[axis] + self.right_pads[axis]
            least = max(1, (self.filter[axis] - 1) * self.dilations[axis] + 1 - pads)
            edges.append(min(edge, max(least, ceil(edge**edge_power))))
        return dataclasses.replace(self, batch=min(self.batch, max_batch), input=tuple(edges))

    def fitted(self, max_macs: int) -> ConvProblem:
        """This problem if it has at most ``max_macs`` multiply-accumulates, else the largest ``scaled`` form with a
        batch of 4, 2 or 1 that satisfies the limit. If none does, the form with batch 1 is returned."""
        if self.macs <= max_macs:
            return self
        candidates = [self.scaled(batch) for batch in (4, 2, 1)]
        return next((small for small in candidates if small.macs <= max_macs), candidates[-1])

    def __str__(self) -> str:
        def edges(values: Lengths) -> str:
            return "x".join(str(v) for v in values)

        def option(letter: str, values: Lengths) -> str:
            return f" {letter}{edges(values[:1] if len(set(values)) == 1 else values)}"

        text = f"G{self.groups} N{self.batch} K{self.k} C{self.c} {edges(self.filter)} on {edges(self.input)}"
        text += option("s", self.strides)
        if any(d != 1 for d in self.dilations):
            text += option("d", self.dilations)
        text += option("p", self.left_pads)
        return text if self.left_pads == self.right_pads else text + ":" + option("", self.right_pads).strip()


def make_problem(
    *,
    groups: int = 1,
    batch: int = 1,
    k: int,
    c: int,
    filter: Sequence[int],
    input: Sequence[int],
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    pad: int | Sequence[int] = 0,
    right_pad: int | Sequence[int] | None = None,
) -> ConvProblem:
    """A ConvProblem in which a single stride, dilation or pad stands for all dimensions, and ``pad`` for both sides
    unless ``right_pad`` is given. Integers of numpy will do. Raises ProblemError as ConvProblem does."""

    def entries(what: str, value: Sequence[int]) -> Lengths:
        if not isinstance(value, str) and isinstance(value, Iterable):
            return tuple(map(_plain, value))
        message = f"{what} is {value!r:.80}, not one whole number for each dimension"
        raise ProblemError((_finding("problem-entries", message, "write it as (3, 3)"),))

    def spread(what: str, value: int | Sequence[int]) -> Lengths:
        number = _plain(value)
        return (number,) * len(edges) if isinstance(number, int) else entries(what, number)

    edges = entries("input", input)
    right = pad if right_pad is None else right_pad
    return ConvProblem(
        _plain(groups),
        _plain(batch),
        _plain(k),
        _plain(c),
        entries("filter", filter),
        edges,
        spread("stride", stride),
        spread("dilation", dilation),
        spread("pad", pad),
        spread("right_pad", right),
    )


def _plain(number: Any) -> Any:
    """An integer of numpy as Python's; anything else as it is, for ConvProblem to refuse."""
    from_numpy = type(number).__module__ == "numpy" and not isinstance(number, Iterable)
    return int(number) if from_numpy and hasattr(number, "__index__") else number


def _output_edge(problem: ConvProblem, axis: int) -> int:
    reach = (problem.filter[axis] - 1) * problem.dilations[axis] + 1
    padded = problem.input[axis] + problem.left_pads[axis] + problem.right_pads[axis]
    return (padded - reach) // problem.strides[axis] + 1


_COUNTS = ("groups", "batch", "k", "c")
_TUPLES = ("filter", "input", "strides", "dilations", "left_pads", "right_pads")


def _finding(rule: str, message: str, help: str = "") -> Diagnostic:
    return Diagnostic(None, rule, message, help)


def _shape_findings(problem: ConvProblem) -> Iterator[Diagnostic]:
    """The errors of single fields. The sizes that follow from the fields are meaningful only if there are none."""
    if problem.ndim not in (1, 2, 3):
        message = f"the input has {problem.ndim} spatial dimensions; 1, 2 and 3 are possible"
        yield _finding("problem-ndim", message, "give one entry for each of depth, height and width")
    for field in _TUPLES:
        found = len(getattr(problem, field))
        if found != problem.ndim:
            message = f"{field} has {found} entries, the input has {problem.ndim} spatial dimensions"
            yield _finding("problem-mismatched-lengths", message, f"give {problem.ndim} entries")
    for field in (*_COUNTS, *_TUPLES):
        value = getattr(problem, field)
        least = 0 if field.endswith("pads") else 1
        for number in value if isinstance(value, tuple) else (value,):
            yield from _number_findings(field, number, least)


def _number_findings(field: str, number: object, least: int) -> Iterator[Diagnostic]:
    if not isinstance(number, int) or isinstance(number, bool):
        yield _finding("problem-integer", f"{field} is {number!r}, which is not an integer")
    elif number < least:
        yield _finding("problem-positive", f"{field} is {number}; the least possible value is {least}")
    elif number > INT32_MAX:
        yield _finding("problem-int32", f"{field} is {number}, more than a 32-bit integer holds ({INT32_MAX})")


def _size_findings(problem: ConvProblem) -> Iterator[Diagnostic]:
    """The errors of the sizes that follow from the fields, where each field by itself is valid."""
    for axis in range(problem.ndim):
        reach = (problem.filter[axis] - 1) * problem.dilations[axis] + 1
        padded = problem.input[axis] + problem.left_pads[axis] + problem.right_pads[axis]
        if max(reach, padded) > INT32_MAX:
            yield _finding(
                "problem-int32",
                f"dimension {axis}: the dilated filter spans {reach} and the padded input {padded}; "
                f"a 32-bit integer holds {INT32_MAX}",
            )
        elif reach > padded:
            yield _finding(
                "problem-empty-output",
                f"dimension {axis}: the dilated filter spans {reach} positions, the padded input has {padded}",
                "enlarge the input or the pads, or shrink the filter or the dilation",
            )
    if all(edge > 0 for edge in problem.output):
        for tensor in TENSORS:
            elements = problem.elements(tensor)
            if elements * LARGEST_ELEMENT_BYTES > INT64_MAX:
                yield _finding(
                    "problem-int64", f"the {tensor} tensor has {elements} elements: no 64-bit offset holds it"
                )
