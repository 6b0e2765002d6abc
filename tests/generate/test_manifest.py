"""Tests of damaged or forged manifests: one error that says how to continue, and no file of the user is lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckgen.cli import main
from ckgen.errors import MAX_TEXT, CkgenError
from ckgen.generate import writer
from ckgen.generate.manifest import _SEAL, MANIFEST_NAME, digest, load_manifest, parse_manifest
from ckgen.text.shape import misfit
from tests.support.trees import contents, small_tree

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def sealed(data: dict[str, Any]) -> str:
    """The text of a manifest with a valid digest, as anybody could make it."""
    body = json.dumps({key: value for key, value in data.items() if key != "sha256"})[:-1]
    return f'{body}{_SEAL}{digest(body.encode())}"\n}}\n'


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path; without the key if the value is `...`."""
    made = copy.deepcopy(data)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


OWN = [
    {
        "name": "Own",
        "expression": "e + s * d",
        "tensors": [{"name": "d", "dtype": None, "layout": None}],
        "scalars": {"s": 1.0},
    }
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The manifest of a generated tree in its own folder, with a function of the spec."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    with (tmp_path / "instances.yaml").open("a") as file:
        file.write("functions:\n  - {name: Own, expression: e + s * d, tensors: [d], scalars: {s: 1.0}}\n")
    assert main(["generate", "tile=64x64", "dtype=f16"]) == 0
    capsys.readouterr()
    data: dict[str, Any] = json.loads(Path("generated/manifest.json").read_text())
    return data


def commands(capsys: pytest.CaptureFixture[str], text: str) -> dict[str, tuple[int, str]]:
    """Exit code and standard error of each command that reads a manifest, for the given text."""
    found = {}
    for words in (["check"], ["diff", "generated"], ["generate", "--dry-run"]):
        Path("generated/manifest.json").write_text(text)
        code = main(words)
        found[words[0]] = code, capsys.readouterr().err
    return found


WRONG: dict[str, Callable[[dict[str, Any]], str]] = {
    "no JSON": lambda data: "<<<<<<< HEAD\n",
    "nested deep": lambda data: "[" * 200_000,
    "nested deep inside": lambda data: json.dumps(data)[:-1] + ', "x": ' + '{"a":' * 200_000,
    "a long number": lambda data: json.dumps(data)[:-1] + f', "x": {"9" * 5000}}}',
    "a list": lambda data: "[]",
    "another version": lambda data: json.dumps({**data, "schema_version": 99}),
    "a version that is text": lambda data: json.dumps({**data, "schema_version": "1"}),
    "files is a list": lambda data: json.dumps({**data, "files": []}),
    "a file is text": lambda data: json.dumps({**data, "files": {"a": "b"}}),
    "templates is text": lambda data: json.dumps({**data, "templates": "x"}),
    "an instance is a number": lambda data: json.dumps({**data, "instances": [5]}),
    "sets of maps": lambda data: json.dumps(changed(data, ("instances", 0, "sets"), [{}])),
    "a scalar is text": lambda data: json.dumps({**data, "functions": changed(OWN, (0, "scalars", "s"), "x")}),
    "a tensor is a number": lambda data: json.dumps({**data, "functions": changed(OWN, (0, "tensors", 0), 5)}),
    "the expression is wrong": lambda data: json.dumps({**data, "functions": changed(OWN, (0, "expression"), "e +")}),
}
WRONG_COMMANDS = [5, None, [], {}, {"set": "default", "filters": "f16", "out": "generated"}, {"set": 1}]
WRONG_ROWS = {
    "fields is a number": ((0, "fields"), 5),
    "a field more": ((0, "fields", "zzz"), 1),
    "a field less": ((0, "fields", "dtype"), ...),
    "an unknown layout": ((0, "fields", "layout"), "zzz"),
    "another field": ((0, "fields", "k_per_block"), 999),
    "a field that is text": ((0, "fields", "stages"), "1"),
    "an unknown name": ((0, "name"), "zzz"),
    "a long name": ((0, "name"), "grouped_conv2d_bwd_weight_xdl_" + "a" * 200_000),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_damaged_manifest_is_one_error(kind: str, tree: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = WRONG[kind](tree)
    for command, (code, said) in commands(capsys, text).items():
        assert code == 2, (command, said)
        assert said.startswith("error[manifest]: ") and "generated/manifest.json " in said and said.count("error[") == 1
        assert " = help: restore it from version control; or delete it and run `ckgen generate --out " in said
        assert len(said) < 3 * MAX_TEXT


@pytest.mark.parametrize("command", WRONG_COMMANDS)
def test_a_damaged_command_is_one_error(command: Any, tree: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for code, said in commands(capsys, json.dumps({**tree, "command": command})).values():
        assert code == 2 and said.startswith("error[manifest]: ")
        assert "generated/manifest.json is not a manifest that ckgen wrote: command" in said


def test_an_older_ckgen_recorded_its_command_as_text(tree: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The command line is not parsed; `ckgen generate` makes such a tree new."""
    text = json.dumps({**tree, "schema_version": 1, "command": "ckgen generate tile=64x64 dtype=f16"})
    found = commands(capsys, text)
    for name in ("check", "diff"):
        code, said = found[name]
        assert code == 2 and said.startswith("error[manifest]: generated/manifest.json is of an older ckgen, ")
    assert found["generate"][0] == 0
    assert main(["generate", "tile=64x64", "dtype=f16"]) == 0 and main(["check"]) == 0


def test_a_manifest_that_another_program_formatted_still_records_its_command(
    tree: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = commands(capsys, json.dumps(tree, indent=1))["check"]
    assert code == 1 and said.endswith("files drifted; run: ckgen generate tile=64x64 dtype=f16\n")


@pytest.mark.parametrize("kind", WRONG_ROWS)
def test_damaged_instances_are_one_error_where_they_are_used(
    kind: str, tree: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path, value = WRONG_ROWS[kind]
    code, said = commands(capsys, json.dumps(changed(tree, ("instances", *path), value)))["diff"]
    assert code == 2 and said.startswith("error[manifest]: ") and "--out generated" in said and len(said) < 3 * MAX_TEXT


def test_a_manifest_of_before_lacks_functions_and_the_newest_fields(
    tree: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    old = {key: value for key, value in tree.items() if key != "functions"} | {"tool_sha256": "0"}
    for at, row in enumerate(tree["instances"]):
        fields = {name: value for name, value in row["fields"].items() if name not in ("operation", "function")}
        old = changed(old, ("instances", at, "fields"), fields)
    found = commands(capsys, json.dumps(old))
    assert {name: code for name, (code, _) in found.items()} == {"check": 1, "diff": 0, "generate": 0}, found


def test_how_to_go_on_goes_on(tree: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(Path("generated"))
    Path("generated/manifest.json").write_text("{}")
    header = Path("generated/include/ckgen/types.hpp")
    header.write_text(header.read_text() + "// of another ckgen\n")
    assert main(["generate", "tile=64x64", "dtype=f16"]) == 2
    Path("generated/manifest.json").unlink()
    assert main(["generate", "tile=64x64", "dtype=f16"]) == 0
    assert contents(Path("generated")) == before


@pytest.mark.parametrize("seal", [True, False])
def test_a_manifest_that_claims_a_file_of_the_user_does_not_get_it(seal: bool, tmp_path: Path) -> None:
    """The file is neither deleted nor overwritten, even if its digest and the manifest's seal are right."""
    out = tmp_path / "generated"
    tree = small_tree(3)
    writer.apply(tree, out)
    mine = {"mine.txt": "mine", "src/mine/deep.cpp": "// Generated by me from ckgen\n"}
    data = json.loads(tree[MANIFEST_NAME])
    for path, text in mine.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text)
        data["files"][path] = {"sha256": digest(text.encode()), "template": "templates/instance.cpp.j2"}
    text = sealed(data) if seal else json.dumps(data)
    (out / MANIFEST_NAME).write_text(text)
    manifest = load_manifest(out)
    assert manifest is not None and manifest.intact is seal
    assert not {drift.path for drift in writer.check(tree, out)} & mine.keys()
    writer.apply(tree, out)
    assert contents(out) == {**tree, **mine}
    (out / MANIFEST_NAME).write_text(text)
    with pytest.raises(CkgenError, match=r"did not write where it has to write: mine\.txt"):
        writer.apply({**tree, "mine.txt": "ours\n"}, out)
    assert (out / "mine.txt").read_text() == "mine"


def test_what_is_ours_is_still_pruned(tmp_path: Path) -> None:
    out = tmp_path / "generated"
    writer.apply(small_tree(5), out)
    plan = writer.apply(small_tree(3), out)
    assert len(plan.prune) == 2 and contents(out) == small_tree(3)


def test_a_shape_names_the_place_and_what_it_is_not() -> None:
    shape = {"a": [str], "b?": {str: float}, "c": (int, None)}
    assert misfit({"a": ["x"], "c": None, "more": 1}, shape) == ""
    assert misfit({"a": ["x", 5], "c": 1}, shape) == "a[1] is not text"
    assert misfit({"a": [], "b": {"x": 1, "y": True}, "c": 1}, shape) == "b.y is not a number"
    assert misfit({"a": [], "c": 1.5}, shape) == "c is not a whole number"
    assert misfit({"c": 1}, shape) == "a is missing"
    assert misfit([], shape) == "it is not a map"


SMALL = json.loads(small_tree(2)[MANIFEST_NAME]) | {"functions": OWN}
PLACES = list(places(SMALL))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES), JSON | st.just(...))
def test_any_change_of_a_manifest_is_read_or_refused(path: tuple[Any, ...], value: Any) -> None:
    try:
        parse_manifest(json.dumps(changed(SMALL, path, value)))
    except CkgenError as error:
        assert [diagnostic.rule for diagnostic in error.diagnostics] == ["manifest"]
