"""Tables, diffs and explanations of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.elementwise.function import Function, Kind, make_function
from ckgen.errors import CkgenError
from ckgen.explain.explain import explain
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.instance import FIELD_NAMES
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS
from ckgen.spec.catalog import LIST_HEADERS, MATRIX_HEADERS, diff, list_records, list_rows, support_matrix
from ckgen.spec.expand import Expansion
from tests.support.specs import (
    USUAL_DTYPES,
    WAVELET,
    XDL,
    default_expansion,
    expand_groups,
    instance,
    usual_instances_of,
)

EXPANSION = default_expansion()
WIDE = "grouped_conv2d_bwd_weight_wavelet_nhwgc_gkyxc_nhwgk_f16_default_128x128x32_w4x4_xdl32_v4x4x2_s2"


def test_list_rows() -> None:
    rows = list_rows(EXPANSION.instances, EXPANSION.sets)
    assert len(rows) == len(EXPANSION.instances)
    assert dict(zip(LIST_HEADERS, rows[0], strict=True)) == {
        "name": WIDE,
        "id": "2a1c64c7",
        "tile": "128x128x32",
        "waves": "4x4",
        "vector": "4x4x2",
        "stages": "2",
        "lds": "32768",
        "archs": "gfx908 gfx90a gfx942 gfx950",
        "sets": "full default ci",
    }


def test_list_records_hold_everything() -> None:
    record = list_records(EXPANSION.instances[:1], EXPANSION.sets)[0]
    assert record["name"] == WIDE
    assert list(record["fields"]) == list(FIELD_NAMES)
    assert list(record["derived"]) == list(FAMILIES["wavelet"].formulas.names)
    assert record["sets"] == ["full", "default", "ci"]
    assert record["add_function"].startswith("add_device_grouped_conv2d_bwd_weight_wavelet_")


def test_the_support_matrix_has_a_row_for_each_layout_and_dtype() -> None:
    rows = [dict(zip(MATRIX_HEADERS, row, strict=True)) for row in support_matrix(usual_instances_of(BWD_WEIGHT))]
    assert len(rows) == 48
    first = [row for row in rows if "C" not in (row["layout"].split("/")[0][-1])]
    assert {(row["generic"], row["xdl"]) for row in first} == {
        ("yes", "-"),
        ("yes", "14"),
        ("yes", "18"),
        ("yes", "32"),
        ("yes", "39"),
    }
    assert all((row["xdl"] == "-") == (row["dtype"] == "bf16_f32_bf16") for row in first)
    for row in [row for row in rows if row not in first]:
        more = 0 if row["layout"] == "NWGC/GKXC/NWGK" else 4 if row["dtype"] == "f32" else 14  # set ck_rows
        pipelines = (
            {"f16": 17, "bf16": 17, "f32": 5}.get(row["dtype"], 0) if row["layout"] == "NHWGC/GKYXC/NHWGK" else 0
        )
        if row["layout"] == "NDHWGC/GKZYXC/NDHWGK" and row["dtype"] != "bf16":  # rows of Bilinear and Scale
            more += 2 * (32 + more) + (2 if row["dtype"] == "f16" else 0)
        narrow = 5 + 8 + 2 if row["layout"][0] == "N" and row["dtype"] != "bf16_f32_bf16" else 0
        assert row["generic"] == "yes" and row["xdl"] == str(32 + more + pipelines + narrow)
        assert row["functions"] == "Bilinear, Scale, ConvScale"
    wavelet = {(row["ndim"], row["dtype"]): row["wavelet"] for row in rows if row["wavelet"] != "-"}
    assert wavelet == {("2", "f16"): "16", ("2", "bf16"): "16", ("3", "f16"): "10", ("3", "bf16"): "10"}
    of_tma = {row["wavelet_tma"] for row in rows if row["dtype"] != "f32" and "GC/" in row["layout"]}
    assert of_tma == {"13", "22", "29"}
    assert sum(int(row["wavelet_tma"]) for row in rows if row["wavelet_tma"] != "-") == 269
    assert rows[0]["archs"] == " ".join((*ARCHES, *dict.fromkeys(("sm_90a", *NVIDIA_ARCHES))))
    assert support_matrix([instance()])[0][-2] == "no"


def test_the_support_matrix_of_backward_data() -> None:
    rows = [dict(zip(MATRIX_HEADERS, row, strict=True)) for row in support_matrix(usual_instances_of(BWD_DATA))]
    assert {(row["layout"], row["dtype"]) for row in rows} == {
        (layout, dtype)
        for layout in OPERATIONS[BWD_DATA].layouts
        for dtype in USUAL_DTYPES
        if dtype in OPERATIONS[BWD_DATA].dtypes
    }
    assert all(row["generic"] == "yes" for row in rows)
    assert {row["xdl"] for row in rows if not row["layout"].endswith("C")} == {"13", "29"}
    assert all(row["xdl"] != "-" for row in rows)
    assert {row["layout"]: row["functions"] for row in rows if row["functions"] != "-"} == {
        "NHWGK/GKYXC/NHWGC": "AddResidual, Bilinear, Scale",  # in the order of the file's groups
        "NDHWGK/GKZYXC/NDHWGC": "Bilinear, Scale, AddResidual",
    }


def test_no_difference() -> None:
    assert not diff(EXPANSION.instances, EXPANSION.instances, EXPANSION.sets, EXPANSION.sets)


def test_added_and_removed() -> None:
    few, many = EXPANSION.instances[:2], EXPANSION.instances[:4]
    found = diff(few, many, {}, {})
    assert found.added == tuple(sorted(i.name for i in many[2:]))
    assert not found.removed and not found.changed
    back = diff(many, few, {}, {})
    assert back.removed == found.added
    assert bool(back)


def test_an_instance_that_moves_between_archs_and_sets_is_changed() -> None:
    old = replace(EXPANSION.instances[0], archs=("gfx90a", "gfx942"))
    new = replace(old, archs=("gfx942", "gfx950"))
    found = diff([old], [new], {"ci": [old.name]}, {"full": [old.name]})
    assert [(c.old, c.new, c.what) for c in found.changed] == [
        (old.name, old.name, "archs -gfx90a +gfx950; sets -ci +full")
    ]
    assert not found.added and not found.removed


def test_a_field_that_changed_is_one_change_and_not_two() -> None:
    old, new = instance(stages=1), instance(stages=2)
    found = diff([old], [new], {}, {})
    assert [(c.old, c.new, c.what) for c in found.changed] == [(old.name, new.name, "stages 1 -> 2")]
    assert not found.added and not found.removed


def test_what_could_replace_two_is_told_as_added_and_removed() -> None:
    old = instance(stages=1)
    found = diff([old], [instance(stages=2), instance(k_per_block=64)], {}, {})
    assert found.removed == (old.name,)
    assert len(found.added) == 2 and not found.changed


def test_an_instance_changes_with_its_function() -> None:
    """The name stays the same, but the computation does not. Different spacing is the same function."""
    one = instance(operation=BWD_DATA, layout="NHWGK/GKYXC/NHWGC", function="Mine")

    def changes(before: Function, after: Function) -> list[str]:
        return [c.what for c in diff([one], [one], {}, {}, ({"Mine": before}, {"Mine": after})).changed]

    mine = make_function("Mine", "e + s * d", ("d",), {"s": 0.5})
    assert changes(mine, mine) == changes(mine, make_function("Mine", "e  + s*d", ("d",), {"s": 0.5})) == []
    assert changes(mine, make_function("Mine", "e - s * d", ("d",), {"s": 0.5})) == ["Mine e + s * d -> e - s * d"]
    assert changes(mine, make_function("Mine", "e + s * d", ("d",), {"s": 0.25})) == ["scalars of Mine s 0.5 -> s 0.25"]
    kinds = (Kind("f32", "GC"),)
    assert changes(mine, make_function("Mine", "e + s * d", ("d",), {"s": 0.5}, kinds)) == [
        "tensors of Mine d -> d f32 GC"
    ]
    assert diff([one], [one], {}, {}, ({}, {"Mine": mine})).changed == (), "a tree of before functions were told"


def explained(words: str, expansion: Expansion = EXPANSION) -> str:
    return explain(expansion, words.split())


def test_explain_of_hoppers_wavelet() -> None:
    name = "grouped_conv2d_bwd_weight_wavelet_tma_nhwgc_gkyxc_nhwgk_f16_default_128x256x64_w2x4_xdl64_v8x8x2_s4"
    text = explained(name)
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
    assert set(FAMILIES["wavelet_tma"].formulas.names) <= set(lines) and "k_step" not in lines
    for field in ("k_per_block", "m_per_xdl", "load_waves", "math_waves", "a_vector", "stages", "archs"):
        assert "by rule: " in lines[field], field
    assert "as many as fit 227 KiB" in lines["stages"]


def test_explain_tells_where_every_value_comes_from() -> None:
    text = explained(WIDE)
    assert text.startswith(f"{WIDE}\n  made by group `wavelet-4x4`, instances.yaml:")
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
    assert set(FIELD_NAMES) - {"operation"} <= set(lines)
    assert set(FAMILIES["wavelet"].formulas.names) <= set(lines)
    assert "tile 128x128 of group `wavelet-4x4`" in lines["m_per_block"]
    assert "dtype f16 of the defaults" in lines["dtype"]
    assert "wave_ratio [4, 4] of group `wavelet-4x4`" in lines["math_waves"]
    assert "by rule: 64 bytes" in lines["k_per_block"]
    assert "in sets full, default, ci" in text


def test_explain_of_one_match_and_of_many() -> None:
    assert explained(
        "tile=128x128 operation=grouped_conv_bwd_weight family=wavelet ndim=2 dtype=f16 conv_spec=Default stages=2"
    ).startswith(WIDE)
    with pytest.raises(CkgenError, match="136 instances match") as many:
        explained("family=wavelet")
    (ambiguous,) = many.value.diagnostics
    assert many.value.exit_code == 2 and ambiguous.notes[-1] == "and 116 more" and len(ambiguous.notes) == 21


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "family=wavelet dtype=f32",
            ["wavelet-dtype: wavelet has no f32", "change: dtype f16 or bf16 would satisfy"],
        ),
        (
            "family=wavelet k_per_block=20",
            ["k-per-block-step: k_per_block 20", "change: k_per_block 16 or 32"],
        ),
        ("family=wavelet stages=3", ["stages-range: 3 stages for family wavelet", "change: stages 4 or 2"]),
        (
            "family=wavelet arch=gfx1100",
            ["atom-exists: gfx1100 has no 32x32 MFMA", "change: take the architecture"],
        ),
        (
            "family=wavelet ndim=1",
            ["no rule forbids", "add NWGC/GKXC/NWGK to `layout` of the defaults at instances"],
        ),
        ("family=wavelet layout=GNHWC*", ["no rule forbids", "add GNHWC/GKYXC/GNHWK to `layout`"]),
        (
            "tile=64x64 wave_ratio=4x2 ndim=3",
            ["no rule forbids", "add [4, 2] to `wave_ratio` of group `wavelet-4x4`"],
        ),
        ("family=xdl k_per_block=64 dtype=f16", ["no rule forbids", "give group `xdl-256` at", "`k_per_block: 64`"]),
        (
            "family=xdl m_per_block=32 n_per_block=32",
            ["tile-n-waves", "change: block_size 64 would satisfy every rule"],
        ),
        ("family=xdl a_vector=16 dtype=f16", ["vector-width", "change: vector"]),
        ("family=xdl vector=4x8x8 tile=128x128", ["no rule forbids", "vector"]),
        ("family=xdl load_waves=4", ["it fails load_waves=4"]),
        ("generic=true a_vector=8 dtype=f16", ["generic-vectors", "why: Only single elements divide"]),
        (
            "set=ci tile=256x128",
            ["222 such instances exist", "selects none of them", "add the line `tile=256x128`"],
        ),
        (
            "set=nightly family=xdl",
            ["there is no set `nightly`; sets are ck_rows, narrow, odd, types, full, default, ci"],
        ),
        ("lds_bytes>=300000", ["it fails lds_bytes>=300000"]),
        ("family=wavelet_tma dtype=i8", ["tma-dtype", "nearest change: dtype f16 or bf16"]),
        ("family=wavelet_tma tile=128x128 stages=8", ["lds-bytes", "sm_90a has 232448", "nearest change: tile"]),
        ("family=wavelet_tma arch=gfx942", ["tma-atom: gfx942 has no wgmma", "nearest change: "]),
        ("ndim=4", ["`4` is not a valid value of ndim"]),
        ("stages=0", ["`0` is not a valid value of stages"]),
        ("block_size=100", ["`100` is not a valid value of block_size"]),
        ("tile=huge", ["`huge` is not a valid value of tile"]),
        ("block_size=512 tile=64x64 family=xdl", ["tile-n-waves", "nearest change"]),
        (
            "lds_write=4x4 tile=128x128 block_size=256 family=xdl dtype=f16 operation=grouped_conv_bwd_weight",
            ["but no group"],
        ),
        (
            "copy_k1=4x8 dtype=f16 family=xdl operation=grouped_conv_bwd_data",
            ["k1-divides: copy_k1 of 4 (A) and 8 (B)"],
        ),
        (
            "b_k1=4 dtype=f16 tile=128x256 operation=grouped_conv_bwd_data",
            ["`copy_k1: {b: 4}`"],
        ),
    ],
)
def test_explain_of_what_is_absent(words: str, expected: list[str]) -> None:
    text = explained(words)
    assert text.startswith(f"no instance has {words}\n")
    for part in expected:
        assert part in text


def test_explain_of_what_is_absent_takes_patterns_for_the_operation_and_the_family() -> None:
    text = explained("operation=*data family=wave* tile=100x100")
    assert "nearest is grouped_conv2d_bwd_data_wavelet_" in text


def test_explain_names_the_exclude_or_the_rule_that_removed_something() -> None:
    group: dict[str, Any] = {**XDL, "dtype": ["f16", "bf16"], "k_per_block": [32, 20], "invalid": "skip"}
    expansion = expand_groups({**group, "exclude": [{"dtype": "bf16", "k_per_block": 32}]})
    excluded = explain(expansion, ["dtype=bf16", "k_per_block=32"])
    assert "excluded at instances.yaml:" in excluded
    assert "nearest change: remove or narrow the exclude at instances.yaml:" in excluded
    skipped = explain(expansion, ["k_per_block=20"])
    assert "skipped by `invalid: skip` at instances.yaml:" in skipped
    assert "k-per-block-step: k_per_block 20 is not a multiple of 16" in skipped
    assert "nearest change: k_per_block 16 or 32 would satisfy every rule" in skipped


def test_explain_of_a_name_that_does_not_exist_asks_for_its_fields() -> None:
    text = explained(WIDE.replace("128x128x32", "128x128x20"))
    assert "k-per-block-step" in text
    text = explained(WIDE.replace("_f16_", "_f32_").replace("128x128x32", "128x128x16"))
    assert "wavelet-dtype" in text


@pytest.mark.parametrize(
    ("words", "rule", "help_text"),
    [
        ("dtype=f61", "unknown-dtype", "did you mean `f16`?"),
        ("family=wavlet", "unknown-family", "did you mean `wavelet` or `wavelet_tma`?"),
        ("*wavlet*", "unknown-name", "did you mean `*wavelet*`?"),
        (WIDE[:-1], "unknown-name", WIDE),
        ("famly=xdl", "unknown-filter-key", "did you mean `family`?"),
        ("", "bad-filter", "give a name or key=value"),
    ],
)
def test_explain_refuses_what_is_no_combination(words: str, rule: str, help_text: str) -> None:
    with pytest.raises(CkgenError) as caught:
        explained(words)
    assert caught.value.exit_code == 2
    assert caught.value.diagnostics[0].rule == rule
    assert help_text in caught.value.diagnostics[0].help


def test_a_change_that_explain_proposes_admits_the_combination() -> None:
    """The literal suggestion, `add [4, 2] to wave_ratio` of a group, makes the requested combination."""
    group = {**WAVELET, "tile": "64x64"}
    assert "add [4, 2] to `wave_ratio` of group `w`" in explain(expand_groups(group), ["wave_ratio=4x2"])
    changed = expand_groups({**group, "wave_ratio": [[4, 4], [4, 2]]})
    assert explain(changed, ["wave_ratio=4x2"]).startswith("grouped_conv2d_bwd_weight_wavelet_")
