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

ROOT = Path(__file__).resolve().parents[2]
LOADED = load(ROOT / "instances.yaml")
FUNCTIONS = LOADED.expansion.spec.own_functions
# Files that list instances or factories of the whole tree, with one line or block each.
LISTS = {
    *("cmake/CkgenSources.cmake", "src/library/measured.cpp", "src/library/registry.cpp"),
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


@pytest.mark.parametrize("at", [0, 40, 90])
def test_another_instance_adds_its_own_lines_and_files(at: int, whole: dict[str, str]) -> None:
    instances = chosen()
    added = instances[at]
    before = tree_of(instances[:at] + instances[at + 1 :])
    new = whole.keys() - before.keys()
    factory = f"src/{added.operation}/factory/{added.add_function}.cpp"
    assert not before.keys() - whole.keys()
    assert any(path.endswith(f"/{added.name}.cpp") for path in new)
    assert all(added.name in path or path == factory for path in new)
    allowed = LISTS if factory in new else {*LISTS, factory} - {path for path in LISTS if path.startswith("include/")}
    found = changed(before, whole)
    assert {"src/library/registry.cpp", "src/library/measured.cpp", "cmake/CkgenSources.cmake"} <= found <= allowed
    for path in found - {factory}:
        assert all(line[0] == "+" for line in differences(before[path], whole[path])), path
    assert len(differences(before["src/library/registry.cpp"], whole["src/library/registry.cpp"])) == 2


@pytest.mark.parametrize("text", ["dtype=f16", "family=wavelet", "operation=grouped_conv_bwd_weight"])
def test_a_filter_leaves_the_bytes_of_every_file_that_stays(text: str, whole: dict[str, str]) -> None:
    part = tree_of(chosen(text), GenerateCommand(filters=(text,)))
    assert not part.keys() - whole.keys()
    factories = {path for path in whole if "/factory/" in path}
    assert changed(part, whole) <= {*LISTS, *factories, "CMakeLists.txt"}, "the last lists operations"
    for path in LISTS - {"cmake/CkgenSources.cmake"}:  # this file lists operations and architectures in one line
        assert all(line[0] == "+" for line in differences(part[path], whole[path])), path


def test_no_file_but_the_manifest_knows_the_command(whole: dict[str, str]) -> None:
    assert tree_of(chosen(), GenerateCommand(set="ci", out="elsewhere")) == whole
