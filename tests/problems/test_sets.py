"""ckgen.problems.sets: contents of the bundled sets, and errors with places for a broken file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.errors import CkgenError
from ckgen.library.library import Library
from ckgen.problems.sets import NamedProblem, bundled_sets, load_problems

ENTRY = "{name: a, groups: 2, out_channels: 4, in_channels: 6, filter: [3], input: [9]"


def write(folder: Path, *entries: str, head: str = "channels: total") -> str:
    path = folder / "mine.yaml"
    path.write_text("\n".join([head, "problems:", *(f"  - {entry}" for entry in entries)]) + "\n")
    return str(path)


def test_retinanet_has_the_37_layers_with_channels_shared_out() -> None:
    layers = {named.name: named.problem for named in load_problems("retinanet")}
    assert len(layers) == 37
    grouped = make_problem(groups=32, batch=32, k=8, c=8, filter=(3, 3), input=(200, 200), stride=2, pad=1)
    assert layers["layer2.0.conv2"] == grouped
    cls = make_problem(batch=32, k=2376, c=256, filter=(3, 3), input=(7, 7), pad=1)
    assert layers["head.cls.7"] == cls
    assert {problem.batch for problem in layers.values()} == {32}
    assert len(set(layers.values())) == 37
    targets = [p for p in layers.values() if p.groups == 1 and p.filter == (3, 3)]
    assert len(targets) == 17
    assert sum(problem.macs for problem in layers.values()) == 3_324_759_146_496


def test_scaled_layers_stay_apart_and_keep_their_channels() -> None:
    full = load_problems("retinanet")
    small = [named.fitted(600_000_000) for named in full]
    assert len({named.problem for named in small}) == 37
    assert max(named.problem.macs for named in small) <= 600_000_000
    for before, after in zip(full, small, strict=True):
        assert after.problem.gemm[:2] == before.problem.gemm[:2]
        assert after.problem.groups == before.problem.groups
        assert after.original == (None if after == before else before.problem)


def test_ck_table_has_the_20_cases_and_the_three_odd_ones() -> None:
    named = load_problems("ck_bwd_weight")
    by_ndim = [sum(1 for n in named if n.problem.ndim == ndim) for ndim in (1, 2, 3)]
    assert by_ndim == [6, 10, 7]
    problems = {n.name: n.problem for n in named}
    assert problems["ck.3d.7"].gemm == (1, 27, 16 * 14**3)
    assert problems["ck.2d.1"].output == (4, 4)
    assert {(p.k, p.c) for n, p in problems.items() if "odd" in n} == {(3, 3), (4, 4), (5, 5)}


def test_ck_table_of_input_gradients_has_the_13_grouped_cases_and_the_9_dense_ones() -> None:
    problems = {n.name: n.problem for n in load_problems("ck_bwd_data")}
    dense = {name: problem for name, problem in problems.items() if "dense" in name}
    assert sorted(p.ndim for n, p in problems.items() if n not in dense) == [2] * 7 + [3] * 6
    assert sorted(p.ndim for p in dense.values()) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert {(p.groups, p.batch, p.k, p.c) for p in dense.values()} == {(1, 128, 128, 256)}
    assert problems["ck.2d.1"].output == (28, 28)
    assert problems["ck.2d.5"].output == (27, 27)  # 8x8 filters
    assert problems["ck.3d.1"].output == (4, 4, 4)
    assert problems["ck.dense.3d.2"].output == (14, 14, 3)
    assert len(set(problems.values())) == 22


def test_text_says_when_a_problem_was_scaled() -> None:
    named = NamedProblem("a", make_problem(batch=9, k=8, c=8, filter=(3, 3), input=(100, 49), pad=1))
    assert str(named) == "a: G1 N9 K8 C8 3x3 on 100x49 s1 p1"
    assert named.fitted(named.problem.macs) is named
    small = named.fitted(100_000)
    assert str(small) == "a: G1 N2 K8 C8 3x3 on 10x7 s1 p1 (scaled from N9 on 100x49)"
    assert small.fitted(1).original == named.problem


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = write(tmp_path, ENTRY + "}", ENTRY.replace("a,", "b,") + ", pad: [1], right_pad: 2, output: [10]}")
    plain, padded = load_problems(path)
    assert plain.problem == make_problem(groups=2, k=2, c=3, filter=(3,), input=(9,))
    assert padded.problem.left_pads == (1,)
    assert padded.problem.right_pads == (2,)
    per_group = write(tmp_path, ENTRY + "}", head="channels: per_group\ndefaults: {batch: 5}")
    assert load_problems(per_group)[0].problem.gemm == (4, 18, 35)


@pytest.mark.parametrize(
    ("entry", "rule", "words"),
    [
        (ENTRY + ", strides: 2}", "unknown-key", "unknown key `strides`"),
        ("{name: a, groups: 2}", "missing-field", "`input` is missing"),
        ("{groups: 2}", "missing-field", "`name` is missing"),
        (ENTRY + ", batch: many}", "wrong-type", "`batch` must be a number"),
        (ENTRY + ", published_wavelet_uplift: 0}", "wrong-type", "a factor from 0.001 to 1000, this is the number 0"),
        (ENTRY + ", published_wavelet_uplift: -1.5}", "wrong-type", "this is the number -1.5"),
        (ENTRY + ", published_wavelet_uplift: 1000000.5}", "wrong-type", "this is the number 1000000.5"),
        (ENTRY + ", stride: 0}", "problem-positive", "strides is 0"),
        (ENTRY + ", dilation: [1, 2]}", "problem-mismatched-lengths", "dilations has 2 entries"),
        (
            ENTRY + ", output: [8]}",
            "problem-mismatched-lengths",
            "output is given as [8], but these sizes make [7]",
        ),
        (
            ENTRY.replace("6", "5") + "}",
            "problem-channels",
            "in_channels 5 cannot be shared out evenly to 2 groups",
        ),
        (ENTRY.replace("groups: 2", "groups: 0") + "}", "problem-positive", "groups is 0"),
        (
            ENTRY.replace("[9]", "[2]") + "}",
            "problem-empty-output",
            "spans 3 positions, the padded input has 2",
        ),
    ],
)
def test_broken_entries_are_answered_with_their_place(tmp_path: Path, entry: str, rule: str, words: str) -> None:
    path = write(tmp_path, ENTRY.replace("a,", "z,") + "}", entry)
    with pytest.raises(CkgenError) as raised:
        load_problems(path)
    found = [d for d in raised.value.diagnostics if d.rule == rule and words in d.message]
    assert found, raised.value.diagnostics
    assert found[0].place is not None
    assert (found[0].place.file, found[0].place.line) == (path, 4)


def test_all_broken_entries_are_reported_together(tmp_path: Path) -> None:
    path = write(tmp_path, ENTRY + ", stride: 0}", ENTRY + ", dilation: 0}", ENTRY + "}", ENTRY + "}")
    with pytest.raises(CkgenError) as raised:
        load_problems(path)
    assert [d.rule for d in raised.value.diagnostics] == [
        "problem-positive",
        "problem-positive",
        "duplicate-name",
    ]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CkgenError, match="unknown key `groups`"):
        load_problems(write(tmp_path, ENTRY + "}", head="channels: total\ngroups: 1"))
    with pytest.raises(CkgenError, match="`channels` is all, it must be 'total' or 'per_group'"):
        load_problems(write(tmp_path, ENTRY + "}", head="channels: all"))
    with pytest.raises(CkgenError, match="neither a problem set nor a file") as raised:
        load_problems("retina")
    assert "retinanet" in raised.value.diagnostics[0].help
    assert bundled_sets() == ("ck_bwd_data", "ck_bwd_weight", "domains", "retinanet", "tiny", "zoo")


def test_the_smallest_set_has_a_problem_for_every_instance(host_library: Library) -> None:
    """The set runs each kernel once under a tool that slows it down a hundredfold."""
    fit: set[str] = set()
    for each in load_problems("tiny"):
        wanted = [i.name for i in host_library.instances if i.operation in each.operations]
        fit |= set(host_library.supporting(each.problem, wanted))
    assert set(host_library.names) - fit == set()
