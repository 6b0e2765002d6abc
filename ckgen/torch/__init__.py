"""Gradients of PyTorch's convolutions by a ckgen library: ``import ckgen.torch``.

    ckgen.torch.enable()                            # every backward convolution of the process, where it is faster
    ckgen.torch.enable("libckgen_conv.so")          # the same, by a library that is already built
    ckgen.torch.patch(model, "libckgen_conv.so")    # every nn.Conv1d, 2d and 3d; all else stays PyTorch's
    out = ckgen.torch.conv(input, weight, bias, padding=1, library="libckgen_conv.so")
    wgrad = ckgen.torch.conv_backward_weight(grad_output, input, weight.shape, padding=1, library="libckgen_conv.so")
    dgrad = ckgen.torch.conv_backward_data(grad_output, weight, input.shape, padding=1, library="libckgen_conv.so")

All functions support derivatives of any order, in reverse and forward mode, and the transforms of torch.func, and can
be compiled. CPU tensors need a library for the host, GPU tensors one for their platform. The library itself chooses
instance and split_k (see ckgen.selection.candidates); this choice and all checks are made once per problem.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ckgen.library.c_api import LibraryError
from ckgen.library.library import Library
from ckgen.paths import cache_dir
from ckgen.torch import patching as torch_patch
from ckgen.torch.autograd import one_gradient
from ckgen.torch.call import Edges, convolve, spread, whole
from ckgen.torch.demand import ON_DEMAND, on_demand
from ckgen.torch.enabled import Enabled, disable
from ckgen.torch.engines import engine
from ckgen.torch.operators import Policy
from ckgen.torch.patching import Patched, unpatch
from ckgen.torch.process import Planner
from ckgen.torch.require import torch
from ckgen.torch.strides import even, gap_free, readable

__all__ = [
    "Enabled",
    "Patched",
    "conv",
    "conv_backward_data",
    "conv_backward_weight",
    "disable",
    "enable",
    "patch",
    "unpatch",
]

LibraryOrPath = Library | str | os.PathLike[str]
Unsupported = Literal["error", "pytorch"]
Fallback = Literal["pytorch", "error"]
Tune = Literal["first", "off"]
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
    """The gradient of a convolution's weight, as ``torch.nn.grad.conv2d_weight`` computes it, in 1 to 3 dimensions.

    ``input`` is (N, C, spatial), ``grad_output`` (N, K, spatial), both float16, bfloat16 or float32 and channels-last
    in memory; the positions of ``grad_output`` are at one distance. The result has the shape ``weight_size``,
    (K, C/groups, filter), is channels-last too and has the input's type, or float32 for bfloat16 if ``weight_dtype``
    says so. Nothing is copied; on a GPU the run uses the current stream and a workspace from PyTorch's allocator.

    Raise LibraryError for tensors that do not fit: another memory format (call
    ``.contiguous(memory_format=torch.channels_last)``), type, shape or device; UnsupportedProblem if no instance of the
    library takes the problem. PyTorch computes the derivatives of this gradient.
    """
    _require("grad_output", grad_output, even)
    _require("input", input, readable)
    geometry, dtype = _geometry(stride, padding, dilation, groups, input.dim() - 2), weight_dtype or input.dtype
    if not isinstance(dtype, torch.dtype):
        raise LibraryError(f"weight_dtype is {dtype!r}; a type such as torch.float32 is possible")
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
    """The gradient of a convolution's input, as ``torch.nn.grad.conv2d_input`` computes it, in 1 to 3 dimensions.

    ``weight`` is (K, C/groups, filter), ``grad_output`` (N, K, spatial), both float16, bfloat16 or float32 and
    channels-last in memory. The result has the shape ``input_size``, (N, C, spatial), is channels-last too and has the
    weight's type. All else is as for ``conv_backward_weight``.
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
    """A convolution as ``torch.nn.functional.conv2d`` computes it, in 1 to 3 dimensions. The library computes the
    gradient of the weight and, with ``input_gradient``, of the input.

    PyTorch does all else: the forward pass, the gradient of the bias, autocast, and types that no library has, such as
    float64. Gradients have the memory formats of their tensors.

    Tensors that are not channels-last are copied for the library. If no instance takes a gradient, the backward pass
    raises UnsupportedProblem; ``unsupported="pytorch"`` leaves that gradient to PyTorch.
    """
    if library is None:
        raise LibraryError("conv needs a library", "name one; enable and patch build what they need")
    policy = _policy(library, input_gradient, unsupported)
    return convolve(input, weight, bias, stride, padding, dilation, groups, policy)


def enable(
    library: LibraryOrPath | None = None,
    *,
    fallback: Fallback = "pytorch",
    tune: Tune = "first",
    cache: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Enabled:
    """Let the library compute the backward convolutions of the whole process, until ``disable`` or the end of a
    ``with`` block. Models, autograd, autocast, torch.compile and CUDA graphs need no change.

    Without a library, what the current GPU needs for a problem (without a GPU: the CPU) is built when the problem first
    appears: a few instances at a time and in the background, while PyTorch computes. They are kept in the user's cache
    for later processes; ``wait`` of the result waits for them. A line on a terminal shows what is built, unless
    ``quiet``. If something cannot be built, one RuntimeWarning says why, and PyTorch computes.

    With ``tune="first"``, the first use of a problem times PyTorch and the library's best candidates on the tensors
    at hand, for each gradient, and the fastest computes it from then on. The choices are kept in the folder ``cache``,
    by default the user's, by device, driver, PyTorch and library. With ``tune="off"`` the library's own choice is taken
    unless it is a generic instance.

    ``fallback="pytorch"`` leaves to PyTorch what it computes faster and what no instance takes; ``"error"`` never does,
    waits for what is being built, and raises UnsupportedProblem. Transposed convolutions, types that no library has,
    and problems that appear first while a CUDA graph is captured are always PyTorch's. Gradients have the memory
    formats of PyTorch's gradients.

    The first call on a machine compiles a small extension of PyTorch (about ten seconds). Raise LibraryError if that,
    or loading the library, fails.
    """
    if fallback not in ("pytorch", "error"):
        raise LibraryError(f"fallback is {fallback!r}", 'it may be "pytorch" or "error"')
    if tune not in ("first", "off"):
        raise LibraryError(f"tune is {tune!r}", 'it may be "first" or "off"')
    folder = cache_dir() / "choices" if cache is None else Path(cache).absolute()
    if library is None:
        return Enabled(on_demand(fallback == "pytorch", tune == "first", folder, quiet=quiet))
    return Enabled(Planner(engine(_path(library)).library, fallback == "pytorch", tune == "first", folder))


def patch(
    model: Any,
    library: LibraryOrPath | None = None,
    *,
    input_gradient: bool = False,
    unsupported: Unsupported | None = None,
    include: str | Sequence[str] = "*",
    exclude: str | Sequence[str] = (),
) -> Patched:
    """Let all ``nn.Conv1d``, ``2d`` and ``3d`` of a model compute as ``conv`` does; return the patched and the
    unpatched modules.

    Without a library, instances are built on first use, as ``enable`` does. PyTorch computes until they are ready,
    under torch.compile and torch.func, and, unless ``unsupported`` is ``"error"``, what no instance takes.

    ``include`` and ``exclude`` are patterns for the names of modules, for example ``"layer?.*.conv1"``. Subclasses,
    transposed convolutions and padding modes other than zeros are not patched. Parameters and ``state_dict`` do not
    change, and the model can be copied and pickled: it refers to the library by its path. ``unpatch`` undoes this.
    """
    if library is None:
        policy = _policy(None, input_gradient, unsupported or "pytorch")
    else:
        policy = _policy(library, input_gradient, unsupported or "error")
        engine(policy.library)  # report a faulty library now, not in the first backward pass
    names = ((names,) if isinstance(names, str) else tuple(names) for names in (include, exclude))
    return torch_patch.patch(model, policy, *names)


def _policy(library: LibraryOrPath | None, input_gradient: bool, unsupported: Unsupported) -> Policy:
    if unsupported not in ("error", "pytorch"):
        raise LibraryError(f"unsupported is {unsupported!r}", 'it may be "error" or "pytorch"')
    path = ON_DEMAND if library is None else _path(library)
    return Policy(path, input_gradient, unsupported == "pytorch")


def _path(library: LibraryOrPath) -> str:
    """The library's absolute path: a backward pass may follow a change of the working directory."""
    path = library.path if isinstance(library, Library) else os.fspath(library)
    if not path:
        raise LibraryError("the path of the library is empty", "name a shared library that `ckgen build` made")
    if os.path.isabs(path) or torch.compiler.is_compiling() or not os.path.exists(path):
        return path
    return os.path.abspath(path)


def _geometry(
    stride: Edges, padding: Edges, dilation: Edges, groups: int, ndim: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    given = {"stride": stride, "padding": padding, "dilation": dilation}
    for name, value in given.items():
        if isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; an integer, or one per dimension, is possible")
    return spread(stride, ndim), spread(padding, ndim), spread(dilation, ndim), groups


def _require(name: str, tensor: Any, view: Any) -> None:
    """Raise LibraryError if ``tensor`` is not a tensor or would have to be copied."""
    if getattr(tensor, "layout", None) is not torch.strided:
        kind = getattr(tensor, "layout", type(tensor).__qualname__)
        raise LibraryError(f"{name} is {kind}; a PyTorch tensor with strides is possible")
    if tensor.dim() not in _CALLS:
        raise LibraryError(f"{name} has shape {tuple(tensor.shape)}; (N, C, 1 to 3 dimensions) is possible")
    if tensor.numel() and view(tensor.shape, tensor.stride()) is None:
        more = {gap_free: " and gap-free", even: " with all positions at one distance"}.get(view, "")
        message = f"{name} is not channels-last{more}: its strides are {tuple(tensor.stride())}"
        raise LibraryError(message, f"call {name}{_CALLS[tensor.dim()]}, which copies it")
