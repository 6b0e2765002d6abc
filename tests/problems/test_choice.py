"""ckgen.problems.choice: filters and samples of named problems."""

from __future__ import annotations

from collections import Counter

import pytest

from ckgen.conv.classes import class_of
from ckgen.conv.problem import make_problem
from ckgen.errors import CkgenError
from ckgen.problems.choice import chosen, sample
from ckgen.problems.sets import NamedProblem


def named(name: str, *models: str, held_out: bool = False, **sizes: int) -> NamedProblem:
    problem = make_problem(**{"k": 64, "c": 64, **sizes}, filter=(3, 3), input=(9, 9), pad=1)  # type: ignore[arg-type]
    return NamedProblem(name, problem, models=models, held_out=held_out)


DEPTHWISE = [named(f"w{i}", "mobile", "ghost", groups=64, k=1, c=1, batch=i) for i in range(1, 7)]
DENSE = [named(f"d{i}", "res", batch=i) for i in range(1, 41)]
HIDDEN = [named(f"h{i}", "vgg", batch=i, held_out=True) for i in range(1, 21)]
EVERY = (*DEPTHWISE, *DENSE, *HIDDEN)


def test_all_terms_must_hold() -> None:
    assert chosen(EVERY, []) == EVERY
    assert chosen(EVERY, ["part=held_out"]) == tuple(HIDDEN)
    assert chosen(EVERY, ["class=depthwise"]) == tuple(DEPTHWISE)
    assert chosen(EVERY, ["model=gho*,vgg"]) == (*DEPTHWISE, *HIDDEN)
    assert chosen(EVERY, ["class=dense_2d", "part=fitted", "name=d1*"]) == tuple(p for p in DENSE if p.name[:2] == "d1")


@pytest.mark.parametrize(
    ("terms", "words", "help"),
    [
        (["klass=depthwise"], "`klass=depthwise` chooses no problems", "class"),
        (["depthwise"], "`depthwise` chooses no problems", ""),
        (["class=depthwize"], "no problem has class=depthwize", "depthwise"),
        (["part=held-out"], "no problem has part=held-out", "held_out"),
        (["model=mobil"], "no problem has model=mobil", "mobile"),
        (["part=held_out", "class=depthwise"], "no problem has class=depthwise", ""),
        (["name=d1,"], "no problem has name=", ""),
    ],
)
def test_a_choice_of_nothing_is_an_error(terms: list[str], words: str, help: str) -> None:
    with pytest.raises(CkgenError) as raised:
        chosen(EVERY, terms)
    (found,) = raised.value.diagnostics
    assert words in found.message and help in found.help


def test_each_class_and_part_has_its_share() -> None:
    found = sample(EVERY, 30)
    assert Counter((each.part, class_of(each.problem)) for each in found) == {
        ("fitted", "depthwise"): 6,  # all there are; the others share the rest
        ("fitted", "dense_2d"): 12,
        ("held_out", "dense_2d"): 12,
    }
    assert [each for each in EVERY if each in found] == list(found)
    assert len(sample(EVERY, 2)) == 2 and sample(EVERY, 1000) == EVERY


def test_a_sample_depends_on_its_seed_alone() -> None:
    small, large = sample(EVERY, 10, 7), sample(EVERY, 20, 7)
    assert set(small) < set(large)
    assert sample(EVERY, 20, 8) != large
    assert set(sample(EVERY[::-1], 20, 7)) == set(large)
    assert {each.name for seed in range(60) for each in sample(EVERY, 9, seed)} == {each.name for each in EVERY}
