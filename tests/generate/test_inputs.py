"""Tests that `ckgen generate --list-inputs` lists every file that a run of `ckgen generate` loads or reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.generate.inputs import input_files
from ckgen.paths import PACKAGE, templates_dir

ROOT = Path(__file__).resolve().parents[2]
# Runs the command in a new interpreter without byte code, so that the sources of modules are read too.
WATCHED = """
import json, os, sys
opened = set()
def note(event, arguments):
    if event == "open" and not isinstance(arguments[0], int):
        opened.add(os.path.realpath(os.fsdecode(arguments[0])))
sys.addaudithook(note)
from ckgen.cli import main
code = main(["generate", "--spec", sys.argv[1], "--out", sys.argv[2]])
own = [module for name, module in sys.modules.items() if name.partition(".")[0] == "ckgen"]
print(json.dumps([code, sorted(opened), [module.__file__ for module in own]]))
"""
SPEC = """version: 1
functions: [{name: Twice, expression: 2 * e}]
groups:
  - {name: a, family: xdl, layout: NHWGC/GKYXC/NHWGK, dtype: f16, block_size: 256, tile: [128x128, 64x64]}
  - {name: b, operation: grouped_conv_bwd_data, family: xdl, layout: NHWGK/GKYXC/NHWGC, dtype: f16, block_size: 256,
     tile: 128x128, function: Twice}
sets: {default: [dtype=f16]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[Path], set[Path]]:
    """The files of ckgen that a run of generate opens, and the files of the modules that are loaded at its end."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    options = ["-B", "-X", f"pycache_prefix={folder / 'none'}"]
    command = [sys.executable, *options, "-c", WATCHED, str(folder / "spec.yaml"), str(folder / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, opened, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    found = {Path(path) for path in opened if Path(path).is_file()}
    own = (PACKAGE, templates_dir())  # excludes the packages of an environment inside the checkout
    return {path for path in found if any(path.is_relative_to(part) for part in own)}, {Path(path) for path in modules}


def test_every_file_that_generate_loads_or_reads_is_an_input(run: tuple[set[Path], set[Path]]) -> None:
    opened, modules = run
    assert len(modules) > 40
    assert modules <= opened, "without byte code every module's source is read"
    assert any(path.suffix == ".j2" for path in opened) and any(path.suffix == ".json" for path in opened)
    assert opened <= set(input_files())
