"""docs/backward_data.md: its worked examples and tables match the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckgen.conv.problem import make_problem
from ckgen.conv.sub_gemms import Axis, decompose, split_axis
from ckgen.elementwise.function import BUILTINS
from ckgen.elementwise.language import FUNCTIONS, MAX_CHARACTERS, MAX_DEPTH
from ckgen.spec.functions import FunctionEntry, check_functions
from ckgen.text.source import loads

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "backward_data.md").read_text(encoding="utf-8")


def rows_of(axis: Axis) -> list[str]:
    def text(numbers: object) -> str:
        return " ".join(map(str, numbers))  # type: ignore[call-overload]

    rows = [
        f"| {one.taps.start} | {text(one.positions)} | {text(one.taps)} | {one.origin} | {one.shift} |"
        for one in axis.classes
    ]
    return rows + [f"| none | {text(gap)} | | | |" for gap in axis.without_taps]


@pytest.mark.parametrize(
    ("title", "sizes"),
    [("**Stride 2, dilation 1**", (7, 3, 2, 1, 1)), ("**Stride 4, dilation 2**", (9, 3, 4, 2, 0))],
)
def test_worked_examples_are_what_the_code_gives(title: str, sizes: tuple[int, ...]) -> None:
    section = PAGE.split(title)[1].split("\n\n")[1]
    assert section.splitlines()[2:] == rows_of(split_axis(*sizes))


def test_the_sub_gemms_of_the_example_are_what_the_code_gives() -> None:
    problem = make_problem(batch=8, k=64, c=32, filter=(3, 3), input=(7, 7), stride=2, pad=1)
    expected = [
        "| first taps {} | {} | {} | {} |".format(
            ", ".join(str(axis.taps.start) for axis in sub.axes), *sub.gemm(problem)
        )
        for sub in decompose(problem).sub_gemms
    ]
    assert re.findall(r"^\| first taps .*$", PAGE, re.MULTILINE) == expected
    assert f"{8 * 49} x 32 x {64 * 9}" in PAGE


def test_the_language_is_complete() -> None:
    grammar = next(line for line in PAGE.splitlines() if line.startswith("    function   ="))
    assert re.findall(r"(\w+)\(", grammar) == list(FUNCTIONS)
    assert f"At most {MAX_CHARACTERS} characters and {MAX_DEPTH} levels" in PAGE
    for name, function in BUILTINS.items():
        defaults = ", ".join(f"{scalar} {value:g}" for scalar, value in function.scalars)
        assert f"| {name} | `{function.text}` | {defaults} |".replace("|  |", "| |") in PAGE


def test_the_example_entry_is_right() -> None:
    block = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    document = loads(block[1])
    entries = [FunctionEntry.model_validate(entry) for entry in document.root.plain()["functions"]]
    functions, problems = check_functions(document, entries, ("functions",))
    assert not problems
    assert functions[0].text == "e + scale * skip"
