"""Traces of networks of PyTorch packages on the meta device: no weights, no arithmetic."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

from zoo_models.entry import Lengths, Settings, Trace

Run = Callable[[int], Any]  # runs a network on a batch


@functools.cache
def package(name: str) -> Any:
    """An imported package. torchvision is usable without its compiled operators: no network here calls them."""
    torch = importlib.import_module("torch")
    for operator in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):  # torchvision's meta kernels need the operators to exist
            torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float limit) -> Tensor")
    return importlib.import_module(name)


def meta(make: Callable[[], Any]) -> Any:
    """The network that ``make`` makes, in evaluation mode, with weights that have no storage."""
    torch = package("torch")
    try:
        with torch.device("meta"):
            model = make()
    except (RuntimeError, NotImplementedError, ValueError):  # a constructor that reads numbers from a tensor
        model = make()
    return model.to("meta").eval()


def images(batch: int, channels: int, edges: Lengths) -> Any:
    """An input tensor without storage."""
    return package("torch").empty(batch, channels, *edges, device="meta")


def traced(run: Callable[[], Any]) -> Trace:
    """The convolutions that ``run`` executes."""
    torch = package("torch")
    trace, convolution = Trace(), torch.ops.aten.convolution.default
    mode = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    def dispatch(self: object, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is convolution:
            _add(trace, *args)
        return function(*args, **(kwargs or {}))

    recorder: Any = type("Recorder", (mode,), {"__torch_dispatch__": dispatch})
    with recorder(), torch.no_grad(), torch.device("meta"):
        run()
    return trace


def _add(
    trace: Trace,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> None:
    shape, sizes, n = tuple(input.shape), tuple(weight.shape), weight.dim() - 2
    if len(shape) == n + 1:
        shape = (1, *shape)
    edges = [tuple(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation, output_padding)]
    how = Settings(edges[0], edges[1], edges[2], groups, edges[3])
    if transposed:
        trace.add_transposed(shape, sizes, how)
    else:
        trace.add(shape, sizes, how)
