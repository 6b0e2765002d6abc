"""Test CK's notations: every row of its xdl tables is an instance, and every accepted row is written back unchanged."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml

from ckgen.ck.dispatcher import normalised, read_dispatcher
from ckgen.ck.exporting import dispatcher_file, dispatcher_record, has_entry, has_row, serialised, type_string
from ckgen.ck.importing import Asked, resolve_text
from ckgen.ck.notation import parse
from ckgen.errors import CkgenError
from ckgen.instance.checker import Checker
from ckgen.instance.instance import CONV_SPECS, Instance
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS
from ckgen.text.source import loads
from tests.support.specs import default_expansion

FACTS: dict[str, list[list[int]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data/ck_type_strings.yaml").read_text(encoding="utf-8")
)
CHECKER = Checker()
WEIGHT, DATA = OPERATIONS[BWD_WEIGHT].ck.name, OPERATIONS[BWD_DATA].ck.name
LAYOUTS = {"weight": ("NHWGC/GKYXC/NHWGK", "GNDHWC/GKZYXC/GNDHWK"), "data": ("NHWGK/GKYXC/NHWGC", "GNHWK/GKYXC/GNHWC")}
OF_KIND = {"weight": BWD_WEIGHT, "data": BWD_DATA}
FUSED_LAYOUTS = {"weight": "NDHWGC/GKZYXC/NDHWGK", "data": "NDHWGK/GKZYXC/NDHWGC"}
CASES = [
    (kind, dtype, table)
    for table in FACTS
    for kind, _, first in [table.partition("_")]
    for dtype in ((first, "bf16") if first == "f16" else (first,))
]


@cache
def rows_of_full() -> tuple[Instance, ...]:
    expansion = default_expansion()
    full = frozenset(expansion.sets["full"])
    return tuple(made for made in expansion.instances if made.name in full and has_row(made))


@cache
def strings(layout: str, dtype: str, function: str) -> frozenset[str]:
    made = rows_of_full()
    return frozenset(type_string(i) for i in made if (i.layout, i.dtype, i.function) == (layout, dtype, function))


def text_of(kind: str, numbers: list[int], spec: str, function: str = "PassThrough") -> str:
    at = 4 if kind == "weight" else 6
    words = [*map(str, numbers[:at]), spec, *map(str, numbers[at:])]
    return f"{OPERATIONS[OF_KIND[kind]].ck.class_of(function)}<{', '.join(words)}>"


@pytest.mark.parametrize("spec", CONV_SPECS)
@pytest.mark.parametrize(("kind", "dtype", "table"), CASES)
def test_set_full_has_each_of_cks_type_strings(kind: str, dtype: str, table: str, spec: str) -> None:
    cases = [(layout, "PassThrough") for layout in LAYOUTS[kind]]
    fused = kind == "data" or dtype != "bf16"
    cases += [(FUSED_LAYOUTS[kind], function) for function in ("Bilinear", "Scale") if fused]
    for layout, function in cases:
        wanted = {text_of(kind, numbers, spec, function) for numbers in FACTS[table]}
        assert wanted - strings(layout, dtype, function) == set()


WMMA_WEIGHT = "DeviceGroupedConvBwdWeight_Wmma_CShuffle<128, 32, 256, 8, Default, 8, 2, 8, 8, 8, 1, 1, 8>"
WMMA_DATA = "DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle<32, 16, 64, 64, Filter1x1Stride1Pad0, 8, 8, 8>"
DOT_WEIGHT = "DeviceGroupedConvBwdWeight_Dl<256, 128, 128, 16, Default, 1>"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (WMMA_WEIGHT, "grouped_conv3d_bwd_weight_wmma_ndhwgc_gkzyxc_ndhwgk_f16_default_32x256x64_w0x4_xdl16_v2x8x8_s1"),
        (WMMA_DATA, "grouped_conv3d_bwd_data_wmma_ndhwgk_gkzyxc_ndhwgc_f16_1x1s1p0_16x64x64_w0x1_xdl16_v8x8x8_s1"),
        (
            DOT_WEIGHT,
            "grouped_conv3d_bwd_weight_dl_ndhwgc_gkzyxc_ndhwgk_f16_default_128x128x16_w0x4_xdl32_v1x1x1_k1x1_s1",
        ),
    ],
)
def test_rows_of_other_units_are_instances_of_set_full(text: str, name: str) -> None:
    resolved = resolve_text(text, Asked("ndhwgc", "fp16"), CHECKER)
    assert resolved.instance is not None and resolved.instance.name == name
    assert type_string(resolved.instance) == text and resolved.instance in rows_of_full()


@pytest.mark.parametrize(("kind", "dtype", "table"), CASES)
def test_each_row_comes_back_unchanged(kind: str, dtype: str, table: str) -> None:
    for numbers in FACTS[table]:
        text = text_of(kind, numbers, "Default")
        resolved = resolve_text(text, Asked("ndhwgc", dtype), CHECKER)
        assert resolved.instance is not None and resolved.refusals == ()
        assert type_string(resolved.instance) == text


TWO_STAGE = "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"
INTRAWAVE, INTERWAVE = (f"BlkGemmPipelineScheduler: {word}wave" for word in ("Intra", "Inter"))
VERSION = "BlkGemmPipelineVersion"
V3 = f"{WEIGHT}V3<64, 32, 64, 32, Default, 8, 1, 2, 4, 4, 4, 4, 1, 1, 2, "
# CK 8e22e1ae, device_grouped_conv_bwd_weight_two_stage_xdl_instance.hpp, with one of the two pipelines each.
TWO_STAGE_ROWS = [
    "64, 16, 16, 32, Default, 8, 1, 1, 1, 4, 1, 4, 1, 1, 1|v2, 1",
    "64, 32, 32, 32, Default, 8, 1, 1, 2, 2, 2, 2, 1, 1, 1|v5, 2",
    "64, 32, 64, 32, Default, 8, 1, 2, 4, 4, 4, 4, 1, 1, 1|v2, 4",
    "64, 64, 32, 32, Default, 8, 2, 1, 4, 4, 4, 4, 1, 1, 1|v5, 4",
]


def two_stage(row: str) -> str:
    numbers, rest = row.split("|")
    pipeline = "BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion"
    return f"{TWO_STAGE}<{numbers}, {pipeline}: {rest}>"


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("row", TWO_STAGE_ROWS)
def test_set_full_has_rows_of_the_class_for_few_channels(row: str, dtype: str) -> None:
    text = two_stage(row)
    for layout, axes in (("NHWGC/GKYXC/NHWGK", "nhwgc"), ("NDHWGC/GKZYXC/NDHWGK", "ndhwgc")):
        assert text in strings(layout, dtype, "PassThrough")
        resolved = resolve_text(text, Asked(axes, dtype), CHECKER)
        assert resolved.instance is not None and type_string(resolved.instance) == text
        assert resolved.keys["family"] == "two_stage" and resolved.keys["groups_to_merge"] == int(row[-1])


# And of its tables for NGCHW: the last two numbers are the widths of the copy to channels-last tensors.
TRANSPOSED_ROWS = [
    "64, 16, 16, 32, Default, 8, 1, 1, 1, 4, 1, 4, 1, 1, 1|v2, 1|1, 1",
    "64, 32, 32, 32, Default, 8, 1, 1, 2, 2, 2, 2, 1, 1, 1|v5, 2|1, 2",
    "64, 32, 128, 32, Default, 8, 1, 4, 8, 8, 8, 8, 1, 1, 1|v2, 8|8, 8",
    "64, 128, 32, 32, Default, 8, 4, 1, 8, 8, 8, 8, 1, 1, 1|v5, 8|8, 1",
]


def transposed(row: str) -> str:
    rest, _, widths = row.rpartition("|")
    src, dst = widths.split(", ")
    ends = f"TransposeTransferSrcScalarPerVector: {src}, TransposeTransferDstScalarPerVector: {dst}>"
    return f"{two_stage(rest)[:-1]}, {ends}"


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("row", TRANSPOSED_ROWS)
def test_set_full_has_rows_of_the_class_where_it_transposes(row: str, dtype: str) -> None:
    text = transposed(row)
    for layout, axes in (
        ("NGCHW/GKYXC/NGKHW", "ngchw"),
        ("NGCDHW/GKZYXC/NGKDHW", "ngcdhw"),
        ("NGCHW/GKCYX/NGKHW", "ngchw_gkcyx_ngkhw"),
        ("NGCDHW/GKCZYX/NGKDHW", "NGCDHW/GKCZYX/NGKDHW"),
    ):
        assert text in strings(layout, dtype, "PassThrough")
        resolved = resolve_text(text, Asked(axes, dtype), CHECKER)
        assert resolved.instance is not None and type_string(resolved.instance) == text
        assert resolved.keys["vector"]["a"] == int(row.split("|")[2][0]) and "lds_write" not in resolved.keys


@pytest.mark.parametrize(
    ("layout", "old", "new", "rule"),
    [
        ("nhwgc", "", "", "transpose-widths"),
        ("ngchw", "8, 8, 8, 8, 1, 1", "8, 8, 4, 8, 1, 1", "ck-argument"),
        ("ngchw", "DstScalarPerVector: 1>", "DstScalarPerVector: 16>", "transpose-widths"),
    ],
)
def test_a_rule_stands_against_a_row_that_transposes(layout: str, old: str, new: str, rule: str) -> None:
    resolved = resolve_text(transposed(TRANSPOSED_ROWS[3]).replace(old, new), Asked(layout, "f16"), CHECKER)
    assert resolved.instance is None and resolved.refusals[0].rule == rule, resolved.refusals


def test_a_pipeline_that_no_instance_has_is_named() -> None:
    resolved = resolve_text(two_stage(TWO_STAGE_ROWS[1].replace("v5", "v3")), Asked("nhwgc", "f16"), CHECKER)
    assert resolved.instance is None
    assert "(pipeline) is BlkGemmPipelineVersion:v3, by rule BlkGemmPipelineVersion:v2" in resolved.refusals[0].message


def test_the_dispatchers_entries_name_merged_groups() -> None:
    made = [i for i in rows_of_full() if i.family == "two_stage" and not i.given_copy]
    written = dispatcher_file([i for i in made if (i.layout, i.dtype) == (LAYOUTS["weight"][0], "f16")])
    found = list(read_dispatcher(loads(json.dumps(written)), CHECKER))
    assert {entry["num_groups_to_merge"] for entry in written["instances"]} == {1, 2, 4, 8, 16, 32}
    for entry, (_, _, resolved) in zip(written["instances"], found, strict=True):
        assert entry["two_stage"] and entry["pipeline"] == "compv2"
        assert resolved.instance is not None, resolved.refusals
        assert dispatcher_record(resolved.instance) == {key: entry[key] for key in entry if key != "id"}


def test_all_template_arguments_make_the_same_instance() -> None:
    kept = [i for i in rows_of_full() if i.operation == BWD_WEIGHT and i.family == "xdl"]
    made = [i for i in kept if not i.generic and i.function == "PassThrough"]
    assert len(made) > 500
    assert sum(i.given_pipeline for i in made) > 30
    merged = [i for i in rows_of_full() if i.family == "two_stage"]
    assert len(merged) > 100
    without = [i for i in rows_of_full() if i.family in ("wmma", "dl") or i.operation == BWD_DATA]
    assert without and all(serialised(i) is None for i in without)
    for instance in (*made, *merged):
        text = serialised(instance)
        assert text is not None
        resolved = resolve_text(text, Asked(), CHECKER)
        assert resolved.instance == instance and serialised(resolved.instance) == text


@pytest.mark.parametrize("operation", [BWD_WEIGHT, BWD_DATA])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_the_dispatchers_entries_come_back_unchanged(operation: str, dtype: str) -> None:
    layout = LAYOUTS["weight" if operation == BWD_WEIGHT else "data"][0]
    chosen = [i for i in rows_of_full() if (i.operation, i.layout, i.dtype) == (operation, layout, dtype)]
    chosen = [i for i in chosen if i.function == "PassThrough" and not i.generic and has_entry(i)]
    written = dispatcher_file(chosen)
    assert written["layout"] == "nhwgc" and written["datatype"] == {"f16": "fp16", "f32": "fp32"}[dtype]
    found = list(read_dispatcher(loads(json.dumps(written, indent=1)), CHECKER))
    assert len(found) == len(chosen) >= 32
    for entry, (_, _, resolved) in zip(written["instances"], found, strict=True):
        assert resolved.instance is not None, resolved.refusals
        assert dispatcher_record(resolved.instance) == {key: entry[key] for key in entry if key != "id"}


def test_an_absent_key_of_the_dispatcher_means_that_something_is_off() -> None:
    entry = {"id": 3, "tile_m": 64, "two_stage": False, "streamk_enabled": False, "streamk_reduction_strategy": None}
    assert normalised(entry) == {"tile_m": 64}
    assert normalised({**entry, "two_stage": True}) == {"tile_m": 64, "two_stage": True}


@pytest.mark.parametrize(
    ("change", "rule", "said"),
    [
        ({"pipeline": "compv3"}, "ck-argument", "pipeline is compv3, no family has it"),
        ({"warp_m": 4, "warp_n": 1}, "ck-waves", "4x1 waves, by rule 2x2"),
        ({"warp_tile_k": 32}, "ck-argument", "warp_tile_k is 32, by rule 8"),
        ({"warp_tile_n": 16}, "ck-argument", "warp_tile_m and warp_tile_n differ"),
        ({"streamk_enabled": True}, "ck-argument", "streamk_enabled is True"),
        ({"split_image": True}, "ck-argument", "split_image is True"),
        ({"colour": 1}, "ck-argument", "colour is unknown"),
        ({"tile_m": 96}, "tile-m-waves", "m_per_block 96"),
        ({"kind": "direct_conv"}, "ck-class", "kind direct_conv"),
        ({"specialization": "filter3x3"}, "foreign-conv-spec", "no conv_spec filter3x3"),
    ],
)
def test_a_rule_stands_against_an_entry_of_the_dispatcher(change: dict[str, object], rule: str, said: str) -> None:
    instance = next(i for i in rows_of_full() if i.m_per_block == i.n_per_block == 128 and i.math_waves == 4)
    written = dispatcher_file([instance])
    written["instances"][0].update(change)
    ((_, _, resolved),) = read_dispatcher(loads(json.dumps(written)), CHECKER)
    assert resolved.instance is None
    assert resolved.refusals[0].rule == rule and said in resolved.refusals[0].message


@pytest.mark.parametrize("change", [{"tile_m": "64"}, {"tile_m": 0}, {"warp_m": None}, {"vector_size_a": True}])
def test_a_malformed_entry_is_wrong_input_with_its_line(change: dict[str, object]) -> None:
    written = dispatcher_file(list(rows_of_full()[:1]))
    written["instances"][0].update(change)
    with pytest.raises(CkgenError) as caught:
        list(read_dispatcher(loads(json.dumps(written, indent=1), "rows.json"), CHECKER))
    assert caught.value.exit_code == 2 and str(caught.value.diagnostics[0].place).startswith("rows.json:")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"{WEIGHT}_Explicit_Xdl<GemmXdl<Default, CRR> BlkSize: 256, WaveMap: 4x4>", "ck-class"),
        (f"{V3}{INTRAWAVE}, {VERSION}: v6>", "ck-argument"),
        (f"{V3}{INTERWAVE}, {VERSION}: v5>", "scheduler-pipeline"),
        (f"{WEIGHT}<64, 64, 64, 4, OddC, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>", "foreign-conv-spec"),
        (f"{WEIGHT}<64, 64, 64, 4, Default, 8, 1, 4, 2, 4, 2, 4, 1, 1, 2>", "ck-waves"),
        (f"{WEIGHT}<64, 64, 64, 4, Default, 8, 3, 2, 2, 4, 2, 4, 1, 1, 2>", "ck-waves"),
        (f"{WEIGHT}<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 2, 1, 2>", "ck-argument"),
        (f"{WEIGHT}<64, 64, 64, 2, Default, 16, 2, 2, 2, 4, 2, 4, 1, 1, 2>", "k1-slots"),
        (f"{WEIGHT}<256, 256, 256, 4, Default, 8, 4, 4, 8, 8, 8, 8, 1, 1, 3>", "c-vector"),
    ],
)
def test_a_rule_stands_against_a_type_string(text: str, rule: str) -> None:
    resolved = resolve_text(text, Asked("nhwgc", "fp16"), CHECKER)
    assert resolved.instance is None and resolved.refusals[0].rule == rule


def test_the_copy_of_a_tile_to_lds_is_ckgens_own() -> None:
    """Clusters of threads, the order of their accesses and the padding of LDS do not stand against a row."""
    for family in ("xdl", "two_stage"):
        instance = next(i for i in rows_of_full() if (i.operation, i.family, i.generic) == (BWD_WEIGHT, family, False))
        text = str(serialised(instance))
        cluster = parse(text).values["a_cluster"]
        assert resolve_text(text.replace(cluster, "Seq(1,4,1,64)", 1), Asked(), CHECKER).instance == instance


# rocm-libraries 6170451c, projects/composablekernel/experimental/grouped_convolution_tile_instances, nhwgc_fp16.conf.
V3_ROW = (
    f"{WEIGHT}V3<2,NHWGC,GKYXC,NHWGK,fp16,fp16,fp16,fp32,PassThrough,PassThrough,PassThrough,Default,64,32,64,32,8,32,32,1,2,"
    "Seq(4,8,1),Seq(2,0,1),Seq(1,0,2),1,4,4,false,Seq(4,16,1),Seq(2,0,1),Seq(1,0,2),1,4,4,false,1,1,Seq(1,8,1,8),2,"
    "Intrawave,v5,fp16,fp16,0,1>"
)


def test_a_row_of_the_class_with_pipelines_comes_back_unchanged() -> None:
    resolved = resolve_text(V3_ROW, Asked(), CHECKER)
    assert resolved.instance is not None and serialised(resolved.instance) == V3_ROW
    assert (resolved.keys["pipeline_version"], resolved.keys["scheduler"]) == ("v5", "Intrawave")
    text = f"{V3}{INTRAWAVE}, {VERSION}: v5>"
    assert type_string(resolved.instance) == text
    assert resolve_text(text, Asked("nhwgc", "fp16"), CHECKER).instance == resolved.instance


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("1,1>", "argument 44 (direct_load) is 1, by rule 0"),
        ("0,2>", "argument 45 (groups_to_merge) is 2, by rule 1"),
    ],
)
def test_arguments_that_change_the_kernel_stand_against_a_row_with_a_pipeline(end: str, said: str) -> None:
    resolved = resolve_text(V3_ROW.removesuffix("0,1>") + end, Asked(), CHECKER)
    assert resolved.instance is None and [refusal.message for refusal in resolved.refusals] == [said]


@pytest.mark.parametrize("text", ["Dev", "Dev<1> 2", f"{WEIGHT}<1, 2>", f"{WEIGHT}<a{', 1' * 14}>"])
def test_a_malformed_row_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="this is not|arguments, it must have|must be a number"):
        resolve_text(text, Asked("nhwgc", "fp16"), CHECKER)
