"""Convert shapes, strides and types of PyTorch's tensors to prepared runs of a library.

This module reads no tensor: a plan is a function of values that can be compared and hashed. PyTorch's types and devices
are passed through unchanged, so that PyTorch need not be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import CONTIGUOUS, TensorName
from ckgen.conv.problem import ConvProblem, ProblemError, make_problem
from ckgen.jit.instances import Need
from ckgen.library.c_api import CProblem, LibraryError, UnsupportedProblem
from ckgen.library.library import Library, Prepared
from ckgen.operations.operation import OPERATIONS
from ckgen.selection.candidates import Choice
from ckgen.torch.merged import Merged
from ckgen.torch.strides import Lengths, contiguous, gap_free, packed, readable, result_strides, same

# The operation that computes the gradient of a tensor.
_WRITING = {operation.written: operation for operation in OPERATIONS.values()}
HELP = 'unsupported="pytorch" of conv and patch leaves such a gradient to PyTorch'
# The selector gets an address with the tensor's alignment: this one, a multiple of every alignment that a kernel needs,
# plus the tensor's misalignment.
_SOMEWHERE = 1 << 12
_READ: tuple[TensorName, ...] = ("out", "in", "wei")  # the order of PyTorch's operands
GRADIENTS: tuple[TensorName, ...] = ("in", "wei")
# Stride, padding, dilation, groups.
Geometry = tuple[Lengths, Lengths, Lengths, int]


class Seen(NamedTuple):
    """Properties of a tensor (N, C, spatial) or (K, C/groups, filter) that a plan depends on."""

    shape: Lengths
    stride: Lengths
    misaligned: int  # the address modulo 16
    dtype: Any
    device: Any


class Step(NamedTuple):
    """One gradient: ``start(in, wei, out, workspace, stream)`` writes all of a tensor of ``shape`` and ``strides``,
    which is then copied to the strides ``reordered`` if these are given. Without a ``start``, the gradient is zero."""

    start: Prepared | None
    shape: Lengths
    strides: Lengths
    reordered: Lengths | None
    dtype: Any


class Plan(NamedTuple):
    """The gradients of input and weight; None if a gradient is not wanted or, if ``by_pytorch`` says so, no instance
    takes it.

    ``copies`` are the strides of the copies that the library reads instead of output gradient, input and weight; None
    for a tensor that it reads in place.
    """

    data: Step | None
    weight: Step | None
    by_pytorch: tuple[bool, bool]
    copies: tuple[Lengths | None, Lengths | None, Lengths | None]


class Read(NamedTuple):
    """Access to a tensor that is read: its strides, in the tensor itself if ``in_place``, else in a copy."""

    strides: Lengths
    address: int
    in_place: bool


class Request(NamedTuple):
    """A request to a library: the ``wanted`` gradients of input and weight, in the memory formats of these.

    ``gpu`` is the GPU to make current, None if there is no choice. With ``fallback``, gradients that no instance takes
    are left to PyTorch.
    """

    grad_output: Seen
    input: Seen
    weight: Seen
    geometry: Geometry
    wanted: tuple[bool, bool]
    fallback: bool
    gpu: int | None

    def tensor(self, name: TensorName) -> Seen:
        """A tensor by the library's name; of the output, the gradient."""
        return {"in": self.input, "wei": self.weight, "out": self.grad_output}[name]


def make_plan(library: Library, grad_output: Any, input: Any, weight: Any, *rest: Any) -> Plan:
    """The plan for a Request, whose fields are passed one by one, those of its tensors as plain tuples.

    Raise LibraryError for tensors that do not fit and, without ``fallback``, UnsupportedProblem or ProblemError.
    """
    asked = Request(Seen(*grad_output), Seen(*input), Seen(*weight), *rest)
    tensors, wanted = (asked.grad_output, asked.input, asked.weight), asked.wanted
    check(library, asked)
    if not all(prod(seen.shape) for seen in tensors):
        if asked.weight.shape[1]:  # without input channels, PyTorch's output has none either
            _problem(asked)
        zeros = [_step(None, like) if want else None for like, want in zip(tensors[1:], wanted, strict=True)]
        return Plan(zeros[0], zeros[1], (False, False), (None, None, None))
    plan = _contiguous_plan(library, asked)
    if plan is not None:
        return plan
    reads = reads_of(asked)
    data = _attempt(library, asked, "in", reads) if wanted[0] else None
    weight = _attempt(library, asked, "wei", reads) if wanted[1] else None
    return joined(data, weight, (wanted[0] and data is None, wanted[1] and weight is None), reads)


def _contiguous_plan(library: Library, asked: Request) -> Plan | None:
    """The plan without copies for tensors in PyTorch's default memory format; None if that is not the format of all, or
    if for a wanted gradient the library only has the generic instance, which is slower than copies are."""
    tensors = asked.grad_output, asked.input, asked.weight
    in_format = all(same(seen.shape, seen.stride, contiguous(seen.shape)) for seen in tensors)
    if not in_format or all(readable(seen.shape, seen.stride) for seen in tensors):
        return None
    reads = [Read(contiguous(seen.shape), _SOMEWHERE + seen.misaligned, True) for seen in tensors]
    steps: list[Step | None] = [None, None]
    for at in (at for at in range(2) if asked.wanted[at]):
        try:
            described = describe(library, asked, GRADIENTS[at], reads, planes=True)
            choice = described.choices(1)[0]
            if library.instance(choice.name).generic:
                return None
            steps[at] = described.step(choice.name, choice.split_k)
        except (UnsupportedProblem, ProblemError, LibraryError):
            return None  # the other plan reports it
    return Plan(steps[0], steps[1], (False, False), (None, None, None))


def _attempt(library: Library, asked: Request, written: TensorName, reads: Sequence[Read]) -> Step | None:
    """One gradient by the library; None if it is left to PyTorch."""
    try:
        described = describe(library, asked, written, reads)
        choice = described.choices(1)[0]
        return described.step(choice.name, choice.split_k)
    except (UnsupportedProblem, ProblemError) as error:
        if asked.fallback:
            return None
        if isinstance(error, UnsupportedProblem):
            raise UnsupportedProblem(error.instance, error.reason, HELP) from error
        raise


def joined(data: Step | None, weight: Step | None, by_pytorch: tuple[bool, bool], reads: Sequence[Read]) -> Plan:
    """The plan of two gradients with the copies that they read."""
    readers = data or weight, weight, data
    copies = [None if read.in_place or not by else read.strides for read, by in zip(reads, readers, strict=True)]
    return Plan(data, weight, by_pytorch, (copies[0], copies[1], copies[2]))


class Described(NamedTuple):
    """One gradient of a request as the library sees it: the written tensor, the problem with the strides of the tensors
    that are read, and the words and addresses that its selector takes."""

    library: Library | Merged
    asked: Request
    written: TensorName
    problem: CProblem
    dtype: str
    layout: str
    addresses: tuple[int, int, int]

    def choices(self, most: int) -> tuple[Choice, ...]:
        """The library's ``most`` best candidates, the probably fastest first. Raise UnsupportedProblem."""
        with self.library.memory.using(self.asked.gpu):
            return self.library.candidates_for(
                self.problem, self.dtype, self.layout, None, self.addresses, most, operation=_WRITING[self.written].name
            )

    def step(self, name: str, split_k: int) -> Step:
        """This gradient by one instance; split_k -1 leaves the factor to the library. Raise UnsupportedProblem."""
        own = CProblem.from_buffer_copy(self.problem)
        own.split_k = split_k
        with self.library.memory.using(self.asked.gpu):
            start = self.library.prepare(name, own, self.addresses)
        planes = self.layout in CONTIGUOUS.values()
        return _step(start, self.asked.tensor(self.written), contiguous if planes else packed)


def describe(
    library: Library | Merged, asked: Request, written: TensorName, reads: Sequence[Read], planes: bool = False
) -> Described:
    """One gradient for tensors that are read like this; with ``planes``, in PyTorch's default memory format. Raise
    LibraryError, or ProblemError."""
    operation, given = _WRITING[written], dict(zip(_READ, reads, strict=True))
    problem, dtype = _problem(asked), _dtype(asked, written)
    layout = CONTIGUOUS[problem.ndim] if planes else operation.home(problem.ndim)
    described = CProblem.make(problem, layout, 1)
    for tensor in operation.read:
        if tensor != "wei" and not planes:  # the weight has no gaps
            images, _, *spatial = given[tensor].strides
            described.set_strides(tensor, (problem.lengths(tensor)[2], images, 1, *spatial))
    at = {tensor: given[tensor].address for tensor in operation.read}
    addresses = (at.get("in", 0), at.get("wei", 0), at.get("out", 0))
    return Described(library, asked, written, described, dtype, layout, addresses)


def need_of(asked: Request, written: TensorName) -> Need:
    """One gradient of a request as the instances for it are looked up. Raise LibraryError, or ProblemError."""
    operation, problem = _WRITING[written], _problem(asked)
    return Need(operation.name, _dtype(asked, written), operation.home(problem.ndim), problem)


def check(library: Library | Merged, asked: Request) -> None:
    """Check everything about the tensors that does not need a problem."""
    gradient = asked.grad_output
    read = {"weight": asked.weight} if asked.wanted[0] else {}
    if asked.wanted[1]:
        read["input"] = asked.input
    for name, seen in read.items():
        if gradient.device != seen.device:
            raise LibraryError(f"grad_output is on {gradient.device}, {name} on {seen.device}")
        on_gpu = seen.device.type == "cuda"
        if on_gpu == (library.platform == "host") or not (on_gpu or seen.device.type == "cpu"):
            message = f"the tensors are on {seen.device}, {library.path} is for platform {library.platform}"
            raise LibraryError(message, "use a library for the tensors' device, or move them")
        if gradient.dtype != seen.dtype:
            raise LibraryError(f"grad_output is {gradient.dtype}, {name} {seen.dtype}")
    sizes, groups = (tuple(asked.input.shape), tuple(asked.weight.shape)), asked.geometry[3]
    fits = len(sizes[0]) == len(sizes[1]) in (3, 4, 5) and groups > 0
    if not fits or sizes[0][1] != sizes[1][1] * groups or sizes[1][0] % groups:
        message = f"weight_size {sizes[1]} and groups {groups} do not fit an input of shape {sizes[0]}"
        raise LibraryError(message, "it is (K, C/groups, filter)")


def _dtype(asked: Request, written: TensorName) -> str:
    """The library's name for the types of a gradient."""
    names = tuple(str(kind).removeprefix("torch.") for kind in (asked.grad_output.dtype, asked.tensor(written).dtype))
    known = {
        (DTYPES[name].element("out").torch, DTYPES[name].element(written).torch): name
        for name in _WRITING[written].dtypes
        if DTYPES[name].as_stored
    }
    if names not in known:
        pairs = ", ".join(" with ".join(pair) for pair in known)
        raise LibraryError(f"grad_output is {names[0]} and the gradient {names[1]}; possible are {pairs}")
    return known[names]


def _problem(asked: Request) -> ConvProblem:
    """The problem, checked against the output's shape; zero images or output channels become one. Raise LibraryError,
    or ProblemError for a problem that cannot exist."""
    input, weight, (stride, padding, dilation, groups) = asked.input.shape, asked.weight.shape, asked.geometry
    problem = make_problem(
        groups=groups,
        batch=max(1, input[0]),
        k=max(1, weight[0] // groups),
        c=weight[1],
        filter=weight[2:],
        input=input[2:],
        stride=stride,
        dilation=dilation,
        pad=padding,
    )
    expected, found = (input[0], weight[0], *problem.output), tuple(asked.grad_output.shape)
    if found != expected:
        raise LibraryError(f"grad_output has shape {found}; this convolution gives {expected}")
    return problem


def _step(start: Prepared | None, like: Seen, form: Callable[[Lengths], Lengths] = packed) -> Step:
    """A run whose result has the memory format of ``like``; if necessary, through a tensor of another ``form``."""
    written, wanted = form(like.shape), result_strides(like.shape, like.stride)
    shape, one = tuple(like.shape), same(like.shape, written, wanted)
    strides, reordered = (wanted, None) if one or start is None else (written, wanted)
    return Step(start, shape, strides, reordered, like.dtype)


def reads_of(asked: Request) -> tuple[Read, Read, Read]:
    return _read(asked.grad_output, readable), _read(asked.input, readable), _read(asked.weight, gap_free)


def _read(seen: Seen, view: Callable[[Lengths, Lengths], Lengths | None]) -> Read:
    strides = view(seen.shape, seen.stride)
    return Read(strides, _SOMEWHERE + seen.misaligned, True) if strides else Read(packed(seen.shape), 0, False)
