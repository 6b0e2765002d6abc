"""The folders of templates/ are rooms: what each may include is stated here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

import pytest

from ckgen.generate.inputs import load_templates
from ckgen.paths import templates_dir

# A room may include itself and all that is below it, by whichever line. `types` are the files of include/ckgen itself;
# `plan` and `library` are host code; `device` and `instance` are paths for users, nothing but includes; a room of src/
# is above the headers that its sources belong to; `compat` has another library's include paths;
# `.` is templates/ itself, of which instances and factories are made.
ORDER = """
types < platform < atom < block < config < conv < load < epilogue < pipeline < op < library < .
conv < plan < op
library < device
library < instance
platform < src/host
plan < src/plan
op < src/kernels
op < src/op
library < src/library
device < compat
instance < compat
"""
FOR_USERS = ("device", "instance")
HEADERS = PurePosixPath("include/ckgen")
TEXTS = {name.removesuffix(".j2"): text for name, text in load_templates(templates_dir()).texts.items()}
TEXTS = {name: text for name, text in TEXTS.items() if name.removesuffix(".in").endswith((".hpp", ".h", ".cpp"))}


def room_of(file: str) -> str:
    path = PurePosixPath(file)
    if path.is_relative_to(HEADERS):
        inside = path.relative_to(HEADERS).parts
        return inside[0] if len(inside) > 1 else "types"
    return "compat" if path.parts[0] == "compat" else str(path.parent)


def includes_of(text: str) -> list[str]:
    """The files of include/ckgen that a text includes."""
    return [f"include/{found}" for found in re.findall(r'^\s*#\s*include\s*["<](ckgen/[^">]+)[">]', text, re.MULTILINE)]


def below(room: str) -> set[str]:
    """The rooms below one; KeyError where the order does not know it, ValueError where it runs in a circle."""
    arrows = [
        tuple(line.split(" < ")[at : at + 2]) for line in ORDER.strip().splitlines() for at in range(line.count("<"))
    ]
    if room not in {end for arrow in arrows for end in arrow}:
        raise KeyError(f"templates/ has a room that ORDER does not know: {room}")
    found, open_rooms = set[str](), {room}
    while open_rooms:
        open_rooms = {lower for lower, upper in arrows if upper in open_rooms} - found
        found |= open_rooms
    if room in found:
        raise ValueError(f"ORDER runs in a circle through {room}")
    return found


def arrows_upwards(texts: Mapping[str, str]) -> list[str]:
    """Each include that leaves its room for one that is not below."""
    return [
        f"{file} includes {included}"
        for file, text in texts.items()
        for included in includes_of(text)
        if room_of(included) not in {room_of(file), *below(room_of(file))}
    ]


def circle(texts: Mapping[str, str]) -> list[str]:
    """Files that include one another in a circle, if any do."""
    try:
        TopologicalSorter({file: includes_of(text) for file, text in texts.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_rooms_include_what_is_below_them() -> None:
    assert arrows_upwards(TEXTS) == []


def test_no_file_includes_itself_in_a_circle() -> None:
    assert circle(TEXTS) == []


def test_what_is_included_exists() -> None:
    there = {*TEXTS, "include/ckgen/config.h", "include/ckgen/contents.h"}  # made by CMake
    for file, text in TEXTS.items():
        missing = [included for included in includes_of(text) if "{{" not in included and included not in there]
        assert not missing, file


def test_paths_for_users_lead_to_one_header() -> None:
    paths = [file for file in TEXTS if room_of(file) in FOR_USERS]
    assert paths
    for file in paths:
        code = [line for line in TEXTS[file].splitlines() if line and not line.startswith("//")]
        assert code == ["#pragma once", f'#include "{includes_of(TEXTS[file])[0].removeprefix("include/")}"'], file


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("include/ckgen/types.hpp", "platform/platform.hpp"),
        ("include/ckgen/block/tile_copy.hpp", "conv/divider.hpp"),
        ("include/ckgen/conv/divider.hpp", "plan/problem_checks.hpp"),
        ("include/ckgen/plan/bwd_data_plan.hpp", "load/bwd_data_view.hpp"),
        ("include/ckgen/pipeline/halo/halo.hpp", "plan/problem_checks.hpp"),
        ("include/ckgen/op/planned.hpp", "device/runner.hpp"),
        ("src/plan/problem_checks.cpp", "op/runner.hpp"),
        ("src/host/runtime.cpp", "conv/problem.hpp"),
    ],
)
def test_an_arrow_upwards_is_found(file: str, included: str) -> None:
    texts = {**TEXTS, file: f'{TEXTS[file]}\n#include "ckgen/{included}"\n'}
    assert arrows_upwards(texts) == [f"{file} includes include/ckgen/{included}"]


def test_a_circle_of_files_is_found() -> None:
    file, back = "include/ckgen/block/lds_layout.hpp", '#include "ckgen/block/wave_mma.hpp"\n'
    assert set(circle({**TEXTS, file: TEXTS[file] + back})) == {file, "include/ckgen/block/wave_mma.hpp"}


def test_a_room_that_the_order_does_not_know_is_an_error() -> None:
    with pytest.raises(KeyError, match="does not know: attic"):
        arrows_upwards({**TEXTS, "include/ckgen/attic/old.hpp": '#include "ckgen/types.hpp"\n'})
