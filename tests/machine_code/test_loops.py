"""Loops and their hot paths."""

from __future__ import annotations

from ckgen.machine_code.analyse import count
from ckgen.machine_code.assembly import read_kernels
from ckgen.machine_code.loops import Loop, find_loops
from tests.support.amd_assembly import LOAD_LOOP, MATH_LOOP, kernel_text


def loops_of(body: str) -> tuple[Loop, ...]:
    return find_loops(read_kernels(kernel_text(body))["k"])


def test_the_hot_path_loads_but_does_not_move_the_window() -> None:
    """The shortest path would be the last iteration, which loads nothing."""
    (loop,) = loops_of(LOAD_LOOP)
    hot, whole = count(loop.hot), count(loop.body)
    assert (hot.loads, hot.lds_write, hot.barriers) == (1, 1, 1)
    assert (hot.valu, hot.slow) == (1, 0)
    assert (whole.valu, whole.slow) == (4, 2)
    assert whole.total - hot.total == 3


def test_loads_that_are_waited_for_at_once_are_exposed() -> None:
    """LOAD_LOOP waits at its start for loads of the previous iteration."""
    assert count(loops_of(LOAD_LOOP)[0].hot).exposed == 0
    body = """\
.LBB0_1:
	buffer_load_dwordx4 v[2:5], v1, s[4:7], 0 offen
	buffer_load_dwordx4 v[6:9], v1, s[4:7], 0 offen
	s_waitcnt vmcnt(1) lgkmcnt(0)
	ds_write_b128 v0, v[2:5]
	s_cbranch_scc1 .LBB0_1
"""
    assert count(loops_of(body)[0].hot).exposed == 1
    assert count(loops_of(body.replace("s_waitcnt vmcnt(1) lgkmcnt(0)", "s_wait_loadcnt 0x0"))[0].hot).exposed == 2
    assert count(loops_of(body.replace("vmcnt(1) ", ""))[0].hot).exposed == 0


def test_a_straight_loop_is_all_hot() -> None:
    (loop,) = loops_of(MATH_LOOP)
    assert loop.hot == loop.body and loop.inner == 0
    mix = count(loop.hot)
    assert (mix.matrix, mix.valu, mix.lds_read, mix.waits, mix.lds_read_bytes) == (2, 1, 2, 1, 32)


def test_loops_side_by_side_are_two() -> None:
    assert [len(loop.body) for loop in loops_of(LOAD_LOOP + MATH_LOOP)] == [15, 9]


def test_an_inner_loop_counts_once_and_is_a_loop_of_its_own() -> None:
    body = """\
.LBB0_1:
	s_barrier
.LBB0_2:
	ds_read_b128 v[2:5], v1
	s_cbranch_scc1 .LBB0_2
; %bb.3:
	buffer_load_dwordx4 v[2:5], v1, s[4:7], 0 offen
	s_cbranch_scc0 .LBB0_1
"""
    outer, inner = loops_of(body)
    assert (outer.inner, inner.inner) == (1, 0)
    assert [item.kind for item in outer.hot] == ["barrier", "lds_read", "branch", "global_load", "branch"]
    assert [item.kind for item in inner.hot] == ["lds_read", "branch"]


def test_code_that_stands_elsewhere_belongs_to_the_loop_that_branches_to_it() -> None:
    body = """\
.LBB0_1:
	s_barrier
	s_cbranch_scc0 .LBB0_3
.LBB0_2:
	s_cbranch_scc1 .LBB0_1
	s_endpgm
.LBB0_3:
	v_mul_lo_u32 v1, v1, s9
	s_branch .LBB0_2
"""
    (loop,) = loops_of(body)
    assert count(loop.body).slow == 1
    assert count(loop.hot).slow == 0
    assert "s_endpgm" not in [item.mnemonic for item in loop.body]


def test_code_without_a_loop_has_none() -> None:
    assert loops_of("\tv_add_u32_e32 v0, v0, v1\n") == ()
