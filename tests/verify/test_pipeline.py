"""Test ckgen/pipeline.py from end to end: a spec becomes a library whose instances are correct."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.errors import CkgenError
from ckgen.pipeline import prove

SPEC = """\
version: 1
groups:
  - name: generic
    operation: grouped_conv_bwd_weight
    generic: true
    family: xdl
    layout: NHWGC/GKYXC/NHWGK
    dtype: f32
    block_size: 256
    tile: 64x64
    conv_spec: Default
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "instances.yaml").write_text(SPEC)
    return tmp_path / "instances.yaml"


@pytest.mark.compiles
def test_a_spec_becomes_a_library_whose_instances_are_right(spec: Path, tmp_path: Path) -> None:
    rows = prove(spec, tmp_path / "generated", tmp_path / "build")
    run = [row for row in rows if not row.uncovered]
    assert len(run) >= 4
    assert [row for row in run if not row.ok] == []


def test_an_error_of_the_spec_leaves_no_tree(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC.replace("f32", "f33"))
    with pytest.raises(CkgenError, match="f33"):
        prove(spec, tmp_path / "generated", tmp_path / "build")
    assert not (tmp_path / "generated").exists()
