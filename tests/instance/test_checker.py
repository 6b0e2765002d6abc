"""Tests of rules: an example breaks each rule, the catalogue satisfies all, and conditions mean the same in Python and
C++.
"""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import Any

import pytest
import yaml

from ckgen.conv.dtypes import DTYPES
from ckgen.families.formulas import names_in
from ckgen.families.registry import FAMILIES, RULES, families_with
from ckgen.families.rule import Rule
from ckgen.hardware.archs import ARCHES, MATRIX_ARCHES, NVIDIA_ARCHES, WMMA_ARCHES
from ckgen.instance.checker import ARCH_NAMES, LAYOUT_NAMES, Checker
from ckgen.instance.instance import FIELD_NAMES, Instance
from ckgen.instance.rules_cpp import cpp_conditions, rule_sets
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT
from ckgen.spec.models import AXES, Group
from tests.support.specs import DATA, default_expansion, instance

EXAMPLES: dict[str, Any] = yaml.safe_load((DATA / "rule_violations.yaml").read_text(encoding="utf-8"))
CHECKER = Checker()


def example(rule: str) -> Instance:
    found = next(other for other in RULES if other.id == rule)
    family = families_with(found)[0]
    kind = {"xdl": "base", "wavelet_tma": "tma_base"}.get(family, f"{family}_base")
    if found.operations == (BWD_DATA,) and kind != "stationary_base":
        kind = kind.replace("base", "bwd_data_base")
    base = EXAMPLES[kind]
    return Instance(**{**base, **EXAMPLES["rules"][rule]["fields"]})


def test_the_bases_of_the_examples_keep_every_rule() -> None:
    assert CHECKER.violations(Instance(**EXAMPLES["base"]), MATRIX_ARCHES) == []
    assert CHECKER.violations(Instance(**EXAMPLES["bwd_data_base"]), MATRIX_ARCHES) == []
    assert CHECKER.violations(Instance(**EXAMPLES["tma_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["tma_bwd_data_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["stationary_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["col2im_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["streaming_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["warp_split_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["halo_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["depthwise_tma_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["depthwise_tma_bwd_data_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["depthwise_base"]), MATRIX_ARCHES) == []
    assert CHECKER.violations(Instance(**EXAMPLES["halo_bwd_data_base"]), ("sm_90a",)) == []
    assert CHECKER.violations(Instance(**EXAMPLES["wmma_base"]), WMMA_ARCHES) == []
    assert CHECKER.violations(Instance(**EXAMPLES["dl_base"]), tuple(ARCHES)) == []


def test_there_is_one_example_for_each_rule() -> None:
    assert list(EXAMPLES["rules"]) == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_an_example_breaks_its_rule_and_no_other(rule: Rule) -> None:
    entry = EXAMPLES["rules"][rule.id]
    archs = [entry["arch"]] if "arch" in entry else []
    broken = CHECKER.violations(example(rule.id), archs)
    assert {violation.rule.id for violation in broken} == {rule.id, *entry.get("also", [])}
    if rule.scope == "arch":
        assert archs, "a rule about targets needs one"
        assert CHECKER.broken(example(rule.id)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_message_has_the_numbers_filled_in(rule: Rule) -> None:
    archs = [EXAMPLES["rules"][rule.id].get("arch", "gfx90a")]
    violation = next(v for v in CHECKER.violations(example(rule.id), archs) if v.rule is rule)
    assert "{" not in violation.message + violation.help
    assert violation.message and violation.help


def test_a_removed_rule_is_noticed() -> None:
    """A checker without a rule accepts that rule's example, so every rule has an effect."""
    for rule in RULES:
        entry = EXAMPLES["rules"][rule.id]
        without = Checker([other for other in RULES if other is not rule])
        archs = [entry["arch"]] if "arch" in entry else []
        left = {violation.rule.id for violation in without.violations(example(rule.id), archs)}
        assert rule.id not in left


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_complete_and_in_words(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
    assert rule.scope in ("domain", "tile", "instance", "arch")
    assert rule.reason.endswith(".")
    assert '"' not in rule.sentence and "\\" not in rule.sentence, "it becomes a C++ string"
    assert rule.blame and set(rule.blame) <= {*AXES, "archs", *Group.model_fields}


def test_rules_have_unique_ids() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_condition_reads_the_same_in_python_and_cpp(rule: Rule) -> None:
    """No chained comparison, floor division or power; `not` before single names only; & in parentheses."""
    of_families = set.intersection(*(set(FAMILIES[family].formulas.names) for family in families_with(rule)))
    known = {*FIELD_NAMES, *of_families, "pointwise", *LAYOUT_NAMES, *ARCH_NAMES}
    assert set(names_in(rule.condition)) <= known
    for node in ast.walk(ast.parse(rule.condition, mode="eval")):
        assert not isinstance(node, ast.FloorDiv | ast.Pow | ast.Div | ast.IfExp | ast.Call | ast.BitAnd | ast.BitOr)
        if isinstance(node, ast.Compare):
            assert len(node.ops) == 1
        if isinstance(node, ast.UnaryOp):
            assert isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Name)


def test_cpp_conditions() -> None:
    rendered = {rule.id: rule for rule in cpp_conditions()}
    assert list(rendered) == [rule.id for rule in RULES]
    assert rendered["k-per-block-step"].condition == "k_per_block % k_step == 0"
    assert rendered["atom-exists"].condition == "has_atom || generic"
    assert rendered["generic-vectors"].condition.startswith("!generic || (a_vector == 1 && b_vector == 1 && ")
    assert "ConvSpec::Filter1x1Stride1Pad0" in rendered["generic-vectors"].condition
    assert rendered["tma-layout"].condition == "!D::Layout::groups_outermost"
    for rule in rendered.values():
        assert not re.search(r"\b(and|or|not|pointwise)\b|//", rule.condition)


def test_the_header_has_each_rule_where_its_families_look_for_it() -> None:
    mfma, wmma, dl, tma, warp_split, halo, depthwise, depthwise_tma, bwd_data, *more = rule_sets()
    wmma_bwd_data, dl_bwd_data, tma_bwd_data, stationary, col2im, streaming, warp_split_data, *more = more
    halo_bwd_data, depthwise_bwd_data, depthwise_tma_bwd_data = more
    of_mfma = {rule.id for rule in RULES if FAMILIES["wavelet"].has_rule(rule, BWD_WEIGHT)}
    of_bwd_data = {rule.id for rule in RULES if FAMILIES["wavelet"].has_rule(rule, BWD_DATA)}
    assert {rule.id for rule in (*bwd_data.rules, *bwd_data.arch_rules)} == of_bwd_data
    assert of_bwd_data - of_mfma == {"k1-divides", "pipeline-operation"}
    assert of_mfma - of_bwd_data == {"exchange-spec", "exchange-writes", "k1-slots"}
    for own, family in ((wmma, "wmma"), (wmma_bwd_data, "wmma"), (dl, "dl"), (dl_bwd_data, "dl")):
        wanted = {rule.id for rule in RULES if FAMILIES[family].has_rule(rule, own.operation)}
        assert {rule.id for rule in (*own.rules, *own.arch_rules)} == wanted and own.families == (family,)
    of_tma = {rule.id for rule in RULES if FAMILIES["wavelet_tma"].has_rule(rule, BWD_WEIGHT)}
    of_tma_bwd_data = {rule.id for rule in (*tma_bwd_data.rules, *tma_bwd_data.arch_rules)}
    assert of_tma_bwd_data ^ of_tma == {
        "tma-vectors",
        "tma-data-vectors",
        "tma-weight-tf32",
        "tma-exchange",
        "tma-cluster",
        "tma-shift",
    }
    assert {rule.id for rule in (*stationary.rules, *stationary.arch_rules)} ^ of_tma_bwd_data == {
        "stationary-n",
        "tma-tf32",
        "tma-f32",
        "tma-exchange",
        "tma-shift",
        "tma-half-box",
    }
    assert {rule.id for rule in (*col2im.rules, *col2im.arch_rules)} ^ of_tma_bwd_data == {
        "col2im-vectors",
        "col2im-n",
        "col2im-waves",
        "tma-half-box",
        "tma-data-vectors",
        "tma-exchange",
        "tma-shift",
    }
    of_streaming = {rule.id for rule in RULES if FAMILIES["streaming"].has_rule(rule, BWD_DATA)}
    assert {rule.id for rule in (*streaming.rules, *streaming.arch_rules)} == of_streaming
    for own in (warp_split, warp_split_data):
        wanted = {rule.id for rule in RULES if FAMILIES["warp_split"].has_rule(rule, own.operation)}
        assert {rule.id for rule in (*own.rules, *own.arch_rules)} == wanted
    assert {rule.id for rule in (*mfma.rules, *mfma.arch_rules)} == of_mfma
    assert {rule.id for rule in (*tma.rules, *tma.arch_rules)} == of_tma
    of_halo = {rule.id for rule in RULES if FAMILIES["halo"].has_rule(rule, BWD_WEIGHT)}
    of_halo_bwd_data = {rule.id for rule in (*halo_bwd_data.rules, *halo_bwd_data.arch_rules)}
    own_rules = {"halo-dtype", "halo-vectors", "halo-data-vectors", "halo-data-tile", "halo-data-waves"}
    assert of_halo_bwd_data ^ of_halo == own_rules
    assert {rule.id for rule in (*halo.rules, *halo.arch_rules)} == of_halo
    of_depthwise = {rule.id for rule in RULES if FAMILIES["depthwise"].has_rule(rule, BWD_WEIGHT)}
    assert {rule.id for rule in (*depthwise.rules, *depthwise.arch_rules)} == of_depthwise
    of_depthwise_tma = {rule.id for rule in RULES if FAMILIES["depthwise_tma"].has_rule(rule, BWD_WEIGHT)}
    assert {rule.id for rule in (*depthwise_tma.rules, *depthwise_tma.arch_rules)} == of_depthwise_tma
    of_data = {rule.id for rule in (*depthwise_tma_bwd_data.rules, *depthwise_tma_bwd_data.arch_rules)}
    assert of_data ^ of_depthwise_tma == {"depthwise-tma-registers", "depthwise-tma-data-registers"}
    assert of_depthwise & of_depthwise_tma == {"lds-bytes", "depthwise-dtype", "depthwise-spec"}
    of_data = {rule.id for rule in (*depthwise_bwd_data.rules, *depthwise_bwd_data.arch_rules)}
    assert of_data ^ of_depthwise == {"depthwise-weights"} and of_depthwise & of_mfma == {"lds-bytes"}
    assert of_mfma & of_tma == of_mfma & of_halo == {"lds-bytes"}
    assert of_halo & of_tma == {"lds-bytes", "tma-dtype", "tma-spec", "tma-atom"}
    assert {"conv_spec", "acc_registers"} <= set(tma.names) and not {"pointwise", "groups_outermost"} & set(tma.names)


def evaluate_as_cpp(condition: str, values: dict[str, int]) -> bool:
    """Evaluate the C++ text with C++'s operators and precedences translated to Python."""
    text = condition.replace("(conv_spec == ConvSpec::Filter1x1Stride1Pad0)", "pointwise")
    text = text.replace("D::Layout::", "")
    text = re.sub(r"!(\w+)", r"(not \1)", text).replace("&&", " and ").replace("||", " or ")
    return bool(eval(text, {}, values))


def test_the_cpp_text_decides_as_python_does() -> None:
    pairs = list(zip(RULES, cpp_conditions(), strict=True))
    made = [example(rule.id) for rule in RULES] + list(default_expansion().instances[::40])
    for candidate in made:
        for rule, rendered in pairs:
            if not FAMILIES[candidate.family].has_rule(rule, candidate.operation):
                continue
            values = {name: getattr(candidate, name, 1) for name in names_in(rule.condition)}
            values |= {"lds_limit": 65536, "has_atom": 0}
            assert evaluate_as_cpp(rendered.condition, values) == bool(eval(rule.condition, {}, values))


def test_only_the_first_broken_scope_is_told() -> None:
    both = instance(m_per_xdl=24, k_per_block=20)
    assert [rule.id for rule in CHECKER.broken(both)] == ["xdl-size"]
    assert [rule.id for rule in CHECKER.broken(instance(k_per_block=20))] == ["k-per-block-step"]


def test_all_broken_rules_of_a_scope_are_told() -> None:
    broken = CHECKER.broken(instance(m_per_xdl=24, stages=9, c_vector=3))
    assert [rule.id for rule in broken] == ["xdl-size", "stages-range", "c-vector"]


def test_where_instances_can_run() -> None:
    assert CHECKER.supported_archs(instance()) == MATRIX_ARCHES
    generic = instance(generic=True, a_vector=1, b_vector=1, c_vector=1)
    assert CHECKER.supported_archs(generic) == tuple(ARCHES)
    large = instance(family="wavelet", load_waves=4, k_per_block=64, stages=4, a_vector=4, b_vector=4, c_vector=2)
    assert CHECKER.supported_archs(large) == ("gfx950",)
    assert CHECKER.violations(large) == []
    assert [v.rule.id for v in CHECKER.violations(large, ("gfx90a", "gfx942"))] == ["lds-bytes"]
    nowhere = instance(family="wavelet", load_waves=4, k_per_block=128, stages=4, a_vector=4, b_vector=4, c_vector=2)
    assert [v.rule.id for v in CHECKER.violations(nowhere)] == ["lds-bytes"]


def test_where_hoppers_wavelet_can_run() -> None:
    tma = Instance(**EXAMPLES["tma_base"])
    assert CHECKER.supported_archs(tma) == CHECKER.nvidia_archs(tma) == ("sm_90a",)
    assert "sm_80" in CHECKER.nvidia_archs(instance())
    assert [v.rule.id for v in CHECKER.violations(tma, ("gfx942",))] == ["lds-bytes", "tma-atom"]
    large = Instance(**{**EXAMPLES["tma_base"], "stages": 5})
    assert large.lds_bytes == 5 * (128 + 256) * 64 * 2 + 1024 + 5 * 16
    assert [v.message for v in CHECKER.violations(large)] == ["246864 bytes of LDS, sm_90a has 232448"]


@pytest.mark.parametrize(
    "fields",
    [
        {"cluster": 3},
        {"c_vector": 1},
        {"layout": "NGCHW/GKCYX/NGKHW", "conv_spec": "Filter1x1Stride1Pad0", "c_vector": 8},
        {"dtype": "f32_comp_tf32", "k_per_block": 32, "a_vector": 4, "b_vector": 4},
    ],
    ids=["of-three", "single-weights", "planes", "tf32"],
)
def test_clusters_of_two_have_16_bits_channels_last_and_pairs_of_weights(fields: dict[str, Any]) -> None:
    pair = {**EXAMPLES["tma_base"], "cluster": 2}
    assert CHECKER.broken(Instance(**pair)) == []
    broken = {**pair, **fields}
    assert CHECKER.broken(Instance(**{**broken, "cluster": 1})) == []
    assert [rule.id for rule in CHECKER.broken(Instance(**broken))] == ["tma-cluster"]


@pytest.mark.parametrize("tile", [(32, 32), (40, 64)])
def test_halo_has_one_atom_whatever_the_tile(tile: tuple[int, int]) -> None:
    m_per_block, n_per_block = tile
    fields = {"m_per_block": m_per_block, "n_per_block": n_per_block, "m_per_xdl": 32}
    made = Instance(**{**EXAMPLES["halo_base"], **fields})
    assert "halo-tile" in [rule.id for rule in CHECKER.broken(made)]


def test_the_catalogue_keeps_every_rule() -> None:
    for made in default_expansion().instances:
        assert CHECKER.violations(made, made.archs) == []


def test_nvidia_runs_whatever_fits_into_its_shared_memory() -> None:
    assert CHECKER.nvidia_archs(instance()) == tuple(NVIDIA_ARCHES)
    large = instance(stages=2, m_per_block=256, n_per_block=256, k_per_block=64, math_waves=8)
    fitting = {arch for arch in NVIDIA_ARCHES if NVIDIA_ARCHES[arch].lds_limit >= large.lds_bytes}
    assert set(CHECKER.nvidia_archs(large)) == fitting and {"sm_80", "sm_90a"} <= fitting < set(NVIDIA_ARCHES)
    for dtype in DTYPES:
        assert "sm_80" in CHECKER.nvidia_archs(instance(dtype=dtype))


def test_layouts_count_for_families_whose_rules_ask_for_them() -> None:
    """Expansion checks the shapes of other families once for all channels-last layouts."""
    layouts = {
        BWD_WEIGHT: ("NHWGC/GKYXC/NHWGK", "GNHWC/GKYXC/GNHWK"),
        BWD_DATA: ("NHWGK/GKYXC/NHWGC", "GNHWK/GKYXC/GNHWC", "NGKHW/GKYXC/NGCHW"),
    }
    for operation, (home, groups_first, *channels_first) in layouts.items():
        for family in FAMILIES:
            read = partial(CHECKER.read_of_layout, operation, family)
            asks = any("groups_outermost" in names_in(rule.condition) for rule in FAMILIES[family].rules)
            assert (read(home) != read(groups_first)) is asks
            assert all(read(home) != read(other) != read(groups_first) for other in channels_first)
