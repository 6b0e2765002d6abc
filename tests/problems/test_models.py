"""Problem sets that list whole networks: their rows, their models, and errors with places."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.errors import CkgenError
from ckgen.problems.sets import load_models, load_problems

MODEL = """\
  - name: {name}
    domain: test
    source: nowhere
    held_out: {held_out}
    batches: [2, 8]
    images: [20x20, 32x40]
    convolutions:
"""


def write(folder: Path, *rows: str, name: str = "a", held_out: str = "false", more: str = "") -> str:
    path = folder / "nets.yaml"
    text = MODEL.format(name=name, held_out=held_out) + "".join(f"      {row}\n" for row in rows)
    path.write_text(f"channels: per_group\nmodels:\n{text}{more}")
    return str(path)


def test_a_row_stands_for_each_batch_and_image(tmp_path: Path) -> None:
    found = load_problems(write(tmp_path, "G4 K8 C2 3x3 on 10x10|16x20 s2 p1: 3"))
    assert [str(each) for each in found] == [
        "a.1.20x20.n2: G4 N2 K8 C2 3x3 on 10x10 s2 p1",
        "a.1.32x40.n2: G4 N2 K8 C2 3x3 on 16x20 s2 p1",
        "a.1.20x20.n8: G4 N8 K8 C2 3x3 on 10x10 s2 p1",
        "a.1.32x40.n8: G4 N8 K8 C2 3x3 on 16x20 s2 p1",
    ]
    assert {each.models for each in found} == {("a",)}


def test_groups_and_images_may_be_multiples_of_the_batch(tmp_path: Path) -> None:
    rows = ("N16b K8 C2 3x3 on 10x10: 1", "Gb N1 K8 C2 3x3 on 10x10: 1", "N7 K8 C2 3x3 on 10x10: 1")
    path = write(tmp_path, *rows)
    sizes = [(each.problem.groups, each.problem.batch) for each in load_problems(path)]
    assert sizes == [(1, 32), (1, 128), (2, 1), (8, 1), (1, 7)]
    # A size that does not depend on the image is one problem, which every setting counts.
    (model,) = load_models(path)
    assert {sum(counts.values()) for counts in model.uses.values()} == {3}
    assert all("a.3.20x20.n2" in counts for counts in model.uses.values())


def test_a_convolution_may_be_missing_at_one_image(tmp_path: Path) -> None:
    path = write(tmp_path, "K8 C2 3x3 on -|16x20: 2", "K8 C4 3x3 on 10x10|-: 1")
    assert [each.name for each in load_problems(path)] == [
        "a.1.32x40.n2",
        "a.1.32x40.n8",
        "a.2.20x20.n2",
        "a.2.20x20.n8",
    ]
    (model,) = load_models(path)
    assert model.uses[2, "32x40"] == {"a.1.32x40.n2": 2}
    assert model.uses[8, "20x20"] == {"a.2.20x20.n8": 1}


def test_a_problem_is_held_out_if_all_its_models_are(tmp_path: Path) -> None:
    more = MODEL.format(name="b", held_out="true") + "      K8 C2 3x3 on 10x10: 5\n      K8 C2 5x5 on 10x10: 1\n"
    path = write(tmp_path, "K8 C2 3x3 on 10x10: 1", more=more)
    shared, also, own, last = load_problems(path)
    assert (shared.models, shared.part) == (("a", "b"), "fitted")
    assert (own.models, own.part) == (("b",), "held_out")
    assert (also.part, last.part) == ("fitted", "held_out")
    b = load_models(path)[1]
    assert b.held_out and b.uses[2, "20x20"] == {"a.1.20x20.n2": 5, "b.2.20x20.n2": 1}


def test_single_problems_may_be_beside_models(tmp_path: Path) -> None:
    more = "problems:\n  - {name: own, out_channels: 4, in_channels: 6, filter: [3], input: [9]}\n"
    path = write(tmp_path, "K8 C2 3x3 on 10x10: 1", more=more)
    assert [(each.name, each.models, each.part) for each in load_problems(path)][0] == ("own", (), "fitted")
    assert load_models("tiny") == ()


@pytest.mark.parametrize(
    ("row", "rule", "words"),
    [
        ("K8 C2 3x3 on 10x10: 0", "wrong-type", "must have a number of at least 1"),
        ("K8 C2 3x3 on 10x10: often", "wrong-type", "must have a number of at least 1"),
        ("K8 C2 3x3 on 10x10|4x4|2x2: 1", "model-row", "is not a row of a model with 2 images"),
        ("K8 C2 3x3: 1", "model-row", "is not a row of a model with 2 images"),
        ("K8 3x3 on 10x10: 1", "problem-text", "is not the text of a problem"),
        ("K8 C2 3x3 on 2x2: 1", "problem-empty-output", "spans 3 positions, the padded input has 2"),
    ],
)
def test_a_broken_row_is_answered_with_its_place(tmp_path: Path, row: str, rule: str, words: str) -> None:
    path = write(tmp_path, "K8 C2 3x3 on 10x10: 1", row.replace("K8", "K16"))
    with pytest.raises(CkgenError) as raised:
        load_problems(path)
    found = [each for each in raised.value.diagnostics if each.rule == rule and words in each.message]
    assert found and found[0].place is not None and found[0].place.line == 11


def test_broken_models_are_refused(tmp_path: Path) -> None:
    row = "K8 C2 3x3 on 10x10: 1"
    with pytest.raises(CkgenError, match="there are two models named a"):
        load_problems(write(tmp_path, row, more=MODEL.format(name="a", held_out="true") + f"      {row}\n"))
    with pytest.raises(CkgenError, match="`held_out` must be true or false, this is text"):
        load_problems(write(tmp_path, row, held_out="maybe"))
    with pytest.raises(CkgenError, match="unknown key `family`"):
        load_problems(write(tmp_path, row, more="    family: a\n"))
    for old, new, words in (
        ("[2, 8]", "[2, 8, 2]", "`batches` has 2 twice"),
        ("[2, 8]", "[]", "`batches` is empty"),
        ("[20x20, 32x40]", "[20x20, 20x20]", "`images` has 20x20 twice"),
        ("[20x20, 32x40]", "[]", "`images` is empty"),
        (f"\n      {row}", " {}", "`convolutions` is empty"),
    ):
        path = Path(write(tmp_path, row))
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(CkgenError, match=words) as refused:
            load_problems(str(path))
        assert len(refused.value.diagnostics) == 1
    with pytest.raises(CkgenError, match="`batches` is missing"):
        text = Path(write(tmp_path, row)).read_text().replace("    batches: [2, 8]\n", "")
        (tmp_path / "less.yaml").write_text(text)
        load_problems(str(tmp_path / "less.yaml"))
