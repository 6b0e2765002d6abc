"""Releases: the wheel and the sdist have all that an empty environment needs, versions agree, and what is deprecated
warns."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ckgen import __version__
from ckgen.library.c_api import ABI_VERSION
from tests.support.fake_tools import FakeTools

ROOT = Path(__file__).resolve().parents[2]
# A file of each kind that commands read.
NEEDED = (
    "ckgen/instances.yaml",
    "ckgen/templates/include/ckgen/c_api.h",
    "ckgen/torch/binding.cpp",
    "ckgen/templates/CMakeLists.txt.j2",
    "ckgen/examples/CMakeLists.txt",
    "ckgen/examples/convolution.hpp",
    "ckgen/problems/retinanet.yaml",
    "ckgen/report/templates/page.html.j2",
    "ckgen/cli/starters/torch/train.py",
    "ckgen/cli/starters/every/dot-gitignore",
    "ckgen/cli/starters/every/dot-gitattributes",
    "ckgen/cli/starters/ci/github/dot-github/workflows/ckgen.yml",
    "ckgen/py.typed",
)
hatchling = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")


def build(kind: str, folder: Path, out: Path) -> Path:
    """Build an archive of a project without the network, and return its path."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that the sdist of this checkout makes: what an installation without a wheel builds."""
    top = tmp_path_factory.mktemp("dist")
    with tarfile.open(build("sdist", ROOT, top / "sdist")) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python before 3.11.4 has no filters
        archive.extractall(top / "source", **safely)
    (source,) = (top / "source").iterdir()
    return build("wheel", source, top / "wheel")


@hatchling
def test_the_wheel_has_what_commands_read(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert [name for name in NEEDED if name not in names] == []
    tables = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ckgen/tables").glob("*.json")}
    assert tables and tables <= names
    headers = {f"ckgen/{path.relative_to(ROOT)}" for path in (ROOT / "templates").rglob("*") if path.is_file()}
    assert headers <= names
    assert not [name for name in names if name.startswith(("tests/", "generated/")) or "__pycache__" in name]


@hatchling
def test_an_installed_wheel_makes_a_library(wheel: Path, tmp_path: Path) -> None:
    """The wheel is unpacked as pip does for pure Python; the tests' environment gives its dependencies."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "work").mkdir()

    def ckgen(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ckgen", *words],
            cwd=tmp_path / "work",
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    assert ckgen("--version") == f"ckgen, version {__version__}\n"
    ckgen("init", ".", "--template", "torch", "--ci", "github")
    ckgen("validate")
    ckgen("check")
    ckgen("select", "K64", "C32", "3x3", "on", "14x14", "p1", "--arch", "sm_90a")
    inputs = ckgen("generate", "--list-inputs").split("\n")
    assert all(str(site) in path for path in inputs[1:] if path), "nothing of the checkout is used"
    code = "from ckgen.paths import examples_dir, spec_file; print(examples_dir(), spec_file())"
    found = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.split() == [str(site / "ckgen/examples"), str(site / "ckgen/instances.yaml")]


@hatchling
def test_an_installed_wheel_builds_on_first_use(wheel: Path, tmp_path: Path) -> None:
    """Nothing of the checkout is used, neither by the process that asks nor by the one that builds."""
    site, tools = tmp_path / "site", FakeTools(tmp_path / "tools")
    zipfile.ZipFile(wheel).extractall(site)
    path = f"{tools.folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(site), "PATH": path}
    code = """
from pathlib import Path
from ckgen.conv.problem import make_problem
from ckgen.jit.background import Background
from ckgen.jit.instances import Need, Target
from ckgen.jit.progress import Progress
one = Background(Path("cache").resolve(), Target("nvidia", "sm_90a"), False, Progress(), print)
problem = make_problem(batch=8, k=128, c=64, filter=(3, 3), input=(14, 14), pad=1)
print(len(one.ask(Need("grouped_conv_bwd_weight", "f16", "NHWGC/GKYXC/NHWGK", problem), wait=True)))
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "4\n", done.stdout + done.stderr
    assert tools.built and (tmp_path / "cache/workshop").is_dir()


def test_the_abi_has_one_version() -> None:
    header = (ROOT / "templates/include/ckgen/c_api.h").read_text(encoding="utf-8")
    assert re.findall(r"^#define CKGEN_ABI_VERSION (\d+)$", header, re.MULTILINE) == [str(ABI_VERSION)]
    source = (ROOT / "templates/src/library/c_api.cpp").read_text(encoding="utf-8")
    assert "ckgen_abi_version(void) { return CKGEN_ABI_VERSION; }" in source


def test_a_change_of_the_c_interface_changes_its_version() -> None:
    """The digest of the declarations that a program was compiled against. Whoever changes one raises the version."""
    import hashlib

    header = (ROOT / "templates/include/ckgen/c_api.h").read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    digest = hashlib.sha256(" ".join(code.split()).encode()).hexdigest()[:16]
    assert {ABI_VERSION: digest} == {8: "60f13e9a14cb0c0d"}, "raise CKGEN_ABI_VERSION and ABI_VERSION"


def test_a_deprecated_path_warns_and_works() -> None:
    code = "from ckgen.problem import make_problem; print(make_problem(batch=1, k=1, c=1, filter=[1], input=[1]))"
    words = [sys.executable, "-W", "default", "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "K1 C1" in done.stdout
    assert "DeprecationWarning: ckgen.problem is deprecated: import from ckgen" in done.stderr
    code = "import ckgen; ckgen.make_problem, ckgen.Library"
    quiet = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert quiet.returncode == 0, quiet.stderr
