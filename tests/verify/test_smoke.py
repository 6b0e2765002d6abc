"""Test ckgen.verify.smoke: the plan covers everything, and the verifier finds planted errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ckgen.conv.problem import make_problem
from ckgen.instance.work import padded_macs
from ckgen.library.library import Library
from ckgen.problems.sets import NamedProblem
from ckgen.verify.guarded import GUARD_BYTES, OUTPUT_POISONS, holding, poisoned
from ckgen.verify.plan import SPLIT_KS, Case, make_plan
from ckgen.verify.run_tensors import make_data
from ckgen.verify.smoke import Row, run_case, run_plan
from tests.conftest import StubMaker
from tests.library.test_library import F16_POINTWISE, F32

PLANE = NamedProblem("plane", make_problem(groups=2, batch=2, k=8, c=16, filter=(3, 3), input=(6, 5), pad=1))
POINT = NamedProblem("point", make_problem(batch=3, k=8, c=8, filter=(1, 1), input=(4, 4)))
ODD = NamedProblem("odd", make_problem(groups=3, batch=2, k=1, c=3, filter=(2, 2), input=(5, 5), stride=2))
LINE = NamedProblem("line", make_problem(batch=2, k=3, c=2, filter=(3,), input=(8,), pad=1))
CUBE = NamedProblem("cube", make_problem(batch=2, k=3, c=2, filter=(2, 2, 2), input=(3, 3, 3)))
PLANES = (PLANE, POINT, ODD)
NAMES_2D_BF16 = "grouped_conv2d_bwd_weight_xdl_nhwgc_gkyxc_nhwgk_bf16_default_64x64x32_w0x4_xdl32_v1x1x1_s1_generic"


def check(library: Library, name: str, problem: NamedProblem, split_k: int = 1, *, twice: bool = False) -> Row:
    data = make_data(problem.problem, library.instance(name).dtype, 7)
    return run_case(library, Case(name, problem, split_k, twice), data)


def names_2d(library: Library) -> list[str]:
    return [instance.name for instance in library.instances if instance.ndim == 2]


def test_right_kernels_pass_every_case(stub: Library) -> None:
    plan = make_plan(stub, PLANES, names=names_2d(stub), everything=True)
    rows = list(run_plan(stub, plan, seed=3))
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]
    assert len(rows) == len(plan.cases) == 3 * 5 * 4 + (5 - 5) + 4 * (1 + 2)
    assert all(row.platform == "host" and row.max_error is not None for row in rows)
    assert all(row.max_error <= row.tolerance for row in rows if row.max_error and row.tolerance)
    assert {row.used_split_k for row in rows if row.split_k == -1} == {3}


@pytest.mark.parametrize(
    ("bug", "split_k", "words"),
    [
        ("NULL_KERNEL", 1, "288 of 288 elements were never written"),
        ("ZERO_KERNEL", 1, "is more than"),
        ("LAST_ELEMENT_MISSING", 1, "1 of 288 elements were never written"),
        ("OVERRUN", 1, "wei: 4 bytes written after it, up to byte +4"),
        ("UNDERRUN", 1, "wei: 4 bytes written before it, from byte -4"),
        ("INPUT_CHANGED", 1, "in was changed"),
        ("LAST_PRODUCT_MISSING", 1, "is more than"),
        ("PAD_IGNORED", 1, "is more than"),
        ("UNINITIALISED_WORKSPACE", 2, "288 elements are not finite"),
        ("SPLIT_LOST", 2, "is more than"),
        ("NOT_REPRODUCIBLE", 7, "a second run gave other bits"),
        ("RUN_FAILS", 1, "barrier mismatch: wave 3"),
        ("ALL_REFUSED", 1, "nothing is taken"),
    ],
)
def test_planted_bugs_are_found(make_stub: StubMaker, bug: str, split_k: int, words: str) -> None:
    problem = NamedProblem("small", make_problem(batch=9, k=8, c=4, filter=(3, 3), input=(6, 5), pad=1))
    assert check(make_stub(), F32, problem, split_k, twice=True).ok
    row = check(make_stub(bug), F32, problem, split_k, twice=True)
    assert not row.ok
    assert row.verdict.startswith("FAIL: ")
    assert words in row.verdict


@pytest.mark.parametrize("bug", ["NULL_KERNEL", "ZERO_KERNEL", "TRUNCATED", "SUM_IN_WEIGHT_TYPE"])
def test_planted_bugs_of_sixteen_bit_types_are_found(make_stub: StubMaker, bug: str) -> None:
    problem = NamedProblem("deep", make_problem(batch=4, k=5, c=3, filter=(3, 3), input=(16, 16), pad=1))
    assert check(make_stub(), NAMES_2D_BF16, problem).ok
    row = check(make_stub(bug), NAMES_2D_BF16, problem)
    assert not row.ok
    assert row.max_error is not None
    assert bug == "NULL_KERNEL" or (row.tolerance is not None and row.max_error > row.tolerance)


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, again, other = (make_data(PLANE.problem, "f16", seed) for seed in (1, 1, 2))
    assert first.in_.tobytes() == again.in_.tobytes()
    assert first.in_.tobytes() != other.in_.tobytes()
    assert first.in_.tobytes() != first.out.tobytes()[: first.in_.nbytes]
    assert 0.5 < first.scale <= 1


def coverage(plan_cases: Sequence[Case], library: Library) -> set[tuple[str, str, int]]:
    return {(case.problem.name, library.instance(case.instance).dtype, case.split_k) for case in plan_cases}


def test_the_plan_runs_every_problem_dtype_and_factor_and_every_instance(stub: Library) -> None:
    plan = make_plan(stub, PLANES, names=names_2d(stub))
    wanted = {(p.name, dtype, s) for p in PLANES for dtype in ("bf16", "bf16_f32_bf16", "f16", "f32") for s in SPLIT_KS}
    assert coverage(plan.cases, stub) == wanted
    assert {case.instance for case in plan.cases} == set(names_2d(stub))
    assert plan.gaps == ()
    whole = make_plan(stub, PLANES, names=names_2d(stub), everything=True)
    assert len(plan.cases) < len(whole.cases)
    assert {case.instance for case in plan.cases if case.twice} == set(names_2d(stub))
    names = [case.problem.name for case in plan.cases]
    assert names == sorted(names, key=[p.name for p in PLANES].index)


def test_an_instance_that_the_rotation_leaves_out_gets_a_run(stub: Library) -> None:
    plan = make_plan(stub, [POINT], names=names_2d(stub), split_ks=[1])
    assert {case.instance for case in plan.cases} == set(names_2d(stub))
    assert len(plan.cases) == len(names_2d(stub))


def test_a_problem_that_no_instance_takes_is_a_failure(stub: Library) -> None:
    plan = make_plan(stub, [LINE], split_ks=[1, 2])
    missing = {(gap.problem.name, gap.split_k) for gap in plan.gaps if gap.problem}
    assert missing == {("line", 1), ("line", 2)}
    rows = list(run_plan(stub, plan))
    text = [row.verdict for row in rows if row.instance == "-"]
    assert text.count("FAIL: no grouped_conv_bwd_weight of dtype bf16 takes it") == 2
    assert not any("dtype f32" in verdict for verdict in text)


def test_an_instance_that_takes_no_problem_is_a_failure(stub: Library) -> None:
    plan = make_plan(stub, [ODD], names=[F32, F16_POINTWISE], cover_problems=False)
    assert [(gap.instance, gap.reason) for gap in plan.gaps] == [(F16_POINTWISE, "takes none of the 1 problems")]
    assert [row.ok for row in run_plan(stub, plan)] == [False, True, True, True, True]


def test_a_library_that_refuses_everything_has_no_green_row(make_stub: StubMaker) -> None:
    library = make_stub("ALL_REFUSED")
    rows = list(run_plan(library, make_plan(library, PLANES)))
    assert rows
    assert not any(row.ok for row in rows)


def test_padding_counts_as_work(stub: Library) -> None:
    assert padded_macs(stub.instance(F32), ODD.problem) == 3 * 64 * 64 * 16


def test_device_platforms_are_checked_through_their_runtime(make_stub: StubMaker) -> None:
    """The stand-in acts as GPU library and GPU runtime: its device memory comes from malloc."""
    library = make_stub(platform="amd")
    for bug, good in (("NONE", True), ("OVERRUN", False), ("NULL_KERNEL", False)):
        faulty = make_stub(bug, platform="amd")
        data = make_data(CUBE.problem, "f32", 0)
        name = next(n for n in library.names if "conv3d" in n)
        row = run_case(faulty, Case(name, CUBE, 2, True), data)
        assert row.ok is good, row
        assert row.platform == "amd"


def test_a_lost_gpu_fails_every_case_after_it(make_stub: StubMaker) -> None:
    library = make_stub("KERNEL_FAULT", platform="nvidia")
    rows = list(run_plan(library, make_plan(library, [ODD], names=[F32])))
    assert [row.ok for row in rows] == [False] * 4
    assert "an illegal memory access was encountered" in rows[0].verdict
    assert all(row.verdict.startswith(f"FAIL: not run, the GPU was lost in {F32}") for row in rows[1:])


def test_guards_notice_writes_on_both_sides() -> None:
    guarded = holding(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert guarded.damage() is None
    assert guarded.array.ctypes.data % 256 == 0
    assert guarded.buffer.ctypes.data % 256 == 0
    assert guarded.array.ctypes.data - guarded.buffer.ctypes.data == GUARD_BYTES
    guarded.buffer[-1] = 0
    assert guarded.damage() == f"2 bytes written after it, up to byte +{GUARD_BYTES}"
    guarded.buffer[0] = 0
    assert guarded.damage() == f"2 bytes written before it, from byte -{GUARD_BYTES}"


@pytest.mark.parametrize("storage", [np.float16, np.uint16, np.float32])
def test_poison_is_not_a_number_in_every_type(storage: type) -> None:
    guarded = poisoned((3, 5), np.dtype(storage), OUTPUT_POISONS[0])
    assert guarded.untouched(OUTPUT_POISONS[0]) == 15
    assert guarded.untouched(OUTPUT_POISONS[1]) == 0
    values = guarded.array if storage is not np.uint16 else guarded.array.astype(np.uint32) << 16
    assert np.isnan(values.view(np.float32) if storage is np.uint16 else values).all()
    guarded.array[1, 2] = 1
    assert guarded.untouched(OUTPUT_POISONS[0]) == 14


def test_arrays_of_bytes_are_guarded_byte_by_byte() -> None:
    """NaN patterns that f8 e4m3 and e5m2 share have the seven lower bits set."""
    guarded = poisoned((3, 5), np.dtype(np.uint8), OUTPUT_POISONS[0])
    assert (guarded.array & 0x7F == 0x7F).all() and guarded.damage() is None
    assert [guarded.untouched(poison) for poison in OUTPUT_POISONS] == [15, 0]
    guarded.array[1, 2] = 1
    assert guarded.untouched(OUTPUT_POISONS[0]) == 14
    guarded.buffer[GUARD_BYTES + 15] = 0
    assert str(guarded.damage()).startswith("1 bytes written")


def test_a_problem_that_nothing_takes_is_no_failure_where_that_is_allowed(stub: Library) -> None:
    """An uncovered problem does not fail, but its row is not ok. An instance that takes no problem still fails."""
    plan = make_plan(stub, [LINE], split_ks=[1])
    rows = list(run_plan(stub, plan, allow_uncovered=True))
    uncovered = [row for row in rows if row.uncovered]
    assert "not covered: no grouped_conv_bwd_weight of dtype bf16 takes it" in [row.verdict for row in uncovered]
    assert not any(row.ok for row in uncovered)
    plan = make_plan(stub, [ODD], names=[F32, F16_POINTWISE])
    rows = list(run_plan(stub, plan, allow_uncovered=True))
    assert [row.verdict for row in rows if not row.ok and not row.uncovered] == ["FAIL: takes none of the 1 problems"]
