"""Conversion of a problem to text and back."""

from __future__ import annotations

import pytest
from hypothesis import given

from ckgen.conv.notation import EXAMPLE, problem_fields
from ckgen.conv.problem import ConvProblem, make_problem
from ckgen.errors import CkgenError
from tests.support.strategies import problems


@given(problem=problems())
def test_a_problem_comes_back_from_its_text(problem: ConvProblem) -> None:
    assert ConvProblem(**problem_fields(str(problem))) == problem


def test_what_is_usual_may_be_left_out() -> None:
    short = ConvProblem(**problem_fields("K64 C32  3x3 on 14x14"))
    assert short == make_problem(k=64, c=32, filter=(3, 3), input=(14, 14))
    assert str(ConvProblem(**problem_fields(EXAMPLE))) == EXAMPLE


def test_sizes_stand_in_any_order() -> None:
    any_order = ConvProblem(**problem_fields("K512 C256 N32 G2 3x3 on 14x14 p1"))
    assert any_order == make_problem(groups=2, batch=32, k=512, c=256, filter=(3, 3), input=(14, 14), pad=1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "K64 C32", "K64 C32 3x3 on 14x", "k64 c32 3 on 9", "K64 C32 3x3 on 14x14 p1 s1"),
        *("K64 N2 3x3 on 14x14", "K64 K32 C32 3x3 on 14x14"),
    ],
)
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(CkgenError, match="is not the text of a problem") as raised:
        problem_fields(text)
    assert EXAMPLE in raised.value.diagnostics[0].help


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("K64 C32 3x3 on 14x14 q1", "`q1` has no meaning"),
        ("K64 C32 3*3 on 14x14", "`3*3` has no meaning"),
        ("K64 3x3 on 14x14", "there is no C"),
        ("3x3 on 14x14", "there is no K and no C"),
        ("K64 C32 C3 3x3 on 14x14", "C is there twice"),
    ],
)
def test_a_message_names_the_word_that_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(CkgenError) as raised:
        problem_fields(text)
    assert fault in raised.value.diagnostics[0].message


def test_the_order_of_edges_is_in_the_help() -> None:
    with pytest.raises(CkgenError) as raised:
        problem_fields("K64 C32 3x3 on 14x14 p1 s2")
    (finding,) = raised.value.diagnostics
    assert finding.message.endswith("is not the text of a problem") and "in this order" in str(finding.help)
