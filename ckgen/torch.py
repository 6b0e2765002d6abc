"""Gradients of PyTorch's convolutions by a ckgen library: ``import ckgen.torch``.

    wgrad = ckgen.torch.conv_backward_weight(grad_output, input, weight.shape, padding=1, library="libckgen_conv.so")
    dgrad = ckgen.torch.conv_backward_data(grad_output, weight, input.shape, padding=1, library="libckgen_conv.so")
    ckgen.torch.patch(model, "libckgen_conv.so")    # every nn.Conv1d, 2d and 3d; all else stays PyTorch's

CPU tensors take a library for the host, GPU tensors one for their platform. Instance and split_k are the library's own
choice (see ckgen.selector), made once for each problem, as are all checks.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

from ckgen.c_api import UnsupportedProblem
from ckgen.library import Library
from ckgen.torch_plan import Plan, Settings, make_data_plan, make_plan, spread

try:
    torch: Any = importlib.import_module("torch")
    once_differentiable: Any = importlib.import_module("torch.autograd.function").once_differentiable
except ImportError as error:
    raise ImportError(f"ckgen.torch needs PyTorch, which cannot be imported: {error}") from error

__all__ = ["ConvGradients", "conv", "conv_backward_data", "conv_backward_weight", "patch", "unpatch"]

LibraryOrPath = Library | str | os.PathLike[str]
Edges = int | Sequence[int]


class ConvGradients:
    """Gradients of convolutions by one library, with what it prepared for the problems that it has seen."""

    def __init__(self, library: LibraryOrPath, *, arch: str | None = None) -> None:
        self.library = library if isinstance(library, Library) else Library(library)
        self._arch = arch
        self._plans: dict[tuple[object, ...], Plan] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> ConvGradients:
        """A copied model shares the library."""
        return self

    def weight(
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
        settings = tuple(weight_size), _edges(stride), _edges(padding), _edges(dilation), groups
        plan = self.plan(grad_output, input, settings, weight_dtype or input.dtype)
        weight = self._run(plan, grad_output, lambda made: (input.data_ptr(), made, grad_output.data_ptr()))
        return weight.movedim(-1, 1)

    def data(
        self,
        grad_output: Any,
        weight: Any,
        input_size: Sequence[int],
        stride: Edges = 1,
        padding: Edges = 0,
        dilation: Edges = 1,
        groups: int = 1,
    ) -> Any:
        """See ``conv_backward_data``."""
        settings = tuple(weight.shape), _edges(stride), _edges(padding), _edges(dilation), groups
        size = tuple(map(int, input_size))
        plan = self._planned(make_data_plan, (grad_output, weight), size, settings)
        input = self._run(plan, grad_output, lambda made: (made, weight.data_ptr(), grad_output.data_ptr()))
        return input.movedim(-1, 1)

    def plan(self, grad_output: Any, input: Any, settings: Settings, weight_dtype: Any) -> Plan:
        """What a weight gradient of such tensors runs: instance, split_k, workspace. Made on the first call."""
        return self._planned(make_plan, (grad_output, input), weight_dtype, settings)

    def _planned(self, make: Callable[..., Plan], tensors: tuple[Any, Any], wanted: Any, settings: Settings) -> Plan:
        """The plan that ``make`` makes of these, made once."""
        key = _key(settings, wanted, *tensors)
        found = self._plans.get(key)
        if found is None:
            found = make(torch, self.library, self._arch, *tensors, wanted, settings)
            self._plans[key] = found
        return found

    def _run(self, plan: Plan, like: Any, addresses: Callable[[int], tuple[int, int, int]]) -> Any:
        """The result, in memory of its own on the device of ``like``."""
        device = like.device
        result = torch.empty(plan.shape, dtype=plan.dtype, device=device)
        scratch = 0
        if plan.workspace_bytes:
            workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=device)
            scratch = workspace.data_ptr()
        stream = torch.cuda.current_stream(device).cuda_stream if like.is_cuda else 0
        operands = addresses(result.data_ptr())
        if plan.device is None:
            plan.start(*operands, scratch, stream)
        else:
            with self.library.memory.using(plan.device):
                plan.start(*operands, scratch, stream)
        return result


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
    run = _engine(library if isinstance(library, Library) else os.fspath(library)).weight
    return run(grad_output, input, weight_size, stride, padding, dilation, groups, weight_dtype=weight_dtype)


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
    run = _engine(library if isinstance(library, Library) else os.fspath(library)).data
    return run(grad_output, weight, input_size, stride, padding, dilation, groups)


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
    library: LibraryOrPath | ConvGradients,
    input_gradient: bool = False,
) -> Any:
    """A convolution as PyTorch computes it, forward and for the gradient of the bias; the weight's gradient is the
    library's, and with ``input_gradient`` the input's too. Tensors that are not channels-last are copied for it. Under
    autocast the types are autocast's. Where no instance of the library takes a gradient, going backward raises
    UnsupportedProblem: nothing is left to PyTorch unasked."""
    ndim = weight.dim() - 2
    settings = (spread(stride, ndim), spread(padding, ndim), spread(dilation, ndim), groups)
    engine = library if isinstance(library, ConvGradients) else None
    if engine is None:
        engine = _engine(library if isinstance(library, Library) else os.fspath(library))  # type: ignore[arg-type]
    kind = input.device.type
    if not torch.is_autocast_enabled(kind):
        return _Convolution.apply(input, weight, bias, settings, engine, input_gradient)
    cast = [None if tensor is None else tensor.to(torch.get_autocast_dtype(kind)) for tensor in (input, weight, bias)]
    with torch.autocast(kind, enabled=False):
        return _Convolution.apply(*cast, settings, engine, input_gradient)


def patch(model: Any, library: LibraryOrPath, *, input_gradient: bool = False) -> int:
    """Let the weight gradients of all ``nn.Conv1d``, ``2d`` and ``3d`` of a model be the library's, and with
    ``input_gradient`` those of their inputs; how many there are.

    Convolutions with padding modes other than zeros, or with padding given as a word, stay as they are. Parameters and
    ``state_dict`` do not change; ``unpatch`` takes it back.
    """
    engine = ConvGradients(library)
    found = [module for module in model.modules() if _takes(module)]
    for module in found:
        module.forward = functools.partial(_forward, module, engine, input_gradient)
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


def _forward(module: Any, engine: ConvGradients, input_gradient: bool, input: Any) -> Any:
    settings = module.stride, module.padding, module.dilation, module.groups
    return conv(input, module.weight, module.bias, *settings, library=engine, input_gradient=input_gradient)


class _Convolution(torch.autograd.Function):  # type: ignore[misc]
    """Forward and the gradient of the bias by PyTorch, those of weight and, if it is so said, input by the library."""

    @staticmethod
    def forward(
        ctx: Any, input: Any, weight: Any, bias: Any, settings: Any, engine: ConvGradients, input_gradient: bool
    ) -> Any:
        stride, padding, dilation, groups = settings
        ctx.save_for_backward(input, weight)
        ctx.settings, ctx.engine, ctx.input_gradient = settings, engine, input_gradient
        ctx.bias_size = None if bias is None else list(bias.shape)
        zeros = (0,) * len(stride)
        return torch.convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, ...]:
        input, weight = ctx.saved_tensors
        stride, padding, dilation, groups = ctx.settings
        to_input, to_weight, to_bias = ctx.needs_input_grad[:3]
        by_torch = to_input and not ctx.input_gradient
        grads: list[Any] = [None, None, None]
        if by_torch or to_bias:
            zeros, wanted = (0,) * len(stride), [by_torch, False, to_bias]
            sizes = (ctx.bias_size, stride, padding, dilation, False, zeros, groups)
            grads = list(torch.ops.aten.convolution_backward(grad_output, input, weight, *sizes, wanted))
        if to_input and not by_torch:
            pair = channels_last(grad_output), channels_last(weight)
            try:
                grads[0] = ctx.engine.data(*pair, input.shape, *ctx.settings)
            except UnsupportedProblem as error:
                help = "input_gradient=False leaves it to PyTorch"
                raise UnsupportedProblem(error.instance, error.reason, help) from error
        if to_weight:
            pair = channels_last(grad_output), channels_last(input)
            grads[1] = ctx.engine.weight(*pair, weight.shape, *ctx.settings)
        return (*grads, None, None, None)


def channels_last(tensor: Any) -> Any:
    """The tensor if it is channels-last in memory, else a copy that is."""
    if tensor.dim() == 3:
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
    return tensor.contiguous(memory_format=form)


def _key(settings: Settings, wanted: object, *tensors: Any) -> tuple[object, ...]:
    """What a plan depends on."""
    seen = ((t.data_ptr() & 15, t.dtype, t.device, t.shape, t.stride()) for t in tensors)
    return (*settings, wanted, *(item for each in seen for item in each))


@functools.cache
def _engine(library: Library | str) -> ConvGradients:
    """One object a library for the whole process, so that what it prepared is not prepared again."""
    return ConvGradients(library)


def _edges(value: Edges) -> int | tuple[int, ...]:
    """Something to look up by."""
    return value if isinstance(value, int) else tuple(value)
