"""The namespace of a tree is data: one replacement renames all C++ code, and the manifest records it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckgen.cli import main
from ckgen.generate.manifest import MANIFEST_NAME, parse_manifest
from ckgen.generate.render import render_tree
from ckgen.generate.style import DEFAULT_STYLE, Style, style_of
from tests.support.trees import SAMPLE, context, in_style

OWN = re.compile(r"(?<![\w/])ckgen::|namespace ckgen\b")


def test_a_namespace_replaces_ckgen_in_all_cpp_code_and_nowhere_else() -> None:
    plain = render_tree(SAMPLE, context())
    named = render_tree(SAMPLE, in_style(Style("deep")))
    assert named.keys() == plain.keys()
    assert not [path for path, text in named.items() if path != MANIFEST_NAME and OWN.search(text)]
    back = {path: re.sub(r"\bdeep(?=::)|(?<=namespace )deep\b", "ckgen", text) for path, text in named.items()}
    assert [path for path in plain if path != MANIFEST_NAME and back[path] != plain[path]] == []
    assert sum(text.count("deep::") for text in named.values()) > 300


def test_the_manifest_records_a_style_and_omits_the_default() -> None:
    text = render_tree(SAMPLE, in_style(Style("deep")))[MANIFEST_NAME]
    assert parse_manifest(text).origin.command.style == Style("deep")
    assert parse_manifest(render_tree(SAMPLE, context())[MANIFEST_NAME]).origin.command.style == DEFAULT_STYLE


@pytest.mark.parametrize(
    "name",
    ["", "a b", "1a", "a::b", "std", "naïve", "namespace", "linux", "NULL", "errno", "assert", "main", "a__b", "_A"],
)
def test_a_name_that_cpp_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="namespace"):
        Style(name)


def test_compat_implies_its_namespace_and_excludes_others() -> None:
    assert style_of(None, "ck") == Style("ck", "ck")
    assert style_of("ck", None).compat == ""
    with pytest.raises(ValueError, match="use the namespace ck, not deep"):
        style_of("deep", "ck")


def test_check_uses_the_recorded_style(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "tree")
    assert main(["generate", "generic=true", "dtype=f32", "--namespace", "deep", "--out", out]) == 0
    assert main(["check", "--out", out]) == 0
    assert main(["check", "generic=true", "dtype=f32", "--out", out]) == 0
    header = tmp_path / "tree" / "include/ckgen/types.hpp"
    header.write_text(header.read_text(encoding="utf-8").replace("deep", "ckgen"), encoding="utf-8")
    assert main(["check", "--out", out]) == 1
    assert "include/ckgen/types.hpp: changed (hand edit)" in capsys.readouterr().out


def test_generate_refuses_two_namespaces(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--namespace", "deep", "--compat", "ck", "--list-inputs"]) == 2
    assert "use the namespace ck, not deep" in capsys.readouterr().err
