"""Test that problems beyond the 31 bits of a kernel's numbers are refused: strides that only tensors with gaps have,
and sizes that only their products show. Each case was once accepted and computed wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import pytest

from ckgen.conv.layout import LAYOUTS
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem
from ckgen.library.library import Library
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

FAR = (1 << 31) + 64  # elements


@dataclass(frozen=True)
class Case:
    """Instances, a problem, strides of in and out by axis (G, N, channels, spatial), and how the refusal begins."""

    chosen: Callable[[Instance], bool]
    problem: ConvProblem
    words: str
    strides: dict[str, tuple[int, ...]] = field(default_factory=dict)


def _depthwise(operation: str) -> Callable[[Instance], bool]:
    return lambda i: (i.family, i.operation, i.ndim) == ("depthwise", operation, 2) and i.elem_bytes == 2


LINE = {"groups": 1, "k": 1, "c": 1}
CASES = {
    "weights of a workgroup": Case(
        lambda i: _depthwise(BWD_DATA)(i) and i.n_per_block >= 64,
        make_problem(groups=64, k=1, c=1, filter=[(1 << 24) + 1, 1], input=[1, 1], pad=[1 << 24, 0], right_pad=0),
        "[depthwise",
    ),
    "images of the smallest residue": Case(
        lambda i: _depthwise(BWD_DATA)(i) and i.n_per_block == 1,
        make_problem(**LINE, batch=256, filter=[3, 3], input=[3, 9], stride=2, pad=1),
        "[depthwise-reach]",
        {"out": (10, 8200000, 10, 5, 1)},
    ),
    "images of few sweeps": Case(
        lambda i: _depthwise(BWD_WEIGHT)(i) and i.n_per_block == 1,
        make_problem(**LINE, batch=2560, filter=[3, 3], input=[8, 4], pad=1),
        "[depthwise-reach]",
        {"in": (32, 15000000, 32, 4, 1), "out": (32, 15000000, 32, 4, 1)},
    ),
    "strips of a dilation": Case(
        lambda i: _depthwise(BWD_WEIGHT)(i) and i.n_per_block == 1,
        make_problem(**LINE, batch=1000, filter=[1, 3], input=[1, 4], dilation=[1 << 24, 1], pad=[0, 1]),
        "[depthwise-",
    ),
    "images of one position": Case(
        lambda i: i.pointwise and i.operation == BWD_DATA and i.ndim == 2 and LAYOUTS[i.layout].channels_last,
        make_problem(batch=2, k=64, c=64, filter=[1, 1], input=[1, 1]),
        "[inner-stride] positions of the input",
        {"in": (64, FAR, 1, 64, 64)},
    ),
    "groups that are merged": Case(
        lambda i: i.groups_to_merge > 1 and i.operation == BWD_DATA and i.layout.startswith("NGKHW"),
        make_problem(groups=4, k=1, c=1, filter=[3, 3], input=[4, 8], pad=1),
        "[inner-stride] input",
        {"in": (FAR, 4 * FAR, FAR, 8, 1)},
    ),
    "columns of a single output channel": Case(
        lambda i: i.generic and i.operation == BWD_DATA and i.ndim == 2 and i.elem_bytes == 2,
        make_problem(k=1, c=130_000_000, filter=[3, 3], input=[3, 3], pad=1),
        "[tile-reach]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_problem_beyond_31_bits_is_refused(host_library: Library, name: str) -> None:
    case = CASES[name]
    plain = [i for i in host_library.instances if i.function in ("", "PassThrough")]
    instances = [instance for instance in plain if case.chosen(instance)]
    assert instances
    for instance in instances:
        described = CProblem.make(case.problem, instance.layout, 1)
        for tensor, strides in case.strides.items():
            assert len(strides) == 3 + case.problem.ndim and prod(strides) > 0
            described.set_strides(tensor, strides)  # type: ignore[arg-type]
        reason = host_library.check(instance.name, described)
        assert reason is not None and reason.startswith(case.words), (instance.name, reason)
