"""The size budgets: this repository keeps them, and the check finds each kind of excess."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check_budgets.py"


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_repository_keeps_its_budgets() -> None:
    assert check(ROOT) == (0, "size budgets: all kept\n")


@pytest.mark.parametrize(
    ("path", "line", "limit", "kind"),
    [
        ("ckgen/deep/big.py", "x = 1\n", 300, "module"),
        ("templates/a/big.hpp.j2", "x\n", 60, "template"),
        ("templates/include/ckgen/big.hpp", "// x\n", 400, "header"),
        ("generated/src/op/xdl/grouped_conv2d.cpp", "// x\n", 25, "generated instance"),
    ],
)
def test_finds_a_file_that_is_too_long(tmp_path: Path, path: str, line: str, limit: int, kind: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(line * limit)
    assert check(tmp_path)[0] == 0
    file.write_text(line * (limit + 1))
    assert check(tmp_path) == (1, f"{path}: {limit + 1} lines, a {kind} may have {limit}\n")


def test_finds_a_function_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "ckgen").mkdir()
    file = tmp_path / "ckgen" / "long.py"
    file.write_text("class A:\n    def f(self):\n" + "        x = 1\n" * 39)
    assert check(tmp_path)[0] == 0
    file.write_text("class A:\n    async def f(self):\n" + "        x = 1\n" * 40)
    assert check(tmp_path) == (1, "ckgen/long.py:2: f has 41 lines, a function may have 40\n")
