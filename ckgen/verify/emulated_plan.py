"""Runs of instances as machine code: small problems, split-K factors and schedules, and the rows of their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ckgen.conv.layout import LAYOUTS
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import find_arch
from ckgen.instance.instance import Instance
from ckgen.machine_code.emulator.launch import Fault, Schedule
from ckgen.machine_code.emulator.unsupported import Unsupported
from ckgen.verify.emulated import Machine, Outcome
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import OK, Row

SPLIT_KS = (1, 3)
_ODD = {1: 7, 2: 5, 4: 5}  # channels are this many vectors of 1, 2 or 4, and three of longer ones


def problems_of(instance: Instance) -> tuple[ConvProblem, ...]:
    """Small problems for an instance: one with few positions and a tile that exceeds every edge, one with many, so that
    its ring of LDS stages wraps around, and, unless it exchanges operands, one whose stride skips positions. Channels
    are multiples of its vectors, unless these are of a copy that ends in zeros, and otherwise odd. An instance that
    merges groups also has one whose groups do not fill its last tile, and one of a layout with contiguous positions one
    whose images are multiples of 8 positions. Families for one input channel have one or two output channels."""
    ndim = instance.ndim
    k, c = _channels(instance)
    edge = 1 if instance.pointwise else 3
    whole = make_problem(groups=2, batch=3, k=k, c=c, filter=(edge,) * ndim, input=(2, 3, 8)[-ndim:], pad=edge // 2)
    planes = () if LAYOUTS[instance.layout].channels_last else (whole,)
    if instance.pointwise:
        one, many = (1,) * ndim, (5, 7, 3)[:ndim]
        return *(make_problem(groups=2, batch=n, k=k, c=c, filter=one, input=many) for n in (1, 5)), *planes
    few = make_problem(
        groups=2,
        batch=1,
        k=k,
        c=c,
        filter=(3, 2, 1)[:ndim],
        input=(6, 5, 3)[:ndim],
        stride=(2, 1, 1)[:ndim],
        dilation=(1, 2, 1)[:ndim],
        pad=(1, 0, 1)[:ndim],
        right_pad=(0, 2, 1)[:ndim],
    )
    many_positions = make_problem(groups=1, batch=4, k=k, c=c, filter=(3,) * ndim, input=(9, 5, 4)[:ndim], pad=1)
    # Three quarters of the positions have no tap.
    gaps = make_problem(groups=2, batch=1, k=k, c=c, filter=(1,) * ndim, input=(5, 4, 3)[:ndim], stride=2)
    if instance.exchange:
        return _exchangeable(few), many_positions, *planes
    if instance.groups_to_merge > 1:  # the last tile has half the groups of the others
        size = 3 if instance.a_vector == instance.b_vector == 1 else 4
        rest = {"groups": instance.groups_to_merge * 3 // 2, "k": size, "c": size}
        return few, many_positions, gaps, *(replace(one, **rest) for one in (few, *planes))
    if FAMILIES[instance.family].single_channel:  # vectors are of groups
        return tuple(
            replace(one, groups=k, k=2 - number % 2, c=1) for number, one in enumerate((few, many_positions, gaps))
        )
    return few, many_positions, gaps, *planes


def _exchangeable(few: ConvProblem) -> ConvProblem:
    """The problem of few positions with stride 1 and no more padding than its taps reach."""
    left, right = (1, 0, 0)[: few.ndim], (0, 2, 0)[: few.ndim]
    return replace(few, strides=(1,) * few.ndim, left_pads=left, right_pads=right)


def _channels(instance: Instance) -> tuple[int, int]:
    """K and C that fill an instance's vectors but few of them."""
    b_vector = 1 if instance.copies_weight and instance.groups_to_merge == 1 else instance.b_vector
    a, b = (step * _ODD.get(step, 3) for step in (instance.a_vector, max(b_vector, instance.c_vector)))
    return (b, a) if instance.exchange else (a, b)


def schedules(seed: int) -> tuple[Schedule, Schedule]:
    """Waves in order, and waves that switch at random points."""
    return Schedule(False, seed), Schedule(True, seed + 1)


def rows_of(
    machine: Machine,
    name: str,
    *,
    problems: Sequence[ConvProblem] = (),
    split_ks: Sequence[int] | None = None,
    seed: int = 1,
) -> Iterator[Row]:
    """The rows of an instance: every problem and split-K factor that it supports, the worse of both schedules. An
    instance that takes no problem has a failed row."""
    ran = False
    try:
        code = machine.code_of(name)
    except (CkgenError, Unsupported) as error:
        yield _row(machine, name, None, None, None, f"FAIL: {error}")
        return
    instance = machine.library.instance(name)
    for problem in problems or problems_of(instance):
        if problem.ndim != instance.ndim or machine.library.unsupported_reason(name, problem):
            continue
        function = machine.library.function_of(name)
        data = make_data(problem, instance.dtype, seed, instance.operation, function, find_arch(machine.arch).f8_codes)
        for split_k in split_ks or SPLIT_KS:
            ran = True
            try:
                runs = [machine.run(code, name, problem, data, split_k, how) for how in schedules(seed)]
                worst = max(runs, key=lambda run: run.error / run.tolerance if run.error == run.error else float("inf"))
                reason = OK if worst.ok else f"FAIL: error {worst.error:.3g} is more than {worst.tolerance:.3g}"
                yield _row(machine, name, problem, split_k, worst, reason)
            except (Fault, Unsupported, CkgenError) as error:
                yield _row(machine, name, problem, split_k, None, f"FAIL: {error}")
    machine.forget(code)
    if not ran:
        yield _row(machine, name, None, None, None, "FAIL: no problem that it supports")


def _row(
    machine: Machine,
    name: str,
    problem: ConvProblem | None,
    split_k: int | None,
    outcome: Outcome | None,
    verdict: str,
) -> Row:
    used, error, limit = (outcome.split_k, outcome.error, outcome.tolerance) if outcome else (None, None, None)
    return Row(name, machine.arch, str(problem) if problem else "-", split_k, used, error, limit, verdict)
