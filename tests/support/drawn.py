"""Problems drawn at random for an instance of a library, and gaps between the rows of their tensors."""

from __future__ import annotations

import random

from ckgen.conv.layout import LAYOUTS
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_WEIGHT


def draw(library: Library, instance: Instance, rng: random.Random) -> ConvProblem:
    """A random problem that the instance takes, with channels that rarely fill its tiles."""
    while True:
        filter_ = [rng.choice([1, 1, 2, 3]) for _ in range(instance.ndim)]
        dilation = [rng.choice([1, 1, 2]) for _ in filter_]
        reach = [(edge - 1) * step + 1 for edge, step in zip(filter_, dilation, strict=True)]
        pad, right = ([rng.randint(0, edge - 1) for edge in reach] for _ in range(2))
        problem = make_problem(
            groups=rng.choice([1, 1, 2, 3]),
            batch=rng.choice([1, 3, 9]),
            k=rng.choice([1, 4]) * rng.randint(1, 60),
            c=rng.choice([1, 4, 8]) * rng.randint(1, 40),
            filter=filter_,
            input=[edge + rng.choice([0, 1, 4]) for edge in reach],
            stride=[rng.choice([1, 1, 2]) for _ in filter_],
            dilation=dilation,
            pad=pad,
            right_pad=right,
        )
        if library.unsupported_reason(instance.name, problem) is None:
            return problem


def gap(instance: Instance, problem: ConvProblem, rng: random.Random) -> int:
    """Elements that follow the channels of all groups at each position of in and out, as in a slice of a wider tensor:
    none, 16 bytes, or so many that positions of out are lines of 128 bytes."""
    if not LAYOUTS[instance.layout].channels_last:
        return 0
    vector = max(instance.a_vector, instance.b_vector) if instance.operation == BWD_WEIGHT else instance.c_vector
    line = -problem.groups * problem.k % (128 // instance.elem_bytes)
    return rng.choice([0, 16 // instance.elem_bytes, line if line % vector == 0 else 0])
