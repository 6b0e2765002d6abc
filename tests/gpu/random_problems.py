"""Run random valid problems on tensors in every kind of memory: an instance refuses a problem by name or computes it
right.

    python -m tests.gpu.random_problems LIBRARY --problems 5000 --seed 1

Runs on the device of the library: a GPU with PyTorch's CUDA or HIP, or the host. Each problem is run by some of the
instances of its layout and data type, and by the one that the library selects, with random split_k and workspace.
Results lie between guards and are poisoned beforehand; they are compared with float64 by the project's tolerance.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ckgen.bench.job import OK
from ckgen.bench.torch_tensors import GuardedTensor, TorchData, judge, torch_type
from ckgen.conv.layout import TENSORS, TensorName, to_logical
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.instance.instance import Instance
from ckgen.library.c_api import CProblem, UnsupportedProblem
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.guarded import OUTPUT_POISONS

CHANNELS = (*range(1, 10), 12, 16, 17, 24, 32, 36, 40, 64, 72, 128, 136)
NAMED = re.compile(r"\[[a-z0-9-]+\] .+")
MOST_PRODUCTS = 30_000_000


@dataclass
class Outcome:
    """Result of all runs: the number of correct ones, the number of refusals per rule, and the wrong ones."""

    right: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    selected: int = 0
    wrong: list[str] = field(default_factory=list)


def draw_problem(draw: random.Random, ndim: int, most_products: int) -> ConvProblem:
    """A valid problem of one of many kinds: single positions, filters larger than images, strides larger than filters,
    few and odd channels, one image, uneven pads."""
    point = draw.random() < 0.2
    while True:
        lengths = [1 if point or draw.random() < 0.15 else draw.randint(1, 17) for _ in range(ndim)]
        filter = [1 if draw.random() < 0.3 else 3 if draw.random() < 0.5 else draw.randint(1, 7) for _ in range(ndim)]
        dilation = [draw.choice((1, 1, 1, 2, 3)) for _ in range(ndim)]
        reach = [(taps - 1) * apart for taps, apart in zip(filter, dilation, strict=True)]
        left = [draw.choice((0, far // 2, draw.randint(0, far))) for far in reach]
        right = [draw.choice((pad, draw.randint(0, far))) for pad, far in zip(left, reach, strict=True)]
        for at, far in enumerate(reach):  # the filter must fit
            right[at] = max(right[at], far + 1 - lengths[at] - left[at])
        stride = [draw.choice((1, 1, 1, 2, 2, 3, 5)) for _ in range(ndim)]
        depthwise = draw.random() < 0.1
        problem = make_problem(
            groups=draw.choice((8, 33, 64)) if depthwise else draw.choice((1, 1, 1, 2, 3, 4, 8, 32)),
            batch=draw.choice((1, 2, 3, 8)),
            k=draw.choice((1, 2)) if depthwise else draw.choice(CHANNELS),
            c=1 if depthwise else draw.choice(CHANNELS),
            filter=filter,
            input=lengths,
            stride=stride,
            dilation=dilation,
            pad=left,
            right_pad=right,
        )
        products = prod(problem.gemm) * problem.groups
        elements = problem.groups * problem.batch * max(problem.c, problem.k) * prod(lengths)
        if products <= most_products and elements <= 2_000_000:
            return problem


def placed(torch: Any, draw: random.Random, packed: Any) -> tuple[Any, str]:
    """A copy of the tensor in a random kind of memory, and the kind's name."""
    kind = draw.choice(("packed", "packed", "wide", "wide", "shifted", "units", "expanded", "reversed-axes"))
    if kind == "wide":  # a slice of a larger tensor, along any axis
        axis = draw.randrange(packed.dim())
        more = draw.choice((1, 3, 8, 8, 64)) if axis == packed.dim() - 1 else draw.randint(1, 3)
        before = draw.choice((0, 0, more))
        shape = [edge + (more if at == axis else 0) for at, edge in enumerate(packed.shape)]
        wide = torch.full(shape, float("nan"), dtype=packed.dtype, device=packed.device)
        return wide.narrow(axis, before, packed.shape[axis]).copy_(packed), kind
    if kind == "shifted":  # an address with little alignment
        offset = draw.choice((1, 2, 4, 8))
        flat = torch.empty(packed.numel() + offset, dtype=packed.dtype, device=packed.device)[offset:]
        return flat.as_strided(packed.shape, packed.stride()).copy_(packed), kind
    if kind == "units":  # an arbitrary stride for lengths of 1
        pairs = zip(packed.shape, packed.stride(), strict=True)
        strides = [step if edge > 1 else draw.choice((0, 1, 5, 1000)) for edge, step in pairs]
        return packed.as_strided(packed.shape, strides), kind
    if kind == "expanded":  # all images, or all entries along another axis, share memory
        axis = draw.randrange(packed.dim())
        return packed.narrow(axis, 0, 1).expand(packed.shape), kind if packed.shape[axis] > 1 else "packed"
    if kind == "reversed-axes":
        order = list(range(packed.dim()))[::-1]
        return packed.permute(order).contiguous().permute(order), kind
    return packed, kind


class Trial:
    """One problem in one data type on a device, and its runs."""

    def __init__(self, torch: Any, library: Library, problem: ConvProblem, like: Instance, draw: random.Random) -> None:
        self._torch, self._library, self.problem, self._like, self._draw = torch, library, problem, like, draw
        self._device = "cpu" if library.platform == "host" else "cuda"
        function = library.function_of(like.name)
        self._written = OPERATIONS[like.operation].written
        seed = draw.randrange(1 << 30)
        self.data = TorchData(torch, self._device, problem, like.dtype, seed, like.operation, function)
        self.tensors: dict[TensorName, Any] = {}
        self.kinds: dict[TensorName, str] = {}
        for tensor in self.data.read:
            packed = self.data.in_layout(tensor, like.layout)
            # Expanded tensors repeat values, but the expected result ignores that: a run may only refuse them.
            self.tensors[tensor], self.kinds[tensor] = (
                (packed, "packed") if tensor == "wei" else placed(torch, draw, packed)
            )
        self._ds = self.data.d_tensors(d_slots(like, function))

    def selected(self) -> str | None:
        """The instance that the library selects for exactly these tensors; None if it refuses all by name."""
        described = CProblem.make(self.problem, self._like.layout, 1)
        for tensor, value in self.tensors.items():
            axes = to_logical(tensor, self._like.layout)
            described.set_strides(tensor, tuple(value.stride()[axis] for axis in axes))
        in_, wei, out = (self.tensors[t].data_ptr() if t in self.tensors else 0 for t in TENSORS)
        try:
            kind = self._like.dtype, self._like.layout, None
            found = self._library.candidates_for(described, *kind, (in_, wei, out), most=1)
        except UnsupportedProblem as refusal:
            assert NAMED.match(refusal.reason), refusal.reason
            return None
        return found[0].name

    def run(self, name: str) -> str:
        """Empty if the run was correct, the rule's name in brackets if it was refused, else the fault."""
        torch, instance = self._torch, self._library.instance(name)
        split_k = self._draw.choice((1, 1, -1, 2, 3, 7))
        kind = torch_type(torch, instance.dtype, self._written)
        shape = self.problem.shape(self._written, instance.layout)
        size = prod(shape) * torch.empty((), dtype=kind).element_size()
        poison = self._draw.choice(OUTPUT_POISONS)
        result = GuardedTensor(torch, self._device, shape, kind, poison, size)
        given = {**self.tensors, self._written: result.tensor}
        try:
            operands = [given[tensor] for tensor in TENSORS]
            bytes = self._library.workspace_size(name, self.problem, split_k=split_k, tensors=operands)
            workspace = None
            if self._draw.random() < 0.7:
                workspace = torch.full((max(bytes, 16),), 0xFF, dtype=torch.uint8, device=self._device)
            run = self._library.run
            run(name, self.problem, *operands, ds=self._ds, split_k=split_k, workspace=workspace, synchronize=True)
        except UnsupportedProblem as refusal:
            named = NAMED.match(refusal.reason)
            return refusal.reason.split("]")[0] + "]" if named else f"refused without a rule: {refusal.reason}"
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        if "expanded" in self.kinds.values():
            return "took a tensor that repeats elements"
        fault = result.fault(self._written, whole=True)
        if fault:
            return fault
        logical = result.tensor.permute(to_logical(self._written, instance.layout))
        verdict = judge(torch, self.data, logical, instance.dtype)
        return "" if verdict.verdict == OK else verdict.message


def kinds_of(library: Library) -> dict[tuple[Any, ...], list[Instance]]:
    """Instances by the properties that must match a problem: operation, layout, data type, function."""
    found: dict[tuple[Any, ...], list[Instance]] = {}
    for one in library.instances:
        found.setdefault((one.operation, one.layout, one.dtype, one.function), []).append(one)
    return found


def trials(
    torch: Any, library: Library, problems: int, seed: int, most_products: int
) -> Iterator[tuple[Trial, Sequence[Instance]]]:
    """Random problems, each with the instances of its kind."""
    draw, kinds = random.Random(seed), kinds_of(library)
    keys = sorted(kinds)
    for _ in range(problems):
        instances = kinds[draw.choice(keys)]
        problem = draw_problem(draw, instances[0].ndim, most_products)
        yield Trial(torch, library, problem, instances[0], draw), draw.sample(instances, min(6, len(instances)))


def run_all(torch: Any, library: Library, problems: int, seed: int, *, most_products: int = MOST_PRODUCTS) -> Outcome:
    """Run random problems. Nothing raises: the outcome reports every fault."""
    outcome = Outcome()
    for trial, instances in trials(torch, library, problems, seed, most_products):
        names = [one.name for one in instances]
        if instances[0].function in ("", "PassThrough"):
            chosen = trial.selected()
            outcome.selected += chosen is not None
            names += [chosen] if chosen else []
        for name in names:
            said = trial.run(name)
            if not said:
                outcome.right += 1
                outcome.kinds.update(trial.kinds.values())
            elif said.startswith("["):
                outcome.refused[said] += 1
            else:
                outcome.wrong.append(f"{name}: {trial.problem} {trial.kinds}: {said}")
    return outcome


def main() -> int:
    faulthandler.enable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import torch

    outcome = run_all(torch, Library(given.library), given.problems, given.seed)
    print(json.dumps({**vars(outcome), "wrong": outcome.wrong[:20], "wrong_count": len(outcome.wrong)}, indent=1))
    return bool(outcome.wrong)


if __name__ == "__main__":
    sys.exit(main())
