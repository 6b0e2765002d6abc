"""Convert shapes, strides and types of PyTorch's tensors to prepared runs of a library.

This module reads no tensor: a plan is a function of values that can be compared and hashed. PyTorch's types and devices
are passed through unchanged, so that PyTorch need not be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.folding import folded
from ckgen.conv.layout import CONTIGUOUS, TensorName
from ckgen.conv.problem import ConvProblem, ProblemError, make_problem
from ckgen.jit.instances import Need
from ckgen.library.c_api import CProblem, LibraryError, UnsupportedProblem
from ckgen.library.library import Library
from ckgen.library.prepared import Prepared
from ckgen.operations.operation import OPERATIONS
from ckgen.selection.candidates import Choice
from ckgen.torch.merged import Merged
from ckgen.torch.request import Form, Read, Request, Seen, planes_of, reads_of
from ckgen.torch.strides import Lengths, contiguous, packed, result_strides, same

# The operation that computes the gradient of a tensor.
_WRITING = {operation.written: operation for operation in OPERATIONS.values()}
HELP = 'unsupported="pytorch" of conv and patch leaves such a gradient to PyTorch'
_READ: tuple[TensorName, ...] = ("out", "in", "wei")  # the order of PyTorch's operands
GRADIENTS: tuple[TensorName, ...] = ("in", "wei")
_OTHER: dict[TensorName, TensorName] = {"in": "wei", "wei": "in"}  # what is read beside the output's gradient


class Step(NamedTuple):
    """One gradient: ``start(in, wei, out, workspace, stream)`` writes all of a tensor of ``shape`` and ``strides``,
    which is then copied to the strides ``reordered`` if these are given. Without a ``start``, the gradient is zero.

    ``copies`` are the strides of the copies that the library reads instead of the output gradient and the other tensor,
    which is the weight for the input's gradient and the input for the weight's; None for one that it reads in place.
    """

    start: Prepared | None
    shape: Lengths
    strides: Lengths
    reordered: Lengths | None
    dtype: Any
    copies: tuple[Lengths | None, Lengths | None] = (None, None)


class Plan(NamedTuple):
    """The gradients of input and weight; None if a gradient is not wanted or, if ``by_pytorch`` says so, no instance
    takes it."""

    data: Step | None
    weight: Step | None
    by_pytorch: tuple[bool, bool]


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
        return Plan(zeros[0], zeros[1], (False, False))
    plan = _contiguous_plan(library, asked)
    if plan is not None:
        return plan
    data = _attempt(library, asked, "in") if wanted[0] else None
    weight = _attempt(library, asked, "wei") if wanted[1] else None
    return Plan(data, weight, (wanted[0] and data is None, wanted[1] and weight is None))


def _contiguous_plan(library: Library, asked: Request) -> Plan | None:
    """The plan without copies for tensors in PyTorch's default memory format; None if that is not the format of all, or
    if for a wanted gradient the library only has the generic instance, which is slower than copies are."""
    if planes_of(asked) is None:
        return None
    steps: list[Step | None] = [None, None]
    for at in (at for at in range(2) if asked.wanted[at]):
        try:
            described = describe(library, asked, GRADIENTS[at], forms_of(asked, GRADIENTS[at])[1])
            choice = described.choices(1)[0]
            if library.instance(choice.name).generic:
                return None
            steps[at] = described.step(choice.name, choice.split_k)
        except (UnsupportedProblem, ProblemError, LibraryError):
            return None  # the other plan reports it
    return Plan(steps[0], steps[1], (False, False))


def _attempt(library: Library, asked: Request, written: TensorName) -> Step | None:
    """One gradient by the library; None if it is left to PyTorch."""
    try:
        described = describe(library, asked, written, forms_of(asked, written)[0])
        choice = described.choices(1)[0]
        return described.step(choice.name, choice.split_k)
    except (UnsupportedProblem, ProblemError) as error:
        if asked.fallback:
            return None
        if isinstance(error, UnsupportedProblem):
            raise UnsupportedProblem(error.instance, error.reason, HELP) from error
        raise


class Described(NamedTuple):
    """One gradient of a request as the library sees it: the written tensor, the problem with the strides of the tensors
    that are read, the words and addresses that its selector takes, and the copies that it reads (see Step)."""

    library: Library | Merged
    asked: Request
    written: TensorName
    problem: CProblem
    dtype: str
    layout: str
    addresses: tuple[int, int, int]
    copies: tuple[Lengths | None, Lengths | None]

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
        form = contiguous if self.layout in CONTIGUOUS.values() else packed
        return _step(start, self.asked.tensor(self.written), form, self.copies)


def describe(library: Library | Merged, asked: Request, written: TensorName, form: Form) -> Described:
    """One gradient in a form of ``forms_of``. Raise LibraryError, or ProblemError."""
    operation, given = _WRITING[written], dict(zip(_READ, form.reads, strict=True))
    problem = _in_form(_problem(asked), written, form)
    run = problem.c // asked.weight.shape[1]  # positions of a row that the library gets as one
    described = CProblem.make(problem, form.layout, 1)
    for tensor in operation.read:
        if tensor != "wei" and form.layout not in CONTIGUOUS.values():  # the others have no gaps
            images, _, *rows, column = given[tensor].strides
            last = column * run if tensor == "in" else column
            described.set_strides(tensor, (problem.lengths(tensor)[2], images, 1, *rows, last))
    at = {tensor: given[tensor].address for tensor in operation.read}
    addresses = (at.get("in", 0), at.get("wei", 0), at.get("out", 0))
    copies = [None if given[tensor].in_place else given[tensor].strides for tensor in ("out", _OTHER[written])]
    return Described(library, asked, written, described, form.dtype, form.layout, addresses, (copies[0], copies[1]))


def _in_form(problem: ConvProblem, written: TensorName, form: Form) -> ConvProblem:
    """The problem that the library gets: folded, if the rows of a channels-last input have no gaps."""
    dense = written == "in" or form.reads[_READ.index("in")].strides[-1] == problem.c
    return folded(problem) if dense and form.layout not in CONTIGUOUS.values() else problem


def forms_of(asked: Request, written: TensorName) -> list[Form]:
    """The forms of one gradient: channels last, where tensors of other formats are copied; without copies, if all are
    in PyTorch's default memory format; and both again with rounding to tf32, if that is allowed. Raise LibraryError."""
    ndim, planes = len(asked.geometry[0]), planes_of(asked)
    formats: list[tuple[str, Sequence[Read]]] = [(_WRITING[written].home(ndim), reads_of(asked, written))]
    if planes is not None:
        formats.append((CONTIGUOUS[ndim], planes))
    dtypes = [_dtype(asked, written)]
    if asked.tf32:
        own = DTYPES[dtypes[0]]
        elements = own.element("out"), own.element(written)
        dtypes += [
            name
            for name in _WRITING[written].dtypes
            if (DTYPES[name].element("out"), DTYPES[name].element(written)) == elements and DTYPES[name].multiplies_tf32
        ]
    return [Form(dtype, layout, reads) for dtype in dtypes for layout, reads in formats]


def needs_of(asked: Request, written: TensorName) -> list[Need]:
    """One gradient of a request as the instances for it are looked up, in all forms. Raise LibraryError, or
    ProblemError."""
    operation, problem = _WRITING[written].name, _problem(asked)
    return [
        Need(operation, form.dtype, form.layout, _in_form(problem, written, form)) for form in forms_of(asked, written)
    ]


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


def _step(
    start: Prepared | None,
    like: Seen,
    form: Callable[[Lengths], Lengths] = packed,
    copies: tuple[Lengths | None, Lengths | None] = (None, None),
) -> Step:
    """A run whose result has the memory format of ``like``; if necessary, through a tensor of another ``form``."""
    written, wanted = form(like.shape), result_strides(like.shape, like.stride)
    shape, one = tuple(like.shape), same(like.shape, written, wanted)
    strides, reordered = (wanted, None) if one or start is None else (written, wanted)
    return Step(start, shape, strides, reordered, like.dtype, copies)
