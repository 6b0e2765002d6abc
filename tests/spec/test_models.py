"""Tests of the spec's models: accepted and refused values (the corpus has the messages), and their JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ckgen.errors import CkgenError
from ckgen.spec.collect import collect, parse
from ckgen.spec.models import AXES, Axes, Spec, json_schema
from ckgen.spec.types import Tile, Vector
from ckgen.text.source import loads
from tests.support.specs import ROOT, WAVELET, XDL, spec_text


def test_a_value_by_itself_is_a_list_of_one() -> None:
    spec = parse(loads(spec_text(XDL, WAVELET)))
    assert spec.groups[0].dtype == ("f16",)
    assert spec.groups[0].tile == (Tile(m_per_block=128, n_per_block=128),)
    assert spec.groups[1].wave_ratio == ((4, 4),)


def test_a_list_of_pairs_is_an_axis_of_pairs() -> None:
    spec = parse(loads(spec_text({**WAVELET, "wave_ratio": [[4, 4], [4, 2]]})))
    assert spec.groups[0].wave_ratio == ((4, 4), (4, 2))


@pytest.mark.parametrize(
    ("written", "tile"),
    [
        ("128x64", Tile(m_per_block=128, n_per_block=64)),
        ("128x64x32", Tile(m_per_block=128, n_per_block=64, k_per_block=32)),
        (
            {"m_per_block": 64, "n_per_block": 64, "block_size": 64},
            Tile(m_per_block=64, n_per_block=64, block_size=64),
        ),
    ],
)
def test_tiles(written: Any, tile: Tile) -> None:
    assert Tile.model_validate(written) == tile


def test_vectors() -> None:
    assert Vector.model_validate("small") == Vector(a="small", b="small", c="small")
    assert str(Vector.model_validate("full")) == "full"
    assert str(Vector.model_validate({"a": 8, "c": "small"})) == "{a: 8, c: small}"


def test_models_are_frozen_and_know_their_document() -> None:
    spec = parse(loads(spec_text(XDL)))
    with pytest.raises(ValueError, match="frozen"):
        spec.groups[0].name = "b"  # type: ignore[misc]
    assert spec.document.place(*spec.group_path(0), "name").line == 3


def test_groups_without_problems_survive_those_with() -> None:
    broken = {**XDL, "name": "broken", "dtype": "f61"}
    incomplete = {key: value for key, value in XDL.items() if key != "tile"} | {"name": "incomplete"}
    spec, problems = collect(loads(spec_text(broken, {**XDL, "name": "sound"}, incomplete)))
    assert spec is not None
    assert [group.name for group in spec.groups] == ["sound"]
    assert spec.group_path(0) == ("groups", 1)
    assert [problem.rule for problem in problems] == ["unknown-dtype", "missing-field"]


def test_parse_raises_what_collect_finds() -> None:
    with pytest.raises(CkgenError) as caught:
        parse(loads(spec_text({**XDL, "dtype": "f61", "tile": "x"})))
    assert [diagnostic.rule for diagnostic in caught.value.diagnostics] == ["unknown-dtype", "bad-tile"]


def test_defaults_may_give_what_groups_lack() -> None:
    bare = {"name": "a", "family": "xdl", "tile": "128x128"}
    defaults = {"dtype": "f16", "xdl": {"block_size": 256, "layout": XDL["layout"]}}
    assert parse(loads(spec_text(bare, defaults=defaults))).groups[0].dtype is None


def properties(schema: dict[str, Any], model: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][model]["properties"]
    return found


def test_the_schema_has_every_key_with_a_description() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {"version", "defaults", "groups", "functions", "sets"}
    assert set(schema["required"]) == {"version", "groups"}
    assert set(properties(schema, "Axes")) == set(Axes.model_fields) >= set(AXES)
    for model in ("Axes", "Defaults", "Group"):
        assert all("description" in value for value in properties(schema, model).values())
        assert schema["$defs"][model]["additionalProperties"] is False


def test_the_schema_lets_editors_complete_words() -> None:
    schema = json_schema()
    one, many = properties(schema, "Axes")["dtype"]["anyOf"]
    assert one["enum"] == ["f16", "bf16", "f32", "bf16_f32_bf16", "i8", "f32_comp_tf32", "f16_comp_bf8_f8"]
    assert many["items"] == one
    families = ["xdl", "two_stage", "wavelet", "wmma", "dl", "wavelet_tma", "stationary"]
    families += ["col2im", "streaming", "warp_split", "halo", "depthwise", "depthwise_tma"]
    assert properties(schema, "Group")["family"]["enum"] == families
    assert {"type": "string", "enum": ["full", "small"]} in schema["$defs"]["Vector"]["anyOf"]
    assert any("pattern" in option for option in schema["$defs"]["Tile"]["anyOf"])


def test_the_schema_is_json_without_null_or_titles() -> None:
    text = json.dumps(json_schema())
    assert '"null"' not in text
    assert '"title"' not in text.replace('"title": "ckgen instances.yaml"', "")
    assert json_schema() == json_schema()


def test_the_default_spec_names_the_schema_and_parses() -> None:
    text = (ROOT / "instances.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=instances.schema.json\n")
    assert isinstance(parse(loads(text)), Spec)
    Draft202012Validator.check_schema(json_schema())
    assert Draft202012Validator(json_schema()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    "change",
    [{"dtype": "f61"}, {"tiles": "1x1"}, {"wave_ratio": [4]}, {"vector": "wide"}, {"block_size": 100}],
)
def test_the_schema_refuses_what_the_models_refuse(change: dict[str, Any]) -> None:
    value = {"version": 1, "groups": [{**XDL, **change}]}
    assert not Draft202012Validator(json_schema()).is_valid(value)
