"""Tests that there is one list of families: a new family needs a file, its C++ header and an entry in the list."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.families.formulas import Formulas, Value, names_in
from ckgen.families.registry import FAMILIES, FAMILIES_OF, RULES, families_with
from ckgen.instance.instance import Instance
from tests.support.specs import ROOT, instance

TWIN = """
from dataclasses import replace

from ckgen.families.mfma import XDL
from ckgen.operations.operation import BWD_WEIGHT

TWIN = replace(XDL, name="twin", header="twin", operations=(BWD_WEIGHT,))
"""
SPEC = """
version: 1
defaults: {twin: {block_size: 256}}
groups:
  - {name: one, family: twin, layout: NHWGC/GKYXC/NHWGK, dtype: f16, tile: 128x128}
"""
IMPL = "templates/include/ckgen/op/impl/bwd_weight"


def test_another_family_takes_a_file_a_header_and_its_place_in_the_list(tmp_path: Path) -> None:
    """A copy of ckgen has xdl under a second name too: its spec key, its instance, its folder, its rules."""
    for folder in ("ckgen", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ckgen/families/twin.py").write_text(TWIN)
    shutil.copy(tmp_path / f"{IMPL}_mfma.hpp", tmp_path / f"{IMPL}_twin.hpp")
    registry = tmp_path / "ckgen/families/registry.py"
    text = registry.read_text().replace("(XDL, ", "(XDL, TWIN, ")
    registry.write_text(text.replace("\nFAMILIES:", "from ckgen.families.twin import TWIN\n\nFAMILIES:", 1))
    (tmp_path / "instances.yaml").write_text(SPEC)
    words = ["explain", "family=twin"], ["generate"], ["explain", "family=twin", "tile=100x100"]
    said = [
        subprocess.run([sys.executable, "-m", "ckgen", *call], cwd=tmp_path, capture_output=True, text=True, check=True)
        for call in words
    ]
    name = "grouped_conv2d_bwd_weight_twin_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w0x4_xdl32_v8x8x8_s1"
    assert said[0].stdout.startswith(name) and "lds_stage_bytes" in said[0].stdout
    assert (tmp_path / f"generated/src/grouped_conv_bwd_weight/twin/{name}.cpp").is_file()
    assert "tile-m-waves: m_per_block 100" in said[2].stdout


def test_no_other_room_names_a_family() -> None:
    """Exceptions: `xdl` in names also means the atom, and the report's column `wavelet` compares that kind with all
    others."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sorted((ROOT / "ckgen").rglob("*.py"))
        if "families" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in FAMILIES
    ]
    assert found == []


def test_a_derived_value_may_stand_before_what_it_reads() -> None:
    formulas = Formulas((Value("area", "M x N.", "2 * side"), Value("side", "M.", "m_per_block + 1")))
    assert formulas.names == ("area", "side") and formulas.ordered(["area"]) == ("m_per_block", "side", "area")
    assert formulas.values(instance(m_per_block=4)) == {"area": 10, "side": 5}
    assert names_in("k1 if a_k_major else max(1, min(k1, b))") == ("k1", "a_k_major", "b")


def test_an_instance_has_the_derived_values_of_its_family_alone() -> None:
    xdl: Instance = instance()
    assert xdl.k_step > 0
    with pytest.raises(AttributeError, match="no instance of family xdl has warpgroups"):
        _ = xdl.warpgroups
    with pytest.raises(AttributeError):
        _ = xdl.no_such_value


def test_every_operation_has_families_and_every_rule_one() -> None:
    assert all(FAMILIES_OF.values())
    assert {family for families in FAMILIES_OF.values() for family in families} == set(FAMILIES)
    assert all(families_with(rule) for rule in RULES)
