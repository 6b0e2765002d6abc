"""Tests of the filter language: a filter selects the instances that it describes; one that selects none is an error
with a suggestion.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.elementwise.function import PASS_THROUGH
from ckgen.errors import CkgenError
from ckgen.instance.filters import Term, filtered, parse_terms
from ckgen.instance.keys import KEYS, values_of
from ckgen.operations.operation import BWD_WEIGHT
from tests.support.specs import default_expansion, usual_instances_of

EXPANSION = default_expansion()
WEIGHTS = tuple(instance for instance in usual_instances_of(BWD_WEIGHT) if instance.function == PASS_THROUGH)


def count(*filters: str) -> int:
    return len(filtered(WEIGHTS, filters, sets=EXPANSION.sets))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], 3566),
        (["*"], 3566),
        (["*wavelet*"], 321),
        (["*WAVELET*"], 321),
        (["*wavelet*", "*generic"], 369),
        (["family=wavelet"], 52),
        (["family!=wavelet"], 3514),
        (["dtype=f16,bf16", "family=wavelet"], 52),
        (["dtype=f16", "family=wavelet"], 26),
        (["dtype=*bf16*", "generic=true"], 24),
        (["generic=true"], 48),
        (["set=ci"], 139),
        (["set=ci,default"], 734),
        (["set!=default"], 2863),
        (["ndim=3", "family=wavelet"], 20),
        (["tile=64x64", "family=wavelet"], 12),
        (["tile=64x64x32", "family=wavelet"], 12),
        (["wave_ratio=4x2"], 12),
        (["wave_ratio=4:2"], 12),
        (["vector=4x4x2"], 20),
        (["layout=nhwgc*", "family=wavelet"], 32),
        (["m_per_block>=256"], 138),
        (["m_per_block>=128", "m_per_block<256", "generic=false", "family=xdl"], 669),
        (["arch=gfx1100"], 551),
        (["arch=sm_90a"], 347),
        (["family=wavelet*", "arch!=sm_*"], 52),
        (["warpgroups=2"], 108),
        (["warpgroups>=1"], 269),
        (["k_step>=1"], 3092),
        (["family=wavelet_tma", "k_step!=16"], 269),
        (["conv_spec=Default", "family=wavelet"], 26),
        (["groups_to_merge=8", "family=two_stage"], 220),
        (["operation=grouped_conv_bwd_weight"], 3566),
        (["lds_bytes>24576", "lds_bytes<=32768", "family=wavelet"], 20),
    ],
)
def test_filters(filters: list[str], expected: int) -> None:
    assert count(*filters) == expected


def test_the_order_is_kept() -> None:
    chosen = filtered(EXPANSION.instances, ["*generic", "*wavelet*"], sets=EXPANSION.sets)
    positions = [EXPANSION.instances.index(instance) for instance in chosen]
    assert positions == sorted(positions)


@pytest.mark.parametrize(
    ("filters", "rule", "message", "help_text"),
    [
        (["dtype=f61"], "empty-selection", "no instance has dtype=f61", "did you mean `f16`?"),
        (["dtype=f16,f61"], "empty-selection", "no instance has dtype=f61", "did you mean `f16`?"),
        (["dtype!=f61"], "empty-selection", "no instance has dtype=f61", "did you mean `f16`?"),
        (["famly=xdl"], "unknown-filter-key", "no key `famly`", "did you mean `family`?"),
        (["*wavlet*"], "empty-selection", "no instance is called `*wavlet*`", "did you mean `*wavelet*`?"),
        (
            ["set=ic"],
            "empty-selection",
            "no instance has set=ic",
            "known: ck_rows, narrow, odd, types, full, default, ci",
        ),
        (
            ["m_per_block>=1024"],
            "empty-selection",
            "no instance has m_per_block>=1024",
            "m_per_block is 1 to 256",
        ),
        (["dtype="], "bad-filter", "a value is missing", "write dtype=VALUE[,VALUE]"),
        (["dtype=f16,"], "bad-filter", "a value is missing", ""),
        (["dtype>=f16"], "bad-filter", ">= compares a number key", "write dtype=f16"),
        (["stages>=1,2"], "bad-filter", ">= compares a number key", ""),
        (["stages>=٣"], "bad-filter", ">= compares a number key", ""),
        (["a b"], "bad-filter", "`a b` is not a filter", ""),
        ([""], "bad-filter", "`` is not a filter", ""),
        (
            ["family=wavelet", "dtype=f32"],
            "empty-selection",
            "no instance passes family=wavelet dtype=f32",
            "without `family=wavelet` there are 678; without `dtype=f32` there are 52",
        ),
        (
            ["dtype=f16", "dtype=bf16"],
            "empty-selection",
            "no instance passes",
            "without `dtype=f16` there are",
        ),
    ],
)
def test_what_selects_nothing_is_an_error(filters: list[str], rule: str, message: str, help_text: str) -> None:
    with pytest.raises(CkgenError) as caught:
        count(*filters)
    assert caught.value.exit_code == 2
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.rule == rule
    assert message in diagnostic.message
    assert help_text in diagnostic.help


def test_a_full_name_that_does_not_exist_gets_the_nearest_one() -> None:
    name = EXPANSION.instances[0].name
    with pytest.raises(CkgenError) as caught:
        count(name.replace("128x128", "128x129"))
    assert name in caught.value.diagnostics[0].help


def test_all_wrong_words_are_told_at_once() -> None:
    with pytest.raises(CkgenError) as caught:
        parse_terms(["famly=xdl", "dtype=", "x y"])
    assert len(caught.value.diagnostics) == 3


def test_selecting_from_nothing_is_an_error() -> None:
    with pytest.raises(CkgenError, match="there are no instances"):
        filtered((), (), sets={})


def test_terms() -> None:
    assert parse_terms(["dtype=f16, bf16"]) == (Term("dtype=f16, bf16", "dtype", "=", ("f16", "bf16")),)
    assert parse_terms(["*x*"]) == (Term("*x*", "name", "=", ("*x*",)),)


@given(st.sampled_from(WEIGHTS), st.sampled_from(KEYS))
def test_an_instance_passes_a_filter_for_each_of_its_own_values(instance: object, key: str) -> None:
    values = values_of(key, instance, EXPANSION.sets)  # type: ignore[arg-type]
    for value in values:
        assert instance in filtered(WEIGHTS, [f"{key}={value}"], sets=EXPANSION.sets)
        if len(values) == 1 and key != "name":
            left = count() - count(f"{key}={value}")
            if left:
                assert count(f"{key}!={value}") == left
