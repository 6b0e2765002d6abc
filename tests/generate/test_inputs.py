"""The tool's digest and `ckgen generate --list-inputs` cover all that a run of `ckgen generate` loads and reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.generate.inputs import generator_modules, input_files, load_context
from ckgen.paths import PACKAGE, templates_dir

ROOT = Path(__file__).resolve().parents[2]
# Runs the command in a new interpreter that has no byte code, so that the sources of modules are read too.
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
    """The files of ckgen that a run of generate opens, and those of the modules that it has in the end."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    options = ["-B", "-X", f"pycache_prefix={folder / 'none'}"]
    command = [sys.executable, *options, "-c", WATCHED, str(folder / "spec.yaml"), str(folder / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, opened, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    found = {Path(path) for path in opened if Path(path).is_file()}
    own = (PACKAGE, templates_dir())  # and not the packages of an environment that lies in the checkout
    return {path for path in found if any(path.is_relative_to(part) for part in own)}, {Path(path) for path in modules}


def test_every_module_that_generate_loads_is_in_the_digest(run: tuple[set[Path], set[Path]]) -> None:
    _, modules = run
    assert len(modules) > 40
    assert modules <= set(generator_modules())


def test_every_file_that_generate_reads_is_an_input(run: tuple[set[Path], set[Path]]) -> None:
    opened, modules = run
    assert modules <= opened, "without byte code every module's source is read"
    assert any(path.suffix == ".j2" for path in opened) and any(path.suffix == ".json" for path in opened)
    assert opened <= set(input_files())


def test_what_other_commands_need_is_no_part_of_the_tool() -> None:
    assert not {PACKAGE / "torch.py", PACKAGE / "library.py", PACKAGE / "cli/measure.py"} & set(generator_modules())


PARTS = {
    "cli/trees.py": "from ..spec import read\nimport tool.deep.one as first, json\n",
    "spec.py": """from tool import (
    plain as other,  # (of all)
    no_module,
)
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from tool.types import T

    import tool.more

def read():
    from .deep import two
""",
    **dict.fromkeys(("plain.py", "types.py", "more.py", "alone.py", "__init__.py", "cli/__init__.py"), ""),
    **dict.fromkeys(("deep/__init__.py", "deep/one.py", "deep/two.py", "deep/none.py"), ""),
}


def test_imports_are_followed_through_packages_in_every_way_to_write_them(tmp_path: Path) -> None:
    for name, text in PARTS.items():
        file = tmp_path / "tool" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = generator_modules(tmp_path / "tool", "tool.cli.trees")
    assert set(PARTS) - {path.relative_to(tmp_path / "tool").as_posix() for path in found} == {
        *("types.py", "more.py", "alone.py", "deep/none.py")
    }
    with pytest.raises(FileNotFoundError, match=r"no module tool\.cli\.gone"):
        generator_modules(tmp_path / "tool", "tool.cli.gone")


def test_a_change_of_any_module_moves_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest_of(modules: dict[Path, str]) -> str:
        monkeypatch.setattr("ckgen.generate.inputs.generator_modules", lambda: modules)
        return load_context("instances.yaml", "", "ckgen generate", {}).tool_sha256

    known = generator_modules()
    digests = {digest_of({**known, path: text + "\n"}) for path, text in known.items()}
    assert len(digests | {digest_of(known)}) == len(known) + 1
