"""Patch a model's convolution modules so that they use a library: ``patch`` and ``unpatch``."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ckgen.errors import did_you_mean
from ckgen.library.c_api import LibraryError
from ckgen.torch.call import convolve
from ckgen.torch.demand import ON_DEMAND, on_demand
from ckgen.torch.enabled import register
from ckgen.torch.engines import engine
from ckgen.torch.operators import Policy
from ckgen.torch.plain import is_plain
from ckgen.torch.plan import HELP
from ckgen.torch.process import Planner
from ckgen.torch.require import torch

_parametrize: Any = importlib.import_module("torch.nn.utils.parametrize")
_ConvNd: Any = importlib.import_module("torch.nn.modules.conv")._ConvNd
_NN = torch.nn
_LAZY = {_NN.LazyConv1d: _NN.Conv1d, _NN.LazyConv2d: _NN.Conv2d, _NN.LazyConv3d: _NN.Conv3d}


@dataclass(frozen=True)
class Patched:
    """The convolutions that ``patch`` changed, and those that it ``left`` to PyTorch with the reasons."""

    patched: tuple[str, ...]
    left: dict[str, str]

    def __len__(self) -> int:
        return len(self.patched)

    def __str__(self) -> str:
        lines = [f"{len(self.patched)} convolutions patched, {len(self.left)} left to PyTorch"]
        lines += [f"  patched {_shown(name)}" for name in self.patched]
        return "\n".join([*lines, *(f"  left    {_shown(name)}: {reason}" for name, reason in self.left.items())])


def patch(model: Any, policy: Policy, include: Sequence[str], exclude: Sequence[str]) -> Patched:
    """Implement ``ckgen.torch.patch``."""
    found = {name: module for name, module in model.named_modules() if isinstance(module, _ConvNd)}
    for pattern in (*include, *exclude):
        if not any(fnmatchcase(name, pattern) for name in found):
            raise LibraryError(f"no convolution is named like {pattern!r}", did_you_mean(pattern, tuple(found)))
    left = {}
    for name, module in found.items():
        if not any(fnmatchcase(name, pattern) for pattern in include):
            left[name] = "not included"
        elif any(fnmatchcase(name, pattern) for pattern in exclude):
            left[name] = "excluded"
        elif reason := _obstacle(module):
            left[name] = reason
        else:
            _bind(module, policy)
    return Patched(tuple(name for name in found if name not in left), left)


def unpatch(model: Any) -> int:
    """Undo ``ckgen.torch.patch`` and return the number of restored modules."""
    found = [module for module in model.modules() if _is_patched(module)]
    for module in found:
        del module._conv_forward
    return len(found)


def _bind(module: Any, policy: Policy) -> None:
    """Replace the method that the class's forward calls with the current weight. Code that wraps forward, or gives a
    copy of the module its own parameters as nn.DataParallel does, then works as with PyTorch's modules."""
    module._conv_forward = functools.partial(_conv_forward, module, policy)


def _obstacle(module: Any) -> str | None:
    """The reason why a convolution module cannot use a library, or None."""
    kind = _parametrize.type_before_parametrizations(module)
    kind = _LAZY.get(kind, kind)
    if getattr(module, "transposed", False):
        return f"{kind.__name__} is a transposed convolution"
    if kind not in _LAZY.values():
        return f"{kind.__module__}.{kind.__qualname__} is a class of its own, whose forward may differ"
    if module.padding_mode != "zeros":
        return f"padding_mode is {module.padding_mode!r}"
    for name in ("forward", "_conv_forward"):
        if name in vars(module) and not _is_patched(module):
            return f"its {name} has been replaced"
    return None


def _is_patched(module: Any) -> bool:
    bound = vars(module).get("_conv_forward")
    return isinstance(bound, functools.partial) and bound.func is _conv_forward


def _conv_forward(module: Any, policy: Policy, input: Any, weight: Any, bias: Any) -> Any:
    """The convolution of a patched module. It is a module-level function, so that models can be pickled and copied.
    PyTorch computes the convolution if the padding mode was changed after patching.

    In the usual case PyTorch computes all but the marked output's gradients, at the host time of its own module."""
    if module.padding_mode != "zeros" or not torch.is_grad_enabled() and is_plain(input, weight):
        return type(module)._conv_forward(module, input, weight, bias)
    if is_plain(input, weight) and input.dim() == weight.dim():
        mark, planner, on_gpu = _marker(policy)
        if mark is not None and input.is_cuda == on_gpu:
            out = type(module)._conv_forward(module, input, weight, bias)
            if out.requires_grad:
                mark(out, planner)
            return out
    if policy.library == ON_DEMAND:  # an operator would need instances that are ready
        return type(module)._conv_forward(module, input, weight, bias)
    settings = module.stride, module.padding, module.dilation, module.groups
    return convolve(input, weight, bias, *settings, policy)


@functools.cache
def _marker(policy: Policy) -> tuple[Any, int, bool]:
    """The operator that marks outputs, the number of the policy's planner, and whether it plans for GPUs. The operator
    is None on a machine that cannot build the binding; the autograd function in Python then does its work."""
    gradients = policy.input_gradient, True
    if policy.library == ON_DEMAND:
        built = on_demand(policy.fallback, False, None, gradients)
        if built is None:
            return None, 0, False
        planner: Planner = built
    else:
        planner = Planner(engine(policy.library).library, policy.fallback, False, None, gradients, HELP)
    try:
        number = register(planner)
    except LibraryError as error:
        warnings.warn(f"patched convolutions take more host time: {error}", stacklevel=2)
        return None, 0, planner.on_gpu
    return torch.ops.ckgen.mark.default, number, planner.on_gpu


def _shown(name: str) -> str:
    return name or "(the model itself)"
