"""Test that the place of every planted bug exists in the current headers. Other tests compile the bugs and check the
reports; this one finds all outdated bugs at once, without a compiler.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels.hopper import test_bwd_data, test_bwd_data_halo, test_bwd_weight, test_planes
from tests.kernels.test_host_platform import PLANTS
from tests.support.cxx import header, write_tree
from tests.support.planting import KEYWORD, place_of, replace_once, unknown_names
from tests.support.trees import XDL

BUGS = {
    **{f"bwd_data_halo: {name}": bug for name, bug in test_bwd_data_halo.BUGS.items()},
    **{f"bwd_data_halo, merged: {name}": bug for name, bug in test_bwd_data_halo.MERGED_BUGS.items()},
    **{f"bwd_data: {name}": bug for name, bug in test_bwd_data.BUGS.items()},
    **{f"stationary: {name}": bug for name, bug in test_bwd_data.STATIONARY_BUGS.items()},
    **{f"halo: {name}": bug for name, bug in (test_bwd_weight.HALO_BUGS | test_bwd_weight.MERGED_BUGS).items()},
    **{f"wavelet_tma: {name}": bug for name, bug in test_bwd_weight.TMA_BUGS.items()},
    **{f"wavelet_tma of tf32: {name}": bug for name, bug in test_bwd_weight.TF32_BUGS.items()},
    **{f"wavelet_tma of f32: {name}": bug for name, bug in test_bwd_weight.F32_BUGS.items()},
    **{f"planes: {name}": bug for name, bug in (test_planes.WEIGHT_BUGS | test_planes.DATA_BUGS).items()},
    **{f"planes of tf32: {name}": bug for name, bug in test_planes.DATA_TF32_BUGS.items()},
    **{plant.id: plant for plant in PLANTS},
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("headers"), (XDL,))


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_has_one_place(tree: Path, name: str) -> None:
    bug = BUGS[name]
    place = place_of(header(tree, bug.header), bug.old)
    assert place[0] and bug.old.split() != bug.new.split()
    assert not unknown_names(bug.old, bug.new), "renaming these would break the bug"


def test_a_renamed_identifier_hides_no_planted_bug(tree: Path, tmp_path: Path) -> None:
    """Every name in every header is replaced, even in the text that the bug leaves."""
    for bug in BUGS.values():
        file = header(tree, bug.header)
        renamed = tmp_path / file.name
        renamed.write_text(rename_all(file.read_text()))
        replace_once(renamed, bug.old, bug.new)
        planted = tmp_path / f"planted_{file.name}"
        planted.write_text(file.read_text())
        replace_once(planted, bug.old, bug.new)
        assert renamed.read_text().split() == rename_all(planted.read_text()).split()


def rename_all(text: str) -> str:
    """A C++ text with other names; comments, keywords and numbers are kept."""
    return re.sub(
        r"//[^\n]*|\d[\w.']*|[A-Za-z_]\w*",
        lambda word: f"x{word[0]}" if re.match("[A-Za-z_]", word[0]) and not KEYWORD.fullmatch(word[0]) else word[0],
        text,
    )


def test_names_and_skipped_text_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "k.hpp"
    file.write_text(
        "int f(int id) {  // why\n    g(id);\n    wait(id, // or else\n         ring);\n    return id;\n}\n"
    )
    replace_once(file, "int name(int n) { ... await(n, r);", "int name(int n) { ... if(n != 7) await(r, n);")
    assert file.read_text() == ("int f(int id) { g(id); if(id != 7) wait(ring, id);\n    return id;\n}\n")


def test_a_place_is_found_however_lines_are_broken(tmp_path: Path) -> None:
    file = tmp_path / "k.hpp"
    file.write_text("void f() {\n    wait(ring.full(),\n         ring.parity);\n    next();\n}\n")
    replace_once(file, "wait(ring.full(), ring.parity);\n    next();", "next();")
    assert file.read_text() == "void f() {\n    next();\n}\n"


@pytest.mark.parametrize("old", ["next()", "wait(7)", "a(b); b();", "wait(a, ...); if"])
def test_a_place_that_is_not_there_once_is_an_error(tmp_path: Path, old: str) -> None:
    file = tmp_path / "k.hpp"
    file.write_text("wait(a); next(); next();")
    with pytest.raises(AssertionError, match="exactly once"):
        place_of(file, old)
