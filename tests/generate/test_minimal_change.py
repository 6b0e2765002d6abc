"""Tests that files change only if their instances changed: another instance adds lines, another FILTER removes some."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from ckgen.cli.common.selection import load
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.manifest import MANIFEST_NAME
from ckgen.generate.render import render_tree
from ckgen.instance.filters import filtered
from ckgen.instance.instance import Instance
from ckgen.selection.measured import load_texts

ROOT = Path(__file__).resolve().parents[2]
LOADED = load(ROOT / "instances.yaml")
FUNCTIONS = LOADED.expansion.spec.own_functions
SOURCES, MEASURED = "cmake/CkgenSources.cmake", "src/library/measured.cpp"
TIMES = "src/library/times.cpp"  # a row for each operation, family and data type
# Files that list sources, measured instances or factories of the whole tree, with one line or block each.
LISTS = {
    *(SOURCES, MEASURED, TIMES, "src/library/registry.cpp"),
    *(f"include/ckgen/library/grouped_convolution_backward_{kind}.hpp" for kind in ("weight", "data")),
}


def chosen(*filters: str) -> tuple[Instance, ...]:
    expansion = LOADED.expansion
    return filtered(expansion.instances, ("set=ci", *filters), sets=expansion.sets)


def tree_of(instances: tuple[Instance, ...], command: GenerateCommand | None = None) -> dict[str, str]:
    context = load_context(command or GenerateCommand(), LOADED.text, LOADED.expansion.sets, FUNCTIONS)
    tree = render_tree(instances, context)
    del tree[MANIFEST_NAME]
    return tree


def changed(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {path for path in one.keys() & other.keys() if one[path] != other[path]}


def differences(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    return tree_of(chosen())


def kind_of(instance: Instance) -> tuple[str, str, str]:
    return instance.operation, instance.family, instance.dtype


@pytest.mark.parametrize("at", range(0, 110, 9))
def test_another_instance_changes_its_factory_and_the_list_of_sources_only(at: int, whole: dict[str, str]) -> None:
    """Exactly these paths change, beside the manifest: its source is new, its factory has one more row (or is new, and
    then listed), and so has the list of sources for CMake. The tables of measured rows change if they name it."""
    instances = chosen()
    added = instances[at]
    before = tree_of(instances[:at] + instances[at + 1 :])
    new = {f"src/{added.operation}/{added.family}/{added.name}.cpp"}
    factory = f"src/{added.operation}/factory/{added.add_function}.cpp"
    expected = {SOURCES, factory}
    if factory not in before:
        kind = added.operation.removeprefix("grouped_conv_bwd_")
        header = f"include/ckgen/library/grouped_convolution_backward_{kind}.hpp"
        new, expected = {*new, factory}, {SOURCES, header, "src/library/registry.cpp"}
    if any(f'"{added.name}"' in text for text in load_texts().values()):
        expected.add(MEASURED)
    if kind_of(added) not in map(kind_of, (*instances[:at], *instances[at + 1 :])):
        expected.add(TIMES)
    assert not before.keys() - whole.keys()
    assert whole.keys() - before.keys() == new
    assert changed(before, whole) == expected
    for path in expected:
        assert all(line[0] == "+" for line in differences(before[path], whole[path])), path


@pytest.mark.parametrize("text", ["dtype=f16", "family=wavelet", "operation=grouped_conv_bwd_weight"])
def test_a_filter_leaves_the_bytes_of_every_file_that_stays(text: str, whole: dict[str, str]) -> None:
    part = tree_of(chosen(text), GenerateCommand(filters=(text,)))
    assert not part.keys() - whole.keys()
    factories = {path for path in whole if "/factory/" in path}
    assert changed(part, whole) <= {*LISTS, *factories, "CMakeLists.txt"}, "the last lists operations"
    for path in LISTS - {SOURCES}:  # this file lists operations and architectures in one line
        assert all(line[0] == "+" for line in differences(part[path], whole[path])), path


def test_no_file_but_the_manifest_knows_the_command(whole: dict[str, str]) -> None:
    assert tree_of(chosen(), GenerateCommand(set="ci", out="elsewhere")) == whole
