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
# Groups of instances.yaml, and what is changed so that one instance of each type remains.
GROUPS: dict[str, dict[str, Any]] = {
    "types-weight-generic": {"layout": WEIGHT},
    "types-data-generic": {"layout": DATA},
    "types-weight-wmma": {"conv_spec": "Default"},
    "types-data-wmma": {"conv_spec": "Default"},
    "two-stage-planes": {"layout": "NGCHW/GKYXC/NGKHW", "dtype": "f16", "conv_spec": "Default", "groups_to_merge": 8},
}


def with_one_layout(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group whose further entries have only the first of their layouts."""
    further = [{**one, "layout": one["layout"][0]} if "layout" in one else one for one in group.get("include", ())]
    return {**group, "include": further} if further else dict(group)


@pytest.mark.compiles
def test_every_operand_type_on_every_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = yaml.safe_load((ROOT / "instances.yaml").read_text(encoding="utf-8"))
    known = {group["name"]: group for group in own["groups"]}
    groups = [{**with_one_layout(known[name]), **changes} for name, changes in GROUPS.items()]
    spec = {"version": own["version"], "defaults": own["defaults"], "groups": groups}
    spec["sets"] = {"types": [], "default": ["*"]}
    (tmp_path / "instances.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = main(["smoke", "--platform", "amd", "--emulate", "--set", "default", "--brief"])
    said = capsys.readouterr()
    assert code == 0, said.out + said.err
    shown = [line.split()[:2] for line in said.out.splitlines() if line.startswith("grouped_conv")]
    for word, archs in {
        "_i8_": {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"},
        "_f32_comp_tf32_": {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"},
        "_f16_comp_bf8_f8_": {"gfx90a", "gfx942", "gfx950", "gfx1201"},
        "_two_stage_ngchw_": {"gfx90a", "gfx942", "gfx950"},
        "_wmma_": {"gfx1100", "gfx1201"},
    }.items():
        assert {arch for name, arch in shown if word in name} >= archs, word
