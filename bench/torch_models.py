"""Time training steps of whole models on a GPU, stock PyTorch against ckgen.torch.enable, and compare the gradients.

python bench/torch_models.py LIBRARY MODEL:BATCH... [--type bf16|f32|tf32] [--format channels_last|contiguous]

A model is one of timm, or with `tv:` before its name one of torchvision. One line of JSON per model: the median step of
both in ms (ten rounds of five steps that alternate), the host's part, their ratios in pairs of rounds, the same step as
a CUDA graph, which does not wait for the host, the seconds of the first step, which times the candidates, and the
relative difference of the parameters' gradients (median and worst; worst ones are of parameters whose gradient is zero
but for rounding, such as biases before batch normalisation). Beside it, how far stock PyTorch's gradients are from
those of full float32: some models are so sensitive to rounding that this is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this checkout's ckgen, installed or not

import torch

import ckgen.torch as ct

ROUNDS, STEPS = 10, 5


def make(name: str) -> Any:
    """The model without its random parts, so that two steps agree."""
    if name.startswith("tv:"):
        model: Any = getattr(importlib.import_module("torchvision.models"), name[3:])(weights=None)
    else:
        model = importlib.import_module("timm").create_model(name, num_classes=100)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "drop_prob"):
            module.drop_prob = 0.0
        if "Stochastic" in type(module).__name__:
            module.p = 0.0
    return model.cuda().train()


def step(model: Any, images: Any, half: bool) -> None:
    model.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16, enabled=half):
        out = model(images)
    out = out["out"] if isinstance(out, dict) else out
    out.float().square().mean().backward()


def timed(model: Any, images: Any, half: bool, steps: int) -> list[tuple[float, float]]:
    """Milliseconds of each step, and of the host in it."""
    found = []
    for _ in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(model, images, half)
        host = time.perf_counter()
        torch.cuda.synchronize()
        found.append(((time.perf_counter() - begin) * 1e3, (host - begin) * 1e3))
    return found


def medians(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column."""
    return [round(statistics.median(column), 3) for column in zip(*rows, strict=True)]


def in_rounds(model: Any, images: Any, half: bool, enabled: Any) -> tuple[list[list[float]], list[list[float]]]:
    """The median milliseconds of a step, and of the host in it, of each round, stock and enabled. Both take turns in
    going first, and their rounds are compared in pairs, because the speed of a host may change by a fifth within
    seconds."""
    found: tuple[list[list[float]], list[list[float]]] = ([], [])
    for number in range(ROUNDS):
        for ours in (False, True) if number % 2 == 0 else (True, False):
            with enabled if ours else contextlib.nullcontext():
                timed(model, images, half, 1)
                found[ours].append(medians(timed(model, images, half, STEPS)))
    return found


def captured(model: Any, images: Any, half: bool) -> Any:
    """A step as a CUDA graph, whose replays do not wait for the host."""
    side, here = torch.cuda.Stream(), torch.cuda.current_stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        step(model, images, half)
    here.wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(model, images, half)
    return graph


def replays_ms(graphs: Sequence[Any]) -> list[float]:
    """Milliseconds of a replay of each graph; median of rounds of five replays that alternate."""
    found: list[list[float]] = [[] for _ in graphs]
    for _ in range(ROUNDS * STEPS):
        for graph, times in zip(graphs, found, strict=True):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            begin.record()
            for _ in range(STEPS):
                graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / STEPS)
    return [round(statistics.median(times), 3) for times in found]


def as_graphs(model: Any, images: Any, half: bool, enabled: Any) -> dict[str, Any]:
    """Milliseconds of a step as a CUDA graph, stock and enabled, and their ratio; or why there is no graph."""
    try:
        stock = captured(model, images, half)
        with enabled:
            times = replays_ms([stock, captured(model, images, half)])
    except RuntimeError as error:  # not every model can be captured
        return {"graph_error": str(error).splitlines()[0]}
    return {"graph_ms": times, "graph_ratio": round(times[0] / times[1], 3)}


def gradients(model: Any) -> list[Any]:
    return [parameter.grad.float().clone() for parameter in model.parameters() if parameter.grad is not None]


def apart(known: list[Any], found: list[Any]) -> list[float]:
    """The median and the largest relative difference of gradients that are not zero."""
    each = [((a - b).norm() / a.norm()).item() for a, b in zip(known, found, strict=True) if a.norm() > 1e-8]
    return [statistics.median(each), max(each)]


def measure(library: str, name: str, batch: int, kind: str, last: bool, cache: str) -> dict[str, Any]:
    torch.backends.cudnn.allow_tf32, half = kind == "tf32", kind == "bf16"
    model, images = make(name), torch.randn(batch, 3, 224, 224, device="cuda")
    if last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        step(model, images, False)
    exact = gradients(model)
    step(model, images, half)
    known, begin = gradients(model), time.perf_counter()
    enabled = ct.enable(library, cache=cache)
    step(model, images, half)
    found, first = gradients(model), time.perf_counter() - begin
    enabled.end()
    stock, ours = in_rounds(model, images, half, enabled)
    pairs = zip(stock, ours, strict=True)
    ratio, host_ratio = medians([[s / o for s, o in zip(*pair, strict=True)] for pair in pairs])
    times = [medians(rounds) for rounds in (stock, ours)]
    return {
        "model": name,
        "batch": batch,
        "type": kind,
        "format": "channels_last" if last else "contiguous",
        "stock_ms": times[0][0],
        "enabled_ms": times[1][0],
        "ratio": ratio,
        "host_ms": [times[0][1], times[1][1]],
        "host_ratio": host_ratio,
        **as_graphs(model, images, half, enabled),
        "first_step_s": round(first, 1),
        "gradients_apart": apart(known, found),
        "stock_apart_from_f32": apart(exact, known),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("models", nargs="+", metavar="MODEL:BATCH")
    parser.add_argument("--type", default="bf16", choices=("bf16", "f32", "tf32"))
    parser.add_argument("--format", default="channels_last", choices=("channels_last", "contiguous"))
    parser.add_argument("--cache", default=None, help="folder of the timed choices; default: a temporary one")
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    with tempfile.TemporaryDirectory() as folder:
        for item in given.models:
            name, batch = item.rsplit(":", 1)
            last, cache = given.format == "channels_last", given.cache or folder
            print(json.dumps(measure(given.library, name, int(batch), given.type, last, cache)), flush=True)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
