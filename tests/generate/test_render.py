"""Tests of rendering: it is pure, deterministic and strict, and its output is formatted and states its origin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.elementwise.function import Kind, make_function
from ckgen.errors import CkgenError
from ckgen.families.registry import FAMILIES, RULES
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import Templates, input_files, load_context, load_templates
from ckgen.generate.manifest import MANIFEST_NAME, parse_manifest
from ckgen.generate.render import render_tree
from ckgen.instance.instance import BY_RULE, CONV_SPECS, TRANSPOSE, Instance, derived, primary
from ckgen.instance.rules_cpp import rule_sets
from ckgen.paths import PACKAGE, templates_dir
from ckgen.selection.measured import Candidate, MeasuredProblem, Table, TableOrigin, table_text
from tests.support import golden
from tests.support.specs import WEIGHT_LAYOUTS
from tests.support.trees import GENERIC, POINTWISE, SAMPLE, SMALL_TEMPLATES, TMA, WAVELET, XDL, contents, context

ROOT = Path(__file__).resolve().parents[2]
TREE = render_tree(SAMPLE, context(sets={"ci": [XDL.name, GENERIC.name], "default": [i.name for i in SAMPLE]}))
CLANG_FORMAT = shutil.which("clang-format", path=os.pathsep.join((str(Path(sys.executable).parent), os.defpath)))


def source_of(tree: dict[str, str], instance: Instance) -> str:
    return tree[f"src/{instance.operation}/{instance.family}/{instance.name}.cpp"]


def test_one_file_an_instance_with_named_constants() -> None:
    text = source_of(TREE, WAVELET)
    assert f"struct {WAVELET.name} {{" in text and f"CKGEN_DEFINE_INSTANCE({WAVELET.name}, BwdWeightWavelet)" in text
    assert '#include "ckgen/op/impl/bwd_weight_mfma.hpp"' in text
    assert "using Layout = layout::NHWGC_GKYXC_NHWGK;" in text and "using DataType = dtype::f16;" in text
    assert "conv_spec = ConvSpec::Filter1x1Stride1Pad0" in source_of(TREE, POINTWISE)
    assert "bool generic = true" in source_of(TREE, GENERIC) and "bool generic = false" in text
    for field, value in primary(WAVELET).items():
        left_out = field in (*BY_RULE, *TRANSPOSE, "groups_to_merge", "cluster")
        if isinstance(value, int) and not isinstance(value, bool) and not left_out:
            assert f"{field} = {value}" in text
    narrow = replace(WAVELET, a_write=4, b_write=2, a_k1=8, b_k1=2)
    text = source_of(render_tree((narrow,), context()), narrow)
    assert "a_write = 4, b_write = 2;" in text and "a_k1 = 8, b_k1 = 2;" in text and "groups_to_merge" not in text
    merged = replace(WAVELET, family="two_stage", load_waves=0, groups_to_merge=8)
    assert "groups_to_merge = 8;" in source_of(render_tree((merged,), context()), merged)
    exchanged = replace(WAVELET, conv_spec="Default", c_vector=1, exchange=True)
    text = source_of(render_tree((exchanged,), context()), exchanged)
    assert "bool exchange = true;" in text and "CKGEN_DEFINE_INSTANCE_AND_REDUCTION(" in text
    pair = replace(TMA, cluster=2)
    tree = render_tree((TMA, pair), context())
    assert "int cluster = 2;" in source_of(tree, pair) and "cluster" not in source_of(tree, TMA)


def test_every_file_names_its_template_and_the_manifest_the_command() -> None:
    tree = render_tree(SAMPLE, context(command=GenerateCommand(set="ci")))
    manifest = parse_manifest(tree[MANIFEST_NAME])
    assert manifest.origin.command == GenerateCommand(set="ci")
    assert "Do not edit; run: ckgen generate --set ci" in tree[MANIFEST_NAME]
    for path, text in tree.items():
        head = "\n".join(text.splitlines()[:2])
        assert "Do not edit; run: ckgen generate" in head, path
        assert path == MANIFEST_NAME or "--set" not in head, path
        template = "ckgen/generate/manifest.py" if path == MANIFEST_NAME else manifest.files[path].template
        assert template in head, path
        assert path == MANIFEST_NAME or (ROOT / template).is_file()


def test_copied_files_are_the_originals_behind_one_line() -> None:
    copied = {path: text for path, text in TREE.items() if text.startswith(("// Copied", "# Copied"))}
    assert len(copied) > 20
    for path, text in copied.items():
        assert text.partition("\n")[2] == (templates_dir() / path).read_text(encoding="utf-8")


def test_factories_header_registry_and_cmake_list_every_instance() -> None:
    by_function: dict[str, list[str]] = {}
    for instance in SAMPLE:
        by_function.setdefault(instance.add_function, []).append(instance.name)
    header = TREE["include/ckgen/library/grouped_convolution_backward_weight.hpp"]
    registry = TREE["src/library/registry.cpp"]
    sources = TREE["cmake/CkgenSources.cmake"]
    for function, names in by_function.items():
        path = f"src/grouped_conv_bwd_weight/factory/{function}.cpp"
        assert all(f"CKGEN_ADD_INSTANCE({name})" in TREE[path] for name in names)
        assert TREE[path].count("CKGEN_ADD_INSTANCE") == len(names)
        assert header.count(f"{function}(") == 2 and path in sources
        assert TREE[path].count("CKGEN_INSTANCE_ROW(") == len(names)
        assert registry.count(f"{function}()") == 2
    assert not any(instance.name in registry for instance in SAMPLE)
    for instance in SAMPLE:
        assert f"{instance.name}.cpp" in sources
        assert f"set(CKGEN_ARCHS_{'_'.join(instance.archs)} {' '.join(instance.archs)})" in sources


def test_rules_header_asserts_every_rule_once_for_each_kind_of_family() -> None:
    text = TREE["include/ckgen/config/rules.hpp"]
    for rule in RULES:
        kinds = sum(FAMILIES[rules.families[0]].has_rule(rule, rules.operation) for rules in rule_sets())
        assert text.count(f'"{rule.id}: {rule.sentence}"') == kinds


def test_what_is_for_nvidia_alone_is_guarded_wherever_it_is_named() -> None:
    tree = render_tree((TMA, *SAMPLE), context())
    named = {path for path, text in tree.items() if path.endswith((".cpp", ".hpp")) and "wavelet_tma_" in text}
    named -= {path for path in named if path.startswith(("include/ckgen/op/impl/", "include/ckgen/pipeline/"))}
    own = f"src/{TMA.operation}/wavelet_tma/{TMA.name}.cpp"
    factory = f"src/{TMA.operation}/factory/{TMA.add_function}.cpp"
    header = "include/ckgen/library/grouped_convolution_backward_weight.hpp"
    assert named == {own, factory, header, "src/library/registry.cpp"}
    guard = "#if defined(CKGEN_HAS_SM_90A)"
    free = {path: re.sub(re.escape(guard) + ".*?#endif", "", tree[path], flags=re.DOTALL) for path in named}
    assert free[header] != tree[header] and "wavelet_tma_" not in free[header]
    assert tree[factory].count(TMA.name) == 3 and free[factory].count(TMA.name) == 1
    assert f"        ROW({TMA.name}, " in free[factory]
    inside = tree[factory].split(guard)[1].split("#endif")[0].split("#else")
    assert "#define ROW CKGEN_INSTANCE_ROW" in inside[0] and "#define ROW CKGEN_LEFT_OUT_ROW" in inside[1]
    assert TMA.name in inside[0] and TMA.name not in inside[1]
    assert "set(CKGEN_ARCHS_sm_90a sm_90a)" in tree["cmake/CkgenSources.cmake"]
    assert not any(guard in text for text in TREE.values())


def test_manifest_tells_fields_derived_values_sets_and_sources() -> None:
    rows = {row["name"]: row for row in json.loads(TREE[MANIFEST_NAME])["instances"]}
    for instance in SAMPLE:
        row = rows[instance.name]
        assert row["fields"] == primary(instance) and row["derived"] == derived(instance)
        assert row["archs"] == list(instance.archs) and row["add_function"] == instance.add_function
        assert row["source"] in TREE
    assert rows[XDL.name]["sets"] == ["ci", "default"] and rows[WAVELET.name]["sets"] == ["default"]


def test_the_manifest_tells_the_functions_of_the_spec() -> None:
    """The function as written, one per line: names, tensors with their own properties, scalars with defaults,
    expressions."""
    kinds = (Kind(), Kind("f32", "GC"))
    own = make_function("Scaled", "e + scale * skip + bias", ("skip", "bias"), {"scale": 0.5}, kinds)
    text = render_tree(SAMPLE, replace(context(), functions=(own,)))[MANIFEST_NAME]
    assert parse_manifest(text).functions == (own,)
    assert json.loads(text)["functions"] == [
        {
            "name": "Scaled",
            "expression": "e + scale * skip + bias",
            "tensors": [
                {"name": "skip", "dtype": None, "layout": None},
                {"name": "bias", "dtype": "f32", "layout": "GC"},
            ],
            "scalars": {"scale": 0.5},
        }
    ]
    assert sum('"e + scale * skip + bias"' in line for line in text.splitlines()) == 1
    assert parse_manifest(TREE[MANIFEST_NAME]).functions == ()
    data = json.loads(text)
    data["functions"][0]["expression"] = "e +"
    with pytest.raises(CkgenError, match="is not a manifest that ckgen wrote"):
        parse_manifest(json.dumps(data))
    del data["functions"]
    assert parse_manifest(json.dumps(data)).functions is None, "a tree of before"


SCRIPT = """
import hashlib, sys
from tests.support.trees import SAMPLE, context
from ckgen.generate.render import render_tree
tree = render_tree(SAMPLE, context(sets={"b": [SAMPLE[0].name], "a": [SAMPLE[0].name]}))
print(hashlib.sha256(repr(list(tree.items())).encode()).hexdigest())
"""


def test_output_does_not_depend_on_hash_seed_locale_folder_or_time_zone(tmp_path: Path) -> None:
    worlds = [
        {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "4711", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONUTF8": "0"},
    ]
    digests = set()
    for index, world in enumerate(worlds):
        folder = tmp_path / str(index)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=folder,
            env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), **world},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_files_end_with_one_newline_and_have_no_trailing_blanks() -> None:
    for path, text in TREE.items():
        assert text.endswith("\n") and not text.endswith("\n\n"), path
        assert "\r" not in text and "\t" not in text, path
        assert all(line == line.rstrip() for line in text.splitlines()), path


def format_complaints(texts: dict[str, str], folder: Path) -> str:
    assert CLANG_FORMAT is not None, "clang-format is a development dependency: pip install clang-format"
    shutil.copy(ROOT / ".clang-format", folder)
    paths = []
    for number, text in enumerate(texts.values()):
        paths.append(folder / f"{number}.cpp")
        paths[-1].write_text(text, encoding="utf-8")
    done = subprocess.run(
        [CLANG_FORMAT, "--dry-run", "-Werror", *map(str, paths)], capture_output=True, text=True, check=False
    )
    return done.stderr


def test_rendered_sources_are_clang_format_clean(tmp_path: Path) -> None:
    rendered = {path: text for path, text in TREE.items() if text.startswith("// Generated")}
    assert len(rendered) > len(SAMPLE)
    assert format_complaints(rendered, tmp_path) == ""


@settings(max_examples=15)
@given(
    layout=st.sampled_from(WEIGHT_LAYOUTS),
    dtype=st.sampled_from(["f16", "bf16_f32_bf16"]),
    spec=st.sampled_from(sorted(CONV_SPECS)),
    size=st.sampled_from([8, 16, 256, 1024]),
    generic=st.booleans(),
)
def test_instances_of_any_name_length_are_short_and_clean(
    tmp_path_factory: pytest.TempPathFactory, layout: str, dtype: str, spec: str, size: int, generic: bool
) -> None:
    instance = replace(XDL, layout=layout, dtype=dtype, conv_spec=spec, generic=generic)
    instance = replace(instance, m_per_block=size, n_per_block=size)
    text = source_of(render_tree([instance], context()), instance)
    assert len(text.splitlines()) <= 25
    assert format_complaints({"x": text}, tmp_path_factory.mktemp("format")) == ""


def test_an_empty_catalogue_is_an_error() -> None:
    with pytest.raises(CkgenError, match="empty-catalogue"):
        render_tree([], context())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "instance.cpp.j2",
            "line one\n{{ i.no_such_field }}\n",
            r"templates/instance.cpp.j2:2: .*no_such_field",
        ),
        ("instance.cpp.j2", "{{ misspelt }}\n", r"templates/instance.cpp.j2:1: 'misspelt' is undefined"),
        ("instance.cpp.j2", "{{ 1 if i.stages else 0 }}\n", r"templates/instance.cpp.j2:1: .* only print the numbers"),
        ("instance.cpp.j2", "\n{{ i.stages == 2 }}\n", r"templates/instance.cpp.j2:2: .* only print the numbers"),
        ("instance.cpp.j2", "{{ i.stages + 1 }}\n", r"templates/instance.cpp.j2:1: unsupported operand"),
        ("src/x.cpp.j2", "one\ntwo {% if %}\n", r"templates/src/x.cpp.j2:2: "),
        ("logo.png", "", "no comment syntax that ckgen knows"),
        ("src/x.cpp.j2", "", "both make src/x.cpp"),
    ],
)
def test_template_mistakes_name_file_and_line(name: str, text: str, message: str) -> None:
    templates = Templates({**SMALL_TEMPLATES.texts, "src/x.cpp": "", name: text})
    with pytest.raises(CkgenError, match=message):
        render_tree([XDL], context(templates))


def test_two_instances_with_one_name_are_an_error() -> None:
    with pytest.raises(CkgenError, match="both make"):
        render_tree([XDL, XDL], context())


def test_a_table_puts_what_the_tree_holds_of_it_into_the_tree() -> None:
    """Problems without an instance in the tree are omitted."""
    rows = (
        MeasuredProblem("G1 N32 K8 C8 1x1 on 9x8 s1 p0", "f16", XDL.layout, (Candidate(TMA.name, 2, 1.5),)),
        MeasuredProblem(
            "G2 N32 K8 C8 3x3 on 9x8 s2x1 p1:0x2",
            "f16",
            XDL.layout,
            (Candidate(TMA.name, 2, 1.5), Candidate(XDL.name, 4, 2.5)),
        ),
    )
    origin = TableOrigin({}, "", "", "", "", "", "", "", "")
    table = Table("grouped_conv_bwd_weight", "sm_90a", origin, rows)
    with_table = replace(context(), tables={table.file_name: table_text(table)})
    tree = render_tree((WAVELET, XDL), with_table)
    text = tree["src/library/measured.cpp"]
    numbers = "2, 2, 32, 8, 8, {3, 3}, {9, 8}, {2, 1}, {1, 1}, {1, 1}, {0, 2}"
    row = f'    {{"grouped_conv_bwd_weight", "sm_90a", "{XDL.layout}", "f16", false, {numbers}, {{\n'
    candidate = f"        {{{XDL.name}, 4, 2.5f}},\n    }}}},\n}};"
    assert f"    // G2 N32 K8 C8 3x3 on 9x8 s2x1 p1:0x2\n{row}{candidate}" in text
    assert f"enum Position {{\n    {XDL.name},\n}};" in text and WAVELET.name not in text
    assert "1x1 on 9x8" not in text
    assert "Position" not in render_tree((WAVELET, XDL), context())["src/library/measured.cpp"]


def test_templates_are_read_with_unix_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    assert load_templates(tmp_path).texts == {"a.txt": "one\ntwo\n"}


def test_context_of_this_installation() -> None:
    loaded = load_context(GenerateCommand(), "text", {})
    assert "instance.cpp.j2" in loaded.templates.texts
    assert loaded.spec_sha256 != load_context(GenerateCommand(), "other", {}).spec_sha256
    files = input_files()
    assert {PACKAGE / "generate/render.py", templates_dir() / "instance.cpp.j2", templates_dir() / "cmake"} <= set(
        files
    )


@pytest.mark.parametrize("case", golden.cases())
def test_golden_trees(case: str) -> None:
    """`python -m tests.support.golden` rewrites the expected trees."""
    expected = contents(golden.FOLDER / case / "expected")
    found = golden.rendered(case)
    assert sorted(found) == sorted(expected)
    for path, text in expected.items():
        assert found[path] == text, f"{case}/expected/{path}"


def test_golden_trees_are_clang_format_clean(tmp_path: Path) -> None:
    for case in golden.cases():
        sources = {path: text for path, text in golden.rendered(case).items() if path.endswith((".cpp", ".hpp"))}
        assert format_complaints(sources, tmp_path) == ""
