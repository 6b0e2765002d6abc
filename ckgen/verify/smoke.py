"""Prove that instances are correct: run them on real problems and compare with float64.

Everything is checked. Inputs, output and workspace lie between guards; output and workspace are filled with NaN before
every run; the inputs must be unchanged afterwards; a second run with other poison and another schedule must give the
same bits. The reference is computed from the inputs as the kernel sees them, rounded to its element type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ckgen.conv.dtypes import DTYPES, Element, element_of
from ckgen.conv.encoding import decode
from ckgen.conv.layout import TENSORS, to_physical
from ckgen.errors import CkgenError
from ckgen.instance.instance import Instance
from ckgen.library.d_tensors import d_slots
from ckgen.library.library import Library, Run, Tensor
from ckgen.operations.operation import OPERATIONS
from ckgen.verify.guarded import GUARD_BYTES, OUTPUT_POISONS, WORKSPACE_POISONS, Guarded, holding, poisoned
from ckgen.verify.plan import Case, Gap, Plan
from ckgen.verify.run_tensors import Data, make_data

OK = "ok"
NOT_COVERED = "not covered"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the report. ``max_error`` and ``tolerance`` belong to the element that is closest to its tolerance or
    exceeds it most; they are None if there is no result to check. ``split_k`` is the requested factor, ``used_split_k``
    the factor of the run."""

    instance: str
    platform: str
    problem: str
    split_k: int | None
    used_split_k: int | None
    max_error: float | None
    tolerance: float | None
    verdict: str

    @property
    def ok(self) -> bool:
        """True if the check passed."""
        return self.verdict == OK

    @property
    def uncovered(self) -> bool:
        """True for a problem that no instance takes, if that is allowed: not a run, neither passed nor failed."""
        return self.verdict.startswith(NOT_COVERED)


def run_plan(library: Library, plan: Plan, *, seed: int = 0, allow_uncovered: bool = False) -> Iterator[Row]:
    """The rows of a plan: its gaps first, as failures, then every case as it finishes.

    With ``allow_uncovered``, a problem that no instance takes still gets a row but does not count as a failure.

    ``seed`` fixes the inputs and the host platform's schedules. Every error in a run becomes a row. A kernel that
    faults destroys the GPU's context, so the later cases become rows that say so, without a run.
    """
    for gap in plan.gaps:
        yield gap_row(library.platform, gap, allow_uncovered=allow_uncovered)
    checker = Checker(library, seed)
    for case in plan.cases:
        yield checker(case)


class Checker:
    """Runs and checks cases one after another; adjacent cases with equal inputs share them. ``lost`` says why no
    further case can run, None if they can."""

    def __init__(self, library: Library, seed: int) -> None:
        self._library, self._seed = library, seed
        self._known: tuple[object, Data] | None = None
        self.lost: str | None = None

    def __call__(self, case: Case) -> Row:
        """Run and check one case."""
        library, seed = self._library, self._seed
        if self.lost is not None:
            return _row(library, case, verdict=f"FAIL: not run, {self.lost}")
        instance, function = library.instance(case.instance), library.function_of(case.instance)
        problem, operation = case.problem.problem, instance.operation
        matrix_type = DTYPES[instance.dtype].matrix_type
        key = (problem, element_of(instance.dtype, "in"), matrix_type, operation, function)
        if self._known is None or self._known[0] != key:
            data = make_data(problem, instance.dtype, seed, operation, function, library.f8_codes)
            self._known = key, data
        row = run_case(library, case, self._known[1], seed=seed)
        self.lost = None if row.ok else _lost(library, case)
        return row


def gap_row(platform: str, gap: Gap, *, allow_uncovered: bool = False) -> Row:
    """A gap of the plan as a failed row, or as an uncovered one. An instance that takes no problem always fails,
    because no run proves it correct."""
    problem = str(gap.problem) if gap.problem else "-"
    verdict = NOT_COVERED if allow_uncovered and gap.instance is None else "FAIL"
    return Row(gap.instance or "-", platform, problem, gap.split_k, None, None, None, f"{verdict}: {gap.reason}")


def _row(
    library: Library,
    case: Case,
    used: int | None = None,
    error: float | None = None,
    limit: float | None = None,
    *,
    verdict: str,
) -> Row:
    return Row(case.instance, library.platform, str(case.problem), case.split_k, used, error, limit, verdict)


def _lost(library: Library, case: Case) -> str | None:
    """The reason why no later case can run after ``case`` failed: waiting for the GPU already fails. None if later
    cases can run."""
    try:
        library.memory.synchronize()
    except CkgenError as error:
        return f"the GPU was lost in {case.instance}: {error}"
    return None


def run_case(library: Library, case: Case, data: Data, *, seed: int = 0) -> Row:
    """Run and check one case."""
    try:
        first = _Attempt(library, case, data, turn=0, seed=seed)
        twice = case.twice or _written(library.instance(case.instance)).integer
        second = _Attempt(library, case, data, turn=1, seed=seed) if twice else None
    except CkgenError as error:
        return _row(library, case, verdict=f"FAIL: {error}")
    worst, limit, broken = first.compare(data)
    reason = first.fault() or (second.fault() if second else None)
    if reason is None and broken:
        reason = f"{broken} elements are not finite"
    if reason is None and worst > limit:
        reason = f"error {worst:.3g} is more than {limit:.3g}"
    if reason is None and second and not first.same_bits(second):
        reason = "a second run gave other bits"
    return _row(library, case, first.used.split_k, worst, limit, verdict=f"FAIL: {reason}" if reason else OK)


def _written(instance: Instance) -> Element:
    return element_of(instance.dtype, OPERATIONS[instance.operation].written)


class _Attempt:
    """The first (``turn`` 0) or second run of a case in guarded memory, each with its own poison and schedule. Raises
    CkgenError when the library refuses or fails."""

    def __init__(self, library: Library, case: Case, data: Data, *, turn: int, seed: int) -> None:
        self._instance = library.instance(case.instance)
        self._written = OPERATIONS[self._instance.operation].written
        self._poison, self._scalars = OUTPUT_POISONS[turn], data.scalars
        problem, layout = case.problem.problem, self._instance.layout
        slots = d_slots(self._instance, library.function_of(case.instance))
        arrays = [(name, array.transpose(to_physical(name, layout))) for name, array in data.tensors.items()]
        ds = [(f"d{at}", data.d_array(at, slot)) for at, slot in enumerate(slots)]
        self._ds = [name for name, _ in ds]
        self._inputs = {name: holding(array) for name, array in (*arrays, *ds)}
        self._before = {name: guarded.array.tobytes() for name, guarded in self._inputs.items()}
        storage = element_of(self._instance.dtype, self._written).storage
        self._result = poisoned(problem.shape(self._written, layout), storage, self._poison)
        size = library.workspace_size(case.instance, problem, split_k=case.split_k)
        self._workspace = poisoned((-(-size // 2),), np.dtype(np.uint16), WORKSPACE_POISONS[turn])
        if library.platform == "host":
            library.configure_host(seed=seed + turn)
        self.used = self._launch(library, case)

    def _launch(self, library: Library, case: Case) -> Run:
        buffers = {**self._inputs, self._written: self._result, "workspace": self._workspace}
        if library.platform == "host":
            return self._run(library, case, {name: guarded.array for name, guarded in buffers.items()})
        with library.memory.holding([guarded.buffer for guarded in buffers.values()]) as bases:
            return self._run(library, case, {n: base + GUARD_BYTES for n, base in zip(buffers, bases, strict=True)})

    def _run(self, library: Library, case: Case, places: Mapping[str, Tensor]) -> Run:
        in_, wei, out = (places[name] for name in TENSORS)
        return library.run(
            *(case.instance, case.problem.problem, in_, wei, out),
            ds=[places[name] for name in self._ds],
            scalars=self._scalars,
            split_k=case.split_k,
            workspace=places["workspace"],
        )

    def fault(self) -> str | None:
        """A message about forbidden or missing writes of the run; None if there are none."""
        named: list[tuple[str, Guarded]] = [
            *self._inputs.items(),
            (self._written, self._result),
            ("workspace", self._workspace),
        ]
        for name, guarded in named:
            damage = guarded.damage()
            if damage:
                return f"{name}: {damage}"
        for name, before in self._before.items():
            if self._inputs[name].array.tobytes() != before:
                return f"{name} was changed"
        if _written(self._instance).integer:
            return None  # the poison is a number; two runs with other poison agree only if they write all elements
        untouched = self._result.untouched(self._poison)
        return f"{untouched} of {self._result.array.size} elements were never written" if untouched else None

    def compare(self, data: Data) -> tuple[float, float, int]:
        """Error and tolerance of the worst element, and the number of elements without a finite error."""
        # In the layout's own order, which is the order of `expected` in memory: large results are read in one pass.
        element, order = (
            element_of(self._instance.dtype, self._written),
            to_physical(self._written, self._instance.layout),
        )
        error = decode(self._result.array, element)
        error -= data.expected.transpose(order)
        np.abs(error, out=error)
        limit = data.allowance(element).transpose(order)
        at = int(np.argmax(error / limit))  # a NaN counts as the largest
        worst = float(error.flat[at])
        broken = 0 if np.isfinite(worst) else int(np.count_nonzero(~np.isfinite(error)))
        return worst, float(limit.flat[at]), broken

    def same_bits(self, other: _Attempt) -> bool:
        """True when both runs left the same bits."""
        return self._result.array.tobytes() == other._result.array.tobytes()
