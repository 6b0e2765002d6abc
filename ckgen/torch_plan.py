"""From PyTorch's tensors of one gradient to a prepared run: the problem, the instance, the workspace.

PyTorch is passed in as ``torch``, so that nothing here needs it to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.c_api import CProblem, LibraryError
from ckgen.layout import CHANNELS_LAST
from ckgen.library import Library
from ckgen.problem import ConvProblem, make_problem
from ckgen.selector import Choice

_DTYPES = {
    ("float16", "float16"): "f16",
    ("bfloat16", "bfloat16"): "bf16",
    ("float32", "float32"): "f32",
    ("bfloat16", "float32"): "bf16_f32_bf16",
}
_FORMATS = {
    3: ".transpose(1, 2).contiguous().transpose(1, 2)",
    4: ".contiguous(memory_format=torch.channels_last)",
    5: ".contiguous(memory_format=torch.channels_last_3d)",
}
Start = Callable[[int, int, int, int, int], None]
# Weight size, stride, padding, dilation, groups.
Settings = tuple[tuple[int, ...], int | tuple[int, ...], int | tuple[int, ...], int | tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that waits for addresses: ``start(in, wei, out, workspace, stream)``.

    ``shape`` is the result's, gap-free, channels last: (K, filter, C/groups) or (N, spatial, C); ``device`` is the GPU
    to make current, None where there is no choice.
    """

    problem: ConvProblem
    choice: Choice
    start: Start
    workspace_bytes: int
    device: int | None
    shape: tuple[int, ...]
    dtype: Any


def make_plan(
    torch: Any, library: Library, arch: str | None, grad_output: Any, input: Any, weight_dtype: Any, settings: Settings
) -> Plan:
    """The plan for a weight gradient of tensors like these. LibraryError or UnsupportedProblem when there is none."""
    _check_tensors(library, {"grad_output": grad_output, "input": input})
    problem = _problem(grad_output, tuple(map(int, input.shape)), settings)
    layout = CHANNELS_LAST[problem.ndim]
    described = CProblem.make(problem, layout, 1)
    described.set_strides("in", _strides(input, problem.c))
    described.set_strides("out", _strides(grad_output, problem.k))
    addresses = input.data_ptr(), 0, grad_output.data_ptr()
    prepared = _prepare(torch, library, described, (_dtype(input, weight_dtype), layout, arch), addresses, input)
    return Plan(problem, *prepared, (settings[0][0], *problem.filter, problem.c), weight_dtype)


def make_data_plan(
    torch: Any,
    library: Library,
    arch: str | None,
    grad_output: Any,
    weight: Any,
    input_size: tuple[int, ...],
    settings: Settings,
) -> Plan:
    """The plan for an input gradient of tensors like these. LibraryError or UnsupportedProblem when there is none."""
    _check_tensors(library, {"grad_output": grad_output, "weight": weight})
    problem = _problem(grad_output, input_size, settings)
    if not weight.movedim(1, -1).is_contiguous():
        message = f"weight is not channels-last and gap-free: its strides are {tuple(weight.stride())}"
        raise LibraryError(message, f"call weight{_FORMATS[weight.dim()]}, which copies it")
    layout = "/".join(reversed(CHANNELS_LAST[problem.ndim].split("/")))
    described = CProblem.make(problem, layout, 1)
    described.set_strides("out", _strides(grad_output, problem.k))
    addresses = 0, weight.data_ptr(), grad_output.data_ptr()
    prepared = _prepare(torch, library, described, (_dtype(weight, weight.dtype), layout, arch), addresses, weight)
    return Plan(problem, *prepared, (input_size[0], *input_size[2:], input_size[1]), weight.dtype)


def _prepare(
    torch: Any,
    library: Library,
    described: CProblem,
    kind: tuple[str, str, str | None],
    addresses: tuple[int, int, int],
    tensor: Any,
) -> tuple[Choice, Start, int, int | None]:
    """The library's choice for tensors at these addresses on the device of one of them, and how it is started."""
    several = tensor.is_cuda and torch.cuda.device_count() > 1
    device = tensor.device.index if several else None
    with library.memory.using(device):
        choice = library.candidates_for(described, *kind, addresses, most=1)[0]
        described.split_k = choice.split_k
        start, size = library.prepare(choice.name, described)
    return choice, start, size, device


def _check_tensors(library: Library, tensors: dict[str, Any]) -> None:
    (first, gradient), (second, other) = tensors.items()
    if gradient.device != other.device:
        raise LibraryError(f"{first} is on {gradient.device}, {second} on {other.device}")
    if other.is_cuda == (library.platform == "host") or not (other.is_cuda or other.device.type == "cpu"):
        message = f"the tensors are on {other.device}, {library.path} is for platform {library.platform}"
        raise LibraryError(message, "use a library for the tensors' device, or move them")
    if gradient.dtype != other.dtype:
        raise LibraryError(f"{first} is {gradient.dtype}, {second} {other.dtype}")
    for name, tensor in tensors.items():
        if tensor.dim() not in _FORMATS:
            raise LibraryError(f"{name} has shape {tuple(tensor.shape)}; (N, C, 1 to 3 dimensions) is possible")
        if tensor.shape[1] > 1 and tensor.stride(1) != 1:
            message = f"{name} is not channels-last: its strides are {tuple(tensor.stride())}"
            raise LibraryError(message, f"call {name}{_FORMATS[tensor.dim()]}, which copies it")


def _problem(grad_output: Any, input_size: tuple[int, ...], settings: Settings) -> ConvProblem:
    """The problem, checked against both shapes. LibraryError, or ProblemError for one that cannot exist."""
    size, stride, padding, dilation, groups = settings
    ndim = len(input_size) - 2
    fits = len(input_size) > 2 and len(size) == ndim + 2 and groups > 0
    if not fits or input_size[1] != size[1] * groups or size[0] % groups:
        message = f"weight_size {size} and groups {groups} do not fit an input of shape {input_size}"
        raise LibraryError(message, "it is (K, C/groups, filter)")
    problem = make_problem(
        groups=groups,
        batch=input_size[0],
        k=size[0] // groups,
        c=size[1],
        filter=size[2:],
        input=input_size[2:],
        stride=spread(stride, ndim),
        dilation=spread(dilation, ndim),
        pad=spread(padding, ndim),
    )
    expected = (problem.batch, size[0], *problem.output)
    if tuple(grad_output.shape) != expected:
        raise LibraryError(f"grad_output has shape {tuple(grad_output.shape)}; this convolution gives {expected}")
    return problem


def spread(value: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """One entry a dimension, as PyTorch understands a single one."""
    entries = (value,) if isinstance(value, int) else tuple(value)
    return entries * ndim if len(entries) == 1 else entries


def _dtype(input: Any, weight_dtype: Any) -> str:
    names = tuple(str(kind).removeprefix("torch.") for kind in (input.dtype, weight_dtype))
    if names not in _DTYPES:
        known = ", ".join(" with ".join(pair) for pair in _DTYPES)
        raise LibraryError(f"input is {names[0]} and the weight {names[1]}; possible are {known}")
    return _DTYPES[names]


def _strides(tensor: Any, channels: int) -> tuple[int, ...]:
    """A channels-last tensor's strides in logical order: groups of ``channels`` channels, images, channels, spatial."""
    found: Sequence[int] = tuple(map(int, tensor.stride()))
    return channels, found[0], 1, *found[2:]
