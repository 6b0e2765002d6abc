"""Run a library on PyTorch's tensors. The plan of a problem is prepared once per kind of tensors."""

from __future__ import annotations

import functools
from typing import Any

from ckgen.library.library import Library
from ckgen.torch.plan import Step, make_plan
from ckgen.torch.request import Geometry
from ckgen.torch.require import torch
from ckgen.torch.strides import Lengths, result_strides

# A plan takes about 2 KiB. A model needs two per convolution and, with dynamic shapes, two per size.
PLANS = 4096


class Engine:
    """A library and the plans of the most recent problems. Threads may share it."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.plan = functools.lru_cache(PLANS)(functools.partial(make_plan, library))
        self._several = library.platform != "host" and torch.cuda.device_count() > 1

    def gradients(
        self,
        grad_output: Any,
        input: Any,
        weight: Any,
        geometry: Geometry,
        wanted: tuple[bool, bool],
        fallback: bool,
    ) -> tuple[Any, Any]:
        """The gradients of input and weight that are ``wanted``, None for the other."""
        device = grad_output.device
        gpu = device.index if self._several else None
        plan = self.plan(_seen(grad_output), _seen(input), _seen(weight), geometry, wanted, fallback, gpu)
        stream = torch.cuda.current_stream(device).cuda_stream if grad_output.is_cuda else 0
        data = step = None
        if plan.data:
            out, wei = (_read(*pair) for pair in zip((grad_output, weight), plan.data.copies, strict=True))
            data = self._run(plan.data, device, (0, wei.data_ptr(), out.data_ptr()), 0, stream, gpu)
        if plan.weight:
            if not plan.data or plan.data.copies[0] != plan.weight.copies[0]:
                out = _read(grad_output, plan.weight.copies[0])
            in_ = _read(input, plan.weight.copies[1])
            step = self._run(plan.weight, device, (in_.data_ptr(), 0, out.data_ptr()), 1, stream, gpu)
        if True in plan.by_pytorch:
            stride, padding, dilation, groups = geometry
            rest = stride, padding, dilation, False, (0,) * len(stride), groups, (*plan.by_pytorch, False)
            found = torch.ops.aten.convolution_backward.default(grad_output, input, weight, None, *rest)
            data = _in_format(found[0], input) if plan.by_pytorch[0] else data
            step = _in_format(found[1], weight) if plan.by_pytorch[1] else step
        return data, step

    def _run(
        self, step: Step, device: Any, operands: tuple[int, int, int], written: int, stream: int, gpu: int | None
    ) -> Any:
        """Compute one gradient in newly allocated memory, whose address ``operands`` lacks."""
        result = torch.empty_strided(step.shape, step.strides, dtype=step.dtype, device=device)
        if step.start is None:
            return result.zero_()
        scratch = 0
        if step.start.workspace_bytes:
            workspace = torch.empty(step.start.workspace_bytes, dtype=torch.uint8, device=device)
            scratch = workspace.data_ptr()
        addresses = [*operands]
        addresses[written] = result.data_ptr()
        if gpu is None:
            step.start(addresses[0], addresses[1], addresses[2], scratch, stream)
        else:
            with self.library.memory.using(gpu):
                step.start(addresses[0], addresses[1], addresses[2], scratch, stream)
        return result if step.reordered is None else _copied(result, step.reordered)


@functools.cache
def engine(path: str) -> Engine:
    """The engine of a library, one per process. Raise LibraryError if the library cannot be loaded."""
    return Engine(Library(path))


def _seen(tensor: Any) -> tuple[Any, ...]:
    """The fields of Seen as a tuple, which also represent a tensor that is not read. Creating a Seen would take much
    longer."""
    if type(tensor) is tuple:
        return tensor
    return tensor.shape, tensor.stride(), tensor.data_ptr() & 15, tensor.dtype, tensor.device


def _in_format(gradient: Any, like: Any) -> Any:
    """PyTorch's gradient with the strides that ckgen's gradient of ``like`` would have."""
    strides = result_strides(like.shape, like.stride())
    return gradient if gradient.stride() == strides else _copied(gradient, strides)


def _read(tensor: Any, copy: Lengths | None) -> Any:
    return tensor if copy is None else _copied(tensor, copy)


def _copied(tensor: Any, strides: Lengths) -> Any:
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
