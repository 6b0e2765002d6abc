"""Compare the host time of ckgen.torch with PyTorch's: a single gradient, and a training step of convolutions.

python bench/torch_overhead.py LIBRARY [STEPS]     microseconds per call, and per convolution and step

The problems take almost no GPU time and launches are asynchronous, so that the time of a step is host time.
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this checkout's ckgen, installed or not

import torch

import ckgen.torch as ct

DEVICE, CLOCK = "cuda", time.perf_counter
LAYERS, ROUNDS = 20, 25


def medians(calls: list[Callable[[], object]], steps: int) -> list[float]:
    """Microseconds per call. The calls alternate, because the clock rate of a busy machine changes."""
    rounds = []
    for turn in range(ROUNDS + 1):
        found = []
        for call in calls:
            torch.cuda.synchronize()
            begin = CLOCK()
            for _ in range(steps):
                call()
            found.append((CLOCK() - begin) / steps * 1e6)
        rounds += [found] if turn else []
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def gradients_alone(library: str, steps: int) -> None:
    kind = torch.float16
    input, gradient, weight = (
        torch.rand(*shape, 1, 1, device=DEVICE).to(kind).contiguous(memory_format=torch.channels_last)
        for shape in ((1, 64), (1, 64), (64, 64))
    )
    sizes = (None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, (False, True, False))
    found = medians(
        [
            lambda: ct.conv_backward_weight(gradient, input, weight.shape, library=library),
            lambda: torch.ops.aten.convolution_backward.default(gradient, input, weight, *sizes),
        ],
        steps,
    )
    print("one weight gradient: ckgen.torch {:.1f} us, PyTorch {:.1f} us".format(*found))


def training_steps(library: str, steps: int, half: bool) -> None:
    """Time a chain of 1x1 convolutions with biases: stock, with the library's weight gradients, and with both."""

    def step(model: Any, images: Any) -> None:
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=half):
            out = model(images)
        out.backward(out.detach())
        for parameter in model.parameters():
            parameter.grad = None

    images = torch.rand(1, 8, 4, 4, device=DEVICE).contiguous(memory_format=torch.channels_last)
    calls: list[Callable[[], object]] = []
    for kind in ("stock", "weights", "both"):
        layers = (torch.nn.Conv2d(8, 8, 1) for _ in range(LAYERS))
        model: Any = torch.nn.Sequential(*layers)
        model.to(DEVICE, memory_format=torch.channels_last)  # in place; PyTorch's type stubs lack memory_format
        if kind != "stock":
            ct.patch(model, library, input_gradient=kind == "both")
        calls.append(functools.partial(step, model, images))
    found = [total / LAYERS for total in medians(calls, max(1, steps // LAYERS))]
    name = "autocast" if half else "as they are"
    print("a convolution and step, {}: stock {:.1f} us, weights {:.1f} us, both {:.1f} us".format(name, *found))


def main() -> int:
    library, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    if not torch.cuda.is_available():
        sys.exit("this needs a GPU: on a CPU the kernels themselves would be timed")
    gradients_alone(library, steps)
    for half in (False, True):
        training_steps(library, steps, half)
    return 0


if __name__ == "__main__":
    sys.exit(main())
