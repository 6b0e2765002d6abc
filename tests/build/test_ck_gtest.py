"""A program with GTest runs backward weight for all tuples of types and layouts of CK's GTest on a compat tree."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.cmake import build
from ckgen.build.toolchain import find_toolchain
from ckgen.cli.common.selection import load
from ckgen.generate import writer
from ckgen.generate.render import render_tree
from ckgen.generate.style import Style
from ckgen.instance.filters import filtered
from tests.support.trees import in_style

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parents[1] / "data" / "ck_gtest"
# The generic instances, and tuned ones with the same tile.
CHOSEN = ("set=default", "operation=grouped_conv_bwd_weight", "family=xdl", "tile=64x64", "conv_spec=Default")
MIXED = ("f32", "f16", "bf16_f32_bf16")
FIRST = ("f32", "f16", "bf16")
# The tuples in the order of the program: 6 in 1D, 13 in 2D, 15 in 3D.
TUPLES = (
    *(("GNWC/GKXC/GNWK", dtype) for dtype in MIXED),
    *(("NWGC/GKXC/NWGK", dtype) for dtype in MIXED),
    *(("GNHWC/GKYXC/GNHWK", dtype) for dtype in MIXED),
    *(("NHWGC/GKYXC/NHWGK", dtype) for dtype in ("f32", "f16", "bf16", "bf16_f32_bf16")),
    *(("NGCHW/GKYXC/NGKHW", dtype) for dtype in FIRST),
    *(("NGCHW/GKCYX/NGKHW", dtype) for dtype in FIRST),
    *(("GNDHWC/GKZYXC/GNDHWK", dtype) for dtype in (*MIXED, "i8")),
    *(("NDHWGC/GKZYXC/NDHWGK", dtype) for dtype in ("f32", "f16", "bf16", "bf16_f32_bf16", "i8")),
    *(("NGCDHW/GKZYXC/NGKDHW", dtype) for dtype in FIRST),
    *(("NGCDHW/GKCZYX/NGKDHW", dtype) for dtype in FIRST),
)
LEAST = {"i8": 1}  # instances of each tuple; 2 of other types


@pytest.mark.compiles
@pytest.mark.sweep
def test_every_tuple_of_types_has_its_instances_and_they_are_right(tmp_path: Path) -> None:
    loaded = load(ROOT / "instances.yaml")
    chosen = filtered(loaded.expansion.instances, (*CHOSEN, "function=PassThrough"), sets=loaded.expansion.sets)
    instances = [instance for instance in chosen if (instance.layout, instance.dtype) in TUPLES]
    cells = Counter((instance.layout, instance.dtype) for instance in instances)
    counts = [cells[cell] for cell in TUPLES]
    assert all(cells[cell] >= LEAST.get(cell[1], 2) for cell in TUPLES)
    functions = loaded.expansion.spec.own_functions
    writer.apply(render_tree(instances, replace(in_style(Style("ck", "ck")), functions=functions)), tmp_path / "tree")
    build(tmp_path / "tree", "host", tmp_path / "library")
    cmake = find_toolchain().cmake
    assert cmake is not None, "this test needs cmake"
    for words in (
        ("--install", tmp_path / "library", "--prefix", tmp_path / "prefix"),
        ("-S", PROGRAM, "-B", tmp_path / "program", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"),
        ("--build", tmp_path / "program"),
    ):
        done = subprocess.run([*map(str, (*cmake, *words))], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"GTest comes with scripts/setup.sh (libgtest-dev)\n{done.stdout}{done.stderr}"

    environment = os.environ | {"CKGEN_INSTANCES": " ".join(map(str, counts))}
    done = subprocess.run([tmp_path / "program/type_tuples"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "[  PASSED  ] 34 tests." in done.stdout
    runs = Counter(line for line in done.stdout.splitlines() if line.startswith("run of "))
    by_name = {line.split()[-1]: count for line, count in runs.items()}
    assert by_name.keys() == {instance.name for instance in instances}
    # Five problems with split_k 1 and 2; tuned instances refuse those whose channel counts they cannot read.
    assert all(by_name[instance.name] == 10 for instance in instances if instance.generic)
    assert min(by_name.values()) >= 2
