"""What a call of ckgen.torch costs the host: microseconds a call on a problem that takes a GPU next to no time.

python bench/torch_overhead.py LIBRARY [CALLS]     PyTorch's own call beside it; on a GPU where it sees one
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this checkout's ckgen, installed or not

import torch

import ckgen.torch as ct


def microseconds(call: Callable[[], object], calls: int, device: str) -> float:
    """Mean time from call to call; on a GPU launches are asynchronous, so it is what the host does."""
    for _ in range(10):
        call()
    best = float("inf")
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / calls * 1e6


def main() -> int:
    library, calls = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.float16 if device == "cuda" else torch.float32
    edge = 4 if device == "cuda" else 1
    input = ct.channels_last(torch.rand(1, 64, edge, edge, device=device).to(kind))
    gradient = ct.channels_last(torch.rand(1, 64, edge, edge, device=device).to(kind))
    weight = torch.rand(64, 64, 1, 1, device=device).to(kind)
    engine = ct.ConvGradients(library)
    sizes = (None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, (False, True, False))

    def own() -> object:
        return engine.weight(gradient, input, weight.shape)

    def pytorchs() -> object:
        return torch.ops.aten.convolution_backward(gradient, input, weight, *sizes)

    prepared = engine.plan(gradient, input, (tuple(weight.shape), 1, 0, 1, 1), kind)
    print(f"{prepared.choice.name} split_k {prepared.choice.split_k} ({prepared.choice.source})")
    print(f"ckgen.torch  {microseconds(own, calls, device):7.2f} us a call")
    print(f"PyTorch      {microseconds(pytorchs, calls, device):7.2f} us a call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
