"""Weight gradients of PyTorch's convolutions by a ckgen library: ``import ckgen.torch``.

    wgrad = ckgen.torch.conv_backward_weight(grad_output, input, weight.shape, padding=1, library="libckgen_conv.so")
    ckgen.torch.patch(model, "libckgen_conv.so")    # every nn.Conv1d, 2d and 3d; all else stays PyTorch's

CPU tensors take a library for the host, GPU tensors one for their platform. Instance and split_k are the library's own
choice (see ckgen.selector), made once for each problem, as are all checks.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Sequence
from typing import Any

from ckgen.library import Library
from ckgen.torch_plan import Plan, make_plan, spread

try:
    torch: Any = importlib.import_module("torch")
    once_differentiable: Any = importlib.import_module("torch.autograd.function").once_differentiable
except ImportError as error:
    raise ImportError(f"ckgen.torch needs PyTorch, which cannot be imported: {error}") from error

__all__ = ["ConvBackwardWeight", "conv", "conv_backward_weight", "patch", "unpatch"]

LibraryOrPath = Library | str | os.PathLike[str]
Edges = int | Sequence[int]


class ConvBackwardWeight:
    """``conv_backward_weight`` of one library, with what it prepared for the problems that it has seen."""

    def __init__(self, library: LibraryOrPath, *, arch: str | None = None) -> None:
        self.library = library if isinstance(library, Library) else Library(library)
        self._arch = arch
        self._plans: dict[tuple[object, ...], Plan] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> ConvBackwardWeight:
        """A copied model shares the library."""
        return self

    def __call__(
        self,
        grad_output: Any,
        input: Any,
        weight_size: Sequence[int],
        stride: Edges = 1,
        padding: Edges = 0,
        dilation: Edges = 1,
        groups: int = 1,
        *,
        weight_dtype: Any = None,
    ) -> Any:
        """See ``conv_backward_weight``."""
        plan = self.plan(
            grad_output, input, weight_size, stride, padding, dilation, groups, weight_dtype or input.dtype
        )
        device = input.device
        weight = torch.empty(plan.weight_shape, dtype=plan.weight_dtype, device=device)
        scratch = 0
        if plan.workspace_bytes:
            workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=device)
            scratch = workspace.data_ptr()
        stream = torch.cuda.current_stream(device).cuda_stream if input.is_cuda else 0
        addresses = input.data_ptr(), weight.data_ptr(), grad_output.data_ptr()
        if plan.device is None:
            plan.start(*addresses, scratch, stream)
        else:
            with self.library.memory.using(plan.device):
                plan.start(*addresses, scratch, stream)
        return weight.movedim(-1, 1)

    def plan(
        self,
        grad_output: Any,
        input: Any,
        weight_size: Sequence[int],
        stride: Edges,
        padding: Edges,
        dilation: Edges,
        groups: int,
        weight_dtype: Any,
    ) -> Plan:
        """What a call with these arguments runs: instance, split_k, workspace. Made on the first call."""
        settings = tuple(weight_size), _edges(stride), _edges(padding), _edges(dilation), groups
        misaligned = input.data_ptr() & 15, grad_output.data_ptr() & 15
        kinds = input.dtype, grad_output.dtype, weight_dtype, input.device, grad_output.device
        shapes = input.shape, input.stride(), grad_output.shape, grad_output.stride()
        key = (*settings, *misaligned, *kinds, *shapes)
        found = self._plans.get(key)
        if found is None:
            found = make_plan(torch, self.library, self._arch, grad_output, input, weight_dtype, settings)
            self._plans[key] = found
        return found


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
    the library takes the problem.
    """
    engine = _engine(library if isinstance(library, Library) else os.fspath(library))
    return engine(grad_output, input, weight_size, stride, padding, dilation, groups, weight_dtype=weight_dtype)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def conv(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Edges = 1,
    padding: Edges = 0,
    dilation: Edges = 1,
    groups: int = 1,
    *,
    library: LibraryOrPath | ConvBackwardWeight,
) -> Any:
    """A convolution as PyTorch computes it, forward and for the gradients of input and bias; the weight's gradient is
    the library's. Tensors that are not channels-last are copied for it. Under autocast the types are autocast's."""
    ndim = weight.dim() - 2
    settings = (spread(stride, ndim), spread(padding, ndim), spread(dilation, ndim), groups)
    engine = library if isinstance(library, ConvBackwardWeight) else None
    if engine is None:
        engine = _engine(library if isinstance(library, Library) else os.fspath(library))  # type: ignore[arg-type]
    kind = input.device.type
    if not torch.is_autocast_enabled(kind):
        return _Convolution.apply(input, weight, bias, settings, engine)
    cast = [None if tensor is None else tensor.to(torch.get_autocast_dtype(kind)) for tensor in (input, weight, bias)]
    with torch.autocast(kind, enabled=False):
        return _Convolution.apply(*cast, settings, engine)


def patch(model: Any, library: LibraryOrPath) -> int:
    """Let the weight gradients of all ``nn.Conv1d``, ``2d`` and ``3d`` of a model be the library's; how many there are.

    Convolutions with padding modes other than zeros, or with padding given as a word, stay as they are. Parameters and
    ``state_dict`` do not change; ``unpatch`` takes it back.
    """
    engine = ConvBackwardWeight(library)
    found = [module for module in model.modules() if _takes(module)]
    for module in found:
        module.forward = functools.partial(_forward, module, engine)
    return len(found)


def unpatch(model: Any) -> int:
    """Undo ``patch``; how many modules it was undone in."""
    found = [module for module in model.modules() if "forward" in vars(module) and _takes(module)]
    for module in found:
        del module.forward
    return len(found)


def _takes(module: Any) -> bool:
    nn = torch.nn
    plain = type(module) in (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return plain and module.padding_mode == "zeros" and not isinstance(module.padding, str)


def _forward(module: Any, engine: ConvBackwardWeight, input: Any) -> Any:
    settings = module.stride, module.padding, module.dilation, module.groups
    return conv(input, module.weight, module.bias, *settings, library=engine)


class _Convolution(torch.autograd.Function):  # type: ignore[misc]
    """Forward and the gradients of input and bias by PyTorch, that of the weight by the library."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any, settings: Any, engine: ConvBackwardWeight) -> Any:
        stride, padding, dilation, groups = settings
        ctx.save_for_backward(input, weight)
        ctx.settings, ctx.engine = settings, engine
        ctx.bias_size = None if bias is None else list(bias.shape)
        zeros = (0,) * len(stride)
        return torch.convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, ...]:
        input, weight = ctx.saved_tensors
        stride, padding, dilation, groups = ctx.settings
        to_input, to_weight, to_bias = ctx.needs_input_grad[:3]
        grads: list[Any] = [None, None, None]
        if to_input or to_bias:
            zeros, wanted = (0,) * len(stride), [to_input, False, to_bias]
            sizes = (ctx.bias_size, stride, padding, dilation, False, zeros, groups)
            grads = list(torch.ops.aten.convolution_backward(grad_output, input, weight, *sizes, wanted))
        if to_weight:
            pair = channels_last(grad_output), channels_last(input)
            grads[1] = ctx.engine(*pair, weight.shape, *ctx.settings)
        return (*grads, None, None)


def channels_last(tensor: Any) -> Any:
    """The tensor if it is channels-last in memory, else a copy that is."""
    if tensor.dim() == 3:
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
    return tensor.contiguous(memory_format=form)


@functools.cache
def _engine(library: Library | str) -> ConvBackwardWeight:
    """One object a library for the whole process, so that what it prepared is not prepared again."""
    return ConvBackwardWeight(library)


def _edges(value: Edges) -> int | tuple[int, ...]:
    """Something to look up by."""
    return value if isinstance(value, int) else tuple(value)
