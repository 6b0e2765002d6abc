"""Gradients of PyTorch's convolutions by a ckgen library: ``import ckgen.torch``.

    ckgen.torch.patch(model, "libckgen_conv.so")    # every nn.Conv1d, 2d and 3d; all else stays PyTorch's
    out = ckgen.torch.conv(input, weight, bias, padding=1, library="libckgen_conv.so")
    wgrad = ckgen.torch.conv_backward_weight(grad_output, input, weight.shape, padding=1, library="libckgen_conv.so")
    dgrad = ckgen.torch.conv_backward_data(grad_output, weight, input.shape, padding=1, library="libckgen_conv.so")

All can be differentiated again, any number of times, backwards and forwards, transformed by torch.func and compiled.
CPU tensors take a library for the host, GPU tensors one for their platform. Instance and split_k are the library's own
choice (see ckgen.selection.candidates), made once for each problem, as are all checks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from ckgen.library.c_api import LibraryError
from ckgen.library.library import Library
from ckgen.torch import patching as torch_patch
from ckgen.torch.autograd import one_gradient
from ckgen.torch.call import Edges, convolve, spread, whole
from ckgen.torch.engines import engine
from ckgen.torch.operators import Policy
from ckgen.torch.patching import Patched, unpatch
from ckgen.torch.plan import gap_free, readable
from ckgen.torch.require import torch

__all__ = ["Patched", "conv", "conv_backward_data", "conv_backward_weight", "patch", "unpatch"]

LibraryOrPath = Library | str | os.PathLike[str]
Unsupported = Literal["error", "pytorch"]
_CALLS = {
    3: ".transpose(1, 2).contiguous().transpose(1, 2)",
    4: ".contiguous(memory_format=torch.channels_last)",
    5: ".contiguous(memory_format=torch.channels_last_3d)",
}


def conv_backward_weight(
    grad_output: Any,
    input: Any,
    weight_size: Sequence[int],
    stride: Edges = 1,
    padding: Edges = 0,
    dilation: Edges = 1,
    groups: int = 1,
    *,
    library: LibraryOrPath,
    weight_dtype: Any = None,
) -> Any:
    """The gradient of a convolution's weight, as ``torch.nn.grad.conv2d_weight`` gives it, in 1 to 3 dimensions.

    ``input`` is (N, C, spatial), ``grad_output`` (N, K, spatial), both float16, bfloat16 or float32 and channels-last
    in memory; the result is ``weight_size``, (K, C/groups, filter), channels-last too and of the input's type, or
    float32 for bfloat16 where ``weight_dtype`` says so. Nothing is copied; on a GPU it runs on the current stream, with
    its workspace from PyTorch's allocator. LibraryError says what does not fit: another memory format (call
    ``.contiguous(memory_format=torch.channels_last)``), type, shape or device; UnsupportedProblem that no instance of
    the library takes the problem. Its own gradients are PyTorch's.
    """
    _require("grad_output", grad_output, readable)
    _require("input", input, readable)
    geometry, dtype = _geometry(stride, padding, dilation, groups, input.dim() - 2), weight_dtype or input.dtype
    return one_gradient(grad_output, input, whole(weight_size), dtype, geometry, 1, _path(library))


def conv_backward_data(
    grad_output: Any,
    weight: Any,
    input_size: Sequence[int],
    stride: Edges = 1,
    padding: Edges = 0,
    dilation: Edges = 1,
    groups: int = 1,
    *,
    library: LibraryOrPath,
) -> Any:
    """The gradient of a convolution's input, as ``torch.nn.grad.conv2d_input`` gives it, in 1 to 3 dimensions.

    ``weight`` is (K, C/groups, filter), ``grad_output`` (N, K, spatial), both float16, bfloat16 or float32 and
    channels-last in memory; the result is ``input_size``, (N, C, spatial), channels-last too and of the weight's type.
    All else is as for ``conv_backward_weight``.
    """
    _require("grad_output", grad_output, readable)
    _require("weight", weight, gap_free)
    geometry = _geometry(stride, padding, dilation, groups, weight.dim() - 2)
    return one_gradient(grad_output, weight, whole(input_size), weight.dtype, geometry, 0, _path(library))


def conv(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Edges = 1,
    padding: Edges | str = 0,
    dilation: Edges = 1,
    groups: int = 1,
    *,
    library: LibraryOrPath,
    input_gradient: bool = False,
    unsupported: Unsupported = "error",
) -> Any:
    """A convolution as ``torch.nn.functional.conv2d`` computes it, in 1 to 3 dimensions; the gradient of the weight is
    the library's, and with ``input_gradient`` the input's too.

    All else is as PyTorch does it: the forward pass, the gradient of the bias, autocast, types that no library has such
    as float64. Gradients have the memory formats of their tensors.

    Tensors that are not channels-last are copied for the library. Where no instance takes a gradient, going backward
    raises UnsupportedProblem; ``unsupported="pytorch"`` leaves that gradient to PyTorch.
    """
    policy = _policy(library, input_gradient, unsupported)
    return convolve(input, weight, bias, stride, padding, dilation, groups, policy)


def patch(
    model: Any,
    library: LibraryOrPath,
    *,
    input_gradient: bool = False,
    unsupported: Unsupported = "error",
    include: str | Sequence[str] = "*",
    exclude: str | Sequence[str] = (),
) -> Patched:
    """Let all ``nn.Conv1d``, ``2d`` and ``3d`` of a model compute as ``conv`` does; what was patched and what was not.

    ``include`` and ``exclude`` are patterns for the names of modules, as in ``"layer?.*.conv1"``. Subclasses,
    transposed convolutions and padding modes other than zeros stay PyTorch's. Parameters and ``state_dict`` do not
    change, and the model can be copied and pickled: it names the library by its path. ``unpatch`` takes it back.
    """
    policy = _policy(library, input_gradient, unsupported)
    engine(policy.library)  # what is wrong with a library is said now
    names = ((names,) if isinstance(names, str) else tuple(names) for names in (include, exclude))
    return torch_patch.patch(model, policy, *names)


def _policy(library: LibraryOrPath, input_gradient: bool, unsupported: Unsupported) -> Policy:
    if unsupported not in ("error", "pytorch"):
        raise LibraryError(f"unsupported is {unsupported!r}", 'it may be "error" or "pytorch"')
    return Policy(_path(library), input_gradient, unsupported == "pytorch")


def _path(library: LibraryOrPath) -> str:
    """The library's, from the root: a backward pass may come after a change of the working directory."""
    path = library.path if isinstance(library, Library) else os.fspath(library)
    if os.path.isabs(path) or torch.compiler.is_compiling() or not os.path.exists(path):
        return path
    return os.path.abspath(path)


def _geometry(
    stride: Edges, padding: Edges, dilation: Edges, groups: int, ndim: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    return spread(stride, ndim), spread(padding, ndim), spread(dilation, ndim), groups


def _require(name: str, tensor: Any, view: Any) -> None:
    """LibraryError for what is no tensor, or one that would have to be copied."""
    if getattr(tensor, "layout", None) is not torch.strided:
        kind = getattr(tensor, "layout", type(tensor).__qualname__)
        raise LibraryError(f"{name} is {kind}; a PyTorch tensor with strides is possible")
    if tensor.dim() not in _CALLS:
        raise LibraryError(f"{name} has shape {tuple(tensor.shape)}; (N, C, 1 to 3 dimensions) is possible")
    if tensor.numel() and view(tensor.shape, tensor.stride()) is None:
        gaps = " and gap-free" if view is gap_free else ""
        message = f"{name} is not channels-last{gaps}: its strides are {tuple(tensor.stride())}"
        raise LibraryError(message, f"call {name}{_CALLS[tensor.dim()]}, which copies it")
