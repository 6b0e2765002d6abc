"""Random convolutions with few channels per group, for instances that compute several groups in a tile."""

from __future__ import annotations

import random
from collections.abc import Callable

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.selection.takes import takes

Sizes = tuple[int, int, int]  # groups, K and C


def draw(instance: Instance, rng: random.Random, sizes: Callable[[Instance, random.Random], Sizes]) -> ConvProblem:
    """A random problem that the instance takes: its groups fill the vectors together, but seldom the merged groups."""
    while True:
        problem = _draw(instance, rng, sizes(instance, rng))
        if takes(instance, problem):
            return problem


def _draw(instance: Instance, rng: random.Random, sizes: Sizes) -> ConvProblem:
    groups, k, c = sizes
    few = [rng.choice([1, 2, 3]) for _ in range(instance.ndim)]
    filter_ = [1] * instance.ndim if instance.pointwise else few
    stride = [1 if instance.pointwise else rng.choice([1, 1, 2, 3]) for _ in filter_]
    dilation = [rng.choice([1, 1, 2, 3]) for _ in filter_]
    pad = [rng.randint(0, (edge - 1) * step) for edge, step in zip(filter_, dilation, strict=True)]
    most = {1: 40, 2: 12, 3: 6}[instance.ndim]
    input_ = [
        max(rng.randint(1, most), (edge - 1) * step + 1 - 2 * before)
        for edge, step, before in zip(filter_, dilation, pad, strict=True)
    ]
    return make_problem(
        groups=groups,
        batch=rng.randint(1, 3),
        k=k,
        c=c,
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        pad=pad,
    )
