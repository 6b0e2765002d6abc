"""Machine code of every operand type that set `ci` lacks, and of channels-first groups, on the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckgen.cli import main
from tests.support.specs import ROOT

WEIGHT, DATA = "NHWGC/GKYXC/NHWGK", "NHWGK/GKYXC/NHWGC"
ONE_PLANE = {"layout": "NGCHW/GKYXC/NGKHW", "dtype": "f16", "conv_spec": "Default", "groups_to_merge": 8}
# The architectures that must run instances with a word in their name.
CDNA, WMMA = ("gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1201")
GENERIC = {"_i8_": (*CDNA, *WMMA), "_f32_comp_tf32_": (*CDNA, *WMMA), "_f16_comp_bf8_f8_": (*CDNA, "gfx1201")}
# Groups of instances.yaml: what is changed so that one instance of each type remains, and what must run where.
GROUPS: dict[str, tuple[dict[str, Any], dict[str, tuple[str, ...]]]] = {
    "types-weight-generic": ({"layout": WEIGHT}, GENERIC),
    "types-data-generic": ({"layout": DATA}, GENERIC),
    "types-weight-wmma": ({"conv_spec": "Default"}, {"_wmma_": WMMA}),
    "types-data-wmma": ({"conv_spec": "Default"}, {"_wmma_": WMMA}),
    "two-stage-planes": (ONE_PLANE, {"_two_stage_ngchw_": CDNA}),
}


def with_one_layout(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group whose further entries have only the first of their layouts."""
    further = [{**one, "layout": one["layout"][0]} if "layout" in one else one for one in group.get("include", ())]
    return {**group, "include": further} if further else dict(group)


@pytest.mark.compiles
@pytest.mark.parametrize("name", GROUPS)
def test_every_operand_type_on_every_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    own = yaml.safe_load((ROOT / "instances.yaml").read_text(encoding="utf-8"))
    (known,) = (group for group in own["groups"] if group["name"] == name)
    changes, wanted = GROUPS[name]
    group = {**with_one_layout(known), **changes}
    group.pop("sets", None)
    spec = {"version": own["version"], "defaults": own["defaults"], "groups": [group], "sets": {"default": ["*"]}}
    (tmp_path / "instances.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = main(["smoke", "--platform", "amd", "--emulate", "--set", "default", "--brief"])
    said = capsys.readouterr()
    assert code == 0, said.out + said.err
    shown = [line.split()[:2] for line in said.out.splitlines() if line.startswith("grouped_conv")]
    for word, archs in wanted.items():
        assert {arch for instance, arch in shown if word in instance} >= {*archs}, word
