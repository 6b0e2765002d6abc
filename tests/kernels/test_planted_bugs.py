"""Test that the text of every planted bug exists in the current headers. Other tests compile the bugs and check the
reports; this one finds all outdated bugs at once, without a compiler.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels import test_bwd_data_halo, test_bwd_data_hopper, test_bwd_weight_hopper
from tests.kernels.test_host_platform import PLANTS
from tests.support.cxx import header, place_of, replace_once, write_tree
from tests.support.trees import XDL

BUGS = {
    **{f"bwd_data_halo: {name}": bug for name, bug in test_bwd_data_halo.BUGS.items()},
    **{f"bwd_data: {name}": bug for name, bug in test_bwd_data_hopper.BUGS.items()},
    **{f"stationary: {name}": bug for name, bug in test_bwd_data_hopper.STATIONARY_BUGS.items()},
    **{f"halo: {name}": bug for name, bug in test_bwd_weight_hopper.HALO_BUGS.items()},
    **{f"wavelet_tma: {name}": bug for name, bug in test_bwd_weight_hopper.TMA_BUGS.items()},
    **{plant.id: plant for plant in PLANTS},
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("headers"), (XDL,))


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_has_one_place(tree: Path, name: str) -> None:
    bug = BUGS[name]
    begin, end = place_of(header(tree, bug.header), bug.old)
    assert end > begin and bug.old.split() != bug.new.split()


def test_a_place_is_found_however_lines_are_broken(tmp_path: Path) -> None:
    file = tmp_path / "k.hpp"
    file.write_text("void f() {\n    wait(ring.full(),\n         ring.parity);\n    next();\n}\n")
    replace_once(file, "wait(ring.full(), ring.parity);\n    next();", "next();")
    assert file.read_text() == "void f() {\n    next();\n}\n"


@pytest.mark.parametrize("old", ["next()", "it(a)", "wait(b)"])
def test_a_place_that_is_not_there_once_is_an_error(tmp_path: Path, old: str) -> None:
    file = tmp_path / "k.hpp"
    file.write_text("wait(a); next(); next();")
    with pytest.raises(AssertionError, match="exactly once"):
        place_of(file, old)
