"""From PyTorch's tensors of one weight gradient to a prepared run: the problem, the instance, the workspace.

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
# Weight size, stride, padding, dilation, groups.
Settings = tuple[tuple[int, ...], int | tuple[int, ...], int | tuple[int, ...], int | tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that waits for addresses: ``start(in, wei, out, workspace, stream)``.

    ``weight_shape`` is (K, filter, C/groups), gap-free; ``device`` is the GPU to make current, None where there is no
    choice.
    """

    choice: Choice
    problem: ConvProblem
    start: Callable[[int, int, int, int, int], None]
    workspace_bytes: int
    weight_shape: tuple[int, ...]
    weight_dtype: Any
    device: int | None


def make_plan(
    torch: Any, library: Library, arch: str | None, grad_output: Any, input: Any, weight_dtype: Any, settings: Settings
) -> Plan:
    """The plan for tensors like these. LibraryError or UnsupportedProblem when there is none."""
    _check_tensors(library, grad_output, input)
    problem = _problem(grad_output, input, settings)
    dtype, layout = _dtype(input, weight_dtype), CHANNELS_LAST[problem.ndim]
    several = input.is_cuda and torch.cuda.device_count() > 1
    device = input.device.index if several else None
    described = CProblem.make(problem, layout, 1)
    described.set_strides("in", _strides(input, problem.c))
    described.set_strides("out", _strides(grad_output, problem.k))
    with library.memory.using(device):
        addresses = input.data_ptr(), 0, grad_output.data_ptr()
        choice = library.candidates_for(described, dtype, layout, arch, addresses, most=1)[0]
        described.split_k = choice.split_k
        start, size = library.prepare(choice.name, described)
    shape = (settings[0][0], *problem.filter, problem.c)
    return Plan(choice, problem, start, size, shape, weight_dtype, device)


def _check_tensors(library: Library, grad_output: Any, input: Any) -> None:
    if grad_output.device != input.device:
        raise LibraryError(f"grad_output is on {grad_output.device}, input on {input.device}")
    if input.is_cuda == (library.platform == "host") or not (input.is_cuda or input.device.type == "cpu"):
        message = f"the tensors are on {input.device}, {library.path} is for platform {library.platform}"
        raise LibraryError(message, "use a library for the tensors' device, or move them")
    if grad_output.dtype != input.dtype:
        raise LibraryError(f"grad_output is {grad_output.dtype}, input {input.dtype}")
    for name, tensor in (("grad_output", grad_output), ("input", input)):
        if tensor.dim() not in _FORMATS:
            raise LibraryError(f"{name} has shape {tuple(tensor.shape)}; (N, C, 1 to 3 dimensions) is possible")
        if tensor.shape[1] > 1 and tensor.stride(1) != 1:
            message = f"{name} is not channels-last: its strides are {tuple(tensor.stride())}"
            raise LibraryError(message, f"call {name}{_FORMATS[tensor.dim()]}, which copies it")


def _problem(grad_output: Any, input: Any, settings: Settings) -> ConvProblem:
    """The problem, checked against both shapes. LibraryError, or ProblemError for one that cannot exist."""
    size, stride, padding, dilation, groups = settings
    ndim, channels = input.dim() - 2, input.shape[1]
    if len(size) != ndim + 2 or groups < 1 or channels != size[1] * groups or size[0] % groups:
        message = f"weight_size {size} and groups {groups} do not fit an input of shape {tuple(input.shape)}"
        raise LibraryError(message, "it is (K, C/groups, filter)")
    problem = make_problem(
        groups=groups,
        batch=int(input.shape[0]),
        k=size[0] // groups,
        c=size[1],
        filter=size[2:],
        input=tuple(map(int, input.shape[2:])),
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
