"""Tests of the chain of candidates: measured, model, rule, generic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import Instance, parse
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.selection.candidates import Choice, chain, runs_on, same_arch
from ckgen.selection.measured import Candidate, MeasuredProblem, Table, TableOrigin
from ckgen.selection.takes import takes
from tests.support.specs import WEIGHT_LAYOUTS, default_expansion
from tests.support.trees import ARCHS, GENERIC, TMA, XDL

ORIGIN = TableOrigin({}, "", "", "", "", "", "", "", "")
SMALL = replace(XDL, m_per_block=64, n_per_block=64, a_vector=2)
LAST = replace(GENERIC, layout=WEIGHT_LAYOUTS[1], dtype="f16")
OWN = (LAST, XDL, SMALL, TMA)
PLANE = make_problem(batch=32, k=256, c=256, filter=(3, 3), input=(50, 50), pad=1)
POINT = make_problem(batch=32, k=256, c=256, filter=(1, 1), input=(50, 50))


def table(*rows: tuple[ConvProblem, list[tuple[Instance, int, float]]]) -> Table:
    made = [
        MeasuredProblem(str(p), "f16", WEIGHT_LAYOUTS[1], tuple(Candidate(i.name, s, us) for i, s, us in best))
        for p, best in rows
    ]
    return Table("grouped_conv_bwd_weight", "sm_90a", ORIGIN, tuple(made))


def names(problem: ConvProblem, *tables: Table, own: tuple[Instance, ...] = OWN, arch: str = "sm_90a") -> list[str]:
    return [choice.name for choice in chain(problem, "f16", WEIGHT_LAYOUTS[1], arch, own, tables)]


def first(problem: ConvProblem, *tables: Table) -> Choice:
    return chain(problem, "f16", WEIGHT_LAYOUTS[1], "sm_90a", OWN, tables)[0]


def test_a_measured_problem_comes_first_in_the_order_of_its_times() -> None:
    found = chain(PLANE, "f16", WEIGHT_LAYOUTS[1], "sm_90a", OWN, [table((PLANE, [(SMALL, 4, 10.0), (TMA, 2, 11.0)]))])
    assert found[:2] == (Choice(SMALL.name, 4, "measured", 10.0), Choice(TMA.name, 2, "measured", 11.0))
    assert [choice.source for choice in found[2:]] == ["model", "generic"]
    assert found[-1] == Choice(LAST.name, -1, "generic")


def test_what_a_choice_rests_on() -> None:
    row = table((PLANE, [(SMALL, 4, 10.0)]))
    guess = replace(row, predicted=True)
    said = [
        first(PLANE, row),
        first(replace(PLANE, k=512), row),
        first(PLANE, guess),
        chain(PLANE, "f16", WEIGHT_LAYOUTS[1], "gfx942", OWN, ())[0],
        chain(PLANE, "f16", WEIGHT_LAYOUTS[1], "host", OWN, ())[0],
        Choice("x", 1, "generic"),
    ]
    assert [choice.answer for choice in said] == ["measured", *["predicted"] * 5]
    assert [choice.basis for choice in said] == [
        "this problem",
        "model of time, fitted to measurements",
        "cost model",
        "cost model",
        "rule: fewest bytes moved",
        "rule: nothing else takes it",
    ]
    assert [choice.microseconds is None for choice in said] == [False, False, False, False, True, True]


def test_the_generic_instance_comes_first_only_if_it_was_measured() -> None:
    """That a model gives it the shortest time says nothing: it counts bytes, not accesses."""
    row = table((PLANE, [(LAST, 1, 9.0), (SMALL, 4, 10.0)]))
    assert first(PLANE, row) == Choice(LAST.name, 1, "measured", 9.0)
    found = chain(PLANE, "f16", WEIGHT_LAYOUTS[1], "sm_90a", OWN, [replace(row, predicted=True)])
    assert found[0].name == SMALL.name
    assert found[-1] == Choice(LAST.name, -1, "generic")


def test_a_missing_instance_falls_through_to_the_next() -> None:
    known = table((PLANE, [(SMALL, 4, 10.0), (TMA, 2, 11.0)]))
    assert names(PLANE, known)[0] == SMALL.name
    assert names(PLANE, known, own=(LAST, XDL, TMA))[0] == TMA.name
    assert names(PLANE, known, own=(LAST, XDL))[0] == XDL.name
    assert names(PLANE, known, own=(LAST,)) == [LAST.name]
    assert names(PLANE, known, own=()) == []


def test_rows_of_other_keys_do_not_count() -> None:
    row = table((PLANE, [(SMALL, 4, 10.0)]))
    others = [
        replace(row, arch="sm_80"),
        replace(row, rows=(replace(row.rows[0], dtype="bf16"),)),
        replace(row, rows=(replace(row.rows[0], layout=WEIGHT_LAYOUTS[4]),)),
    ]
    for other in others:
        assert first(PLANE, other).source == "model"


@pytest.mark.parametrize(
    "changed",
    [
        {"batch": 31},
        {"groups": 2},
        {"k": 264},
        {"c": 264},
        {"input": (50, 51)},
        {"filter": (3, 2)},
        {"strides": (1, 2)},
        {"dilations": (2, 1)},
        {"left_pads": (0, 1)},
        {"right_pads": (1, 0)},
    ],
)
def test_every_size_is_part_of_the_key(changed: dict[str, object]) -> None:
    other = replace(PLANE, **changed)  # type: ignore[arg-type]
    assert first(other, table((PLANE, [(SMALL, 4, 10.0)]))).source == "model"


def test_the_model_fills_the_gpu() -> None:
    """A result of few tiles is split along GEMM-K until the workgroups fill the compute units; sums of one step are
    not split."""
    (few,) = (choice for choice in chain(PLANE, "f16", WEIGHT_LAYOUTS[1], "sm_90a", (XDL,), ()))
    tiles = FAMILIES["xdl"].tiles(XDL, PLANE)
    assert few.source == "model" and 100 <= few.split_k * tiles <= 4 * 132
    tiny = replace(PLANE, batch=1, input=(4, 4))
    assert chain(tiny, "f16", WEIGHT_LAYOUTS[1], "sm_90a", (XDL,), ())[0].split_k == 1


def test_the_model_orders_by_predicted_times() -> None:
    wide = make_problem(batch=32, k=512, c=512, filter=(3, 3), input=(28, 28), pad=1)
    found = chain(wide, "f16", WEIGHT_LAYOUTS[1], "sm_90a", OWN, ())
    times = [choice.microseconds for choice in found[:-1]]
    assert found[0].name == TMA.name and times == sorted(times)  # type: ignore[type-var]
    twice = chain(replace(wide, batch=64), "f16", WEIGHT_LAYOUTS[1], "sm_90a", OWN, ())
    assert times[0] is not None and twice[0].microseconds is not None
    assert 1.7 * times[0] < twice[0].microseconds < 2.1 * times[0]


def test_the_rule_takes_the_least_traffic_and_the_generic_comes_last() -> None:
    big = make_problem(batch=32, k=512, c=512, filter=(1, 1), input=(50, 50))
    narrow = make_problem(batch=32, k=64, c=64, filter=(1, 1), input=(50, 50))
    assert names(big, own=(LAST, XDL, SMALL), arch="host") == [XDL.name, SMALL.name, LAST.name]
    assert names(narrow, own=(LAST, XDL, SMALL), arch="host") == [SMALL.name, XDL.name, LAST.name]


def test_a_weight_that_does_not_fit_is_split() -> None:
    """128 KiB hold 256 rows of 256 columns: sums of K = 256 fit with one tap, those of K = 512 are split."""
    layout = "NHWGK/GKYXC/NHWGC"
    ring = replace(TMA, operation=BWD_DATA, layout=layout, m_per_block=64, b_vector=8, c_vector=8)
    stays = replace(ring, family="stationary")
    splits = {k: chain(replace(POINT, k=k), "f16", layout, "sm_90a", (stays,), ())[0].split_k for k in (256, 512, 1024)}
    assert splits == {256: 1, 512: 2, 1024: 4}
    found = chain(replace(POINT, k=2048), "f16", layout, "sm_90a", (ring, stays), ())
    assert found[0].name == ring.name


def test_instances_for_other_architectures_are_left_out() -> None:
    assert TMA.name not in names(PLANE, arch="sm_80")
    assert TMA.name not in names(PLANE, arch="host")
    assert names(PLANE, arch="gfx1100") == [LAST.name]
    assert TMA.name in names(PLANE, arch="sm_90")


def test_architectures() -> None:
    assert same_arch("sm_90", "sm_90a") and not same_arch("sm_90a", "sm_80")
    assert not same_arch("gfx90a", "gfx90") and same_arch("gfx90a:sramecc+:xnack-", "gfx90a")
    assert runs_on(ARCHS, "gfx942") and not runs_on(ARCHS, "gfx1100")
    assert runs_on(ARCHS, "host", True) and not runs_on(ARCHS, "sm_90a", True) and not runs_on(ARCHS, "sm_90", True)
    assert runs_on(ARCHS, "sm_80") and runs_on(ARCHS, "host") and runs_on(ARCHS, "")
    assert not runs_on(("sm_90a",), "") and runs_on((), "gfx1100")


def test_copies_by_rule_come_before_those_that_the_spec_gives() -> None:
    """CK's rows write less to LDS at once, although they read more from memory at once."""
    narrow = replace(SMALL, b_write=1, a_write=8, a_vector=8)
    for arch in ("sm_90a", "host"):
        assert names(PLANE, own=(narrow, SMALL), arch=arch) == [SMALL.name, narrow.name]


def test_few_channels_per_group_take_merged_groups() -> None:
    """In set default, by the rule alone; single elements of merged groups only where they move less than the generic
    instance."""
    expansion = default_expansion()
    members = frozenset(expansion.sets["default"])
    own = tuple(i for i in expansion.instances if i.name in members)

    def pick(groups: int, c: int, k: int, size: int) -> tuple[str, int]:
        problem = make_problem(groups=groups, batch=32, k=k, c=c, filter=(3, 3), input=(size, size), pad=1)
        choices = chain(problem, "f16", WEIGHT_LAYOUTS[1], "gfx908", own, (), operation=BWD_WEIGHT)
        best = next(made for choice in choices if takes(made := parse(choice.name), problem))
        return best.family, best.groups_to_merge

    assert [pick(32, n, n, 56) for n in (2, 4, 8, 16)] == [("two_stage", n) for n in (8, 4, 2, 1)]
    assert pick(64, 1, 1, 56)[0] == pick(64, 1, 2, 56)[0] == "depthwise"
    assert pick(5, 3, 3, 28)[0] == "two_stage"
    assert {pick(1, n, n, 56) for n in (64, 128)} == {("xdl", 1)}
    assert pick(1, 3, 64, 224) == ("xdl", 1)


def test_few_output_channels_take_exchanged_operands() -> None:
    """In set default, by the rule (gfx908) and by the model: where the input has many channels, the output few and the
    filter taps."""
    expansion = default_expansion()
    members = frozenset(expansion.sets["default"])
    own = tuple(i for i in expansion.instances if i.name in members)

    def pick(
        k: int, c: int, taps: int, stride: int = 1, layout: str = WEIGHT_LAYOUTS[1], arch: str = "gfx908"
    ) -> Instance:
        sizes = {"batch": 8, "k": k, "c": c, "stride": stride, "pad": taps // 2}
        problem = make_problem(**sizes, filter=(taps, taps), input=(64, 64))
        choices = chain(problem, "f16", layout, arch, own, (), operation=BWD_WEIGHT)
        return next(made for choice in choices if takes(made := parse(choice.name), problem))

    few = ((3, 64, 7), (4, 320, 3), (3, 128, 3), (1, 256, 3), (8, 512, 3))
    for arch in ("gfx908", "gfx90a", "gfx942", "gfx950", "sm_90a"):
        assert all(pick(*sizes, arch=arch).exchange for sizes in few)
    assert pick(4, 320, 3).b_vector == 4
    assert pick(3, 64, 7, layout="NGCHW/GKCYX/NGKHW").exchange
    assert not any(
        pick(*sizes).exchange for sizes in ((64, 64, 3), (128, 64, 3), (64, 3, 7), (3, 64, 1), (3, 64, 7, 2))
    )
    assert not any(pick(*sizes).exchange for sizes in ((48, 1024, 3), (64, 256, 3)))


def test_backward_data_of_few_channels_per_group_takes_merged_groups() -> None:
    """In set default, by the rule alone."""
    expansion = default_expansion()
    members = frozenset(expansion.sets["default"])
    own = tuple(i for i in expansion.instances if i.name in members)

    def pick(groups: int, c: int, k: int, size: int, stride: int = 1) -> int:
        sizes = {"groups": groups, "batch": 32, "k": k, "c": c, "stride": stride}
        problem = make_problem(**sizes, filter=(3, 3), input=(size, size), pad=1)
        choices = chain(problem, "f16", "NHWGK/GKYXC/NHWGC", "gfx908", own, (), operation=BWD_DATA)
        best = next(made for choice in choices if takes(made := parse(choice.name), problem))
        return best.groups_to_merge

    assert [pick(32, n, n, 56) for n in (2, 3, 4, 6, 8)] == [8, 8, 4, 4, 2]
    assert pick(32, 8, 8, 56, stride=2) == 2
    assert pick(32, 1, 1, 56) == 1  # depthwise
    assert [pick(2, n, n, 56) for n in (64, 128)] == [1, 1]
    assert pick(1, 4, 4, 56) == 1
