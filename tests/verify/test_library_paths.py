"""Questions to a library that was opened by a relative path, after the process has changed its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.library.library import Library

PROBLEM = make_problem(k=64, c=64, filter=(3, 3), input=(8, 8), pad=1)


@pytest.mark.compiles
def test_a_launch_is_planned_by_the_library_that_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_library: Library, host_library: Library
) -> None:
    """Two libraries with the same relative path: the dynamic loader takes an equal name for an open library."""
    opened = []
    for folder, library in (("one", quick_library), ("two", host_library)):
        (tmp_path / folder).mkdir()
        shutil.copy(library.path, tmp_path / folder / "lib.so")
        monkeypatch.chdir(tmp_path / folder)
        opened.append(Library("lib.so"))
    monkeypatch.chdir(tmp_path)
    for library, known in zip(opened, (quick_library, host_library), strict=True):
        names = [name for name in known.supporting(PROBLEM) if known.instance(name).family == "xdl"]
        assert names
        for name in names:
            at = (0, 0, 0, 1 << 20)  # of in, wei, out and the workspace
            assert library.planned(name, library.describe(name, PROBLEM), at) == known.planned(
                name, known.describe(name, PROBLEM), at
            )
