"""Tests of instances in C++: the same derived values as in Python, and the same rules with the same names."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.families.registry import FAMILIES
from ckgen.generate.command import GenerateCommand
from ckgen.generate.inputs import load_context
from ckgen.generate.render import render_tree
from ckgen.hardware.archs import find_arch
from ckgen.instance.derived_cpp import to_cpp
from ckgen.instance.instance import Instance, derived
from ckgen.instance.rules_cpp import CppRule, cpp_conditions, rule_sets
from ckgen.operations.operation import BWD_DATA, OPERATIONS
from tests.instance.test_checker import EXAMPLES, example

pytestmark = pytest.mark.compiles

LAYOUT = "NHWGC/GKYXC/NHWGK"
XDL = Instance("xdl", LAYOUT, "f16", "Default", 128, 128, 32, 32, 0, 4, 8, 8, 8, 1)
WAVELET = Instance("wavelet", LAYOUT, "f16", "Default", 128, 128, 32, 32, 4, 4, 4, 4, 2, 2)

TMA = Instance("wavelet_tma", LAYOUT, "f16", "Default", 128, 256, 64, 64, 2, 4, 8, 8, 2, 4)
HALO = Instance("halo", LAYOUT, "f16", "Default", 32, 32, 32, 16, 2, 4, 8, 8, 4, 6)
WGMMA = Instance("halo", LAYOUT, "f16", "Default", 40, 64, 16, 64, 2, 6, 8, 8, 4, 6)

BWD_DATA_LAYOUT = "NHWGK/GKYXC/NHWGC"
DATA = replace(XDL, operation=BWD_DATA, layout=BWD_DATA_LAYOUT)
HALO_DATA = replace(HALO, operation=BWD_DATA, layout=BWD_DATA_LAYOUT, k_per_block=64, c_vector=8)
TMA_DATA = replace(TMA, operation=BWD_DATA, layout=BWD_DATA_LAYOUT, b_vector=8, c_vector=8)
STATIONARY = replace(TMA_DATA, family="stationary", m_per_block=64)

SOUND = {
    "xdl": XDL,
    "wavelet": WAVELET,
    "wavelet_tma": TMA,
    "halo": HALO,
    "halo-wgmma": WGMMA,
    "bwd_data": DATA,
    "bwd_data-wavelet_tma": TMA_DATA,
    "bwd_data-stationary": STATIONARY,
    "bwd_data-halo": HALO_DATA,
}
CHECKED = '#include "ckgen/config/checked.hpp"\n'


def derived_of(instance: Instance, struct: str) -> str:
    """The C++ type of an instance's derived values over its struct."""
    operation = f"ckgen::operations::{OPERATIONS[instance.operation].cpp}"
    return f"ckgen::{FAMILIES[instance.family].struct}Derived<{struct}, {operation}>"


def prefix_of(instance: Instance) -> str:
    """The prefix of the C++ structs of an instance's rules and derived values."""
    sets = (rules for rules in rule_sets() if rules.operation == instance.operation)
    return next(rules.prefix for rules in sets if instance.family in rules.families)


def cpp_struct(name: str, i: Instance) -> str:
    return f"""struct {name} {{
        using Layout = ckgen::layout::{i.layout_tag};
        using DataType = ckgen::dtype::{i.dtype};
        static constexpr ckgen::ConvSpec conv_spec = ckgen::ConvSpec::{i.conv_spec};
        static constexpr int m_per_block = {i.m_per_block}, n_per_block = {i.n_per_block};
        static constexpr int k_per_block = {i.k_per_block}, m_per_xdl = {i.m_per_xdl};
        static constexpr int load_waves = {i.load_waves}, math_waves = {i.math_waves}, stages = {i.stages};
        static constexpr int a_vector = {i.a_vector}, b_vector = {i.b_vector}, c_vector = {i.c_vector};
        static constexpr int a_write = {i.a_write}, b_write = {i.b_write}, a_k1 = {i.a_k1}, b_k1 = {i.b_k1};
        static constexpr int pipeline_version = {i.pipeline_version};
        static constexpr bool interwave = {str(i.interwave).lower()};
        static constexpr int groups_to_merge = {i.groups_to_merge};
        static constexpr bool exchange = {str(i.exchange).lower()};
        static constexpr int cluster = {i.cluster};
        static constexpr int transpose_dst = {i.transpose_dst}, transpose_vector = {i.transpose_vector};
        static constexpr int transpose_lds = {i.transpose_lds};
        static constexpr bool generic = {str(i.generic).lower()};
    }};"""


@pytest.fixture(scope="module")
def include(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for path, text in render_tree((XDL,), load_context(GenerateCommand(), "", {})).items():
        if path.startswith("include/"):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
    return tree / "include"


def syntax_check(include: Path, text: str) -> str:
    """The output of g++ for a translation unit; empty if it compiles."""
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{include}", "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


def test_the_translation_keeps_values(include: Path) -> None:
    """The header's expressions are translations of those in ckgen/families; some instances of every family confirm
    this."""
    narrow = replace(XDL, dtype="f32", m_per_block=256, n_per_block=64, k_per_block=16, math_waves=2, b_vector=4)
    parts = [CHECKED]
    for number, instance in enumerate(
        (*SOUND.values(), narrow, replace(narrow, operation=BWD_DATA, layout=BWD_DATA_LAYOUT))
    ):
        parts.append(f"{cpp_struct(f'C{number}', instance)}\nusing D{number} = {derived_of(instance, f'C{number}')};")
        for name, value in derived(instance).items():
            parts.append(f'static_assert(D{number}::{name} == {value}, "{name} of {instance.name}");')
    assert syntax_check(include, "\n".join(parts)) == ""


def test_operators_keep_their_order_in_cpp() -> None:
    assert to_cpp("(a + b) * c // (d // e)") == "(a + b) * c / (d / e)"
    assert to_cpp("a - (b - 1)") == "a - (b - 1)"
    assert to_cpp("max(a, 1) if b > 2 and c else 0") == "((b > 2 && c) ? max_of(a, 1) : 0)"


def test_a_wrong_derived_value_would_be_seen(include: Path) -> None:
    text = f'#include "ckgen/config/layout.hpp"\n#include "ckgen/config/derived.hpp"\n{cpp_struct("C", XDL)}\n'
    message = syntax_check(include, f'{text}static_assert({derived_of(XDL, "C")}::k1 == 4, "k1");')
    assert "static assertion failed: k1" in message


@pytest.mark.parametrize("rule", cpp_conditions(), ids=lambda rule: rule.id)
def test_header_refuses_what_the_generator_refuses(include: Path, rule: CppRule) -> None:
    """test_checker.py shows that the generator refuses the same instances."""
    instance = example(rule.id)
    text = f"{CHECKED}{cpp_struct('C', instance)}\n"
    prefix = prefix_of(instance)
    if rule.scope == "arch":
        arch = EXAMPLES["rules"][rule.id]["arch"]
        has_atom = FAMILIES[instance.family].has_atom(instance, arch)
        target = f"{find_arch(arch).lds_limit}, {str(has_atom).lower()}"
        text += f"template struct ckgen::{prefix}ArchRules<{derived_of(instance, 'C')}, {target}>;"
    else:
        text += f"template struct ckgen::{prefix}Rules<{derived_of(instance, 'C')}>;"
    assert f"static assertion failed: {rule.id}: {rule.sentence}" in syntax_check(include, text)


@pytest.mark.parametrize("instance", SOUND.values(), ids=SOUND)
def test_sound_instances_pass(include: Path, instance: Instance) -> None:
    prefix = prefix_of(instance)
    checked = f"{prefix}Rules<{derived_of(instance, 'C')}>" if prefix.startswith("BwdData") else f"Checked{prefix}<C>"
    text = f"{CHECKED}{cpp_struct('C', instance)}\ntemplate struct ckgen::{checked};"
    assert syntax_check(include, text) == ""


def test_what_needs_more_than_hopper_has_is_refused(include: Path) -> None:
    """Instances of family wavelet_tma are for one architecture, so the header knows its limits."""
    text = f"{CHECKED}{cpp_struct('C', replace(TMA, stages=5))}\ntemplate struct ckgen::CheckedBwdWeightTma<C>;"
    assert "static assertion failed: lds-bytes: " in syntax_check(include, text)


def test_an_instance_may_leave_out_its_cluster(include: Path) -> None:
    """It is then 1, as for families that do not have the key."""
    bare = cpp_struct("C", TMA).replace("        static constexpr int cluster = 1;\n", "")
    pair = cpp_struct("P", replace(TMA, cluster=2))
    text = f"""{CHECKED}{bare}\n{pair}
        static_assert(ckgen::kCluster<C> == 1 && ckgen::kCluster<{derived_of(TMA, "C")}> == 1);
        static_assert(ckgen::kCluster<{derived_of(TMA, "P")}> == 2);
        template struct ckgen::CheckedBwdWeightTma<C>;
        template struct ckgen::CheckedBwdWeightTma<P>;"""
    assert "cluster" not in bare and syntax_check(include, text) == ""
    four = f"{CHECKED}{cpp_struct('C', replace(TMA, cluster=4))}\ntemplate struct ckgen::CheckedBwdWeightTma<C>;"
    assert "static assertion failed: tma-cluster: " in syntax_check(include, four)


def test_a_file_of_several_families_keeps_each_instances_own(include: Path, tmp_path: Path) -> None:
    """Unity builds include families one after another, and may return to an earlier one, in one translation unit."""
    (tmp_path / "ckgen").mkdir()
    (tmp_path / "ckgen" / "config.h").write_text("#define CKGEN_PLATFORM_HOST 1\n")
    lines = []
    for number, instance in enumerate((WAVELET, XDL, WAVELET)):
        lines.append('#include "ckgen/op/impl/bwd_weight_mfma.hpp"')
        lines.append("namespace ckgen::instances {")
        lines.append(
            cpp_struct(f"C{number}", instance).replace("{\n", '{\n static constexpr const char* name = "c";\n', 1)
        )
        lines.append(f"CKGEN_DEFINE_INSTANCE(C{number}, BwdWeight{instance.family.capitalize()})\n}}")
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{include}", f"-I{tmp_path}", "-x", "c++", "-"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
