"""Copies of CK's clients and tests with small problems, because the host platform executes kernels slowly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# Upper limits of the constants of a client's copy.
SMALL = dict.fromkeys(("G", "N"), 2) | dict.fromkeys(("K", "C"), 16)
SMALL |= dict.fromkeys(("Di", "Hi", "Wi", "Do", "Ho", "Wo"), 6)
_CONSTANT = re.compile(r"(static constexpr ck::index_t (\w+)\s*= )(\d+);")
# Problems of tests: number of dimensions, G, N, K, C, filter, input; and their upper limits.
_PROBLEM = re.compile(r"(\{\s*[123], )(\d+), (\d+), (\d+), (\d+), (\{[\d, ]+\}), \{([\d, ]+)\}")
SMALL_TEST = {"G": 4, "N": 4, "K": 40, "C": 72}
SMALL_INPUT = 9


def small_copy(ck: Path, copy: Path, folders: Sequence[str]) -> Path:
    """A copy of folders of CK whose problems are small; only values of constants differ."""
    for name in folders:
        for path in filter(Path.is_file, (ck / name).rglob("*")):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".cpp":
                if "interface" not in path.name:  # those only ask what is supported
                    text = _PROBLEM.sub(_smaller_problem, text)
                text = _CONSTANT.sub(_smaller, text)
            target = copy / path.relative_to(ck)
            if not target.exists() or target.read_text(encoding="utf-8") != text:  # else a compiler would start again
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
    return copy


def _smaller(constant: re.Match[str]) -> str:
    value = int(constant[3])
    return f"{constant[1]}{min(value, SMALL.get(constant[2], value))};"


def _smaller_problem(problem: re.Match[str]) -> str:
    sizes = [min(int(size), limit) for size, limit in zip(problem.groups()[1:5], SMALL_TEST.values(), strict=True)]
    lengths = [min(int(length), SMALL_INPUT) for length in problem[7].split(", ")]
    return f"{problem[1]}{', '.join(map(str, sizes))}, {problem[6]}, {{{', '.join(map(str, lengths))}}}"
