"""Tensors and modes that PyTorch's own functions must see: transforms, traces, and classes with rules of their own."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ckgen.torch.require import torch

_forward_ad: Any = importlib.import_module("torch.autograd.forward_ad")
_Devices: Any = importlib.import_module("torch.utils._device").DeviceContext
_TENSORS = torch.Tensor, torch.nn.Parameter
_USUAL = torch.Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl
transformed = torch._C._are_functorch_transforms_active


def is_plain(input: Any, weight: Any) -> bool:
    """True if PyTorch's own convolution records its own node for these tensors: nothing is traced or transformed, no
    mode is active, and neither tensor is of another class with its own rules."""
    return (
        type(input) is torch.Tensor
        and type(weight) in _TENSORS
        and not torch.compiler.is_compiling()
        and not torch._C._get_tracing_state()
        and not transformed()
        and _forward_ad._current_level < 0
        and torch._C._len_torch_dispatch_stack() == 0
        and (torch._C._len_torch_function_stack() == 0 or _only_devices())
    )


def _only_devices() -> bool:
    """True if the active modes of torch functions only set the device of new tensors."""
    return all(isinstance(mode, _Devices) for mode in _modes())


def is_watched() -> bool:
    """True if a mode of torch functions must see PyTorch's own function. PyTorch's own modes set devices and trace."""
    return not torch.compiler.is_compiling() and any(
        not type(mode).__module__.startswith("torch.") for mode in _modes()
    )


def _modes() -> list[Any]:
    return [torch._C._get_function_stack_at(at) for at in range(torch._C._len_torch_function_stack())]


def has_own_rules(tensor: Any) -> bool:
    """True for an argument that PyTorch's own function must see: a class that overrides it, or that distributes it."""
    kind = type(tensor)
    if kind in _TENSORS:
        return False
    if not isinstance(tensor, torch.Tensor):
        return True
    distributed = sys.modules.get("torch.distributed.tensor")
    if distributed is not None and isinstance(tensor, distributed.DTensor):
        return True
    return getattr(kind.__torch_function__, "__func__", kind.__torch_function__) not in _USUAL
