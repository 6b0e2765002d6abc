"""Test toolchain: programs found, preferences among them, and messages about missing ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.toolchain import HELP, Toolchain, find_toolchain, need
from ckgen.errors import CkgenError

NOTHING = Toolchain(None, None, None, None, None, None, None, None, None)


def programs(folder: Path, *names: str) -> str:
    for name in names:
        path = folder / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return str(folder)


def test_programs_are_found_on_the_given_path(tmp_path: Path) -> None:
    tools = find_toolchain(programs(tmp_path, "g++", "hipcc", "clang++-19", "nvcc", "cmake", "ninja", "make"))
    assert tools.host_cxx == (str(tmp_path / "g++"),)
    assert tools.hipcc == (str(tmp_path / "hipcc"),)
    assert tools.clang == (str(tmp_path / "clang++-19"),)
    assert tools.nvcc == (str(tmp_path / "nvcc"),)
    assert tools.cmake == (str(tmp_path / "cmake"),)
    assert (tools.ninja, tools.make) == ((str(tmp_path / "ninja"),), (str(tmp_path / "make"),))


def test_programs_beside_python_are_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip puts cmake and ninja into a virtual environment that may not be on PATH."""
    (tmp_path / "bin").mkdir()
    programs(tmp_path / "bin", "cmake", "python")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert find_toolchain(str(tmp_path)).cmake == (str(tmp_path / "bin" / "cmake"),)


def test_gxx_comes_before_clang(tmp_path: Path) -> None:
    assert find_toolchain(programs(tmp_path, "clang++", "g++")).host_cxx == (str(tmp_path / "g++"),)


def test_device_compilers_by_architecture() -> None:
    both = replace(NOTHING, clang=("clang++-19",), zig_clang=("zig", "clang"), lld_folder="/lld")
    assert both.device_compiler("gfx942") == ("clang++-19",)
    assert both.device_compiler("gfx950") == ("zig", "clang", "-nostdinc", "-B/lld")
    assert replace(both, clang=None).device_compiler("gfx942")[0] == "zig"
    for tools in (NOTHING, replace(both, zig_clang=None), replace(both, lld_folder=None)):
        with pytest.raises(CkgenError, match="no compiler here makes device code for gfx950") as caught:
            tools.device_compiler("gfx950")
        assert caught.value.diagnostics[0].help == HELP["device"]


def test_a_missing_tool_comes_with_the_way_to_get_it() -> None:
    assert need(("cmake",), "cmake", "cmake is not here") == ("cmake",)
    with pytest.raises(CkgenError, match="hipcc is not here") as caught:
        need(None, "hipcc", "hipcc is not here")
    assert caught.value.exit_code == 2 and "apt-get install hipcc" in caught.value.diagnostics[0].help
